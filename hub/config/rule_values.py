"""References inside of the default arguments of tools, replaced for the run that needs them."""

from collections.abc import Mapping, Sequence
from glob import escape
from typing import Any

from msgspec.structs import replace

from hub.config.references import holds_reference, resolve
from hub.core.errors import ConfigError
from hub.core.servers import ServerSpec, ToolRule


def with_values(
    specs: Sequence[ServerSpec], environ: Mapping[str, str]
) -> tuple[list[ServerSpec], list[str]]:
    """Return specs whose rules hold values in place of references, and what is wrong.

    A tool whose value is not there is denied, and named; it would be called with half of what it
    needs. It may wait for the keyring of the system.
    """
    problems: list[str] = []
    return [_filled(spec, environ, problems) for spec in specs], problems


def _filled(spec: ServerSpec, environ: Mapping[str, str], problems: list[str]) -> ServerSpec:
    rules: dict[str, ToolRule] = {}
    for name, rule in spec.tools.items():
        if not _refers(dict(rule.defaults)):
            continue
        where = f"{rule.origin} (servers.{spec.name}.tools.{name}.defaults)"
        try:
            values = {key: _value(part, environ, where) for key, part in rule.defaults.items()}
        except ConfigError as error:
            problems.append(f"{error.where}: {error.message}; the tool {name!r} is withheld")
            spec = replace(spec, deny=(*spec.deny, escape(name)))
        else:
            rules[name] = replace(rule, defaults=values)
    return replace(spec, tools={**spec.tools, **rules}) if rules else spec


def _refers(value: Any) -> bool:
    if isinstance(value, str):
        return holds_reference(value)
    if isinstance(value, Mapping):
        return any(_refers(part) for part in value.values())
    return isinstance(value, list) and any(_refers(part) for part in value)


def _value(value: Any, environ: Mapping[str, str], where: str) -> Any:
    if isinstance(value, str):
        return resolve(value, environ, where=where)
    if isinstance(value, Mapping):
        return {key: _value(part, environ, where) for key, part in value.items()}
    if isinstance(value, list):
        return [_value(part, environ, where) for part in value]
    return value
