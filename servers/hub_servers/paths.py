"""Keeps every path inside one root folder, symbolic links resolved.

The check is made on the resolved path, just before use. It stops a path that leads outside; it
cannot stop another process that swaps a folder for a link between the check and the use.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hub_servers.errors import ToolError

_UNPRINTABLE = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


@dataclass(frozen=True, slots=True)
class Place:
    """A path that was checked to be inside the root."""

    path: Path
    """The resolved absolute path."""
    name: str
    """The path as it is shown: relative to the root, on one line."""


@dataclass(frozen=True, slots=True)
class Root:
    """A folder that nothing leaves."""

    path: Path
    """The resolved absolute path."""

    @classmethod
    def at(cls, path: Path) -> "Root":
        """Return the root at an existing folder.

        Raises:
            NotADirectoryError: there is no such folder.
        """
        real = Path(os.path.realpath(path))
        if not real.is_dir():
            raise NotADirectoryError(f"'{path}' is not a folder that exists")
        return cls(real)

    def place(self, given: str) -> Place:
        """Return what ``given`` (relative to the root, or absolute) stands for.

        Raises:
            ToolError: it leads outside the root, or cannot be a path.
        """
        try:
            real = os.path.realpath(self.path / given)
        except (ValueError, OSError) as error:
            raise ToolError(f"path {given!r:.200} is not usable: {error}") from None
        inside = self._inside(real)
        if inside is not None:
            return Place(Path(real), shown(inside))
        if self._inside(os.path.normpath(self.path / given)) is not None:
            raise ToolError(f"path '{shown(given)}' leads outside the root through a symbolic link")
        raise ToolError(f"path '{shown(given)}' is outside the root; use a path relative to it")

    def _inside(self, path: str) -> str | None:
        root = str(self.path)
        if path == root:
            return "."
        prefix = root if root.endswith(os.sep) else root + os.sep
        return path.removeprefix(prefix) if path.startswith(prefix) else None


def shown(name: str) -> str:
    r"""Return a file name on one line and in valid Unicode, odd characters as ``\xNN``."""
    if name.isascii() and name.isprintable():
        return name
    text = name.encode("utf-8", "surrogatepass" if _has_odd_surrogates(name) else "surrogateescape")
    readable = text.decode("utf-8", "backslashreplace")
    return _UNPRINTABLE.sub(lambda match: ascii(match.group())[1:-1], readable)


@contextmanager
def about(name: str) -> Iterator[None]:
    """Turn an `OSError` inside into a `ToolError` that names the file as it is shown."""
    try:
        yield
    except OSError as error:
        raise ToolError(f"'{name}': {error.strerror or error}") from None


def _has_odd_surrogates(name: str) -> bool:
    return any("\ud800" <= char < "\udc80" or "\udcff" < char <= "\udfff" for char in name)
