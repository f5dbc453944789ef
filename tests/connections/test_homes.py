"""Servers of agents that have a workspace to themselves."""

from pathlib import Path

from msgspec.structs import replace

from hub.core import events as ev
from hub.testing.faulty.launch import FaultyLog, faulty_http, is_running
from tests.connections.pools import Heard, bundled, called_by, faulty, open_pool, over_http

CHILD, BELOW, OTHER = "lead/worker#1", "lead/worker#1/explorer#1", "lead/worker#10"


def folders(tmp_path: Path) -> tuple[Path, Path]:
    """Return a workspace and a home, each with a file that says which it is."""
    for name in ("work", "home"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "which.txt").write_text(name)
    return tmp_path / "work", tmp_path / "home"


async def test_an_agent_and_those_below_it_work_in_its_home(tmp_path: Path):
    """Nobody else does, and after its work its calls do not run anywhere (item 9)."""
    work, home = folders(tmp_path)
    homes: dict[str, Path] = {}
    heard = Heard()
    async with open_pool(bundled("files"), workspace=work, homes=homes, heard=heard) as pool:
        homes[CHILD] = home
        for agent, where in (("lead", work), (OTHER, work), (CHILD, home), (BELOW, home)):
            outcome = await called_by(pool, agent, "files", "read", path="which.txt")
            assert where.name in outcome.text, agent
        await called_by(pool, CHILD, "files", "write", path="new.txt", content="x")
        await pool.leave(CHILD)
        outcome = await called_by(pool, BELOW, "files", "read", path="which.txt")
        assert (outcome.is_error, outcome.kind) == (True, "server_unavailable")
        assert outcome.text.endswith("has been removed. The call did not run.")
        assert "work" in (await called_by(pool, "lead", "files", "read", path="which.txt")).text
    assert (home / "new.txt").exists()
    assert not (work / "new.txt").exists()
    assert len(heard.of(ev.ServerConnected)) == 1


async def test_processes_over_a_home_end_with_it_and_remote_servers_are_shared(tmp_path: Path):
    """The others live on; also where a server keeps a process for each agent (H13)."""
    work, home = folders(tmp_path)
    log = FaultyLog(tmp_path / "log")
    local = replace(faulty("local", log=tmp_path / "log"), stateful="per-agent")
    async with faulty_http() as url:
        specs = (local, over_http("remote", url))
        async with open_pool(*specs, workspace=work, homes={CHILD: home}) as pool:
            for agent in ("lead", CHILD, BELOW):
                assert not (await called_by(pool, agent, "local", "login", user=agent)).is_error
            await called_by(pool, "lead", "remote", "login", user="ada")
            assert "ada" in (await called_by(pool, CHILD, "remote", "whoami")).text
            pids = [start["pid"] for start in log.events("start")]
            await pool.leave(CHILD)
            assert [is_running(pid) for pid in pids] == [True, False, False]
            assert "lead" in (await called_by(pool, "lead", "local", "whoami")).text


async def test_a_server_that_is_given_the_workspace_by_its_path_is_refused(tmp_path: Path):
    """In its arguments, its environment or as its folder; a file or another folder is no reason."""
    work, home = folders(tmp_path)
    spec = faulty("a")
    given = {
        "args": replace(spec, name="args", args=(*spec.args, f"--root={work}")),
        "env": replace(spec, name="env", env={"ROOT": str(work)}),
        "cwd": replace(spec, name="cwd", cwd=str(work)),
        "other": replace(spec, name="other", env={"ROOT": str(tmp_path), "F": f"{work}/which.txt"}),
    }
    async with open_pool(*given.values(), workspace=work, homes={CHILD: home}) as pool:
        for name in given:
            outcome = await called_by(pool, CHILD, name, "echo", text="hello")
            refused = "by its path and cannot work in a work tree" in outcome.text
            assert refused == (name != "other"), outcome.text
