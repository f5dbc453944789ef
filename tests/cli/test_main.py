"""The table of commands and the top of the command line."""

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from hub.cli import faults
from hub.cli.main import COMMANDS, app
from hub.core.errors import ConfigError
from hub.version import __version__

RUNNER = CliRunner()


def hub(*arguments: str, **options: object) -> "subprocess.CompletedProcess[str]":
    """Run the command line in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "hub.cli.main", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        **options,  # type: ignore[call-overload]
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_the_table_says_of_a_command_what_the_command_says_itself(name: str) -> None:
    """The static help of ``hub --help`` equals the first line of the command's own help."""
    command = typer.main.get_command(import_module(COMMANDS[name].module).app)
    assert (command.help or "").strip().splitlines()[0] == COMMANDS[name].help


@pytest.mark.parametrize("name", COMMANDS)
def test_every_help_ends_with_examples(name: str) -> None:
    """Each command's help, and that of each of its own commands, shows examples."""
    result = RUNNER.invoke(app, [name, "--help"])
    assert result.exit_code == 0, result.output
    assert "Examples:\n    hub " in result.stdout
    command = typer.main.get_command(import_module(COMMANDS[name].module).app)
    for below in getattr(command, "commands", {}):
        result = RUNNER.invoke(app, [name, below, "--help"])
        assert result.exit_code == 0, result.output
        assert "Examples:\n    hub " in result.stdout, f"hub {name} {below}"


def test_help_lists_every_command_under_its_heading() -> None:
    """``hub --help`` shows the whole table."""
    result = RUNNER.invoke(app, ["--help"])
    assert result.exit_code == 0
    for name, entry in COMMANDS.items():
        assert f"{entry.panel}:\n" in result.stdout
        assert any(
            line.split() == [name, *entry.help.split()] for line in result.stdout.splitlines()
        )


def test_help_imports_neither_the_commands_nor_what_is_slow() -> None:
    """``hub --help`` loads no command, no rich, no pydantic, no mcp and no openai."""
    code = (
        "import sys\n"
        "from hub.cli.main import app\n"
        "try: app(['--help'])\n"
        "except SystemExit: pass\n"
        "slow = {'rich', 'pydantic', 'mcp', 'openai', 'anyio', 'yaml'}\n"
        "commands = {name for name in sys.modules if name.startswith('hub.cli.')}\n"
        "print(sorted(slow & sys.modules.keys()), sorted(commands), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = [f"hub.cli.{name}" for name in ("examples", "faults", "garbage", "lazy", "main")]
    assert done.stderr.strip() == f"[] {loaded}"


def test_version_is_told_by_option_and_by_command() -> None:
    """``hub --version`` and ``hub version`` agree."""
    assert RUNNER.invoke(app, ["--version"]).stdout == f"hub {__version__}\n"
    assert RUNNER.invoke(app, ["version"]).stdout == f"hub {__version__}\n"


def test_an_unknown_command_names_the_nearest_one_and_exits_with_2() -> None:
    """A typing error is a usage error with a hint."""
    result = RUNNER.invoke(app, ["session"])
    assert result.exit_code == 2
    assert "Did you mean 'sessions'" in result.stderr


def test_a_hub_error_is_told_with_place_and_remedy_and_no_traceback(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The message of a fault says what, where and what to do, printable."""
    error = ConfigError("unknown key 'modle\x1b[2J'", where="a.yaml:3 (modle)", remedy="Use model.")
    assert faults.report(error, debug=False) == 2
    assert capsys.readouterr().err == (
        "error: a.yaml:3 (modle): unknown key 'modle\\x1b[2J'\n  Use model.\n"
    )


def test_an_unforeseen_fault_is_one_line_and_its_traceback_is_shown_when_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Anything else is an internal error of exit code 1, unwrapped from its groups."""

    def fail() -> None:
        raise ExceptionGroup("group", [ExceptionGroup("inner", [KeyError("lost\n\x07")])])

    with pytest.raises(ExceptionGroup) as caught:
        fail()
    assert faults.report(caught.value, debug=False) == 1
    told = capsys.readouterr().err
    assert told.startswith("error: internal error: KeyError: 'lost\\n\\x07'\n")
    assert "Traceback" not in told
    assert faults.report(caught.value, debug=True) == 1
    assert "KeyError" in capsys.readouterr().err.split("error: internal error")[0]


def test_a_closed_stdout_is_no_fault() -> None:
    """With its output closed, a command still ends as usual."""
    done = hub("version", preexec_fn=_close_stdout)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_reader_that_has_gone_is_no_fault() -> None:
    """A pipe without a reader gives neither a traceback nor a warning at the exit."""
    process = subprocess.Popen(
        [sys.executable, "-m", "hub.cli.main", "version"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.close()
    _, told = process.communicate(timeout=60)
    assert told == b""


def _close_stdout() -> None:
    os.close(1)


def test_the_console_script_is_this_entry_point(tmp_path: Path) -> None:
    """``python -m hub.cli.main`` behaves as the installed script, from any folder."""
    done = hub("--version", cwd=tmp_path)
    assert done.stdout == f"hub {__version__}\n"


def test_a_value_that_is_refused_is_told_in_our_words() -> None:
    """No prefix of a library."""
    result = RUNNER.invoke(app, ["run", "x", "--mode", "wide"])
    assert result.exit_code == 2
    assert "Value error" not in result.stderr
    assert "'--mode': 'wide' is not one of 'default'" in result.stderr
