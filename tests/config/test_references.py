"""References: what they become when a server starts or a model is opened, and what is told."""

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from hub.config.models import model_spec
from hub.config.references import holds_reference, resolve, resolve_server
from hub.core.errors import ConfigError
from hub.core.modelspec import ModelSpec
from hub.core.servers import OAuth, ServerSpec


class Locked(Exception):
    """What the keyring raises when it cannot be opened."""


@pytest.fixture
def keyring(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, str], str]:
    """A keyring in memory in place of the system's."""
    entries: dict[tuple[str, str], str] = {}

    def get_password(service: str, name: str) -> str | None:
        if name == "locked":
            raise Locked("no secret service")
        return entries.get((service, name))

    module: Any = ModuleType("keyring")
    module.errors = SimpleNamespace(KeyringError=Locked)
    module.get_password = get_password
    monkeypatch.setitem(sys.modules, "keyring", module)
    return entries


def test_a_secret_of_the_keyring_is_read_when_the_server_starts(
    keyring: dict[tuple[str, str], str],
) -> None:
    """Until then the launch spec holds the reference only."""
    keyring["hub", "github.token"] = "t0ken"
    spec = ServerSpec(
        "a",
        "http",
        url="https://h.test",
        headers={"Authorization": "Bearer ${keyring:github.token}"},
        oauth=OAuth(client_id="${env:ID}", client_secret="${keyring:github.token}"),
    )
    started = resolve_server(spec, {"ID": "me"})
    assert started.headers == {"Authorization": "Bearer t0ken"}
    assert started.oauth == OAuth(client_id="me", client_secret="t0ken")
    assert started.fingerprint() == spec.fingerprint()


def test_a_model_takes_its_key_from_the_keyring(
    place: Any, keyring: dict[tuple[str, str], str]
) -> None:
    """As from a variable."""
    keyring["hub", "llm"] = "k3y"
    place.user("models:\n  a: {base_url: 'https://h.test', api_key: '${keyring:llm}'}\n")
    spec = model_spec(place.load(), "a")
    assert isinstance(spec, ModelSpec)
    assert spec.api_key == "k3y"


def test_a_missing_entry_names_place_and_command(keyring: dict[tuple[str, str], str]) -> None:
    """The user can store it and go on."""
    with pytest.raises(ConfigError, match="no entry 'llm'") as caught:
        resolve("${keyring:llm}", {}, where="config.yaml:3 (models.a.api_key)")
    assert caught.value.where == "config.yaml:3 (models.a.api_key)"
    assert caught.value.remedy == "Store it with: keyring set hub llm"


def test_a_keyring_that_cannot_be_opened_is_told(keyring: dict[tuple[str, str], str]) -> None:
    """A machine without a desktop has none."""
    with pytest.raises(ConfigError, match="cannot be asked for 'locked': Locked"):
        resolve("${keyring:locked}", {}, where="here")


def test_a_keyring_that_is_not_installed_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is an optional package."""
    monkeypatch.setitem(sys.modules, "keyring", None)
    with pytest.raises(ConfigError) as caught:
        resolve("${keyring:llm}", {}, where="here")
    assert "dispatch-hub[keyring]" in caught.value.remedy


def test_a_variable_can_say_itself_what_is_missing() -> None:
    """``:?`` is what shells have for it; an empty variable counts as missing."""
    text = "${env:KEY:?the input 'key' is missing}"
    assert resolve(text, {"KEY": "v"}, where="here") == "v"
    for environ in ({}, {"KEY": ""}):
        with pytest.raises(ConfigError, match=r"the input 'key' is missing: .* KEY is not set"):
            resolve(text, environ, where="here")


def test_references_are_told_from_plain_text() -> None:
    """A secret that is written out is none."""
    assert holds_reference("Bearer ${env:A}")
    assert holds_reference("${keyring:a/b}")
    assert not holds_reference("${HOME} and $A and ${input:x}")
