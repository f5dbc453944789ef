"""Runs the benchmarks: ``python -m bench [NAME…] [--json FILE] [--baseline FILE] [--runs N]``."""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from bench import (
    cancelling,
    catalog,
    deltas,
    dispatching,
    fan_out,
    first_request,
    gateway,
    leftovers,
    recovery,
    scripted,
    search,
    start_up,
    steps,
)
from bench.figures import Figure
from bench.report import as_json, machine, regressions, table

SUITES: Mapping[str, Callable[[int], Iterator[Figure]]] = {
    "start": start_up.measure,
    "steps": steps.measure,
    "fan-out": fan_out.measure,
    "dispatch": dispatching.measure,
    "cancel": cancelling.measure,
    "recovery": recovery.measure,
    "deltas": deltas.measure,
    "first-request": first_request.measure,
    "scripted": scripted.measure,
    "search": search.measure,
    "catalog": catalog.measure,
    "gateway": gateway.measure,
    "leftovers": leftovers.measure,
}


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description="Measure the hub beside bare loops; medians, ratios within one run.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of: {', '.join(SUITES)}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures here")
    parser.add_argument("--baseline", type=Path, metavar="FILE", help="JSON of an earlier run")
    parser.add_argument("--runs", type=int, default=5, help="runs of each program (default: 5)")
    given = parser.parse_args()
    if unknown := set(given.names) - set(SUITES):
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; there are: {', '.join(SUITES)}")
    print(f"{machine()}; medians of {given.runs}")
    figures = []
    for name in given.names or SUITES:
        for figure in SUITES[name](given.runs):
            print(f"\n{table(figure)}", flush=True)
            figures.append(figure)
    if given.json:
        text = json.dumps(as_json(figures, given.runs), indent=1)
        given.json.write_text(text + "\n", encoding="utf-8")
    if given.baseline is None:
        return 0
    worse = regressions(figures, json.loads(given.baseline.read_text(encoding="utf-8")))
    print("\n" + ("\n".join(f"worse: {line}" for line in worse) or "nothing got worse"))
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
