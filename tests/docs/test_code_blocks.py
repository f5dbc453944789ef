"""What README and the guides show is real: code compiles, data parses, commands exist.

A Python block that begins with ``# run`` is run as well, in a process and a folder of its own.
"""

import ast
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from hub.cli.main import app

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`((?:hub|make) [^`\n]+)`")
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)")
SHELLS = {"sh", "shell", "bash", "console"}
ELSEWHERE = re.compile(r"\s(?:[|;]|\|\||&&|[0-9&]?>)(?:\s|$)")


@dataclass(frozen=True)
class Block:
    """Some code of a page."""

    place: str
    """File and line."""
    language: str
    text: str

    def __str__(self) -> str:
        return self.place


def blocks_of(name: str, text: str) -> Iterator[Block]:
    """Return the fenced blocks of a page."""
    for match in FENCE.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        inner = re.sub(rf"^{match[1]}", "", match[3], flags=re.MULTILINE)
        yield Block(f"{name}:{line}", match[2], inner)


def commands_of(name: str, text: str) -> Iterator[Block]:
    """Return what a page tells to type: lines of shell blocks, and code within sentences."""
    for block in blocks_of(name, text):
        if block.language in SHELLS:
            for line in block.text.replace("\\\n", " ").splitlines():
                for part in ELSEWHERE.split(line.strip().removeprefix("$ ")):
                    yield Block(block.place, "command", part.strip())
    for match in INLINE.finditer(FENCE.sub("", text)):
        yield Block(name, "command", match[1])


TEXTS = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in PAGES}
BLOCKS = [block for name, text in TEXTS.items() for block in blocks_of(name, text)]
COMMANDS = [block for name, text in TEXTS.items() for block in commands_of(name, text)]


def test_the_pages_have_code_to_check() -> None:
    """A change of form does not switch the checks off."""
    assert {"python", "yaml"} <= {block.language for block in BLOCKS}
    assert any(block.text.startswith("hub ") for block in COMMANDS)


@pytest.mark.parametrize("block", [b for b in BLOCKS if b.language == "python"], ids=str)
def test_python_compiles_and_runs_where_it_says_so(block: Block, tmp_path: Path) -> None:
    """Every name that a block imports from us is there, and a marked block runs to its end."""
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | ast.PyCF_ONLY_AST
    tree = compile(block.text, block.place, "exec", flags=flags)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "hub":
            module = import_module(node.module or "")
            missing = [one.name for one in node.names if not hasattr(module, one.name)]
            assert missing == []
    if block.text.startswith("# run"):
        done = subprocess.run(
            [sys.executable, "-c", block.text],
            cwd=tmp_path,
            capture_output=True,
            encoding="utf-8",
            timeout=60,
        )
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("block", [b for b in BLOCKS if b.language in {"yaml", "json"}], ids=str)
def test_data_parses(block: Block) -> None:
    """YAML and JSON blocks are what they claim to be."""
    if block.language == "json":
        json.loads(block.text)
    else:
        assert yaml.safe_load(block.text) is not None


@pytest.mark.parametrize("block", COMMANDS, ids=lambda block: f"{block.place} {block.text}")
def test_a_command_that_is_shown_exists(block: Block) -> None:
    """Each ``hub`` command has its sub-commands and options, each ``make`` target its rule."""
    assert complaints(block.text) == []


@pytest.mark.parametrize(
    "text",
    [
        "hub rum x",
        "hub sessions lost",
        "hub run --ouput json x",
        "hub run x --role",
        "hub sessions list --limit=3 --frobnicate",
        "make dema",
        "hub-server-flies",
    ],
)
def test_a_command_that_does_not_exist_is_found(text: str) -> None:
    """The check is not blind."""
    assert complaints(text)


@pytest.mark.parametrize(
    "text",
    [
        "hub --help",
        'hub run "Say why" --role lead --output=json -C ../site',
        "hub run -",
        "hub sessions show s-01k3 --json",
        "make test",
        "git status",
    ],
)
def test_a_command_that_exists_is_accepted(text: str) -> None:
    """The check does not complain of what works, nor of other programs."""
    assert complaints(text) == []


@pytest.mark.parametrize("name", TEXTS)
def test_links_lead_somewhere(name: str) -> None:
    """What a page points to in the repository is there."""
    folder = (ROOT / name).parent
    missing = [link for link in LINK.findall(TEXTS[name]) if not (folder / link).exists()]
    assert missing == []


def complaints(text: str) -> list[str]:
    """Return what is wrong with a command line; nothing is known of programs that are not ours."""
    words = shlex.split(text, comments=True)
    if not words:
        return []
    if words[0] == "make":
        rules = (ROOT / "Makefile").read_text(encoding="utf-8")
        targets = [word for word in words[1:] if "=" not in word]
        return [one for one in targets if not re.search(rf"^{re.escape(one)}:", rules, re.M)]
    if words[0].startswith("hub-"):
        scripts = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
        return [] if f"\n{words[0]} = " in scripts else [f"no program {words[0]}"]
    if words[0] != "hub":
        return []
    root: Any = typer.main.get_command(app)
    context = root.context_class(root, info_name="hub", **root.context_settings)
    return list(_misused(root, context, words[1:]))


def _misused(command: Any, context: Any, words: list[str]) -> Iterator[str]:
    known = {opt: param for param in command.get_params(context) for opt in param.opts}
    while words:
        word, words = words[0], words[1:]
        if word == "--":
            return
        if word.startswith("-") and word != "-":
            name, given, _ = word.partition("=")
            if name not in known:
                yield f"{context.command_path} has no option {name}"
            elif not (given or known[name].is_flag or known[name].count):
                if not words:
                    yield f"{name} needs a value"
                words = words[1:]
        elif hasattr(command, "get_command"):
            below = command.get_command(context, word)
            if below is None:
                yield f"{context.command_path} has no command {word}"
            else:
                inner = type(context)(below, info_name=word, parent=context)
                yield from _misused(below, inner, words)
            return
