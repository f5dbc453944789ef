"""Asks servers for their lists, all at once, and waits for the slow ones only as long as it pays.

Once some have answered, the others have a little time more, which grows with what the slowest
answer took. Whoever has not answered by then is late, and goes on starting.
"""

from collections.abc import Callable, Sequence

import anyio
from msgspec import Struct, field

from hub.core.errors import ServerError
from hub.core.ports import ServerListing, Servers

MORE = 0.15
"""Part of the slowest answer's time that is waited for further answers."""
LEAST_MORE = 0.25
"""Seconds that are waited for further answers at least."""
SILENCE = 10
"""How many times its patience the wait may take while nobody is known who has answered."""


class Patience(Struct, frozen=True):
    """How long servers are waited for before the others go ahead."""

    seconds: float
    """At least so long, where an answer can be hoped for."""
    doubtful: Callable[[str], bool] = lambda name: False
    """Whether a server did not come up the last time, so that nobody waits for it."""


class Gathered(Struct):
    """What came of asking."""

    listings: dict[str, ServerListing] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    """Why a server has no list, by its name."""
    late: list[str] = field(default_factory=list)
    """Servers that have not answered yet."""


async def gather(
    names: Sequence[str],
    servers: Servers,
    patience: Patience | None = None,
    *,
    alone: bool = True,
) -> Gathered:
    """Ask servers for their lists; without ``patience``, each is waited for to its own limit.

    They are ``alone`` when nothing is known of any other server, so that silence is worth more.
    """
    gathering = _Gathering(names, servers, patience, alone=alone)
    return await gathering.run()


class _Gathering:
    def __init__(
        self, names: Sequence[str], servers: Servers, patience: Patience | None, *, alone: bool
    ) -> None:
        self._servers = servers
        self._patience = patience
        self._alone = alone
        self._doubtful = {name for name in names if patience and patience.doubtful(name)}
        self._found = Gathered(late=list(names))
        self._scope = anyio.CancelScope()
        self._begun = anyio.current_time()
        self._latest: float | None = None
        """Seconds after the beginning at which the latest list came."""

    async def run(self) -> Gathered:
        self._bound()
        if self._scope.deadline <= self._begun:
            return self._found
        with self._scope:
            async with anyio.create_task_group() as group:
                for name in tuple(self._found.late):
                    group.start_soon(self._ask, name)
        return self._found

    async def _ask(self, name: str) -> None:
        try:
            self._found.listings[name] = await self._servers.listing(name)
            self._latest = anyio.current_time() - self._begun
        except ServerError as error:
            self._found.failed[name] = str(error)
        self._found.late.remove(name)
        self._bound()

    def _bound(self) -> None:
        """Say anew until when the others are waited for."""
        patience = self._patience
        if patience is None:
            return
        if self._doubtful.issuperset(self._found.late):
            seconds = 0.0
        elif self._latest is None:
            seconds = patience.seconds * (SILENCE if self._alone else 1)
        else:
            seconds = max(patience.seconds, self._latest + max(MORE * self._latest, LEAST_MORE))
        self._scope.deadline = self._begun + seconds
