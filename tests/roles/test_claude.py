"""Sub-agent files of Claude Code load unchanged."""

from pathlib import Path
from typing import Any

import pytest

from hub.roles.claude import TOOLS
from hub.roles.files import Defaults

AGENT = """\
---
name: code-reviewer
description: Use this agent when code was written. Examples: user: "check it" # now
tools: Read, Grep, Bash, WebFetch, mcp__git__git_log, mcp__docs, Task
disallowedTools: Write, Edit
model: sonnet
permissionMode: acceptEdits
maxTurns: 12
color: blue
memory: user
hooks:
  Stop: []
somethingNew: 1
---
You review code.
"""


def test_a_sub_agent_file_loads_unchanged(folders: Any) -> None:
    """Tools, model, mode and turns are read in our words; a plain colon in a text is no fault."""
    folders.write("claude_agents", "code-reviewer.md", AGENT)
    role = folders.load().get("code-reviewer")
    assert role.tools == (
        "files__read",
        "files__grep",
        "shell__run",
        "WebFetch",
        "git__git_log",
        "docs__*",
    )
    assert role.disallowed_tools == ("files__write", "files__edit")
    assert role.model == ""
    assert role.mode == "accept_edits"
    assert role.limits.steps == 12
    assert role.description.endswith('user: "check it" # now')
    assert role.instructions == "You review code."
    assert not role.user_facing


def test_a_description_may_run_on_over_lines_that_look_like_keys(folders: Any) -> None:
    """Generated files hold whole dialogues there."""
    folders.write(
        "claude_agents",
        "a.md",
        "---\nname: a\ndescription: Use it so:\n<example>\nuser: 'hello'\n\nassistant: it's #1\n"
        "</example>\ntools: Read\n---\nBody.\n",
    )
    role = folders.load().get("a")
    assert role.description == "Use it so: <example> user: 'hello' assistant: it's #1 </example>"
    assert role.tools == ("files__read",)


def test_what_has_no_effect_here_is_told_with_its_line(folders: Any) -> None:
    """A colour is not worth a word."""
    path = folders.write("claude_agents", "code-reviewer.md", AGENT)
    notes = folders.load().notes
    assert f"{path}:10: 'memory' has no effect here" in notes
    assert f"{path}:11: 'hooks' has no effect here" in notes
    assert f"{path}:13: the key 'somethingNew' is not known here" in notes
    assert any("'Task' has no effect: edges stand under 'dispatch'" in note for note in notes)
    assert not any("color" in note for note in notes)


def test_a_sub_agent_without_tools_gets_all_of_them(folders: Any) -> None:
    """As in Claude Code; an empty key counts as absent."""
    folders.write("claude_agents", "a.md", "---\nname: a\ndescription: d\ntools:\n---\n")
    assert folders.load().get("a").tools == ("*",)


def test_tools_may_be_a_list_as_well(folders: Any) -> None:
    """Both forms are in use."""
    folders.write("claude_agents", "a.md", "---\nname: a\ntools:\n  - Read\n  - Glob\n---\n")
    assert folders.load().get("a").tools == ("files__read", "files__glob")


def test_a_rule_over_arguments_gives_nothing_instead_of_everything(folders: Any) -> None:
    """``Bash(git *)`` must not become every command."""
    folders.write("claude_agents", "a.md", "---\nname: a\ntools: Bash(git *, x), Read\n---\n")
    role = folders.load().get("a")
    assert role.tools == ("Bash(git *, x)", "files__read")


@pytest.mark.parametrize("text", ["no front matter", "---\nname: a b\n---\n", "---\n- x\n---\n"])
def test_a_file_that_cannot_be_used_is_left_out_with_a_note(folders: Any, text: str) -> None:
    """The folder belongs to another program."""
    path = folders.write("claude_agents", "a.md", text)
    book = folders.load()
    assert book.roles == {}
    assert f"{path}:" in book.notes[0]
    assert "left out" in book.notes[0]


def test_a_model_alias_means_the_runs_model_unless_it_is_an_entry_of_the_settings(
    folders: Any,
) -> None:
    """Whoever has an entry called sonnet means that one."""
    folders.write("user", "a.md", "---\nmodel: sonnet\n---\n")
    folders.write("user", "b.md", "---\nmodel: inherit\n---\n")
    assert folders.load().get("a").model == ""
    assert folders.load(Defaults(models=["sonnet"])).get("a").model == "sonnet"
    assert folders.load().get("b").model == ""


def test_a_models_full_name_in_a_sub_agent_file_means_the_runs_model_with_a_note(
    folders: Any,
) -> None:
    """It is a name of another provider's endpoint."""
    path = folders.write("claude_agents", "a.md", "---\nname: a\nmodel: claude-x-1\n---\n")
    book = folders.load()
    assert book.get("a").model == ""
    assert book.notes == (
        f"{path}:3: no entry of 'models' is called 'claude-x-1'; the run's model works",
    )
    assert folders.load(Defaults(models=["claude-x-1"])).get("a").model == "claude-x-1"


def test_the_guide_lists_every_tool_that_has_a_counterpart() -> None:
    """The table in the guide is the table in the code."""
    guide = (Path(__file__).parents[2] / "docs" / "roles.md").read_text(encoding="utf-8")
    for name, ours in TOOLS.items():
        assert any(f"`{name}`" in line and f"`{ours}`" in line for line in guide.splitlines()), name
