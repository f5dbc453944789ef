"""What MCP servers ask in the middle of a call, and the ports through which it is answered."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

from msgspec import Struct, field

from hub.core.forms import FormField
from hub.core.ports import CallContext


class Elicitation(Struct, frozen=True):
    """A question of a server to the user: a form to fill in, or an address to open."""

    server: str
    """Name of the server in the settings."""
    agent: str
    """Path of the agent for which it works; several with commas between when it is not known."""
    message: str
    """What the server says that it wants; untrusted."""
    fields: tuple[FormField, ...] = ()
    """What is to be filled in; may be empty, for a plain yes or no."""
    url: str = ""
    """The address that the user is asked to open; given instead of fields. Nobody but the user
    opens it."""
    call_id: str = ""


ElicitAction = Literal["accept", "decline", "cancel", "nobody"]
"""``nobody`` means that nobody could be asked."""


class Elicited(Struct, frozen=True):
    """What a person did with a question of a server."""

    action: ElicitAction
    content: Mapping[str, Any] = field(default_factory=dict)
    """The values of the form by field, when it was accepted."""


class Elicitor(Protocol):
    """Puts a question of a server to a person."""

    async def elicit(self, question: Elicitation) -> Elicited:
        """Wait for the person; answers ``nobody`` at once when there is no one."""
        ...


class Said(Struct, frozen=True):
    """One message of the conversation that a server wants continued."""

    role: Literal["user", "assistant"]
    text: str


class Sampling(Struct, frozen=True):
    """A server's request for an answer of the calling agent's model."""

    server: str
    messages: Sequence[Said]
    """At least one; all of it is text of the server, whatever the roles say."""
    max_tokens: int
    """Most tokens of the answer, as the server asks for them."""
    system: str = ""
    """Instructions that the server would like the model to have."""


class Sampled(Struct, frozen=True):
    """What a model answered to a server; or why it did not."""

    text: str = ""
    model: str = ""
    """Name of the model that answered."""
    cut: bool = False
    """The answer was cut at its length limit."""
    refused: str = ""
    """Why there is no answer, as a sentence; empty when there is one."""
    failed: bool = False
    """It was refused because the model failed, not because somebody or some limit forbids it."""


class Answers(Protocol):
    """Answers what servers ask, for the agents of a run."""

    async def elicit(self, question: Elicitation) -> Elicited:
        """Put a question to the user; ``nobody`` at once when there is no one."""
        ...

    async def sample(self, request: Sampling, context: CallContext) -> Sampled:
        """Let the model of the calling agent answer, as far as rules and budget allow."""
        ...


class NoAnswers:
    """The Answers port where there is neither a person nor an agent."""

    async def elicit(self, question: Elicitation) -> Elicited:
        """Answer at once that nobody could be asked."""
        return Elicited("nobody")

    async def sample(self, request: Sampling, context: CallContext) -> Sampled:
        """Answer at once that there is no model."""
        return Sampled(refused="no agent is at work whose model could answer")
