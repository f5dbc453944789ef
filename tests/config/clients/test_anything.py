"""Whatever stands in a client's file: reading it ends with servers and notices, not a fault."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hub.config.clients.dialect import Around, convert
from hub.config.clients.entries import layer_of
from hub.config.clients.table import CLIENTS
from hub.config.documents import Document
from hub.config.layer_names import CLIENTS as NAMES
from hub.config.schema import ServerEntry

KEYS = [
    *("type", "command", "args", "env", "cwd", "url", "headers", "httpUrl", "serverUrl", "uri"),
    *("cmd", "envs", "env_keys", "env_vars", "bearer_token_env_var", "http_headers", "timeout"),
    *("env_http_headers", "enabled", "disabled", "enabled_tools", "includeTools", "oauth", "auth"),
    *("available_tools", "startup_timeout_ms", "startup_timeout_sec", "config", "source", "path"),
]
TEXTS = st.sampled_from([
    "",
    "x",
    "stdio",
    "http",
    "sse",
    "${input:a-b}",
    "${env:A}",
    "${",
    "$A",
    "${x:y}",
    "https://h/sse",
]) | st.text(max_size=4)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.floats() | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(KEYS) | TEXTS, inner, max_size=3)
    ),
    max_leaves=6,
)
ENTRIES = st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=6)
AROUND = Around(Path("/project"), Path("/home"), {"inputs": [{"id": "a-b", "default": "d}"}, 5]})


@pytest.mark.parametrize("client", NAMES)
@settings(max_examples=60)
@given(entries=st.dictionaries(TEXTS, ENTRIES | VALUES, max_size=3))
def test_every_entry_is_taken_or_told(client: str, entries: dict[str, Any]) -> None:
    """What is taken fits our schema; what is not has a notice with a reason."""
    kind = CLIENTS[client]
    data: Any = entries
    for key in reversed(kind.keys):
        data = {key: data}
    taken = layer_of(client, Document("f", data), kind.keys, kind.dialect, AROUND)
    servers = taken.layer.data["servers"]
    for entry in servers.values():
        ServerEntry.model_validate(entry)
    assert len(servers) + taken.left_out == len(entries)
    assert len(taken.notices) >= taken.left_out


def test_an_entry_that_nests_too_deeply_costs_only_itself() -> None:
    """A file of a stranger cannot end the run."""
    deep: Any = "x"
    for _ in range(600):
        deep = [deep]
    found = convert({"command": "x", "args": deep}, CLIENTS["cursor"].dialect, AROUND)
    assert found.data is None or json.dumps(found.data)
