"""The models of one process: one instance for each spec, one client for each endpoint.

Each kind of model is imported when the first one is opened: ``openai`` is slow, and a run without
scripts needs no script language.
"""

from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from hub.core.modelspec import ModelSpec
from hub.core.ports import Clock, Model

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
        self._open: list[tuple[ModelSpec | str, ClosableModel]] = []
        self._endpoints: dict[Any, Any] = {}

    def open(self, spec: ModelSpec | str) -> Model:
        """Return the model of a spec, or of ``script:FILE``; the same one each time.

        Raises:
            ScriptFileError: the script cannot be read.
        """
        for known, model in self._open:
            if known == spec:
                return model
        model = self._opened(spec)
        self._open.append((spec, model))
        return model

    async def aclose(self) -> None:
        """Close every connection."""
        while self._open:
            await self._open.pop()[1].aclose()
        self._endpoints.clear()

    def _opened(self, spec: ModelSpec | str) -> ClosableModel:
        if isinstance(spec, str):
            scripts = import_module("hub.models.script.model")
            script: ClosableModel = scripts.open_script(Path(spec.removeprefix(SCRIPT)))
            return script
        chat = import_module("hub.models.chat.model")
        place = chat.Endpoint.key(spec)
        if place not in self._endpoints:
            self._endpoints[place] = chat.Endpoint(spec)
        model: ClosableModel = chat.ChatModel(
            spec, clock=self._clock, endpoint=self._endpoints[place]
        )
        return model
