"""The models of one process: one instance for each spec, one client for each endpoint.

Nothing here imports ``openai``; the first real model does, when it is opened.
"""

from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from hub.core.modelspec import ModelSpec
from hub.core.ports import Clock, Model
from hub.models.script_model import open_script

SCRIPT = "script:"


class ClosableModel(Model, Protocol):
    """A model that holds connections."""

    async def aclose(self) -> None:
        """Close them."""
        ...


class Models:
    """Opens models and closes them all at the end."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._open: dict[str, ClosableModel] = {}
        self._endpoints: dict[Any, Any] = {}

    def open(self, spec: ModelSpec | str) -> Model:
        """Return the model of a spec, or of ``script:FILE``; the same one each time.

        Raises:
            ScriptFileError: the script cannot be read.
        """
        key = spec if isinstance(spec, str) else repr(spec)
        if key not in self._open:
            self._open[key] = self._opened(spec)
        return self._open[key]

    async def aclose(self) -> None:
        """Close every connection."""
        for model in self._open.values():
            await model.aclose()
        self._open.clear()

    def _opened(self, spec: ModelSpec | str) -> ClosableModel:
        if isinstance(spec, str):
            return open_script(Path(spec.removeprefix(SCRIPT)))
        chat = import_module("hub.models.chat")
        place = chat.Endpoint.key(spec)
        if place not in self._endpoints:
            self._endpoints[place] = chat.Endpoint(spec)
        model: ClosableModel = chat.ChatModel(
            spec, clock=self._clock, endpoint=self._endpoints[place]
        )
        return model
