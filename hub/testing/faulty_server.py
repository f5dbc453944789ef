"""An MCP server that misbehaves on demand: `python -m hub.testing.faulty_server --knob mute`.

It speaks raw JSON-RPC without the SDK, so that it can do what the SDK would not let it do and so
that it starts in a few hundredths of a second.
"""

import argparse
import sys

from hub.testing.faulty.config import read_knobs
from hub.testing.faulty.http import serve_http
from hub.testing.faulty.knobs import KnobError, Knobs, parse_knob
from hub.testing.faulty.process import EventLog, Process, count_start
from hub.testing.faulty.registry import knob_table
from hub.testing.faulty.stdio import serve_stdio


def main(arguments: list[str] | None = None) -> int:
    """Run the server that the command line describes; the value is the exit code."""
    options = _parser().parse_args(arguments)
    if options.list_knobs:
        sys.stdout.write(knob_table())
        return 0
    try:
        knobs = _knobs(options.knob, options.config)
    except KnobError as fault:
        sys.stderr.write(f"faulty server: {fault}\n")
        return 2
    process = Process(knobs, EventLog(options.log))
    process.begin()
    if options.http is None:
        serve_stdio(process)
    else:
        serve_http(process, options.http)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m hub.testing.faulty_server",
        description="An MCP server that misbehaves on demand, over stdio unless --http is given.",
    )
    add = parser.add_argument
    add("--knob", action="append", default=[], metavar="NAME[@STARTS][=VALUE]",
        help="turn one knob; may be repeated; @2- holds from the second start on")  # fmt: skip
    add("--config", metavar="FILE", help="a YAML or JSON file with a mapping of knobs")
    add("--log", metavar="FILE", help="append what happens to this file, as JSON lines")
    add("--http", type=int, metavar="PORT", help="serve streamable HTTP on loopback; 0 is any port")
    add("--list-knobs", action="store_true", help="print the knobs as Markdown and end")
    return parser


def _knobs(spelled: list[str], config: str | None) -> Knobs:
    settings = [] if config is None else read_knobs(config)
    settings += [parse_knob(item) for item in spelled]
    counter = Knobs(settings).text("starts")
    limited = next((item for item in settings if (item.first, item.last) != (1, None)), None)
    if limited is not None and not counter:
        raise KnobError(
            f"knob {limited.name!r} holds for some starts only, so starts have to be counted: "
            "add --knob starts=FILE"
        )
    return Knobs(settings, count_start(counter) if counter else 1)


if __name__ == "__main__":
    sys.exit(main())
