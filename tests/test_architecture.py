"""The layout holds: direction of imports, homes of libraries, sizes and names.

Each rule reports everything that breaks it, with file and line. The rules are tried on planted
faults too, so that a rule that has gone blind fails.
"""

import ast
import re
import sys
import tokenize
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests import architecture_rules as rules

ROOT = Path(__file__).parents[1]
FIRST_PARTY = {"hub", "hub_servers"}
_MODULE_NAME = re.compile(r"hub(_servers)?(\.\w+)+")


@dataclass(frozen=True)
class Import:
    """One import of one module, or one name of a module in a string that is imported later."""

    module: str
    name: str
    """What is taken from it; empty when it is the module itself."""
    line: int
    late: bool = False
    """Inside of a function."""
    typing_only: bool = False
    as_program: bool = False
    """Only when the module is run as a program."""
    named: bool = False
    """Not imported here, but named in a string."""

    @property
    def top(self) -> str:
        return self.module.split(".")[0]


@dataclass(frozen=True)
class Source:
    """One module of the product."""

    path: str
    """Relative to the root of the repository."""
    text: str

    @property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @property
    def module(self) -> str:
        parts = Path(self.path.removeprefix("servers/")).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @property
    def part(self) -> str:
        return part_of(self.module)


Rule = Callable[[list[Source]], Iterator[str]]
RULES: dict[str, Rule] = {}


def rule(check: Rule) -> Rule:
    RULES[check.__name__] = check
    return check


def part_of(module: str) -> str:
    """Return the part that a module belongs to; ``hub_servers`` is one of its own."""
    names = module.split(".")
    if names[0] != "hub":
        return names[0]
    return names[1] if len(names) > 1 else "(root)"


def product() -> list[Source]:
    """Read every module that is installed."""
    paths = [*(ROOT / "hub").rglob("*.py"), *(ROOT / "servers").rglob("*.py")]
    return [
        Source(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))
        for path in sorted(paths)
    ]


def imports(source: Source) -> list[Import]:
    """Return every import of a module, those of functions and of strings included."""
    found: list[Import] = []

    def visit(node: ast.AST, *, late: bool, typing_only: bool, as_program: bool) -> None:
        place = {"late": late, "typing_only": typing_only, "as_program": as_program}
        if isinstance(node, ast.Import):
            found.extend(Import(one.name, "", node.lineno, **place) for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            found.extend(Import(module, one.name, node.lineno, **place) for one in node.names)
        elif isinstance(node, ast.Constant) and names_module(node.value):
            found.append(Import(str(node.value), "", node.lineno, late, named=True))
        late = late or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        if isinstance(node, ast.If):
            test = ast.unparse(node.test)
            typing_only = typing_only or "TYPE_CHECKING" in test
            as_program = as_program or test == "__name__ == '__main__'"
        for child in ast.iter_child_nodes(node):
            visit(child, late=late, typing_only=typing_only, as_program=as_program)

    visit(source.tree, late=False, typing_only=False, as_program=False)
    return found


def names_module(value: object) -> bool:
    """Say whether a constant is the full name of one of our modules, to be imported later."""
    if not isinstance(value, str) or not _MODULE_NAME.fullmatch(value):
        return False
    path = (ROOT / "servers" if value.startswith("hub_") else ROOT) / value.replace(".", "/")
    return path.is_dir() or path.with_suffix(".py").is_file()


def may_import(part: str, other: str) -> bool:
    if other in {part, "version"}:
        return True
    if other == "hub_servers":
        return part in rules.BUNDLED_SERVERS
    if part == "hub_servers":
        return False
    allowed = rules.TOP.get(part, frozenset({"core"}) if part in rules.ALL_PARTS else frozenset())
    return other in allowed or (part, other) in rules.EDGES


@rule
def imports_point_inwards(sources: list[Source]) -> Iterator[str]:
    """core <- the parts <- app <- cli, serve; parts do not import each other."""
    for source in sources:
        for one in imports(source):
            if one.top in FIRST_PARTY and not may_import(source.part, part_of(one.module)):
                yield f"{source.path}:{one.line}: {source.part} may not import {one.module}"


@rule
def every_part_is_known(sources: list[Source]) -> Iterator[str]:
    """A new package of hub has a place in the table."""
    known = rules.ALL_PARTS | set(rules.TOP) | {"hub_servers"}
    for source in sources:
        if source.part not in known:
            yield f"{source.path}:1: {source.part} is in no table of architecture_rules.py"


@rule
def libraries_stay_at_home(sources: list[Source]) -> Iterator[str]:
    """A third-party library is imported by the packages that exist to deal with it."""
    for source in sources:
        for one in imports(source):
            if one.top in FIRST_PARTY or one.top in sys.stdlib_module_names or one.named:
                continue
            homes = rules.HOMES.get(one.top, ())
            if not any(_is_below(source.module, home) for home in homes):
                where = ", ".join(homes) or "no part"
                yield f"{source.path}:{one.line}: {one.top} lives in {where}"


def _is_below(module: str, home: str) -> bool:
    """Say whether a module is in a package, or of a family such as ``hub.models.script…``."""
    return module == home or module.startswith((f"{home}.", f"{home}_"))


@rule
def imports_are_absolute_and_at_the_top(sources: list[Source]) -> Iterator[str]:
    """No relative import; a function imports nothing of ours and few things of others."""
    for source in sources:
        for one in imports(source):
            if one.named:
                continue
            place = f"{source.path}:{one.line}:"
            if one.module.startswith("."):
                yield f"{place} a relative import"
            if one.late and one.top in FIRST_PARTY:
                yield f"{place} {one.module} is imported inside of a function"
            if one.late and one.top not in FIRST_PARTY | rules.LATE | sys.stdlib_module_names:
                yield f"{place} {one.top} is quick enough to be imported at the top"
            if one.typing_only and one.top in FIRST_PARTY and source.path not in rules.LAZY_FACES:
                yield f"{place} {one.module} is imported under TYPE_CHECKING"


@rule
def nothing_is_taken_from_the_root_or_from_behind(sources: list[Source]) -> Iterator[str]:
    """Inside of hub nothing comes from ``hub`` itself, and no name with an underscore travels."""
    for source in sources:
        for one in imports(source):
            if one.module == "hub" and not one.named:
                yield f"{source.path}:{one.line}: import from the module that has it, not from hub"
            private = one.name.startswith("_") and not one.name.startswith("__")
            if one.top in FIRST_PARTY and private:
                yield f"{source.path}:{one.line}: {one.name} belongs to {one.module} alone"


@rule
def imports_have_no_cycle(sources: list[Source]) -> Iterator[str]:
    """Modules can be read from the bottom up."""
    modules = {source.module for source in sources}
    graph = {
        source.module: {
            target
            for one in imports(source)
            if not (one.named or one.typing_only or one.as_program)
            for target in (one.module, f"{one.module}.{one.name}")
            if target in modules and target != source.module
        }
        for source in sources
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        paths = {source.module: source.path for source in sources}
        yield f"{paths[error.args[1][0]]}:1: " + " <- ".join(error.args[1])


@rule
def modules_and_functions_stay_small(sources: list[Source]) -> Iterator[str]:
    """A module fits into the head, a function on the screen."""
    needed = set()
    for source in sources:
        lines = source.text.count("\n")
        if lines > rules.MODULE_LINES:
            needed.add(source.path)
            if source.path not in rules.LARGER:
                yield f"{source.path}:1: {lines} lines, at most {rules.MODULE_LINES}"
        for function in functions(source):
            lines = (function.end_lineno or function.lineno) - function.lineno + 1
            if lines > rules.FUNCTION_LINES:
                name = f"{source.path} {function.name}"
                needed.add(name)
                if name not in rules.LARGER:
                    yield (
                        f"{source.path}:{function.lineno}: {function.name} has {lines} lines, "
                        f"at most {rules.FUNCTION_LINES}"
                    )
    for name in rules.LARGER:
        path = name.split(" ")[0]
        if name not in needed and any(source.path == path for source in sources):
            yield f"{path}:1: no longer too large; take {name!r} out of architecture_rules.py"


def functions(source: Source) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(source.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


@rule
def functions_take_few_positional_parameters(sources: list[Source]) -> Iterator[str]:
    """What is many is named at the call."""
    for source in sources:
        for function in functions(source):
            names = [one.arg for one in function.args.posonlyargs + function.args.args]
            count = len([name for name in names if name not in {"self", "cls"}])
            if count > rules.POSITIONAL:
                yield f"{source.path}:{function.lineno}: {function.name} has {count} positional"


@rule
def modules_say_what_they_are_for(sources: list[Source]) -> Iterator[str]:
    """Every module begins with a sentence."""
    for source in sources:
        words = ast.get_docstring(source.tree) or ""
        if len(words.split()) < 2 or not words.split("\n\n")[0].endswith((".", ":", "``")):
            yield f"{source.path}:1: no docstring that says what the module is for"


@rule
def names_say_something(sources: list[Source]) -> Iterator[str]:
    """No drawer for things without a place."""
    for source in sources:
        for name in Path(source.path).with_suffix("").parts:
            for word in rules.DRAWERS & set(name.lower().split("_")):
                yield f"{source.path}:1: {word!r} says nothing of what is inside"
        for node in ast.walk(source.tree):
            if isinstance(node, ast.ClassDef) and node.name.endswith(rules.EMPTY_ENDINGS):
                yield f"{source.path}:{node.lineno}: the ending of {node.name} says nothing"


@rule
def the_product_knows_no_tests(sources: list[Source]) -> Iterator[str]:
    """Nothing behaves differently because it is tested."""
    for source in sources:
        for number, line in enumerate(source.text.splitlines(), 1):
            for word in rules.TEST_MODES:
                if word in line.lower():
                    yield f"{source.path}:{number}: {word}"


@rule
def suppressions_are_few_and_say_why(sources: list[Source]) -> Iterator[str]:
    """Each names its code and its reason, and there is a ceiling."""
    places = []
    for source in sources:
        for number, comment in comments(source):
            if "noqa" not in comment and "type: ignore" not in comment:
                continue
            places.append(f"{source.path}:{number}")
            if re.fullmatch(r"# noqa: [A-Z]+\d+(, [A-Z]+\d+)* - .{8,}", comment):
                continue
            if not re.fullmatch(r"# type: ignore\[[a-z-]+(, [a-z-]+)*\]( - .{8,})?", comment):
                yield f"{source.path}:{number}: a suppression needs a code and a reason: {comment}"
    if len(places) > rules.SUPPRESSIONS:
        yield f"{len(places)} suppressions, at most {rules.SUPPRESSIONS}: {', '.join(places)}"


def comments(source: Source) -> Iterator[tuple[int, str]]:
    lines = iter(source.text.splitlines(keepends=True))
    for token in tokenize.generate_tokens(lambda: next(lines, "")):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


@pytest.mark.parametrize("name", RULES)
def test_the_product_keeps_the_rule(name: str) -> None:
    """Every breach of the rule is reported at once, with file and line."""
    found = list(RULES[name](product()))
    if found:
        pytest.fail(f"{RULES[name].__doc__}\n" + "\n".join(found), pytrace=False)


def test_every_import_is_a_declared_dependency() -> None:
    """What is imported is in pyproject.toml, under its own name or that of what brings it."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    extras = project["optional-dependencies"].values()
    declared = project["dependencies"] + [name for extra in extras for name in extra]
    names = {re.split(r"[<>=!~\[ ]", one)[0].lower().replace("-", "_") for one in declared}
    missing = {one for one in rules.HOMES if rules.COMES_WITH.get(one, one) not in names}
    assert missing == set()


def test_every_exception_is_of_a_part_that_exists() -> None:
    """No table names what has been renamed or removed."""
    known = rules.ALL_PARTS | set(rules.TOP)
    assert {part for edge in rules.EDGES for part in edge} <= known
    assert set(rules.BUNDLED_SERVERS) <= known
    assert all(reason.strip() for reason in [*rules.EDGES.values(), *rules.LARGER.values()])
    gone = [n for n in [*rules.LARGER, *rules.LAZY_FACES] if not (ROOT / n.split(" ")[0]).is_file()]
    assert gone == []


LONG = "def long() -> None:\n" + "    pass\n" * 51
PLANTED = {
    "imports_point_inwards": [
        ("hub/core/a.py", "from hub.config.layers import x\n"),
        ("hub/roles/a.py", "import hub.permissions.policy\n"),
        ("hub/sessions/a.py", "HOME = 'hub.app.open'\n"),
        ("hub/cli/a.py", "from hub.engine.turn import run_turn\n"),
        ("hub/app/a.py", "from hub.cli.main import main\n"),
        ("hub/app/a.py", "import hub_servers.files\n"),
        ("servers/hub_servers/a.py", "from hub.core.text import printable\n"),
    ],
    "every_part_is_known": [("hub/extras/a.py", ""), ("hub/extras.py", "")],
    "libraries_stay_at_home": [
        ("hub/engine/a.py", "import openai\n"),
        ("hub/models/chat/model.py", "import yaml\n"),
        ("hub/app/a.py", "from mcp.types import Tool\n"),
        ("hub/core/a.py", "import requests\n"),
        ("hub/app/a.py", "def f():\n    from rich import print\n"),
    ],
    "imports_are_absolute_and_at_the_top": [
        ("hub/core/a.py", "from . import b\n"),
        ("hub/core/a.py", "from ..app import b\n"),
        ("hub/core/a.py", "def f():\n    import hub.core.text\n"),
        ("hub/cli/a.py", "async def f():\n    import rich\n"),
        ("hub/core/a.py", "if TYPE_CHECKING:\n    from hub.core import text\n"),
        ("hub/core/a.py", "if typing.TYPE_CHECKING:\n    from hub.core import text\n"),
    ],
    "nothing_is_taken_from_the_root_or_from_behind": [
        ("hub/cli/a.py", "from hub import open_hub\n"),
        ("hub/cli/a.py", "import hub\n"),
        ("hub/core/a.py", "from hub.core.text import _escaped\n"),
    ],
    "modules_and_functions_stay_small": [
        ("hub/core/a.py", "x = 1\n" * 301),
        ("hub/core/a.py", LONG),
        ("hub/cli/run.py", "def run() -> None:\n    pass\n"),
    ],
    "functions_take_few_positional_parameters": [
        ("hub/core/a.py", "def f(a, b, c, d, /, e, f, g): pass\n"),
        ("hub/core/a.py", "class A:\n    async def f(self, a, b, c, d, e, f, g): pass\n"),
    ],
    "modules_say_what_they_are_for": [
        ("hub/core/a.py", "x = 1\n"),
        ("hub/core/a.py", '"""Text."""\n'),
    ],
    "names_say_something": [
        ("hub/core/utils.py", ""),
        ("hub/common/a.py", ""),
        ("hub/core/text_helpers.py", ""),
        ("hub/core/a.py", "class TextManager: pass\n"),
    ],
    "the_product_knows_no_tests": [
        ("hub/core/a.py", "import os\nif os.environ.get('HUB_TEST_MODE'): pass\n"),
    ],
    "suppressions_are_few_and_say_why": [
        ("hub/core/a.py", "x = 1  # noqa\n"),
        ("hub/core/a.py", "x = 1  # noqa: BLE001\n"),
        ("hub/core/a.py", "x = 1  # type: ignore\n"),
        ("hub/core/a.py", "x = 1  # type: ignore[misc]\n" * (rules.SUPPRESSIONS + 1)),
    ],
}


@pytest.mark.parametrize(
    ("name", "path", "text"),
    [(name, path, text) for name, planted in PLANTED.items() for path, text in planted],
)
def test_a_rule_sees_a_planted_breach(name: str, path: str, text: str) -> None:
    """A rule that has gone blind is found out."""
    assert list(RULES[name]([Source(path, text)]))


def test_the_rule_against_cycles_sees_one() -> None:
    """A cycle over three modules is shown as a path."""
    ring = [
        Source("hub/core/a.py", "from hub.core.b import x\n"),
        Source("hub/core/b.py", "import hub.core.c\n"),
        Source("hub/core/c.py", "from hub.core import a\n"),
    ]
    (found,) = imports_have_no_cycle(ring)
    assert found.count(" <- ") == 3
    assert list(imports_have_no_cycle(ring[:2])) == []


def test_every_rule_has_a_planted_breach() -> None:
    """No rule is trusted blindly."""
    assert set(PLANTED) | {"imports_have_no_cycle"} == set(RULES)
