"""Secrets that are written out in entries: which values count, and what takes their place."""

from typing import Any

import pytest

from hub.app.mcp.literals import Names, masked, secret_keys, without_secrets

KEY = "sk-abcdefghijklmnopqrstuvwx"


@pytest.mark.parametrize(
    ("entry", "keys"),
    [
        ({"env": {"GITHUB_TOKEN": "x", "apiKey": "x", "DB_PASSWORD": "x"}}, 3),
        ({"env": {"ANY": KEY}}, 1),
        ({"env": {"DATABASE_URL": "postgres://me:pw@h/db"}}, 1),
        ({"env": {"TOKEN": "${env:TOKEN}", "LEVEL": "info", "KEY_FILE": "~/.ssh/id"}}, 0),
        ({"env": {"AUTH_TYPE": "oauth", "TOKEN_LIMIT": "4000", "KEYBOARD": "de"}}, 0),
        ({"env": {"SSH_KEY": "/home/me/.ssh/id", "SECRET": "true"}}, 0),
        ({"headers": {"Authorization": "Bearer abc", "X-Api-Key": "abc", "Accept": "*/*"}}, 2),
        ({"args": ["--token", "abc", "--api-key=abc", KEY, "-y", "server", "--port", "80"]}, 3),
        ({"args": ["mcp-server-git", "--repository", "/home/me/My-Repo_1"]}, 0),
        ({"url": "https://me:pw@h.test/mcp?token=abc&page=1"}, 2),
        ({"oauth": {"client_id": "a", "client_secret": "b"}}, 1),
    ],
)
def test_names_and_shapes_tell_secrets(entry: dict[str, Any], keys: int) -> None:
    """Paths, numbers, switches and references are none."""
    assert len(secret_keys(entry)) == keys


def test_a_reference_takes_the_place_of_the_secret_alone() -> None:
    """The scheme of a header, the option and the rest of an address stay."""
    entry = {
        "url": "https://me:pw@h.test/mcp?token=abc&page=1",
        "headers": {"Authorization": "Bearer abc"},
        "args": ["--api-key=abc", "--token", "def"],
    }
    cleaned = without_secrets("docs", entry, Names(), "env")
    assert cleaned.entry == {
        "url": "https://${env:DOCS_LOGIN}@h.test/mcp?token=${env:DOCS_TOKEN}&page=1",
        "headers": {"Authorization": "Bearer ${env:DOCS_TOKEN}"},
        "args": ["--api-key=${env:DOCS_API_KEY}", "--token", "${env:DOCS_TOKEN_2}"],
    }
    assert [one.value for one in cleaned.hidden] == ["abc", "me:pw", "abc", "abc", "def"]


def test_two_secrets_never_share_a_name() -> None:
    """Neither those of two servers nor one with a variable that is set to something else."""
    names = Names({"API_KEY": "of-the-shell"})
    first = without_secrets("a", {"env": {"API_KEY": "one"}}, names, "env")
    second = without_secrets("b", {"env": {"API_KEY": "two"}}, names, "env")
    again = without_secrets("c", {"env": {"API_KEY": "of-the-shell"}}, names, "env")
    assert first.entry["env"]["API_KEY"] == "${env:A_API_KEY}"
    assert second.entry["env"]["API_KEY"] == "${env:B_API_KEY}"
    assert again.entry["env"]["API_KEY"] == "${env:API_KEY}"


def test_a_kept_entry_is_copied_whole_and_shown_without_its_secrets() -> None:
    """Showing and copying are two things."""
    entry = {"command": "x", "env": {"API_KEY": "one"}, "args": [KEY]}
    assert without_secrets("a", entry, Names(), "keep").entry == entry
    assert masked("a", entry) == {"command": "x", "env": {"API_KEY": "***"}, "args": ["***"]}
