"""Whether an answer that has come to its end can be used."""

from hub.core.errors import ModelError
from hub.core.requests import Completion
from hub.models.chat.fault import Again, AttemptFailed, Place
from hub.models.chat.stream import Assembly


def usable(place: Place, assembly: Assembly, taken: set[str]) -> Completion:
    """Return the answer if it has ended well and says something.

    Raises:
        AttemptFailed: it was cut or is empty.
    """
    completion = assembly.completion(taken)
    says = bool(completion.message.text.strip() or completion.message.calls)
    if completion.finish == "incomplete":
        raise _cut(place, assembly, completion if says else None)
    if not says:
        raise _empty(place, assembly, completion)
    return completion


def idle(place: Place, assembly: Assembly) -> AttemptFailed:
    """Return the failure of a request whose answer made no progress for too long."""
    when = "in the middle of its answer" if assembly.events else "before its answer"
    seconds = place.spec.idle_timeout
    error = ModelError(
        f"model {place.spec.model!r} at {place.url} was silent for {seconds:g} s {when}",
        kind="timeout",
        retryable=True,
        remedy=f"Raise `idle_timeout` of the model entry {place.spec.name!r} if that is usual.",
    )
    return AttemptFailed(error, again="once", usage=assembly.usage)


def not_events(place: Place, words: str) -> AttemptFailed:
    """Return the failure of a request that was answered with something else than events."""
    error = ModelError(
        f"{place.url} does not answer like a model server: {place.clean(words, 200)}",
        kind="bad_request",
        remedy=f"Check the address (most end with /v1): {place.set_url}.",
    )
    return AttemptFailed(error, again="never")


def _cut(place: Place, assembly: Assembly, partial: Completion | None) -> AttemptFailed:
    where = "in the middle" if assembly.events else "before it began"
    error = ModelError(
        f"the answer of model {place.spec.model!r} at {place.url} was cut {where}",
        kind="incomplete" if assembly.events else "transport",
        retryable=True,
        remedy="Try again; if it happens often, look at the server's log.",
    )
    again: Again = "once" if assembly.events else "backoff"
    return AttemptFailed(error, again=again, partial=partial, usage=assembly.usage)


def _empty(place: Place, assembly: Assembly, completion: Completion) -> AttemptFailed:
    model = f"model {place.spec.model!r} at {place.url}"
    if completion.finish == "length":
        what = f"{model} reached its output limit before it answered"
        remedy = f"Raise `max_output_tokens` of the model entry {place.spec.name!r}."
    elif completion.finish == "content_filter":
        what = f"the content filter stopped the answer of {model}"
        remedy = "Change the task, or use another model."
    else:
        what = f"{model} gave an empty answer: no text and no tool call"
        remedy = "Try again or use another model; small models lose the thread in long tasks."
    error = ModelError(
        what, kind="incomplete", retryable=completion.finish == "stop", remedy=remedy
    )
    again: Again = "once" if completion.finish == "stop" else "never"
    return AttemptFailed(error, again=again, usage=assembly.usage)
