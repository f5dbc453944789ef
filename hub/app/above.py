"""Where a child's question goes that its parent has left: a level up, or to the user."""

from collections.abc import Sequence

from hub.core.asking import Elicitation, Elicitor
from hub.core.forms import Choice, FormField
from hub.core.jobs import Answered, AskAbove, ParentLink


def ask_above(link: ParentLink | None, elicitor: Elicitor) -> AskAbove:
    """Return the way up from a parent: over its own link, or to the user where it has none."""

    async def ask(agent: str, question: str, options: Sequence[str]) -> Answered:
        if link is not None:
            return await link.ask(f"{agent} asks: {question}", options)
        elicited = await elicitor.elicit(
            Elicitation(server="", agent=agent, message=question, fields=(_field(options),))
        )
        answer = str(elicited.content.get("answer", ""))
        if elicited.action == "accept" and answer:
            return Answered(answer, "user")
        return Answered("", "nobody")

    return ask


def _field(options: Sequence[str]) -> FormField:
    if not options:
        return FormField("answer", required=True)
    choices = tuple(Choice(option, option) for option in options)
    return FormField("answer", "choice", required=True, choices=choices)
