"""One mapping of a script, read key by key: every fault names the line and what to write."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from hub.core.errors import ScriptFileError
from hub.models.script.yaml_lines import Lined

_KINDS = {
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "a text",
    list: "a list",
    type(None): "nothing",
}


class Entry:
    """A mapping of which only some keys are allowed."""

    def __init__(
        self, path: str, data: Any, what: str, keys: Sequence[str] | None = None, *, above: int = 1
    ) -> None:
        """Check the keys; ``keys`` is None where any name may stand, ``above`` the outer line.

        Raises:
            ScriptFileError: the data is no mapping, or has a key that is not known.
        """
        self.path = path
        self.what = what
        self.at = data.line if isinstance(data, Lined) else above
        self.data: Mapping[Any, Any] = data if isinstance(data, Mapping) else {}
        if not isinstance(data, Mapping):
            raise self.fault(f"{what} must be a mapping of keys, not {kind_of(data)}")
        for key in data:
            if keys is not None and key not in keys:
                raise self.fault(f"{what} has an unknown key {key!r}", key, _near(key, keys))

    def __contains__(self, key: str) -> bool:
        return key in self.data

    def line(self, key: str | None = None) -> int:
        """Return the line of a key, or of the mapping."""
        if isinstance(self.data, Lined) and key is not None:
            return self.data.lines.get(key, self.at)
        return self.at

    def fault(self, message: str, key: str | None = None, remedy: str = "") -> ScriptFileError:
        """Return an error at a key's line."""
        return ScriptFileError(message, where=f"{self.path}:{self.line(key)}", remedy=remedy)

    def wrong(self, key: str, wanted: str, remedy: str = "") -> ScriptFileError:
        """Return an error that says what a key's value must be."""
        found = kind_of(self.data.get(key))
        return self.fault(f"{key} of {self.what} must be {wanted}, not {found}", key, remedy)

    def get(self, key: str, default: Any = None) -> Any:
        """Return a value as it is."""
        return self.data.get(key, default)

    def text(self, key: str) -> str | None:
        """Return a text, numbers included; None when it is not given."""
        value = self.get(key)
        if isinstance(value, bool):
            raise self.wrong(key, "a text", "Put it into quotes.")
        if value is None or isinstance(value, str):
            return value
        if isinstance(value, int | float):
            return str(value)
        raise self.wrong(key, "a text")

    def expression(self, key: str) -> str | None:
        """Return an expression; None when it is not given."""
        value = self.get(key)
        return str(value) if isinstance(value, bool) else self.text(key)

    def flag(self, key: str) -> bool | None:
        """Return a truth value; None when it is not given."""
        value = self.get(key)
        if value is None or isinstance(value, bool):
            return value
        raise self.wrong(key, "true or false")

    def number(self, key: str, *, least: int = 0) -> int | None:
        """Return a whole number; None when it is not given."""
        value = self.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.wrong(key, "a whole number")
        if value < least:
            raise self.fault(f"{key} of {self.what} must be at least {least}, not {value}", key)
        return value

    def seconds(self, key: str) -> float | None:
        """Return a duration; None when it is not given."""
        value = self.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
            raise self.wrong(key, "a number of seconds")
        return float(value)

    def choice(self, key: str, known: Sequence[str]) -> str | None:
        """Return one of several words; None when it is not given."""
        value = self.text(key)
        if value is None or value in known:
            return value
        raise self.fault(
            f"{key} of {self.what} is none of {', '.join(known)}: {value!r}",
            key,
            _near(value, known),
        )

    def items(self, key: str) -> list[Any]:
        """Return a list; empty when it is not given."""
        value = self.get(key)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.wrong(key, "a list")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """Return one text or a list of texts; empty when it is not given."""
        value = self.get(key)
        if value is None:
            return ()
        found = [value] if isinstance(value, str) else value
        if not isinstance(found, list) or not all(isinstance(item, str) for item in found):
            raise self.wrong(key, "a text or a list of texts")
        return tuple(found)

    def entry(self, key: str, keys: Sequence[str] | None = None, what: str = "") -> "Entry":
        """Return the mapping under a key; an empty one when it is not given."""
        value = self.get(key)
        given = {} if value is None else value
        return Entry(self.path, given, what or key, keys, above=self.line(key))

    def entries(self, key: str, what: str, keys: Sequence[str]) -> Iterator["Entry"]:
        """Return the mappings of the list under a key."""
        for item in self.items(key):
            yield Entry(self.path, item, what, keys, above=self.line(key))

    def names(self, check: Callable[[str], str]) -> dict[str, Any]:
        """Return the values by name; ``check`` says what is wrong with a name."""
        for name in self.data:
            problem = check(name) if isinstance(name, str) else "it is no text"
            if problem:
                raise self.fault(f"{name!r} cannot be a name in {self.what}: {problem}", name)
        return dict(self.data)


def kind_of(data: Any) -> str:
    """Say in words what some data is."""
    return _KINDS.get(type(data), "a mapping" if isinstance(data, Mapping) else "a value")


def _near(word: Any, known: Sequence[str]) -> str:
    near = get_close_matches(str(word), known, n=1)
    return f"Did you mean {near[0]!r}?" if near else f"Known are: {', '.join(known)}."
