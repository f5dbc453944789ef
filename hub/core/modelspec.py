"""How a model is reached, as a value with every reference to secrets already resolved."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from hub.core.prices import Price


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """One model behind an OpenAI-compatible endpoint."""

    name: str
    """What the user calls it."""
    model: str
    """What the endpoint calls it."""
    base_url: str = ""
    """Root of the API, such as ``https://host/v1``; empty takes the SDK's default."""
    api_key: str = field(default="", repr=False)
    api: Literal["chat"] = "chat"
    context_window: int | None = None
    """Tokens that a request and its answer may have together; None when unknown."""
    max_output_tokens: int | None = None
    price: Price | None = None
    """None when it is not known."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    max_retries: int = 4
    """How often a failed request is sent again, when it is worth it."""
    connect_timeout: float = 15.0
    idle_timeout: float = 300.0
    """Seconds without any new text, reasoning or call until a request counts as dead."""
    temperature: float | None = None
    extra_body: Mapping[str, object] = field(default_factory=dict)
    """Further keys of the request body, sent as they are."""
    tool_schemas: Literal["openai", "anthropic", "gemini", "generic"] | None = None
    """Whose rules the schemas of tools are made to fit; None lets address and name decide."""
