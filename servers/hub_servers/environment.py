"""Builds the environment of a child process from an allow-list, never from all there is."""

import os
from collections.abc import Iterable, Mapping

ALLOWED = ("PATH", "HOME", "LANG", "LC_*", "TERM", "TZ", "USER", "SHELL", "TMPDIR")
"""Names that every child gets; a name that ends in ``*`` stands for all that begin so."""


def allowed_environment(
    extra: Iterable[str] = (), *, source: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the variables of ``source`` (default: ours) that are allowed.

    An item of ``extra`` is one more name, or ``NAME=VALUE`` to set a variable.

    Raises:
        ValueError: an item of ``extra`` is neither.
    """
    extra = list(extra)
    for item in extra:
        if not item.partition("=")[0] or "\0" in item:
            raise ValueError(f"environment: {item!r} is neither NAME nor NAME=VALUE")
    source = os.environ if source is None else source
    assigned = dict(item.split("=", 1) for item in extra if "=" in item)
    names = [*ALLOWED, *(item for item in extra if "=" not in item)]
    exact = {name for name in names if not name.endswith("*")}
    prefixes = tuple(name[:-1] for name in names if name.endswith("*"))
    chosen = {
        name: value for name, value in source.items() if name in exact or name.startswith(prefixes)
    }
    return chosen | assigned
