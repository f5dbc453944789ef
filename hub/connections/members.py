"""What servers list, kind by kind: how it is asked for, told apart, and read."""

from collections.abc import Callable
from typing import Any

from mcp import types
from msgspec import Struct

from hub.core.ports import RemotePrompt, RemoteResource, RemoteTool

Member = RemoteTool | RemotePrompt | RemoteResource


class Kind(Struct, frozen=True):
    """One kind of what a server can list."""

    name: str
    """As in ``the list of NAME``."""
    one: str
    """A single member of it."""
    announced_as: str
    """Announcements of which list concern it; the same word names its capability."""
    field: str
    """Name of the list in a page, as Python has it."""
    identity: str
    """The member that tells two of them apart."""
    request: Callable[[types.PaginatedRequestParams], Any]
    read: Callable[[dict[str, Any]], Member]
    complaint: Callable[[dict[str, Any]], str] = lambda _entry: ""
    """Why one is left out, as a phrase that follows its name; empty when it is not."""
    oddity: Callable[[dict[str, Any]], str] = lambda _entry: ""
    """What is odd about one that is kept."""

    def is_declared(self, capabilities: types.ServerCapabilities) -> bool:
        """Say whether a server says that it has such a list."""
        return getattr(capabilities, self.announced_as, None) is not None

    def is_announced(self, capabilities: types.ServerCapabilities) -> bool:
        """Say whether a server says that it tells changes of the list."""
        capability = getattr(capabilities, self.announced_as, None)
        return bool(capability is not None and capability.list_changed)


def _needs_task(entry: dict[str, Any]) -> str:
    execution = entry.get("execution")
    needed = isinstance(execution, dict) and execution.get("taskSupport") == "required"
    return "runs only as a task" if needed else ""


def _without_schema(entry: dict[str, Any]) -> str:
    if isinstance(entry.get("inputSchema"), dict):
        return ""
    return "has no input schema; it is taken to have no arguments"


def _tool(entry: dict[str, Any]) -> RemoteTool:
    schema, output = entry.get("inputSchema"), entry.get("outputSchema")
    return RemoteTool(
        name=str(entry.get("name")),
        description=_text(entry.get("description")),
        input_schema=schema if isinstance(schema, dict) else {"type": "object"},
        output_schema=output if isinstance(output, dict) else None,
        title=_text(entry.get("title")),
        annotations=_map(entry.get("annotations")),
        meta=_map(entry.get("_meta")),
    )


def _prompt(entry: dict[str, Any]) -> RemotePrompt:
    arguments = entry.get("arguments")
    return RemotePrompt(
        name=str(entry.get("name")),
        title=_text(entry.get("title")),
        description=_text(entry.get("description")),
        arguments=tuple(
            argument
            for argument in (arguments if isinstance(arguments, list) else [])
            if isinstance(argument, dict) and isinstance(argument.get("name"), str)
        ),
    )


def _resource(entry: dict[str, Any]) -> RemoteResource:
    template = entry.get("uriTemplate")
    return RemoteResource(
        uri=_text(template or entry.get("uri")),
        name=_text(entry.get("name")),
        title=_text(entry.get("title")),
        description=_text(entry.get("description")),
        mime_type=_text(entry.get("mimeType")),
        template=bool(template),
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _map(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


TOOLS = Kind(
    "tools", "tool", "tools", "tools", "name",
    lambda params: types.ListToolsRequest(params=params),
    _tool, _needs_task, _without_schema,
)  # fmt: skip
PROMPTS = Kind(
    "prompts", "prompt", "prompts", "prompts", "name",
    lambda params: types.ListPromptsRequest(params=params),
    _prompt,
)  # fmt: skip
RESOURCES = Kind(
    "resources", "resource", "resources", "resources", "uri",
    lambda params: types.ListResourcesRequest(params=params),
    _resource,
)  # fmt: skip
TEMPLATES = Kind(
    "resource templates", "resource template", "resources", "resource_templates", "uriTemplate",
    lambda params: types.ListResourceTemplatesRequest(params=params),
    _resource,
)  # fmt: skip
KINDS = (TOOLS, PROMPTS, RESOURCES, TEMPLATES)
