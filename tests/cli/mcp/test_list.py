"""``hub mcp list`` and ``hub mcp status``: what is known of servers; nothing is started."""

import json
import subprocess
import sys

from hub.pins.approvals import Approvals
from tests.cli.mcp.desk import Desk, tool

LOADED = """
import sys
sys.argv = ["hub", "mcp", *sys.argv[1:]]
try:
    from hub.cli.main import main
    main()
finally:
    print(",".join(sorted({name.split(".")[0] for name in sys.modules})))
"""


def states(desk: Desk) -> dict[str, str]:
    """Return the state of each server."""
    return {line["name"]: line["state"] for line in desk.lines("list")}


def test_each_server_has_a_line_with_state_tools_origin_and_last_error(desk: Desk) -> None:
    """Everything that decides about a server is seen at a glance."""
    desk.server("good")
    desk.server("broken", "exit_on_start")
    desk.entry("off", command="x", enabled=False)
    desk.asked_for("strange")
    desk.listed("good", tool("a"), tool("b"))
    desk.lived("good", state="connected", connected=1.0, tools=2)
    desk.lived("broken", state="failed", error="it exited with code 3")
    rows = {line.split()[0]: line for line in desk.run("list").stdout.splitlines() if line}
    assert rows["NAME"].split() == [
        "NAME",
        "STATE",
        "TRANSPORT",
        "TOOLS",
        "ORIGIN",
        "LAST",
        "ERROR",
    ]
    assert rows["good"].split()[1:4] == ["connected", "stdio", "2"]
    assert "config.yaml:" in rows["good"]
    assert rows["broken"].split()[1] == "failed"
    assert rows["broken"].endswith("it exited with code 3")
    assert "discovered (not approved)" in rows["strange"]
    assert ".mcp.json:" in rows["strange"]
    assert rows["off"].split()[1] == "disabled"
    assert rows["files"].split()[1] == "approved"
    assert "hub mcp approve strange" in rows["Not"]


def test_list_and_status_start_nothing(desk: Desk) -> None:
    """H52: looking at a repository that wants to run something runs nothing."""
    desk.server("mine")
    desk.asked_for("theirs")
    for words in (("list",), ("status",), ("status", "theirs"), ("list", "--json")):
        assert desk.run(*words).exit_code == 0
    assert not desk.started()


def test_a_live_state_counts_only_while_its_hub_runs(desk: Desk) -> None:
    """A hub that was killed leaves a record that says connected; nobody believes it."""
    desk.server("mine")
    desk.lived("mine", state="connected")
    assert states(desk)["mine"] == "connected"
    path = next((desk.root / "state" / "hub" / "servers").glob("*.json"))
    record = json.loads(path.read_bytes()) | {"pid": 2**22 + 7}
    path.write_text(json.dumps(record), encoding="utf-8")
    assert states(desk)["mine"] == "approved"


def test_idle_and_crash_loop_are_states_of_their_own(desk: Desk) -> None:
    """What the last hub knew is told as it was."""
    desk.server("rests")
    desk.server("loops", "exit_after_initialize")
    desk.lived("rests", state="idle")
    desk.lived("loops", state="crash-loop", error="it ended", retry_at=9_999_999_999.0, starts=5)
    assert states(desk)["rests"] == "idle"
    assert states(desk)["loops"] == "crash-loop"
    told = desk.run("status", "loops").stdout
    assert "5 within a minute" in told
    assert "next try" in told


def test_what_is_held_back_is_counted_in_list_and_named_in_status(desk: Desk) -> None:
    """H50: a changed tool shows before anything is started."""
    desk.server("mine")
    desk.listed("mine", tool("a"), tool("b"))
    spec, view = desk.spec("mine"), desk.view()
    from_cache = view.find("mine").listing
    assert from_cache is not None
    desk.pins().check(spec, from_cache)
    desk.listed("mine", tool("a", "Does something else."), tool("b"))
    assert "approved, 1 quarantined" in desk.run("list").stdout
    told = desk.run("status", "mine").stdout
    assert "2 tools pinned, 1 quarantined" in told
    assert "tool a: changed since it was approved" in told
    assert "hub mcp diff mine" in told
    assert desk.lines("list")[-1]["quarantined"].keys() == {"tool a"}


def test_looking_pins_nothing(desk: Desk) -> None:
    """What nobody has seen yet is not approved by a look at a list."""
    desk.server("mine")
    desk.listed("mine", tool("a"))
    assert "nothing pinned yet" in desk.run("status", "mine").stdout
    assert not (desk.root / "state" / "hub" / "pins").exists()


def test_status_masks_secrets_and_shows_references(desk: Desk) -> None:
    """Tokens in variables, headers, arguments and addresses stay where they are."""
    desk.entry(
        "local",
        command="tool",
        args=["--api-key", "sk-1234567", "--token=tok-1234567", "--depth", "3"],
        env={"A_TOKEN": "hunter2hunter2", "B": "${env:B_TOKEN}"},
    )
    desk.entry(
        "remote",
        url="https://me:pass-word@example.com/mcp?api_key=qwertz123&page=2",
        headers={"Authorization": "Bearer ${env:TOKEN}", "X-Key": "0123456789"},
    )
    told = desk.run("status").stdout + desk.run("status", "--json").stdout
    for secret in ("sk-1234567", "tok-1234567", "hunter2", "pass-word", "qwertz123", "0123456789"):
        assert secret not in told
    assert "--api-key *** --token=*** --depth 3" in told
    assert "Authorization=Bearer ${env:TOKEN}" in told
    assert "B=${env:B_TOKEN}" in told
    assert "https://***@example.com/mcp?api_key=***&page=2" in told


def test_status_tells_an_approval_and_what_changed_since(desk: Desk) -> None:
    """H52: an approval is bound to the launch, and the difference is told in words."""
    desk.asked_for("theirs")
    desk.run("approve", "theirs", "--yes")
    Approvals(desk.root / "state" / "hub").show()
    approved = desk.run("status", "theirs").stdout
    assert "approved by you, " in approved
    desk.asked_for("theirs", "banner=other")
    told = desk.run("status", "theirs").stdout
    assert "changed (not approved)" in told
    assert "approved was:" in told
    assert "asked for is:" in told


def test_status_tells_the_last_life_with_its_stderr(desk: Desk) -> None:
    """Why a server is down is told without starting it."""
    desk.server("mine")
    desk.lived(
        "mine", state="failed", error="the connection closed (exit code 7)", exit_code=7,
        stderr="no licence\nfile was found", ended=1_700_000_000.0,
    )  # fmt: skip
    told = desk.run("status", "mine").stdout
    assert "exit code    7" in told
    assert "    no licence\n    file was found\n" in told
    assert "1 minute ago" in told


def test_status_tells_what_a_server_prints_where_messages_belong(desk: Desk) -> None:
    """H17: how often, and the first of it."""
    desk.server("mine")
    desk.lived("mine", state="connected", connected=1.0, noise=3, first_noise="Welcome!\x1b[2J")
    told = desk.run("status", "mine").stdout
    assert "3 × no message on standard output, first: Welcome!" in told
    assert "\x1b" not in told
    (line,) = desk.lines("status", "mine")
    assert (line["noise"], line["first_noise"][:8]) == (3, "Welcome!")


def test_an_unknown_server_is_told_with_the_nearest_name(desk: Desk) -> None:
    """A slip of the finger costs one look."""
    desk.server("tickets")
    for command in ("status", "logs", "restart", "test", "show"):
        result = desk.run(command, "tickts")
        assert result.exit_code == 2
        assert "there is no MCP server 'tickts'\n  Did you mean 'tickets'?" in result.stderr


def test_what_servers_say_is_never_printed_raw(desk: Desk) -> None:
    """A59: an error cannot write over the terminal."""
    desk.server("mine")
    desk.lived("mine", state="failed", error="\x1b[2Jgone\u202e", stderr="\x1b]0;title\x07")
    for words in (("list",), ("status",)):
        told = desk.run(*words).stdout
        assert "\x1b" not in told
        assert "\u202e" not in told


def test_a_hundred_servers_are_listed_without_the_slow_libraries(desk: Desk) -> None:
    """``list`` and ``status`` read files only."""
    for number in range(100):
        desk.entries[f"s{number}"] = {"command": f"program-{number}"}
    desk.settings()
    for command in ("list", "status", "logs"):
        done = subprocess.run(
            [sys.executable, "-c", LOADED, command, *(["s1"] if command == "logs" else [])],
            cwd=desk.project,
            capture_output=True,
            encoding="utf-8",
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        loaded = set(done.stdout.splitlines()[-1].split(","))
        assert not {"mcp", "openai", "httpx2", "jsonschema", "jinja2"} & loaded
        if command == "list":
            assert len(done.stdout.splitlines()) == 1 + 3 + 100 + 1
