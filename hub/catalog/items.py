"""One tool of one server: its name, the rules that changed it, its form for each model."""

import hashlib
import json
from typing import Any

from msgspec import Struct, field, to_builtins

from hub.catalog.arguments import Completion
from hub.catalog.explain import Explained, Profile, Touch, Translated
from hub.catalog.keywords import Json
from hub.catalog.profiles import Form, translated
from hub.catalog.schemas import Lowered, Untranslatable, as_mapping, lowered, names_in
from hub.catalog.touches import touches_of
from hub.core.messages import ToolOutcome, ToolSpec
from hub.core.ports import CallContext, RemoteTool, Servers
from hub.core.servers import ServerSpec, ToolRule

REMOVED = "tool_removed"
"""Kind of the outcome of a call to a tool that its server has taken back."""


class Item(Struct):
    """One tool of one server. What models see of it is worked out when it is first asked for."""

    server: ServerSpec
    said: RemoteTool
    name: str
    """The model-facing name."""
    rule: ToolRule | None = None
    renamed: bool = False
    other_names: tuple[str, ...] = ()
    alias: str = ""
    touches: tuple[Touch, ...] = ()
    """What aliases and gates did; the rules of the server itself are told by ``explained``."""
    withheld: str = ""
    """Why no role is offered it; empty when roles may be."""
    gone: bool = False
    """The server has taken it back since."""
    sound: Lowered | None = None
    forms: dict[str, Form | str] = field(default_factory=dict)
    """By profile: its form, or why there is none."""

    def lowered(self) -> Lowered:
        """Return the server's schema made sound.

        Raises:
            Untranslatable: there is no such form of it.
        """
        if self.sound is None:
            self.sound = lowered(self.said.input_schema)
        return self.sound

    def form(self, profile: Profile) -> Form | str:
        """Return what models of a profile see, or why there is nothing that they could."""
        if (known := self.forms.get(profile)) is None:
            known = self.forms[profile] = self._form(profile)
        return known

    def _form(self, profile: Profile) -> Form | str:
        told = self.said.description or self.said.title
        try:
            sound = self.lowered()
            schema = sound.parameters
            if self.rule is not None:
                told = self.rule.description or told
                schema = ruled(schema, self.rule)
            return translated(self.name, told, schema, profile)
        except Untranslatable as error:
            return str(error)

    def completion(self, profile: Profile) -> Completion:
        """Return what is done to the arguments that a model of a profile gives."""
        form, rule = self.form(profile), self.rule
        restores = form.restores if isinstance(form, Form) else ()
        if rule is None:
            return Completion(restores=restores)
        return Completion(tuple(rule.hidden), dict(rule.defaults), restores)

    def explained(self, profile: Profile) -> Explained:
        """Return all that is known of it."""
        form = self.form(profile)
        seen = form if isinstance(form, Form) else None
        refused = form if isinstance(form, str) else ""
        sound = self.sound.changes if self.sound is not None else ()
        return Explained(
            name=self.name,
            server=self.server.name,
            tool=self.said.name,
            profile=profile,
            said=self.said,
            digest=digest_of(self.said),
            alias=self.alias,
            other_names=self.other_names,
            rules=(*touches_of(self.server, self.said.name, renamed=self.renamed), *self.touches),
            transforms=(*sound, *(seen.changes if seen else ())),
            withheld=self.withheld or refused,
            description=seen.description if seen else "",
            parameters=seen.parameters if seen else None,
        )


def ruled(schema: Json, rule: ToolRule) -> Json:
    """Return a sound schema without hidden arguments, and with those that are put in optional."""
    properties = as_mapping(schema.get("properties"))
    result = dict(schema)
    result["properties"] = {
        name: part for name, part in properties.items() if name not in rule.hidden
    }
    free = {*rule.hidden, *rule.defaults}
    if "required" in result:
        result["required"] = [name for name in names_in(result["required"]) if name not in free]
    return result


def digest_of(tool: RemoteTool) -> str:
    """Return a SHA-256 over all that a server said of a tool, as 64 hex digits."""
    text = json.dumps(to_builtins(tool), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def translation(tool: RemoteTool, name: str, profile: Profile) -> Translated:
    """Return what a profile makes of a tool as its server gave it."""
    try:
        sound = lowered(tool.input_schema)
        form = translated(name, tool.description or tool.title, sound.parameters, profile)
    except Untranslatable as error:
        return Translated(tool.name, profile, refused=str(error))
    return Translated(tool.name, profile, (*sound.changes, *form.changes))


class McpTool:
    """The Tool port over a tool of an MCP server, for the models of one profile."""

    __slots__ = ("_forms", "_spec", "item", "profile", "servers")

    def __init__(self, item: Item, servers: Servers, profile: Profile = "generic") -> None:
        self.item = item
        """What it is."""
        self.profile: Profile = profile
        """Whose models see it in this form."""
        self.servers = servers
        """Where it is called."""
        self._spec: ToolSpec | None = None
        self._forms: dict[Profile, McpTool] = {}

    @property
    def withheld(self) -> str:
        """Why it is not offered; empty when it is."""
        form = self.item.form(self.profile)
        return self.item.withheld or (form if isinstance(form, str) else "")

    @property
    def spec(self) -> ToolSpec:
        """How it is offered."""
        if self._spec is None:
            self._spec = self._made()
        return self._spec

    @property
    def validation_schema(self) -> dict[str, Any]:
        """What arguments are checked against: the server's own schema, unless it is broken."""
        sound = self.item.lowered()
        return sound.parameters if sound.broken else self.item.said.input_schema

    @property
    def output_schema(self) -> dict[str, Any] | None:
        """What its server promises of the structured content of results."""
        return self.item.said.output_schema

    def to(self, profile: Profile) -> "McpTool":
        """Return the same tool for the models of another profile; the same one each time."""
        if profile == self.profile:
            return self
        if (known := self._forms.get(profile)) is None:
            known = self._forms[profile] = McpTool(self.item, self.servers, profile)
        return known

    def complete(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments as the server is to have them.

        Raises:
            ValueError: a hidden argument is given; the message is for the model.
        """
        return self.item.completion(self.profile).complete(arguments)

    def shown(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return complete arguments as a person is shown them: hidden ones may be secrets."""
        hidden = self.item.rule.hidden if self.item.rule else ()
        return {key: "…" if key in hidden else value for key, value in arguments.items()}

    async def call(self, arguments: dict[str, Any], context: CallContext) -> ToolOutcome:
        """Call the tool at its server."""
        item = self.item
        if item.gone:
            text = (
                f"The server {item.server.name!r} no longer offers {item.said.name!r}: its list of "
                "tools has changed. The call was not run."
            )
            return ToolOutcome(text, is_error=True, kind=REMOVED)
        return await self.servers.call(item.server.name, item.said.name, arguments, context)

    def _made(self) -> ToolSpec:
        item, form = self.item, self.item.form(self.profile)
        hints = item.said.annotations
        claims = hints.get("readOnlyHint") is True
        read_only = claims and hints.get("destructiveHint") is not True
        return ToolSpec(
            item.name,
            form.description if isinstance(form, Form) else item.said.description,
            form.parameters if isinstance(form, Form) else {"type": "object", "properties": {}},
            server=item.server.name,
            tool=item.said.name,
            other_names=item.other_names,
            read_only=read_only,
            destructive=not read_only and hints.get("destructiveHint") is not False,
            concurrency_safe=read_only,
        )
