"""Role files: what they say, which one counts, and what is wrong with them."""

from pathlib import Path
from typing import Any

import pytest

from hub.core.errors import RoleError
from hub.core.limits import Limits
from hub.core.team import Edge
from hub.roles.files import Defaults
from hub.roles.load import role_folders

FULL = """\
---
name: auditor
description: >
  Looks at
  everything.
model: fast
tools: [files__read, "git__*"]
disallowed_tools: [git__git_push]
dispatch:
  - helper
  - role: other
    max_parallel: 2
    tools: ["files__*"]
    tokens: 5000
    isolation: worktree
user_facing: true
permissions:
  mode: plan
  allow: [git__git_log]
  ask: ["files__*"]
  deny: [shell__run]
limits:
  steps: 7
  seconds: 1.5
report_schema:
  type: object
---

Look at everything.

---
This line is part of the text.
"""


def error_of(folders: Any) -> RoleError:
    with pytest.raises(RoleError) as caught:
        folders.load()
    return caught.value


def test_a_role_file_gives_every_field_of_a_role(folders: Any) -> None:
    """The text below the front matter are the instructions, as they stand."""
    path = folders.write("user", "auditor.md", FULL)
    role = folders.load().get("auditor")
    assert role.description == "Looks at everything."
    assert role.model == "fast"
    assert role.tools == ("files__read", "git__*")
    assert role.disallowed_tools == ("git__git_push",)
    assert role.dispatch == (Edge("helper"), Edge("other", 2, ("files__*",), 5000, isolated=True))
    assert role.user_facing
    assert (role.mode, role.allow, role.ask, role.deny) == (
        "plan",
        ("git__git_log",),
        ("files__*",),
        ("shell__run",),
    )
    assert role.limits == Limits(steps=7, seconds=1.5)
    assert role.report_schema == {"type": "object"}
    assert role.instructions == "Look at everything.\n\n---\nThis line is part of the text."
    assert (role.origin.layer, str(role.origin)) == ("user", f"{path}:2")


def test_what_a_role_does_not_say_has_defaults(folders: Any) -> None:
    """Its name is the file's, it gets every tool, the run's model and no edges."""
    folders.write("user", "plain.md", "---\n---\nHello.\n")
    role = folders.load().get("plain")
    assert (role.name, role.model, role.tools, role.dispatch) == ("plain", "", ("*",), ())
    assert role.limits == Limits()
    assert not role.user_facing


def test_a_yaml_file_is_a_role_file_too(folders: Any) -> None:
    """Its instructions are a key."""
    folders.write("user", "r.yaml", "tools: []\ninstructions: |\n  One.\n  Two.\n")
    role = folders.load().get("r")
    assert (role.tools, role.instructions) == ((), "One.\nTwo.")


def test_a_byte_order_mark_and_windows_line_ends_are_accepted(folders: Any) -> None:
    """A56: a file must not vanish because of how an editor saved it."""
    folders.write(
        "user", "a.md", "\ufeff---\r\nname: a\r\ntools: [x__y]\r\n---\r\nOne.\r\nTwo.\r\n"
    )
    role = folders.load().get("a")
    assert role.tools == ("x__y",)
    assert role.instructions == "One.\nTwo."


def test_two_roles_of_one_name_in_a_folder_are_an_error_with_both_paths(folders: Any) -> None:
    """A56: which of them counts must not hang on the order of reading."""
    first = folders.write("user", "a.md", "---\nname: same\n---\n")
    second = folders.write("user", "b.yaml", "name: same\n")
    error = error_of(folders)
    assert str(first) in error.message
    assert str(second) in error.where
    assert error.where == f"{second}:1"
    assert error.exit_code == 2


def test_a_stronger_folder_hides_a_weaker_one_and_says_so(folders: Any) -> None:
    """Project, Claude Code agents, user, shipped."""
    layers = ("shipped", "user", "claude_agents", "project")
    paths = {}
    for count, layer in enumerate(layers, start=1):
        text = f"---\nname: lead\ndescription: of {layer}\n---\n"
        paths[layer] = folders.write(layer, "lead.md", text)
        book = folders.load()
        assert book.get("lead").description == f"of {layer}"
        assert len(book.notes) == count - 1
    assert f"{paths['project']} is used instead of {paths['shipped']}" in book.notes[-1]


def test_folders_are_searched_in_the_documented_order(tmp_path: Path) -> None:
    """Claude Code's agents are read only when asked for."""
    plain = role_folders(tmp_path, tmp_path / "mine")
    assert [folder.layer for folder in plain] == ["project", "user", "shipped"]
    assert plain[0].path == tmp_path / ".hub" / "roles"
    asked = role_folders(tmp_path, tmp_path / "mine", claude_agents=True)
    assert [folder.layer for folder in asked] == ["project", "claude_agents", "user", "shipped"]
    assert asked[1].path == tmp_path / ".claude" / "agents"


def test_folders_that_do_not_exist_and_other_files_are_passed_over(folders: Any) -> None:
    """A README in the folder is no role."""
    folders.write("user", "README.md", "# Our roles\n")
    folders.write("user", "notes.txt", "x")
    assert folders.load().roles == {}


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("---\nname: a\ntols: [x]\n---\n", ":3 (tols)", "unknown key 'tols'"),
        ("---\nname: a\nlimits: {steps: no}\n---\n", ":3 (limits.steps)", "a whole number"),
        ("---\nname: a b\n---\n", ":2 (name)", "a name of letters"),
        ("---\nname: a/b\n---\n", ":2 (name)", "a name of letters"),
        ("---\nname: a: b\n---\n", ":2:8", "broken YAML"),
        ("---\ntools: *\n---\n", ":2:9", "broken YAML"),
        ("---\n- a\n---\n", ":1", "'key: value' lines"),
        ("no front matter\n", ":1", "no front matter"),
        ("---\nname: never closed\n", ":1", "no front matter"),
        ("---\ninstructions: x\n---\n", ":2", "for .yaml role files"),
        ("---\ndispatch: ['*']\n---\n", ":2 (dispatch[0])", "'*' is no role"),
        ("---\ndispatch: [a, a]\n---\n", ":2 (dispatch[1])", "named twice"),
        ("---\ndispatch: [{rol: a}]\n---\n", ":2 (dispatch[0].", "2 problems"),
        ("---\ntools: ['Bash(git *)']\n---\n", ":2 (tools[0])", "speaks of arguments"),
        ("---\npermissions: {allow: ['a(b)']}\n---\n", "allow[0])", "speaks of arguments"),
        ("---\npermissions: {mode: yolo}\n---\n", ":2 (permissions.mode)", "one of"),
        ("---\nuser_facing: 1\n---\n", ":2 (user_facing)", "true or false"),
    ],
)
def test_a_wrong_role_file_is_told_with_file_and_line(
    folders: Any, text: str, line: str, message: str
) -> None:
    """Every key, type, pattern and edge is checked when the file is read."""
    path = folders.write("user", "a.md", text)
    told = str(error_of(folders))
    assert message in told
    assert f"{path}" in told
    assert line in told


def test_an_unknown_key_comes_with_the_nearest_name(folders: Any) -> None:
    """As in settings."""
    folders.write("user", "a.md", "---\ndispach: [b]\n---\n")
    assert error_of(folders).remedy == "Did you mean 'dispatch'?"


def test_a_pattern_that_yaml_takes_for_an_alias_is_answered_with_quotes(folders: Any) -> None:
    """``tools: *`` is what everybody writes first."""
    folders.write("user", "a.md", "---\ntools: [*]\n---\n")
    assert "has to stand in quotes" in error_of(folders).remedy


def test_what_is_wrong_in_all_files_is_told_at_once(folders: Any) -> None:
    """Over all folders."""
    a = folders.write("user", "a.md", "---\nx: 1\n---\n")
    b = folders.write("project", "b.yaml", "y: 1\n")
    told = str(error_of(folders))
    assert f"{a}:2 (x)" in told
    assert f"{b}:1 (y)" in told


def test_a_script_model_is_found_beside_the_role_file(folders: Any) -> None:
    """The role then works from any folder."""
    path = folders.write("user", "a.md", "---\nmodel: script:scripts/a.yaml\n---\n")
    role = folders.load().get("a")
    assert role.model == f"script:{path.parent / 'scripts' / 'a.yaml'}"


@pytest.mark.parametrize(
    ("name", "text"),
    [("s.json", '{"type": "object"}'), ("s.yaml", "type: object\n")],
)
def test_a_report_schema_may_be_a_file_beside_the_role(folders: Any, name: str, text: str) -> None:
    """JSON or YAML."""
    folders.write("user", f"schemas/{name}", text)
    folders.write("user", "a.md", f"---\nreport_schema: schemas/{name}\n---\n")
    assert folders.load().get("a").report_schema == {"type": "object"}


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("missing.json", "cannot read the file"),
        ("../outside.json", "has to be beside the role file"),
        ("/etc/hostname", "has to be beside the role file"),
        ("list.json", "does not hold a JSON Schema"),
        ("broken.json", "not valid JSON"),
        ("link.json", "has to be beside the role file"),
    ],
)
def test_a_report_schema_that_cannot_be_used_is_told_at_its_key(
    folders: Any, schema: str, message: str
) -> None:
    """Files elsewhere are not read: a role may come from a stranger."""
    folders.write(".", "outside.json", "{}")
    folders.write("user", "list.json", "[]")
    folders.write("user", "broken.json", "{")
    (folders.root / "user" / "link.json").symlink_to(folders.root / "outside.json")
    path = folders.write("user", "a.md", f"---\nreport_schema: {schema}\n---\n")
    error = error_of(folders)
    assert message in error.message
    assert error.where == f"{path}:2 (report_schema)"


def test_bounds_that_a_role_does_not_set_are_those_of_the_settings(folders: Any) -> None:
    """A role may replace a default bound, but only tighten one that the user chose."""
    folders.write("user", "a.md", "---\nlimits: {steps: 200, tokens: 900, tool_calls: null}\n---\n")
    base = Limits(steps=100, tokens=500, seconds=60.0, tool_calls=500)
    free = folders.load(Defaults(limits=base)).get("a").limits
    assert free == Limits(steps=200, tokens=900, seconds=60.0, tool_calls=None)
    bound = folders.load(Defaults(limits=base, chosen=frozenset({"tokens", "tool_calls"})))
    limits = bound.get("a").limits
    assert limits == Limits(steps=200, tokens=500, seconds=60.0, tool_calls=500)


def test_an_unknown_role_is_answered_with_the_nearest_and_all_names(folders: Any) -> None:
    """As ``--role`` may be mistyped."""
    folders.write("user", "lead.md", "---\n---\n")
    folders.write("user", "worker.md", "---\n---\n")
    with pytest.raises(RoleError) as caught:
        folders.load().get("laed")
    assert caught.value.remedy == "Did you mean 'lead'? The roles are: lead, worker."


def test_the_place_of_every_key_is_known(folders: Any) -> None:
    """For the findings of the check."""
    path = folders.write("user", "auditor.md", FULL)
    book = folders.load()
    assert str(book.place("auditor", ("dispatch", 1))) == f"{path}:11"
    assert str(book.place("auditor", ("nothing",))) == f"{path}:2"
