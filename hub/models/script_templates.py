"""Templates and expressions of scripts: jinja2 in its sandbox, with filters for tool results."""

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from functools import lru_cache
from posixpath import basename, dirname, join, normpath, splitext
from typing import Any, Protocol

_WHOLE = re.compile(r"\{\{(?P<expression>(?:(?!\{\{|\}\}).)*)\}\}", re.DOTALL)


class TemplateFault(Exception):
    """A template or an expression cannot be read, or fails on what it is given."""


class _Environment(Protocol):
    filters: dict[str, Callable[..., Any]]

    def from_string(self, source: str) -> Any: ...

    def compile_expression(self, source: str, *, undefined_to_none: bool) -> Any: ...


def render(template: Any, context: Mapping[str, Any]) -> Any:
    """Fill in a template: a text, or a structure that holds texts.

    A text that is one ``{{ expression }}`` and nothing else gives the expression's value as it
    is; every other text gives a text.

    Raises:
        TemplateFault: naming the template and the fault.
    """
    if isinstance(template, str):
        if "{" not in template:
            return template
        whole = _WHOLE.fullmatch(template.strip())
        if whole:
            return evaluate(whole["expression"], context)
        return _guarded(template, lambda: _template(template).render(context))
    if isinstance(template, Mapping):
        return {key: render(value, context) for key, value in template.items()}
    if isinstance(template, list):
        return [render(value, context) for value in template]
    return template


def evaluate(expression: str, context: Mapping[str, Any]) -> Any:
    """Return the value of an expression; braces around it are allowed.

    Raises:
        TemplateFault: naming the expression and the fault.
    """
    whole = _WHOLE.fullmatch(expression.strip())
    source = (whole["expression"] if whole else expression).strip()

    def value() -> Any:
        found = _expression(source)(**context)
        if _is_undefined(found):
            raise TemplateFault(f"{source!r} has no value")
        return found

    return _guarded(source, value)


def known_filters() -> list[str]:
    """Return the names of the filters that scripts have beside jinja's own."""
    return sorted(_FILTERS)


def _guarded(source: str, run: Callable[[], Any]) -> Any:
    from jinja2 import TemplateError

    try:
        return run()
    except TemplateFault:
        raise
    except TemplateError as error:
        raise TemplateFault(f"{error.message} in {_short(source)}") from None
    except Exception as error:  # noqa: BLE001 - whatever a script's expression does is its fault
        raise TemplateFault(f"{type(error).__name__}: {error} in {_short(source)}") from None


def _short(source: str) -> str:
    flat = " ".join(source.split())
    return repr(flat if len(flat) <= 120 else flat[:119] + "…")


def _is_undefined(value: Any) -> bool:
    from jinja2 import Undefined

    return isinstance(value, Undefined)


@lru_cache(maxsize=1)
def _environment() -> _Environment:
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined, autoescape=False, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(_FILTERS)
    return environment


@lru_cache(maxsize=4096)
def _template(source: str) -> Any:
    return _environment().from_string(source)


@lru_cache(maxsize=4096)
def _expression(source: str) -> Any:
    return _environment().compile_expression(source, undefined_to_none=False)


def _findall(text: str, pattern: str) -> list[Any]:
    return re.findall(pattern, text, re.MULTILINE)


def _search(text: str, pattern: str, default: Any = "") -> Any:
    found = re.search(pattern, text, re.MULTILINE)
    if not found:
        return default
    return found.group(1) if found.re.groups else found.group()


def _path_from(target: str, file: str) -> str:
    """Return the path that a link in a file leads to, relative to the workspace."""
    return normpath(join(dirname(file), target))


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


def _count_by(items: Any) -> dict[Any, int]:
    counts = Counter(items)
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], str(pair[0]))))


_FILTERS: dict[str, Callable[..., Any]] = {
    "regex_findall": _findall,
    "regex_search": _search,
    "regex_replace": lambda text, pattern, new: re.sub(pattern, new, text, flags=re.MULTILINE),
    "matching": lambda items, pattern: [i for i in items if re.search(pattern, str(i))],
    "not_matching": lambda items, pattern: [i for i in items if not re.search(pattern, str(i))],
    "lines": _lines,
    "split": lambda text, separator=None: text.split(separator),
    "to_json": lambda value: json.dumps(value, ensure_ascii=False),
    "from_json": json.loads,
    "basename": basename,
    "dirname": dirname,
    "path_from": _path_from,
    "suffix": lambda path: splitext(path)[1],
    "count_by": _count_by,
}
