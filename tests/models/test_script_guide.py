"""The scripts in the guide load and do what the guide says, and the guide names every key."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from hub.models.script import file as script_file
from hub.models.script import wire
from hub.models.script.filters import FILTERS
from hub.models.script.player import Player
from hub.models.script.view import Seen
from hub.testing.request_log import Record

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "scripts.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```yaml\n(.*?)```", GUIDE, re.DOTALL)
SCRIPTS = [block for block in BLOCKS if "script: 1" in block]
ROLES = [block for block in BLOCKS if "script: 1" not in block]


@pytest.mark.parametrize("text", SCRIPTS)
def test_each_script_of_the_guide_loads(text):
    """Its keys are those of the format."""
    assert [Player(script) for script in script_file.parse_scripts(text)]


@pytest.mark.parametrize("options", [["--model", "script:survey.yaml"], ["--role", "surveyor"]])
def test_the_first_script_counts_what_is_there(tmp_path, options):
    """Run as the guide says: as the model of the run, and as a role."""
    [role] = ROLES
    work, roles = tmp_path / "work", tmp_path / "config" / "hub" / "roles"
    work.mkdir()
    (roles / "scripts").mkdir(parents=True)
    (roles / "surveyor.yaml").write_text(role, encoding="utf-8")
    for folder in (work, roles / "scripts"):
        (folder / "survey.yaml").write_text(SCRIPTS[0], encoding="utf-8")
    (work / "b.py").write_text("# TODO\n" * 3, encoding="utf-8")
    (work / "a.py").touch()
    line = [sys.executable, "-m", "hub", "run", "Look around", *options]
    done = subprocess.run(
        line,
        cwd=work,
        env={**os.environ, "XDG_CONFIG_HOME": str(tmp_path / "config")},
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    size = len(SCRIPTS[0].encode()) + 21
    assert done.stdout.splitlines() == [
        f"3 files, {size} bytes, 4 open ends.",
        "",
        *("| kind | files |", "| --- | ---: |", "| .py | 2 |", "| .yaml | 1 |"),
    ], done.stderr


def test_a_parent_reads_the_data_of_its_childs_report_as_the_guide_shows(tmp_path):
    """The two scripts work as the models of two roles."""
    roles = tmp_path / "team" / "roles"
    roles.mkdir(parents=True)
    for text in SCRIPTS:
        name = re.match(r"# (\w+)\.yaml", text)
        if name is None:
            continue
        (tmp_path / "team" / f"{name[1]}.yaml").write_text(text, encoding="utf-8")
    schema = "report_schema: {type: object, required: [files]}"
    for name, more in (("lead", "user_facing: true\ndispatch: [counter]"), ("counter", schema)):
        front = f"---\nmodel: script:../{name}.yaml\n{more}\n---\nx\n"
        (roles / f"{name}.md").write_text(front, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "hub", "run", "Count", "--team", str(tmp_path / "team")],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    files = sum(path.is_file() for path in tmp_path.rglob("*"))
    assert done.stdout == f"There are {files} files.\n", done.stderr


def test_the_guide_names_every_filter():
    """A filter that nobody knows of is of no use."""
    assert [name for name in FILTERS if not re.search(rf"`{name}[`(]", GUIDE)] == []


def test_the_guide_names_every_key_and_every_name_of_templates():
    """Likewise."""
    keys = {
        *script_file.FILE_KEYS,
        *script_file.AGENT_KEYS,
        *script_file.MATCH_KEYS,
        *script_file.TURN_KEYS,
        *script_file.CALL_KEYS,
        *script_file.EXPECT_KEYS,
        *script_file.USAGE_KEYS,
        *script_file.FINISHES,
        *wire.WIRE_KEYS,
        *Seen((), "", ()).context({}, 0),
        *(name for name in Record.__struct_fields__ if name != "path"),
    }
    assert [key for key in sorted(keys) if not re.search(rf"`{key}[`:]", GUIDE)] == []
    for entry in (wire.Fault, wire.Stall, wire.Cut):
        names = ", ".join(entry.__struct_fields__)
        assert f"{{{names}}}" in GUIDE


def test_a_role_of_the_guide_is_yaml():
    """With a script as its model."""
    assert [yaml.safe_load(role)["model"] for role in ROLES] == ["script:scripts/survey.yaml"]
