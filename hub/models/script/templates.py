"""Templates and expressions of scripts: jinja2 in its sandbox, with filters for tool results.

In the strings of an expression, a backslash stays where it does not begin one of the escapes
``\\n \\t \\r \\\\ \\' \\" \\xNN \\uNNNN``, so that regular expressions read as they are written.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Protocol

from hub.models.script.filters import FILTERS
from hub.models.script.values import TemplateFault, settled, short

_CODE = re.compile(r"\{[{%].*?[}%]\}", re.DOTALL)
_BACKSLASH = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = frozenset("\\'\"nrtxu\n")
_BEGINNINGS = frozenset({"variable_begin", "block_begin", "comment_begin", "raw_begin", "data"})


class _Environment(Protocol):
    filters: dict[str, Callable[..., Any]]
    globals: dict[str, Any]

    def from_string(self, source: str) -> Any: ...

    def compile_expression(self, source: str, *, undefined_to_none: bool) -> Any: ...

    def lex(self, source: str) -> Iterator[tuple[int, str, str]]: ...


def render(template: Any, context: Mapping[str, Any]) -> Any:
    """Fill in a template: a text, or a structure that holds texts.

    A text that is one ``{{ expression }}`` and nothing else gives the expression's value as it
    is; every other text gives a text.

    Raises:
        TemplateFault: naming the template and the fault.
    """
    if isinstance(template, str):
        return _filled(template, context) if "{" in template else template
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

    def value() -> Any:
        source = expression if "{" not in expression else _whole(expression) or expression
        return settled(_expression(source.strip())(**context), expression)

    return _guarded(expression, value)


def _filled(template: str, context: Mapping[str, Any]) -> Any:
    def value() -> Any:
        whole = _whole(template)
        if whole is None:
            return _template(template).render(context)
        found = settled(_expression(whole.strip())(**context), template)
        if not isinstance(found, str):
            return found
        before = template[: len(template) - len(template.lstrip())]
        return before + found + template[len(template.rstrip()) :]

    return _guarded(template, value)


def _guarded(source: str, run: Callable[[], Any]) -> Any:
    from jinja2 import TemplateError

    try:
        return run()
    except TemplateFault:
        raise
    except TemplateError as error:
        raise TemplateFault(f"{error.message} in {short(source)}") from None
    except Exception as error:  # noqa: BLE001 - whatever a script's expression does is its fault
        raise TemplateFault(f"{type(error).__name__}: {error} in {short(source)}") from None


@lru_cache(maxsize=1)
def _environment() -> _Environment:
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(FILTERS)
    # chance would give another answer each time a conversation is replayed
    del environment.filters["random"]
    del environment.globals["lipsum"]
    return environment


@lru_cache(maxsize=4096)
def _template(source: str) -> Any:
    return _environment().from_string(_CODE.sub(lambda code: _as_written(code.group()), source))


@lru_cache(maxsize=4096)
def _expression(source: str) -> Any:
    return _environment().compile_expression(_as_written(source), undefined_to_none=False)


@lru_cache(maxsize=4096)
def _whole(source: str) -> str | None:
    """Return the expression of a text that is nothing but one; None for any other text."""
    stripped = source.strip()
    if not stripped.startswith("{{"):
        return None
    (_, first, _), *inner, (_, last, _) = _environment().lex(stripped)
    if first != "variable_begin" or last != "variable_end":
        return None
    if any(kind in _BEGINNINGS for _, kind, _ in inner):
        return None
    return "".join(value for _, _, value in inner)


def _as_written(code: str) -> str:
    if "\\" not in code:
        return code
    return _BACKSLASH.sub(
        lambda pair: pair.group() if pair[1] in _ESCAPES else "\\" + pair.group(), code
    )
