"""What of one connected server is held back, by what it says of itself now."""

from collections.abc import Callable

from hub.core import events as ev
from hub.core.ports import Pins, Quarantine, ServerListing
from hub.core.servers import ServerSpec


class Judge:
    """Compares each listing of a server with what was approved, and tells what it finds."""

    def __init__(
        self, spec: ServerSpec, pins: Pins | None, emit: Callable[[ev.Event], None]
    ) -> None:
        """Take the pins; without any, nothing is ever held back."""
        self.held = Quarantine()
        """What is held back now."""
        self._spec = spec
        self._pins = pins
        self._emit = emit
        self._listing: ServerListing | None = None

    def look(self, listing: ServerListing) -> None:
        """Take in what the server says of itself from now on."""
        self._listing = listing
        if self._pins is None:
            return
        held = self._pins.check(self._spec, listing)
        told, self.held = self.held, held
        if held and held != told:
            self._emit(quarantined(self._spec, held))

    def refusal(self, tool: str) -> str:
        """Return why a tool may not be called now, for the model; empty when it may."""
        if tool in self.held.tools and self._listing is not None:
            # Somebody may have accepted it since.
            self.look(self._listing)
        why = self.held.tools.get(tool)
        if why is None:
            return ""
        server = self._spec.name
        return (
            f"The tool {tool!r} of MCP server {server!r} is held back: {why}. The call did not "
            f"run. A person has to look at it first: hub mcp approve {server}/{tool}"
        )


def quarantined(spec: ServerSpec, held: Quarantine) -> ev.ServerQuarantined:
    """Return the event that tells what of a server is held back."""
    return ev.ServerQuarantined(
        server=spec.name,
        tools=dict(held.tools),
        prompts=dict(held.prompts),
        resources=dict(held.resources),
        instructions=held.instructions,
        where=str(spec.origin),
        remedy=f"Look at it with: hub mcp diff {spec.name}, and accept it with: "
        f"hub mcp approve {spec.name}",
    )
