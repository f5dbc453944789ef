"""Cases A21, A43: a run of three levels is cut after every durable write of it, and goes on.

A killed process leaves what it had stored, one transaction for each event (`test_kill` kills one).
The store of one whole run, cut behind each of its events in turn, is what a kill at each of them
would have left. One test kills a real process at some of them.
"""

import shutil
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio

from hub.core.events import AnyEvent
from hub.testing.serving import serve_model
from tests.teams import (
    agents,
    ask,
    dispatch,
    imbalance,
    lead_to,
    of_type,
    report,
    team,
    team_folder,
    whole_log,
)

READ = {"tool": "files__read", "args": {"path": "a.txt"}}
COST = {"input_tokens": 100, "output_tokens": 10}


def three_levels(tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    """A lead with a child in front and one in the background, each with a child of its own."""
    roles = team_folder(
        tmp_path, lead=lead_to("mid"), mid={"dispatch": ["leaf"]}, leaf={"tools": ["files__read"]}
    )
    both = [dispatch("mid", "behind", background=True), dispatch("mid", "in front")]
    script = agents(
        lead=[
            {"calls": both, "usage": COST},
            {"text": "so far", "usage": COST},
            {"text": "all heard", "usage": COST, "repeat": 9, "optional": True},
        ],
        mid=[
            {"calls": [dispatch("leaf")], "usage": COST},
            {"calls": [report("mid")], "usage": COST},
        ],
        leaf=[{"calls": [READ], "usage": COST}, {"calls": [report("leaf")], "usage": COST}],
    )
    return roles, script


def cut(source: Path, target: Path, last: int) -> None:
    """Copy a store without what was written after its event number ``last``."""
    target.mkdir(parents=True)
    with (
        closing(sqlite3.connect(source)) as whole,
        closing(sqlite3.connect(target / "hub.db")) as part,
    ):
        whole.backup(part)
        with part:
            part.execute("DELETE FROM events WHERE rowid > ?", (last,))
            part.execute("DELETE FROM leases")


def written(path: Path) -> list[int]:
    """The numbers of the events of a store, in the order in which they were written."""
    with closing(sqlite3.connect(path)) as connection:
        return [row[0] for row in connection.execute("SELECT rowid FROM events ORDER BY rowid")]


def told(log: list[AnyEvent], session: str) -> Counter[str]:
    """How often each job's result was told in a session."""
    mine = [e for e in log if e.session == session]
    return Counter(job for e in mine for job in getattr(e, "delivers", ()))


def check(log: list[AnyEvent], before: list[AnyEvent]) -> None:
    """Nothing is lost, nothing doubled, nothing open."""
    assert not imbalance(log)
    done = Counter(e.job for e in of_type(log, "job.done"))
    started = {e.job: e for e in of_type(log, "job.started")}
    assert done.keys() == started.keys()
    assert set(done.values()) <= {1}
    for job, event in started.items():
        heard = told(log, event.session)[job]
        ended = event.session != log[0].session  # a child that is over is told of nothing more
        assert heard == 1 or (ended and heard == 0), (job, heard)
    reports = {e.session for e in of_type(before, "report.submitted") if e.valid}
    ends = {e.child: e.result for e in of_type(log, "job.done")}
    for session in reports:
        assert ends[session]["report"]["summary"] in ("mid", "leaf")
    usages = Counter((e.session, e.seq) for e in of_type(log, "usage"))
    assert set(usages.values()) <= {1}
    assert len(of_type(log, "usage")) >= len(of_type(before, "usage"))


async def test_whatever_write_is_the_last_the_session_goes_on(
    tmp_path: Path, workspace: Path
) -> None:
    """No report lost or told twice, no cost counted twice, a legal history (A21, A43)."""
    roles, script = three_levels(tmp_path)
    async with serve_model(script) as server:
        async with team(server, workspace, tmp_path, team=roles) as hub:
            result, _ = await ask(hub, "go")
        root = hub.session_id
    assert result.outcome == "done"
    whole = tmp_path / "state" / "hub.db"
    numbers = written(whole)
    assert len(numbers) > 60
    onwards = agents(
        lead=[{"text": "went on", "usage": COST, "repeat": 9}],
        mid=[{"text": "x", "optional": True}],
        leaf=[{"text": "x", "optional": True}],
    )
    async with serve_model(onwards) as server:
        for last in numbers[4:]:
            place = tmp_path / f"cut-{last}"
            cut(whole, place / "state", last)
            before = whole_log(place, root)
            spent = sum(e.input_tokens + e.output_tokens for e in of_type(before, "usage"))
            async with team(server, workspace, place, team=roles, resume=root) as again:
                result, _ = await ask(again, "go on")
            assert result.outcome == "done", last
            log = whole_log(place, root)
            check(log, before)
            now = sum(e.input_tokens + e.output_tokens for e in of_type(log, "usage"))
            assert result.usage.total_tokens == now >= spent, last
            assert not [problem for r in server.requests for problem in r.problems], last
            shutil.rmtree(place)
            server.requests.clear()
            await anyio.lowlevel.checkpoint()
