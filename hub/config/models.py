"""From settings to the spec of a model, with its secrets resolved."""

from pathlib import Path

from hub.config.keys import dotted
from hub.config.layers import Loaded
from hub.config.paths import tidied
from hub.config.references import resolve
from hub.config.schema import ModelEntry
from hub.core.errors import ConfigError
from hub.core.modelspec import ModelSpec
from hub.core.prices import Price
from hub.core.team import Origin

SCRIPT = "script:"
_NOT_FILES = ("env", "flag", "default")


def model_spec(
    loaded: Loaded, name: str | None = None, *, origin: Origin | None = None
) -> ModelSpec | str:
    """Return how a model is reached, or ``script:FILE`` with the file's absolute path.

    ``name`` is an entry of ``models``, ``script:FILE`` or a name that the default endpoint knows;
    None takes the model of the settings. ``origin`` says who named it, for messages and as the
    place from which a script's path starts.

    Raises:
        ConfigError: no model is configured, a script does not exist, or a variable is not set.
    """
    if name is None:
        name, origin = loaded.settings.model, loaded.origin("model")
    if not name:
        raise ConfigError(
            "no model is configured",
            where=str(origin) if origin and origin.path else "",
            remedy="Set HUB_MODEL, write 'model: NAME' into the settings, or give --model NAME. "
            'Without a model at hand, try: hub run --model script:FILE "TASK".',
        )
    if name.startswith(SCRIPT):
        return _script(loaded, name.removeprefix(SCRIPT), origin)
    entry = loaded.settings.models.get(name)
    if entry is None and dotted(("models", name)) in loaded.withheld:
        raise ConfigError(
            f"the model {name!r} is described by this project, which is not trusted yet",
            where=str(origin or ""),
            remedy="Look at what the project asks for and trust it with: hub trust.",
        )
    if entry is None:
        return _bare(loaded, name, origin)
    return _from_entry(loaded, name, entry)


def _script(loaded: Loaded, file: str, origin: Origin | None) -> str:
    base = loaded.sources.cwd
    if origin is not None and origin.path and origin.layer not in _NOT_FILES:
        base = Path(origin.path).parent
    path = tidied(base / Path(file).expanduser())
    if not path.is_file():
        raise ConfigError(
            f"there is no script file {path}",
            where=str(origin or ""),
            remedy="A relative path starts from the folder of the file that names it, and from "
            "the current folder for flags and variables.",
        )
    return f"{SCRIPT}{path}"


def _bare(loaded: Loaded, name: str, origin: Origin | None) -> ModelSpec:
    environ = loaded.sources.environ
    base_url = environ.get("OPENAI_BASE_URL", "")
    return ModelSpec(
        name=name,
        model=name,
        base_url=base_url,
        api_key=_default_key(loaded, name, base_url, str(origin or "")),
    )


def _from_entry(loaded: Loaded, name: str, entry: ModelEntry) -> ModelSpec:
    environ = loaded.sources.environ

    def value(text: str, *keys: str) -> str:
        full = dotted(("models", name, *keys))
        return resolve(text, environ, where=f"{loaded.origin(full)} ({full})")

    base_url = value(entry.base_url, "base_url")
    api_key = value(entry.api_key, "api_key")
    if not base_url:
        base_url = environ.get("OPENAI_BASE_URL", "")
        where = str(loaded.origin(dotted(("models", name))))
        api_key = api_key or _default_key(loaded, name, base_url, where)
    return ModelSpec(
        name=name,
        model=entry.model or name,
        base_url=base_url,
        api_key=api_key,
        api=entry.api,
        context_window=entry.context_window,
        max_output_tokens=entry.max_output_tokens,
        price=Price(**entry.price.model_dump()) if entry.price else None,
        headers={key: value(text, "headers", key) for key, text in entry.headers.items()},
        max_retries=entry.max_retries,
        connect_timeout=entry.connect_timeout,
        idle_timeout=entry.idle_timeout,
        temperature=entry.temperature,
        extra_body=dict(entry.extra_body),
        tool_schemas=entry.tool_schemas,
    )


def _default_key(loaded: Loaded, name: str, base_url: str, where: str) -> str:
    """Return the key of the default endpoint; an endpoint of one's own may need none."""
    key = loaded.sources.environ.get("OPENAI_API_KEY", "")
    if key or base_url:
        return key
    known = ", ".join(sorted(loaded.settings.models))
    entries = f" The entries of 'models' are: {known}." if known else ""
    raise ConfigError(
        f"the model {name!r} needs a key, and OPENAI_API_KEY is not set",
        where=where,
        remedy="Set OPENAI_API_KEY, or OPENAI_BASE_URL for an endpoint that needs no key, or "
        f"describe the model under 'models' in the settings.{entries}",
    )
