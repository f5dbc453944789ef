"""Which tests settle which fault of the field, taken from a run and written down as a page.

A test names the faults that it settles by their numbers in its doc string, such as ``(H12)``. With
``--fault-battery FILE`` a run writes the page; tests of the doubles themselves do not count.
"""

import inspect
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

CASES = Path(__file__).with_name("fault_battery.toml")
"""Every fault by its number: what goes wrong, and what is right."""
OWN = "tests/testing/"
"""Tests of the doubles: they show that a fault can be made, not that it is survived."""
HEAD = """# Fault battery

Faults that users of comparable programs have reported, each made by a scripted server or model,
and the tests that show what hub does instead. The page is written from a run of the whole suite,
`make battery`; CI fails when it does not agree with its own run. A fault without a passing test
stands here as open.

`stdio` and `http` say over which transport the fault is made; `memory` is a server inside of the
process; `-` needs no server.
"""
_NUMBER = re.compile(r"\b([AHS]\d{1,2})\b")
_SIGNS = {
    "http": ("over_http(", "faulty_http(", "http_server("),
    "stdio": ("faulty(", "faulty_command(", "faulty_entry(", '"stdio"', "StdioServer"),
    "memory": ("bundled(", '"memory"'),
}


@dataclass
class Settled:
    """What a run has shown of one fault."""

    passed: set[str] = field(default_factory=set)
    """Tests, each with its parameters left out."""
    failed: set[str] = field(default_factory=set)
    transports: set[str] = field(default_factory=set)


class FaultBattery:
    """The plugin: marks tests with their faults, gathers outcomes, writes the page."""

    def __init__(self, page: Path | None) -> None:
        self._page = page
        self._settled: dict[str, Settled] = defaultdict(Settled)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Note on each test which faults it settles, and over which transports."""
        for item in items:
            found = faults_of(item)
            if found and not item.nodeid.startswith(OWN):
                item.user_properties.append(("faults", found))
                item.user_properties.append(("transports", transports_of(item)))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take in one outcome; with several workers they all arrive at the first process."""
        noted = dict(report.user_properties)
        if "faults" not in noted or (report.when != "call" and report.passed) or report.skipped:
            return
        test = report.nodeid.partition("[")[0]
        for number in _strings(noted["faults"]):
            settled = self._settled[number]
            (settled.passed if report.passed else settled.failed).add(test)
            settled.transports.update(_strings(noted["transports"]))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the page, in the process that has heard of every test."""
        if self._page is not None and not hasattr(session.config, "workerinput"):
            self._page.write_text(page(known_cases(), self._settled), encoding="utf-8")


def faults_of(item: pytest.Item) -> list[str]:
    """Return the numbers in a test's doc string."""
    function = getattr(item, "function", None)
    return sorted(set(_NUMBER.findall(inspect.getdoc(function) or ""))) if function else []


def transports_of(item: pytest.Item) -> list[str]:
    """Return the transports that a test's own code, or its parameters, name."""
    source = "".join(_sources(getattr(item, "function", None)))
    chosen = {value for value in _parameters(item).values() if value in _SIGNS}
    if chosen:
        return sorted(chosen)
    return sorted(kind for kind, signs in _SIGNS.items() if any(sign in source for sign in signs))


def _sources(function: Any) -> Iterator[str]:
    """Give the code of a test and of the functions beside it that it uses."""
    if function is None:
        return
    yield inspect.getsource(function)
    for name in function.__code__.co_names:
        other = function.__globals__.get(name)
        if inspect.isfunction(other) and other.__module__ == function.__module__:
            yield inspect.getsource(other)


def _parameters(item: pytest.Item) -> Mapping[str, Any]:
    spec = getattr(item, "callspec", None)
    given: dict[str, Any] = spec.params if spec else {}
    return {name: value for name, value in given.items() if isinstance(value, str)}


def known_cases() -> dict[str, dict[str, str]]:
    """Return every fault by its number."""
    cases: dict[str, dict[str, str]] = tomllib.loads(CASES.read_text(encoding="utf-8"))
    return cases


def page(cases: Mapping[str, Mapping[str, str]], settled: Mapping[str, Settled]) -> str:
    """Return the page: one table for each group of faults."""
    lines = [HEAD]
    groups = {"H": "Servers, catalog, results, security", "A": "Agents, jobs, sessions"}
    for letter, title in groups.items():
        lines += [f"## {title}", "", "| | fault | what is right | over | tests |", "|-|-|-|-|-|"]
        for number in (key for key in cases if key.startswith(letter)):
            lines.append(_row(number, cases[number], settled.get(number, Settled())))
        lines.append("")
    return "\n".join(lines)


def _row(number: str, case: Mapping[str, str], settled: Settled) -> str:
    over = ", ".join(sorted(settled.transports)) or "-"
    if settled.failed:
        state = f"**fails**: {len(settled.failed)} of {len(settled.failed | settled.passed)}"
    elif not settled.passed:
        state = "**open**"
    else:
        state = ", ".join(_linked(settled.passed))
    return f"| {number} | {case['fault']} | {case['right']} | {over} | {state} |"


def _linked(tests: Iterable[str]) -> list[str]:
    """Return one link for each file of tests."""
    return [
        f"[{path.removeprefix('tests/').removesuffix('.py')}](../../{path})"
        for path in sorted({test.partition("::")[0] for test in tests})
    ]


def _strings(value: Any) -> list[str]:
    return [str(item) for item in value]
