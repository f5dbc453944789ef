"""What is shown of a launch: references stay, secrets do not."""

import pytest

from hub.app.mcp.masking import shown_command, shown_url, shown_values
from hub.core.servers import ServerSpec


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        (("--token", "abc"), ["--token", "***"]),
        (("--api-key=abc",), ["--api-key=***"]),
        (("API_KEY=abc",), ["API_KEY=***"]),
        (("--token", "${env:T}"), ["--token", "${env:T}"]),
        (("--token", "--verbose", "x"), ["--token", "--verbose", "x"]),
        (("--keyboard", "de"), ["--keyboard", "de"]),
        (("--tokens-per-page", "3"), ["--tokens-per-page", "3"]),
        (("postgres://me:pw@db/x",), ["postgres://***@db/x"]),
    ],
)
def test_values_of_options_named_like_secrets_are_hidden(
    written: tuple[str, ...], shown: list[str]
) -> None:
    """The rest of a command line is what helps to know it again."""
    assert shown_command(ServerSpec("s", "stdio", "tool", written)) == ["tool", *shown]


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("https://host/mcp", "https://host/mcp"),
        ("https://host/mcp?token=abc&x=1", "https://host/mcp?token=***&x=1"),
        ("https://host/mcp?token=${env:T}", "https://host/mcp?token=${env:T}"),
        ("https://me:pw@host:80/", "https://***@host:80/"),
        ("${env:ADDRESS}", "${env:ADDRESS}"),
        ("http://[broken", "http://[broken"),
    ],
)
def test_secret_parts_of_an_address_are_hidden(written: str, shown: str) -> None:
    """Addresses with a key in them are common."""
    assert shown_url(written) == shown


def test_values_that_are_no_references_are_hidden() -> None:
    """A scheme such as Bearer says nothing and stays; everything else might."""
    values = {"A": "abc", "B": "${env:B}", "C": "Bearer ${env:C}", "D": "x-${env:D}-y", "E": ""}
    assert shown_values(values) == {
        "A": "***",
        "B": "${env:B}",
        "C": "Bearer ${env:C}",
        "D": "***${env:D}***",
        "E": "",
    }
