"""The filters that scripts have beside jinja's own: they turn what tools say into values."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from posixpath import basename, dirname, join, normpath, splitext
from typing import Any

from hub.models.script.values import as_json

_MORE = re.compile(r"^\[(\d[\d,]*) more\b[^\n]*\]$", re.MULTILINE)
_NOTE = re.compile(r"\[(?:\d[\d,]* |stopped |ignored: ).*\]|no (?:file|line) matches|--")
_NUMBER = re.compile(r"(?:(?<![\w-])-)?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)")
_TREE_LINE = re.compile(r"(?P<indent> *)(?P<name>.+?)(?:(?P<mark>[/@])|  (?P<size>[\d.]+[kMG]?))?")
_SIZE = re.compile(r"\s*(?P<number>[\d,]*\.?\d+)\s*(?P<unit>[kKMGT]?)(?P<binary>i?)[bB]?")
_ABSENT = object()


def listed(text: str) -> list[str]:
    """Return the lines of a listing without notes, separators and empty lines."""
    return [line for line in lines(text) if not _NOTE.fullmatch(line.strip())]


def count_lines(text: str) -> int:
    """Count the lines of a listing, those included that its last line says it left out."""
    more = _MORE.findall(text)
    return len(listed(text)) + (int(more[-1].replace(",", "")) if more else 0)


def lines(text: str) -> list[str]:
    """Return the lines that are not blank."""
    return [line for line in text.splitlines() if line.strip()]


def number(text: Any, default: Any = _ABSENT) -> Any:
    """Return the first whole number in a text; an error, or the default, when there is none."""
    found = _NUMBER.search(str(text))
    if found:
        return int(found.group().replace(",", ""))
    if default is _ABSENT:
        raise ValueError(f"there is no number in {str(text)[:80]!r}")
    return default


def size(text: Any) -> int:
    """Return the bytes that ``1.2k``, ``45 MB`` or ``3 KiB`` stand for."""
    found = _SIZE.fullmatch(str(text).strip())
    if not found:
        raise ValueError(f"{str(text)[:80]!r} is no size")
    step = 1024 if found["binary"] else 1000
    power = " KMGT".index(found["unit"].upper() or " ")
    return round(float(found["number"].replace(",", "")) * float(step) ** power)


def tree(text: str) -> list[dict[str, Any]]:
    """Return the entries of an indented listing: ``path``, ``kind`` and for files ``size``.

    The first line is the folder that is listed; paths start from there. ``size`` is in bytes, as
    exact as the listing.
    """
    found: list[dict[str, Any]] = []
    folders: list[str] = []
    for line in listed(text)[1:]:
        match = _TREE_LINE.fullmatch(line)
        depth = len(match["indent"]) // 2 if match else 0
        if not match or len(match["indent"]) % 2 or not 0 < depth <= len(folders) + 1:
            raise ValueError(f"this line is not of a listing: {line[:80]!r}")
        del folders[depth - 1 :]
        path = "/".join([*folders, match["name"]])
        kind = {"/": "dir", "@": "link", None: "file"}[match["mark"]]
        entry = {"path": path, "kind": kind}
        found.append(entry | ({"size": size(match["size"] or 0)} if kind == "file" else {}))
        folders.append(match["name"])
    return found


def regex_findall(text: str, pattern: str) -> list[Any]:
    """Return all matches, or the groups of each."""
    return re.findall(pattern, text, re.MULTILINE)


def regex_search(text: str, pattern: str, default: Any = "") -> Any:
    """Return the first group of the first match, or the match; the default when there is none."""
    found = re.search(pattern, text, re.MULTILINE)
    if not found:
        return default
    return found.group(1) if found.re.groups else found.group()


def regex_rows(text: str, pattern: str) -> list[dict[str, Any]]:
    """Return the named groups of each match; groups of digits alone are numbers."""
    compiled = re.compile(pattern, re.MULTILINE)
    if not compiled.groupindex:
        raise ValueError("the pattern has no named groups such as (?P<name>…)")
    return [
        {name: _valued(value) for name, value in match.groupdict().items()}
        for match in compiled.finditer(text)
    ]


def regex_replace(text: str, pattern: str, new: str) -> str:
    """Replace every match; ``\\1`` is the first group."""
    return re.sub(pattern, new, text, flags=re.MULTILINE)


def matching(items: Iterable[Any], pattern: str) -> list[Any]:
    """Keep the items in which the pattern is found."""
    return [item for item in items if re.search(pattern, str(item))]


def not_matching(items: Iterable[Any], pattern: str) -> list[Any]:
    """Keep the items in which the pattern is not found."""
    return [item for item in items if not re.search(pattern, str(item))]


def count_by(items: Iterable[Any]) -> dict[Any, int]:
    """Count equal items, the most frequent first."""
    counts = Counter(items)
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], str(pair[0]))))


def zipped(first: Iterable[Any], *others: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Join lists of equal length item by item."""
    lists = [list(items) for items in (first, *others)]
    if len(set(map(len, lists))) > 1:
        raise ValueError(f"the lists differ in length: {', '.join(str(len(i)) for i in lists)}")
    return list(zip(*lists, strict=True))


def rows(items: Iterable[Any], *names: str) -> list[dict[str, Any]]:
    """Name the parts of each item."""
    found = [tuple(item) for item in items]
    if wrong := next((item for item in found if len(item) != len(names)), None):
        raise ValueError(f"an item has {len(wrong)} parts, and there are {len(names)} names")
    return [dict(zip(names, item, strict=True)) for item in found]


def table(items: Sequence[Any], columns: Sequence[str] | None = None) -> str:
    """Return rows as a Markdown table; numbers stand to the right."""
    found = [
        dict(item if isinstance(item, Mapping) else zip(columns or count(), item, strict=False))
        for item in items
    ]
    names = list(columns or (found[0] if found else ()))
    if not names:
        return ""
    cells = [[row.get(name, "") for name in names] for row in found]
    sides = [{isinstance(row[at], int | float) for row in cells} for at in range(len(names))]
    head = [names, ["---:" if side == {True} else "---" for side in sides]]
    return "\n".join("| " + " | ".join(map(_cell, row)) + " |" for row in [*head, *cells])


def path_from(target: str, file: str) -> str:
    """Return the path that a link in a file leads to, relative to the workspace."""
    return normpath(join(dirname(file), target))


def suffix(path: str) -> str:
    """Return ``.py`` of ``a/b.py``."""
    return splitext(path)[1]


def _valued(value: str | None) -> Any:
    return int(value) if value and value.isascii() and value.isdigit() else value or ""


def _cell(value: Any) -> str:
    return " ".join(str(value).split()).replace("|", "\\|")


FILTERS: dict[str, Callable[..., Any]] = {
    "basename": basename,
    "count_by": count_by,
    "count_lines": count_lines,
    "dirname": dirname,
    "from_json": json.loads,
    "lines": lines,
    "listed": listed,
    "matching": matching,
    "not_matching": not_matching,
    "number": number,
    "path_from": path_from,
    "regex_findall": regex_findall,
    "regex_replace": regex_replace,
    "regex_rows": regex_rows,
    "regex_search": regex_search,
    "rows": rows,
    "size": size,
    "split": lambda text, separator=None: text.split(separator),
    "suffix": suffix,
    "table": table,
    "to_json": as_json,
    "tree": tree,
    "zip": zipped,
}
