"""The tool with which a child asks its parent something, and waits for the answer."""

from typing import Any

from hub.core.jobs import ParentLink
from hub.core.messages import ToolOutcome, ToolSpec
from hub.core.ports import CallContext
from hub.dispatch.frame import answer_message

ASK = "ask"
MAX_QUESTION = 4_000
"""Characters of a question."""


class AskTool:
    """Puts the questions of one child to its parent."""

    def __init__(self, link: ParentLink) -> None:
        self._link = link
        self.spec = ToolSpec(
            ASK,
            "Ask your parent what only it can know or decide, and wait. Try to do without.",
            {
                "type": "object",
                "properties": {
                    "question": {"type": "string", "minLength": 1, "maxLength": MAX_QUESTION},
                    "options": {"type": "array", "items": {"type": "string"}, "maxItems": 10},
                },
                "required": ["question"],
                "additionalProperties": False,
            },
        )
        """How it is offered."""

    async def call(self, arguments: dict[str, Any], _context: CallContext) -> ToolOutcome:
        """Return the answer; that nobody gave one is an error which the child can live with."""
        options = [str(option) for option in arguments.get("options") or ()]
        answered = await self._link.ask(str(arguments["question"]), options)
        if answered.by == "nobody":
            return ToolOutcome(answered.text, is_error=True, kind="approval_timeout")
        return ToolOutcome(answer_message(answered.text, answered.by))
