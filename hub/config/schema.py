"""The settings: every key, its type, its default and what it means.

The reference page is generated from the texts under the fields. A key that nothing reads does not
exist here.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, Strict

from hub.core.limits import Limits
from hub.core.team import PermissionMode

Count = Annotated[int, Strict(), Field(ge=1)]
NotNegative = Annotated[int, Strict(), Field(ge=0)]
Switch = Annotated[bool, Strict()]
Number = Annotated[float, Strict(), Field(allow_inf_nan=False)]
Dollars = Annotated[float, Strict(), Field(ge=0, allow_inf_nan=False)]
Seconds = Annotated[float, Strict(), Field(gt=0, allow_inf_nan=False)]

ClientName = Literal[
    "claude-desktop",
    "claude-code",
    "vscode",
    "cursor",
    "windsurf",
    "codex",
    "gemini",
    "goose",
    "zed",
]

BUNDLED = ("files", "shell", "notes")
"""The servers that come with the hub, in the order in which their tools are listed."""


class Section(BaseModel):
    """What all parts of the settings have in common."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class PriceEntry(Section):
    """What a model's tokens cost, in US dollars for a million of them."""

    input: Dollars
    """For what is sent."""
    output: Dollars
    """For what is answered, reasoning included."""
    cached: Dollars | None = None
    """For what is sent and comes from a prompt cache; ``null`` takes the price of input."""


class ModelEntry(Section):
    """How one model is reached."""

    api: Literal["chat"] = "chat"
    """The dialect of the endpoint; ``chat`` is Chat Completions."""
    model: str = ""
    """What the endpoint calls the model; empty takes the entry's name."""
    base_url: str = ""
    """Root of the API, such as ``https://host/v1``; empty takes ``OPENAI_BASE_URL``."""
    api_key: str = Field(default="", repr=False)
    """The key, best as ``${env:NAME}``; empty takes ``OPENAI_API_KEY`` unless the entry has a
    ``base_url`` of its own."""
    context_window: Count | None = None
    """Tokens that a request and its answer may have together."""
    max_output_tokens: Count | None = None
    """Most tokens of one answer."""
    price: PriceEntry | None = None
    """What its tokens cost; needed where ``limits.usd`` is set."""
    headers: Mapping[str, str] = Field(default_factory=dict, repr=False)
    """Further headers of each request; values may be ``${env:NAME}``."""
    max_retries: NotNegative = 4
    """How often a failed request is sent again, when that may help."""
    connect_timeout: Seconds = 15.0
    """Seconds until a connection that does not open counts as failed."""
    idle_timeout: Seconds = 300.0
    """Seconds without anything new until a request counts as dead."""
    temperature: Number | None = None
    """Sampling temperature; left out of the request when not given."""
    extra_body: Mapping[str, Any] = Field(default_factory=dict)
    """Further keys of the request body, sent as they are."""
    tool_schemas: Literal["openai", "anthropic", "gemini", "generic"] | None = None
    """Which servers' rules the schemas of tools are made to fit; left out, the address and the name
    of the model decide, and ``generic`` in doubt."""


class ToolEntry(Section):
    """What is changed about one tool of a server, on our side."""

    rename: str = ""
    """Takes the place of the tool's own name in the name that models see."""
    description: str = ""
    """Takes the place of the server's description."""
    defaults: Mapping[str, Any] = Field(default_factory=dict)
    """Arguments that are put in where a call does not give them."""
    hidden: tuple[str, ...] = ()
    """Arguments that models neither see nor give; their values come from ``defaults``."""
    idempotent: Switch | None = None
    """Whether a call may be repeated when it is not known whether it ran."""


class OAuthEntry(Section):
    """How to sign in at a remote server; what is left out is found out or registered."""

    client_id: str = ""
    """The client as which hub is registered."""
    client_secret: str = Field(default="", repr=False)
    """Its secret, best as ``${env:NAME}`` or ``${keyring:NAME}``."""
    scopes: tuple[str, ...] = ()
    """What is asked for; empty asks for what the server names."""
    redirect_port: NotNegative = 0
    """Port on loopback to which the browser comes back; 0 takes a free one."""


class ServerEntry(Section):
    """How one MCP server is started or reached; exactly one of command, url and bundled."""

    command: str = ""
    """Program to start; it speaks MCP over its standard input and output."""
    args: tuple[str, ...] = ()
    """Arguments of the program; they may contain ``${env:NAME}``."""
    env: Mapping[str, str] = Field(default_factory=dict, repr=False)
    """Variables for the program beside the few that every server gets; values may be
    ``${env:NAME}``."""
    cwd: str = ""
    """Folder in which the program starts, relative to the project; empty takes the workspace."""
    url: str = ""
    """Address of a server that speaks MCP over streamable HTTP, or over SSE."""
    headers: Mapping[str, str] = Field(default_factory=dict, repr=False)
    """Headers of each request to ``url``; values may be ``${env:NAME}``."""
    bundled: Literal["files", "shell", "notes"] | None = None
    """One of the servers that come with the hub."""
    transport: Literal["memory", "stdio", "http", "sse"] | None = None
    """For bundled servers: ``memory``, inside of the hub (the default), or ``stdio``, as a process.
    For a url: ``http`` (the default), or ``sse``, the older way."""
    enabled: Switch = True
    """``false`` leaves the server out."""
    start_timeout: Seconds = 30.0
    """Seconds until a server that has not answered the handshake counts as failed."""
    call_timeout: Seconds = 300.0
    """Seconds that one call may take."""
    allow: tuple[str, ...] = ("*",)
    """Patterns over the server's own tool names; only what matches is offered."""
    deny: tuple[str, ...] = ()
    """Patterns over the server's own tool names; what matches is not offered."""
    tools: Mapping[str, ToolEntry] = Field(default_factory=dict)
    """Changes to single tools, by the server's own name of the tool."""
    idle_timeout: Seconds | None = 600.0
    """Seconds without a call after which the server is stopped; the next call starts it again.
    ``null``: never."""
    stateful: Literal["shared", "per-agent"] | None = None
    """``shared``: the server remembers things between calls, so it is not stopped while idle.
    ``per-agent``: each agent gets a process, or a session, of its own."""
    serial: Switch = False
    """The server takes one call at a time; further ones wait."""
    oauth: OAuthEntry | None = None
    """How to sign in, where the server asks for it and the usual way does not do."""
    may_ask: tuple[Literal["elicitation", "roots", "sampling"], ...] = ("elicitation",)
    """What the server may ask in the middle of a call: ``elicitation``, a question to you;
    ``roots``, where the workspace is (some servers then use it in place of the folders that their
    arguments name); ``sampling``, an answer of the calling agent's model."""


class Permissions(Section):
    """Which calls may happen. Lists of all layers add up; deny beats ask beats allow."""

    mode: PermissionMode = "default"
    """What holds where no rule speaks, and the widest that any role may do. From the tightest:
    ``deny``, ``plan``, ``default``, ``accept_edits``, ``bypass``."""
    allow: tuple[str, ...] = ()
    """Patterns over model-facing tool names that run without a question."""
    ask: tuple[str, ...] = ()
    """Patterns over model-facing tool names that run only after a yes."""
    deny: tuple[str, ...] = ()
    """Patterns over model-facing tool names that never run."""


class JobSettings(Section):
    """How dispatched jobs are run."""

    in_tree: Count = 256
    """Jobs of one run that work at the same time; more wait their turn."""
    answer_seconds: Seconds = 600.0
    """Seconds that a child waits for the answer to a question."""


class LimitSettings(Section):
    """What one agent may use; ``null`` means unbounded. A role may set its own."""

    steps: Count | None = 100
    """Model requests of one turn."""
    tool_calls: NotNegative | None = 500
    """Tool calls of one turn."""
    seconds: Seconds | None = None
    """Wall time of one turn."""
    tokens: Count | None = None
    """Input and output tokens, those of all children included."""
    usd: Dollars | None = None
    """US dollars, those of all children included; needs a ``price`` for every model in reach."""
    tree_steps: Count | None = None
    """Model requests of the whole session, those of all children included."""
    tree_tool_calls: NotNegative | None = None
    """Tool calls of the whole session, those of all children included."""
    depth: NotNegative = 3
    """How many levels of children may exist below the first agent."""

    def as_limits(self) -> Limits:
        """Return the same bounds as the value that agents carry."""
        return Limits(**self.model_dump())


class GateEntry(Section):
    """A condition without which tools are not offered; all that is given has to hold."""

    env: str = ""
    """A variable that has to be set."""
    file: str = ""
    """A path within the workspace that has to exist."""
    platform: tuple[Literal["linux", "darwin", "win32"], ...] = ()
    """Systems of which this has to be one."""


class CatalogSettings(Section):
    """How tools are offered to models."""

    budget: Count | None = 15_000
    """Tokens, by estimate, that a role's tools may take in each request. When they take more, the
    model gets the bundled tools, the hub's own, and ``tool_search``, which loads what it finds.
    ``null``: all tools are always sent."""
    patience: Seconds = 1.0
    """Seconds that a run waits at least for servers whose tools are not known yet. Once the tools
    of some are known it starts without the others; before, it waits up to ten times as long. What
    comes later joins the tools that are offered."""


class ResultSettings(Section):
    """What becomes of large results."""

    inline: Annotated[int, Strict(), Field(ge=1000)] = 25_000
    """Characters of one result that a model is shown. A longer one is kept whole on disk, and the
    model gets a preview with a handle for ``read_result``."""
    preview: Annotated[int, Strict(), Field(ge=500)] = 6_000
    """Characters of such a preview, never more than ``inline``."""
    keep_days: Count = 30
    """Days for which large results are kept after they were last read."""
    quota_mb: Count = 1024
    """Megabytes that all kept results may take; the oldest go first."""


class Settings(Section):
    """Everything that the layers of settings decide together."""

    model: str | None = None
    """The model of every role that names none: an entry of ``models``, a name that the default
    endpoint knows, or ``script:FILE``."""
    role: str = "lead"
    """The role that a run starts with."""
    models: Mapping[str, ModelEntry] = Field(default_factory=dict)
    """Models by the name that ``model`` and roles use."""
    servers: Mapping[str, ServerEntry] = Field(default_factory=dict)
    """MCP servers by name; the name is the first half of their tools' names."""
    servers_from: tuple[ClientName, ...] = ()
    """Other clients whose MCP servers are used as well, read at each run; each server needs an
    approval. Where two list a server of one name, the client that is named first wins."""
    aliases: Mapping[str, str] = Field(default_factory=dict)
    """Short names by the tool's model-facing name: the tool is offered under the short one in place
    of its own. Rules may speak of it by either."""
    gates: Mapping[str, GateEntry] = Field(default_factory=dict)
    """By a pattern over model-facing tool names: conditions without which these are not offered."""
    permissions: Permissions = Field(default_factory=Permissions)
    """Which calls may happen."""
    limits: LimitSettings = Field(default_factory=LimitSettings)
    """What one agent may use."""
    catalog: CatalogSettings = Field(default_factory=CatalogSettings)
    """How tools are offered to models."""
    results: ResultSettings = Field(default_factory=ResultSettings)
    """What becomes of large results."""
    jobs: JobSettings = Field(default_factory=JobSettings)
    """How dispatched jobs are run."""
    claude_agents: Switch = False
    """Also load the sub-agents of the project's ``.claude/agents`` as roles."""
