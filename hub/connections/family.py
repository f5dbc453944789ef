"""The links to one server: one for everybody, or one for each agent where it keeps their state."""

from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec.structs import replace

from hub.connections.life import Life, take_up
from hub.connections.link import Link
from hub.connections.opening import Place
from hub.connections.records import Records
from hub.core.events import CatalogChanged, Event, ServerConnected, ServerFailed
from hub.core.ports import Clock, Pins, ServerListing
from hub.core.servers import ServerSpec


class Family:
    """All that is running of one server."""

    def __init__(
        self,
        spec: ServerSpec,
        *,
        place: Place,
        clock: Clock,
        emit: Callable[[Event], None],
        protocol: str = "",
        records: Records | None = None,
        own: Callable[[Link], None],
        pins: Pins | None = None,
    ) -> None:
        """Take in the server; ``own`` runs the owner task of a link that is made later."""
        self.spec = spec
        self._place = place
        self._clock = clock
        self._emit = emit
        self._records = records
        self._own = own
        self._pins = pins
        self._asked = records.asked(spec) if records is not None else 0
        before = records.read(spec) if records is not None else None
        self._protocol = protocol if before is None else before.greeting
        self._before = before
        self._agents: dict[str, Link] = {}
        self.base = self._made()
        """What nobody in particular uses: for all calls, or only until an agent takes it."""

    def over(self, workspace: Path) -> "Family":
        """Return the same server over another workspace; no record is kept of it there."""
        family = Family(
            self.spec,
            place=replace(self._place, workspace=workspace),
            clock=self._clock,
            emit=self._emit_elsewhere,
            protocol=self._protocol,
            own=self._own,
            pins=self._pins,
        )
        take_up(family.base.life, self.base.life)
        self._own(family.base)
        return family

    def _emit_elsewhere(self, event: Event) -> None:
        """Pass on what is no news of the server as everybody else knows it."""
        if not isinstance(event, ServerConnected | ServerFailed | CatalogChanged):
            self._emit(event)

    def link_for(self, agent: str) -> Link:
        """Return the link that an agent's calls take."""
        if self._records is not None:
            self.look()
        if self.spec.stateful != "per-agent":
            return self.base
        return self._agents.get(agent) or self._taken(agent)

    def any(self) -> Link:
        """Return a link for what concerns no agent: one that is up, if there is one."""
        return next((link for link in self.links() if link.connection is not None), self.base)

    async def listing(self) -> ServerListing:
        """Return what the server offers, starting it if need be.

        Raises:
            ServerError: it does not start.
        """
        return await self.any().listing()

    def release(self, agent: str) -> None:
        """End what was kept for an agent."""
        link = self._agents.pop(agent, None)
        if link is None:
            return
        if link is self.base:
            self.base = self._made(link.life)
            self._own(self.base)
        link.close()

    def look(self) -> None:
        """Start the server anew if somebody has asked for it since the last look."""
        if self._records is None:
            return
        asked = self._records.asked(self.spec)
        if asked and asked != self._asked:
            self._asked = asked
            for link in self.links():
                link.restart()

    def links(self) -> Iterator[Link]:
        """Return every link that there is."""
        yield self.base
        yield from (link for link in self._agents.values() if link is not self.base)

    def _taken(self, agent: str) -> Link:
        if self.base in self._agents.values():
            link = self._made(self.base.life)
            self._own(link)
        else:
            link = self.base
        link.owned = True
        self._agents[agent] = link
        return link

    def _made(self, like: Life | None = None) -> Link:
        life = Life(
            self.spec,
            self._clock,
            self._emit,
            protocol=self._protocol,
            before=self._before,
            tell=self._note,
            pins=self._pins,
        )
        if like is not None:
            take_up(life, like)
        return Link(
            self.spec, place=self._place, clock=self._clock, emit=self._emit, life=life,
            hear=self._hear if self._records is not None else None,
        )  # fmt: skip

    def _note(self, life: Life) -> None:
        """Write the record; that one of several has ended in order is no news."""
        if self._records is None:
            return
        others = any(link.connection and link.life is not life for link in self.links())
        if not (life.state in ("stopped", "idle") and others):
            self._records.write(self.spec, life.record)

    def _hear(self, text: str) -> None:
        if self._records is not None:
            self._records.hear(self.spec, text)
