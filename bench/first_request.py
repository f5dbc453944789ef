"""The first request of the shipped lead: how much of a context the tools and instructions take."""

from collections.abc import Iterator

from bench import scripts
from bench.figures import Figure, Goal
from bench.processes import Place, place, run, serving
from bench.start_up import HUB_RUN

LIMIT = 1500


def measure(_runs: int) -> Iterator[Figure]:
    """Count the characters of the request's whole body; it is the same each time."""
    with place() as where, serving(scripts.answer(), where) as server:
        run(HUB_RUN, Place(where.folder, {**where.env, "OPENAI_BASE_URL": server.base_url}))
        first = server.tell("first")
    columns = {"hub": first["characters"] / 4, "tools": first["tools"]}
    yield Figure("first request of lead", "tokens", columns, [Goal("hub", LIMIT)])
