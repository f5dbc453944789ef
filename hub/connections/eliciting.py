"""A server's question to the user, read from the protocol, and what to make of the answer."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from mcp import types

from hub.connections.forms import UnreadableForm, fields_of
from hub.connections.pending import Pending
from hub.core.asking import Elicitation, Elicited
from hub.core.forms import form_problems
from hub.core.text import one_line, without_surrogates

NOT_NOW = "no call of ours is under way"
NOBODY = "nobody can be asked"


def question_of(
    server: str, params: types.ElicitRequestParams, concerned: Sequence[Pending]
) -> Elicitation:
    """Return a question as it is put to a person.

    Raises:
        UnreadableForm: it is none that a person can answer.
    """
    if not concerned:
        raise UnreadableForm(NOT_NOW)
    url = "" if isinstance(params, types.ElicitRequestFormParams) else params.url
    form = params if isinstance(params, types.ElicitRequestFormParams) else None
    contexts = [pending.context for pending in concerned if pending.context is not None]
    agents = dict.fromkeys(context.agent for context in contexts)
    return Elicitation(
        server=server,
        agent=", ".join(agents),
        message=without_surrogates(params.message),
        fields=fields_of(form.requested_schema) if form else (),
        url=without_surrogates(url),
        call_id=contexts[0].call_id if len(contexts) == 1 else "",
    )


def site_of(url: str) -> str:
    """Return scheme and host of an address that a user may be asked to open.

    Raises:
        UnreadableForm: it is no web address.
    """
    with suppress(ValueError):
        parts = urlsplit(url)
        if parts.scheme in ("http", "https") and parts.hostname:
            return one_line(f"{parts.scheme}://{parts.hostname}", 300)
    raise UnreadableForm("it is no web address that the user is to open")


def judged(done: Elicited | None, question: Elicitation) -> tuple[Any, str, str]:
    """Return the action for the server, and outcome and reason for the log."""
    if done is None:
        return "cancel", "cancelled", "the call has ended"
    match done.action:
        case "accept":
            problems = [] if question.url else form_problems(question.fields, done.content)
            if problems:
                return "decline", "failed", f"the answer does not fit: {'; '.join(problems)}"
            return "accept", "answered", ""
        case "decline":
            return "decline", "declined", ""
        case "cancel":
            return "cancel", "cancelled", ""
        case "nobody":
            return "decline", "refused", NOBODY
