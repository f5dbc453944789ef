"""Values that cross between parent and child, and denials that are made good."""

import json

from hypothesis import given
from hypothesis import strategies as st

from hub.core.jobs import Denials, DeniedCall, Failure, JobResult, Report
from hub.core.messages import Usage
from hub.core.servers import ServerSpec

counts = st.integers(0, 10**9)
usages = st.builds(Usage, counts, counts, counts, counts, counts)


@given(a=usages, b=usages, c=usages)
def test_usage_adds_up_in_any_order(a: Usage, b: Usage, c: Usage) -> None:
    """Sums do not depend on who ends first, and no field is left out."""
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert a + Usage() == a
    assert {k: v + b.as_dict()[k] for k, v in a.as_dict().items()} == (a + b).as_dict()
    assert (a + b).total_tokens == a.total_tokens + b.total_tokens


def test_a_denial_is_made_good_here_and_above() -> None:
    """A later success of the same tool clears its denials, and only those."""
    parent = Denials()
    write, run = DeniedCall("lead/a#1", "files__write", "x"), DeniedCall("lead", "shell__run", "y")
    parent.add(write, run)
    child = Denials(parent)
    child.add(write)
    child.made_good("files__write")
    assert child.open() == ()
    assert parent.open() == (run,)


def test_what_a_sibling_does_at_the_same_time_makes_no_denial_good() -> None:
    """A child that began before the denial was known is no remedy for it."""
    parent = Denials()
    sibling = Denials(parent)
    denied = DeniedCall("lead/a#1", "files__grep", "x")
    parent.add(denied)
    sibling.made_good("files__grep")
    assert parent.open() == (denied,)


def test_a_parents_success_does_not_clear_a_running_childs_denials() -> None:
    """A child still reports what was denied to it."""
    parent = Denials()
    child = Denials(parent)
    denied = DeniedCall("lead/a#1", "files__write", "x")
    child.add(denied)
    parent.made_good("files__write")
    assert child.open() == (denied,)


def test_a_report_shows_the_fields_that_were_given() -> None:
    """Empty fields are left out; false and zero are data."""
    assert Report("success", "done").as_dict() == {"status": "success", "summary": "done"}
    assert Report("success", "done", data=0).as_dict()["data"] == 0
    assert Report("success", "done", data=False).as_dict()["data"] is False


def test_a_job_result_is_json_with_every_field() -> None:
    """The dispatch result always has the fields of its contract, so that nobody has to guess."""
    result = JobResult(
        "j-1",
        "worker",
        "failed",
        "model_error",
        report=Report("failed", "no"),
        usage=Usage(1, 2, 3, 4, 5),
        denied_calls=(DeniedCall("lead", "t", "r"),),
        error=Failure("server", "down", retryable=True),
    )
    shown = result.as_dict()
    assert json.loads(json.dumps(shown)) == shown
    assert list(shown) == [
        "job_id",
        "role",
        "outcome",
        "stop_reason",
        "report",
        "partial_text",
        "usage",
        "cost_usd",
        "duration_ms",
        "denied_calls",
        "session_id",
        "error",
    ]


def test_a_fingerprint_follows_what_is_launched_and_not_its_secrets() -> None:
    """A rotated token is no change; another program, argument, address or variable is."""
    base = ServerSpec("a", "stdio", "npx", ("x",), env={"TOKEN": "1"}, headers={"Auth": "1"})
    same = ServerSpec(
        "b", "stdio", "npx", ("x",), env={"TOKEN": "2"}, headers={"Auth": "2"}, call_timeout=1
    )
    assert base.fingerprint() == same.fingerprint()
    others = [
        ServerSpec("a", "http", "npx", ("x",), env={"TOKEN": "1"}, headers={"Auth": "1"}),
        ServerSpec("a", "stdio", "uvx", ("x",), env={"TOKEN": "1"}, headers={"Auth": "1"}),
        ServerSpec("a", "stdio", "npx", ("y",), env={"TOKEN": "1"}, headers={"Auth": "1"}),
        ServerSpec("a", "stdio", "npx", ("x",), env={"KEY": "1"}, headers={"Auth": "1"}),
        ServerSpec("a", "stdio", "npx", ("x",), env={"TOKEN": "1"}, headers={"Other": "1"}),
        ServerSpec("a", "stdio", "npx", ("x",), env={"TOKEN": "1"}, headers={"Auth": "1"}, cwd="/"),
        ServerSpec("a", "stdio", "npx", ("x",), env={"TOKEN": "1"}, headers={"Auth": "1"}, url="u"),
    ]
    assert len({spec.fingerprint() for spec in [base, *others]}) == 8
