"""From the arguments that a model gave to those that the server is sent. Pure.

Undoes what lowering did to a schema (names that model servers refuse, values that they can only be
given as JSON text), refuses hidden arguments, and puts in what the settings say.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

EACH = "*"
"""In a path: each item of the array."""


class Restore(Struct, frozen=True):
    """One thing that was changed about an argument so that model servers accept the tool."""

    path: tuple[str, ...]
    """Names as the server knows them, from the top; ``EACH`` stands for the items of an array."""
    kind: Literal["name", "json", "object"]
    """``name``: the model knows it by another name. ``json``: the model gives it as JSON text;
    ``object``: the same, but only the text of an object or array counts as that."""
    name: str = ""
    """The other name."""


class Completion(Struct, frozen=True):
    """What is done to the arguments of one tool."""

    hidden: tuple[str, ...] = ()
    defaults: Mapping[str, Any] = {}
    restores: tuple[Restore, ...] = ()

    def __bool__(self) -> bool:
        """Say whether anything is done at all."""
        return bool(self.hidden or self.defaults or self.restores)

    def complete(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments as the server is to have them; the given ones stay as they are.

        Raises:
            ValueError: a hidden argument is given; the message is for the model.
        """
        if not self:
            return arguments
        result = dict(arguments)
        for restore in self.restores:
            if restore.kind == "name" and restore.name in result:
                result[restore.path[0]] = result.pop(restore.name)
        if given := [name for name in self.hidden if name in result]:
            names = ", ".join(repr(name) for name in given)
            raise ValueError(f"The tool has no argument {names}. The call was not run.")
        for restore in self.restores:
            if restore.kind != "name":
                result = _parsed_at(result, restore.path, any_kind=restore.kind == "json")
        for name, value in self.defaults.items():
            if result.get(name) is None:
                result[name] = value
        return result


def _parsed_at(value: Any, path: Sequence[str], *, any_kind: bool) -> Any:
    """Return a value in which the JSON texts at a path are what they stand for."""
    if not path:
        return _parsed(value, any_kind=any_kind) if isinstance(value, str) else value
    step, rest = path[0], path[1:]
    if step == EACH and isinstance(value, list):
        return [_parsed_at(item, rest, any_kind=any_kind) for item in value]
    if isinstance(value, dict) and step in value:
        return {**value, step: _parsed_at(value[step], rest, any_kind=any_kind)}
    return value


def _parsed(text: str, *, any_kind: bool) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if any_kind or isinstance(value, dict | list) else text
