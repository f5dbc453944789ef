"""The tool with which a parent hands work to a child."""

from collections.abc import Mapping
from typing import Any

from hub.core.acceptance import KINDS
from hub.core.messages import ToolOutcome, ToolSpec
from hub.core.ports import CallContext
from hub.core.team import Role
from hub.core.text import one_line
from hub.dispatch.build import Refusal
from hub.dispatch.dispatcher import Dispatcher
from hub.dispatch.frame import started_message

DISPATCH = "dispatch"
STARTED = "It works in the background; its result is told to you. wait_jobs waits for it."
_DESCRIPTION_LIMIT = 90


class DispatchTool:
    """Offers one agent's edges as a tool."""

    def __init__(self, role: Role, roles: Mapping[str, Role], dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher
        self.spec = ToolSpec(
            DISPATCH,
            "Hand a task to a child agent and get its report. Several dispatches in one message "
            "run in parallel. The child sees only what you pass. Roles: " + _menu(role, roles),
            {
                "type": "object",
                "properties": {
                    "role": {"enum": [edge.role for edge in role.dispatch]},
                    "task": {
                        "type": "string",
                        "description": "goal, scope, what to report; complete in itself",
                    },
                    "context": {"type": "string", "description": "facts that it needs"},
                    "files": {"type": "array", "items": {"type": "string"}},
                    "background": {"type": "boolean", "description": "go on meanwhile"},
                    "isolation": {
                        "enum": ["worktree"],
                        "description": "it works on a copy; you get its diff",
                    },
                    "acceptance": {
                        "enum": _kinds(role, roles),
                        "description": "what the report needs; absent takes the role's",
                    },
                },
                "required": ["role", "task"],
                "additionalProperties": False,
            },
            concurrency_safe=True,
        )
        """How it is offered."""

    @property
    def validation_schema(self) -> dict[str, Any]:
        """The offered schema with any role, so that a wrong one is refused by its edge."""
        properties = {**self.spec.parameters["properties"], "role": {"type": "string"}}
        return {**self.spec.parameters, "properties": properties}

    async def call(self, arguments: dict[str, Any], context: CallContext) -> ToolOutcome:
        """Run the child and return its ``dispatch_result``; a failed child is an error.

        In the background, or when the child asks something, the job is named and goes on.
        """
        try:
            entry = self._dispatcher.start(arguments, call_id=context.call_id)
        except Refusal as refusal:
            return ToolOutcome(refusal.message, is_error=True, kind="dispatch_refused")
        if entry.background:
            self._dispatcher.offer_job_tools()
            return ToolOutcome(f"{started_message(entry.id, entry.role)}\n{STARTED}")
        await self._dispatcher.settled(entry)
        return self._dispatcher.heard(entry)


def _kinds(role: Role, roles: Mapping[str, Role]) -> list[str]:
    known = [roles[edge.role] for edge in role.dispatch if edge.role in roles]
    commands = any(child.acceptance.kind == "command" for child in known)
    return [kind for kind in KINDS if commands or kind != "command"]


def _menu(role: Role, roles: Mapping[str, Role]) -> str:
    known = [roles[edge.role] for edge in role.dispatch if edge.role in roles]
    return "; ".join(f"{r.name}: {one_line(r.description, _DESCRIPTION_LIMIT)}" for r in known)
