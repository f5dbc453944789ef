"""``hub mcp call``: one call on the way that calls of a run take."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import anyio
import pytest

from hub.testing.faulty.launch import faulty_http
from tests.cli.mcp.desk import Desk, tool
from tests.third_party.servers import launch

ROOT = Path(__file__).parents[3]


def calls(desk: Desk) -> list[dict[str, Any]]:
    """Return the calls that reached a server."""
    return desk.log.events("request", method="tools/call")


def test_the_text_of_a_result_goes_to_stdout_alone(desk: Desk) -> None:
    """What a tool says can be piped."""
    desk.server("mine")
    result = desk.run("call", "mine/echo", "text=hello world")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "hello world\n", "")


def test_texts_become_what_the_schema_wants(desk: Desk) -> None:
    """Numbers can be typed as key=value, and everything as JSON."""
    desk.server("mine")
    assert desk.run("call", "mine/add", "a=2", "b=3").stdout == "5\n"
    assert desk.run("call", "mine__add", "--args", '{"a": 2, "b": 4}').stdout == "6\n"


def test_an_error_goes_to_stderr_with_exit_code_1(desk: Desk) -> None:
    """A failed call is a failed command."""
    desk.server("mine", "tool_error")
    result = desk.run("call", "mine/echo", "text=x")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")


def test_arguments_that_do_not_fit_are_wrong_usage_and_reach_no_server(desk: Desk) -> None:
    """They are checked against the server's own schema first."""
    desk.server("mine")
    desk.run("call", "mine/echo", "text=x")
    before = len(calls(desk))
    result = desk.run("call", "mine/add", "a=two")
    assert result.exit_code == 2
    assert "a: 'two' is not of type" in result.stderr
    assert len(calls(desk)) == before
    assert desk.run("call", "mine/add", "a").exit_code == 2
    assert desk.run("call", "mine/add", "a=1", "--args", "{}").exit_code == 2
    assert desk.run("call", "mine/add", "--args", "[1]").exit_code == 2


def test_a_rule_that_denies_holds_for_the_user_and_one_that_asks_counts_as_yes(desk: Desk) -> None:
    """Whoever types the call has been asked already."""
    desk.settings(permissions={"deny": ["mine__add"], "ask": ["mine__echo"]})
    desk.server("mine")
    assert desk.run("call", "mine/echo", "text=x").stdout == "x\n"
    denied = desk.run("call", "mine/add", "a=1", "b=2")
    assert denied.exit_code == 3
    assert "denied: deny rule 'mine__add'" in denied.stderr
    assert not calls(desk)[1:]


def test_a_server_that_is_not_approved_is_not_started(desk: Desk) -> None:
    """H52: a call is no approval."""
    desk.asked_for("theirs")
    result = desk.run("call", "theirs/echo", "text=x")
    assert result.exit_code == 2
    assert "'theirs' is not approved" in result.stderr
    assert "hub mcp approve theirs" in result.stderr
    assert not desk.started()


def test_a_tool_that_is_held_back_cannot_be_called(desk: Desk) -> None:
    """H50: what changed since the approval is withheld from the user's calls as well."""
    desk.server("mine")
    desk.listed("mine", tool("echo"))
    listing = desk.view().find("mine").listing
    assert listing is not None
    desk.pins().check(desk.spec("mine"), listing)
    desk.listed("mine", tool("echo", "Now it does more."))
    result = desk.run("call", "mine/echo", "text=x")
    assert result.exit_code == 2
    assert "is withheld: changed since it was approved" in result.stderr
    assert "hub mcp explain mine/echo" in result.stderr


def test_json_holds_text_blocks_structure_and_the_permission(desk: Desk) -> None:
    """Everything that a program could want of a result."""
    desk.server("mine")
    (told,) = desk.lines("call", "mine/add", "a=2", "b=3")
    assert told["ok"] is True
    assert told["tool"] == "mine__add"
    assert told["text"] == "5"
    assert set(told) >= {"kind", "structured", "blocks", "warnings", "permission"}


def test_a_crash_is_told_with_exit_code_and_stderr(desk: Desk) -> None:
    """H12: whoever calls learns how the server died."""
    desk.server("mine", "crash_on_call")
    result = desk.run("call", "mine/echo", "text=x")
    assert result.exit_code == 1
    assert "exit code 7" in result.stderr


def test_an_unknown_tool_is_told_with_the_nearest_name(desk: Desk) -> None:
    """The names are those of the server."""
    desk.server("mine")
    result = desk.run("call", "mine/ecko")
    assert result.exit_code == 2
    assert "Did you mean 'mine/echo'?" in result.stderr


def test_a_server_that_does_not_start_is_a_failure(desk: Desk) -> None:
    """Exit 1, with the reason and the place."""
    desk.server("mine", "exit_on_start")
    result = desk.run("call", "mine/echo", "text=x")
    assert result.exit_code == 1
    assert "no licence file was found" in result.stderr


def test_what_a_tool_says_is_never_printed_raw(desk: Desk) -> None:
    """A59: a result cannot write over the terminal."""
    desk.server("mine", "hostile_text")
    told = desk.run("call", "mine/echo", "text=x").stdout
    assert told
    assert "\x1b" not in told


async def test_a_tool_is_called_over_http(desk: Desk) -> None:
    """The same over another transport."""
    async with faulty_http("era=both") as url:
        desk.entry("far", url=url)
        with anyio.fail_after(30):
            done = await anyio.run_process(
                [sys.executable, "-m", "hub", "mcp", "call", "far/echo", "text=over there"],
                cwd=desk.project,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
            )
    assert done.stdout == b"over there\n"


def test_ctrl_c_cancels_the_call_at_the_server(desk: Desk) -> None:
    """H22: the server learns that nobody waits any more."""
    desk.server("mine", "call_never")
    command = [sys.executable, "-m", "hub", "mcp", "call", "mine/echo", "text=x"]
    process = subprocess.Popen(
        command, cwd=desk.project, env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    deadline = time.monotonic() + 20
    while not calls(desk) and time.monotonic() < deadline:
        process.poll()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert out == ""
    assert "the call was cancelled" in err
    assert desk.log.events("notification", method="notifications/cancelled")


@pytest.mark.parametrize("name", ["filesystem"])
def test_a_tool_of_a_server_of_others_is_called(desk: Desk, name: str) -> None:
    """A real npm server answers a real call."""
    (desk.project / "note.txt").write_text("remember", encoding="utf-8")
    found = launch(name, desk.project)
    desk.entry(name, command=found.command, args=found.args, env=found.env)
    path = str(desk.project / "note.txt")
    result = desk.run("call", f"{name}/read_text_file", "--args", json.dumps({"path": path}))
    assert "remember" in result.stdout


def hub_on(terminal: Any, desk: Desk, *words: str) -> Any:
    """Start ``hub mcp`` in the project on a pseudo-terminal."""
    env = {"PYTHONPATH": str(ROOT), "HOME": str(desk.root)}
    return terminal("-m", "hub", "mcp", *words, env=env, cwd=desk.project)


def test_progress_is_shown_on_a_terminal_and_taken_away(desk: Desk, terminal: Any) -> None:
    """H23: whoever waits sees that something goes on."""
    desk.server("mine", "call_delay=1.2", "progress_every=100")
    shown = hub_on(terminal, desk, "call", "mine/echo", "text=done")
    shown.read_until("… calling mine/echo".encode())
    shown.read_until(rb"\x1b\[2Kdone\r\n")
    assert shown.end() == 0
    assert shown.seen.count("…".encode()) > 2


def test_a_server_may_ask_the_user_in_the_middle_of_a_call(desk: Desk, terminal: Any) -> None:
    """H30: the question appears at the terminal; what is typed goes to the server."""
    desk.server("mine", "ask=elicitation")
    shown = hub_on(terminal, desk, "call", "mine/echo", "text=x")
    shown.read_until(rb"mine")
    shown.read_until(rb"/no")
    shown.type(b"/no\n")
    shown.read_until(rb"declined")
    shown.end()
    assert desk.log.events("answer")


def test_a_question_where_nobody_is_here_is_declined_at_once(desk: Desk) -> None:
    """H30: never silence."""
    desk.server("mine", "ask=elicitation")
    assert desk.run("call", "mine/echo", "text=x").exit_code in (0, 1)
    assert desk.log.events("answer")


def test_a_server_that_is_not_approved_is_tested_only_with_consent(
    desk: Desk, terminal: Any
) -> None:
    """H52: the person sees what would be started, and a no starts nothing."""
    desk.asked_for("theirs")
    assert desk.run("test", "theirs").exit_code == 2
    shown = hub_on(terminal, desk, "test", "theirs")
    shown.read_until(rb"Start it this once\? \[y/N\]")
    assert b"hub.testing.faulty_server" in shown.seen
    shown.type(b"n\n")
    assert shown.end() == 1
    assert not desk.started()
    again = hub_on(terminal, desk, "test", "theirs")
    again.read_until(rb"Start it this once\?")
    again.type(b"y\n")
    again.read_until(rb"0 failures")
    assert again.end() == 0
    assert desk.run("list").stdout.count("discovered (not approved)") == 1


def test_a_test_as_json_is_one_object_and_exits_with_1_on_a_failure(desk: Desk) -> None:
    """For programs and CI."""
    desk.server("mine", "banner")
    result = desk.run("test", "mine", "--json")
    assert result.exit_code == 1
    told = json.loads(result.stdout)
    assert told["ok"] is False
    assert {"name", "state", "message"} == set(told["checks"][0])
    assert [one["name"] for one in told["checks"] if one["state"] == "fail"] == ["stdout"]
