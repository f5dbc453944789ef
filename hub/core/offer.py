"""The tools that one agent's model is sent: a list that only ever grows, and only at its end.

Whatever was sent once stays where it was, so that prompt caches hold: the list of the next request
begins with that of the last one, byte for byte.
"""

from collections.abc import Callable, Iterable, Mapping

from hub.core.messages import ToolSpec
from hub.core.ports import Tool

TOOL_SEARCH = "tool_search"
"""The tool that finds tools and loads them, where there are too many to be sent."""


class Offer:
    """What is on offer now, and what can still join it."""

    def __init__(
        self,
        first: Iterable[ToolSpec],
        held: Mapping[str, Tool],
        *,
        loaded: list[str] | None = None,
        note: Callable[[list[str]], None] | None = None,
    ) -> None:
        """Begin with ``first``; ``held`` can be loaded, by name.

        ``loaded`` names what was loaded before and grows along; it is offered again in its order
        behind all else, as far as it still exists. ``note`` is told of what joins the list.
        """
        self._held = held
        self._loaded = [] if loaded is None else loaded
        self._note = note
        last = {name: held[name].spec for name in self._loaded if name in held}
        offered = {spec.name: spec for spec in first if spec.name not in last}
        offered |= last
        self._names = set(offered)
        self._specs = tuple(offered.values())

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools to send, in their order; the same object until something is loaded."""
        return self._specs

    def load(self, names: Iterable[str]) -> list[str]:
        """Append those that are held back and return them; all others change nothing."""
        new = [name for name in dict.fromkeys(names) if self._can_join(name)]
        if new:
            self._names.update(new)
            self._specs += tuple(self._held[name].spec for name in new)
            self._loaded += new
            if self._note is not None:
                self._note(new)
        return new

    def _can_join(self, name: str) -> bool:
        return name in self._held and name not in self._names
