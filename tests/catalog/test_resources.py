"""Resources of all servers: found, read by name, and never more than was approved."""

import json
from typing import Any

import pytest

from hub.catalog.resources import Resources, ResourcesTool, as_text
from hub.catalog.templates import expanded, fits, variables
from hub.core.errors import ServerError
from hub.core.ports import RemoteResource
from tests.catalog.test_catalog import CONTEXT

GUIDE = RemoteResource("docs://guide", "guide", "The guide", "How to start", "text/markdown")
PAGE = RemoteResource("docs://page/{name}", "page", template=True)
LOGO = RemoteResource("img://logo", "logo", mime_type="image/png")


class Reader:
    """Servers whose resources can be read."""

    def __init__(self, error: str = "") -> None:
        self.read: list[tuple[str, str]] = []
        self._error = error

    async def read_resource(self, server: str, uri: str) -> tuple[dict[str, Any], ...]:
        if self._error:
            raise ServerError(self._error, server=server)
        self.read.append((server, uri))
        return ({"uri": uri, "text": f"content of {uri}"},)

    async def listing(self, server: str) -> Any:
        raise AssertionError("nothing is listed")

    async def call(self, *given: Any) -> Any:
        raise AssertionError("nothing is called")

    async def get_prompt(self, server: str, prompt: str, arguments: Any) -> tuple[Any, ...]:
        raise AssertionError("no prompt is asked for")


def shop(**held: str) -> Resources:
    """Two servers with resources."""
    return Resources({"docs": (GUIDE, PAGE), "art": (LOGO,)}, {"docs": held} if held else {})


async def ask(reader: Reader, **arguments: Any) -> Any:
    """Call the tool."""
    return await ResourcesTool(shop(), reader).call(arguments, CONTEXT)


async def test_resources_are_listed_and_searched():
    """All words have to occur, in whatever field; a template names its variables."""
    reader = Reader()
    lines = (await ask(reader, action="list")).text.splitlines()
    told = [json.loads(line) for line in lines]
    assert [one["uri"] for one in told] == [
        "docs:docs://guide",
        "docs:docs://page/{name}",
        "art:img://logo",
    ]
    assert told[1]["values"] == ["name"]
    assert "guide" in (await ask(reader, action="list", query="START guide")).text
    assert "logo" not in (await ask(reader, action="list", server="docs")).text
    assert (await ask(reader, action="list", query="nothing of it")).text == "No resource fits."


async def test_a_resource_is_read_by_server_and_address():
    """Templates are filled in, or given whole."""
    reader = Reader()
    assert (await ask(reader, action="read", uri="docs:docs://guide")).text.endswith("guide")
    await ask(reader, action="read", uri="docs:docs://page/{name}", values={"name": "a b"})
    await ask(reader, action="read", uri="docs:docs://page/x")
    assert reader.read == [
        ("docs", "docs://guide"),
        ("docs", "docs://page/a%20b"),
        ("docs", "docs://page/x"),
    ]


@pytest.mark.parametrize(
    ("uri", "words"),
    [
        ("docs:docs://guid", "docs:docs://guide"),
        ("nope:docs://guide", "docs, art"),
        ("docs://page", "no resource"),
        ("docs:docs://page/{name}", "Give values for name"),
        ("docs", "server:uri"),
        ("art:docs://guide", "no resource"),
    ],
)
async def test_what_cannot_be_read_is_an_error_with_what_is_near(uri: str, words: str):
    """No server is asked."""
    reader = Reader()
    outcome = await ask(reader, action="read", uri=uri)
    assert outcome.is_error
    assert words in outcome.text
    assert reader.read == []


async def test_what_is_held_back_is_not_read():
    """Also where a template would give it (H50)."""
    held = shop(**{"docs://page/secret": "it changed"})
    outcome = await ResourcesTool(held, Reader()).call(
        {"action": "read", "uri": "docs:docs://page/secret"}, CONTEXT
    )
    assert outcome.is_error
    assert "held back: it changed" in outcome.text


async def test_a_server_that_fails_is_an_error_result():
    """No exception leaves the tool (H5)."""
    outcome = await ask(Reader("it is gone"), action="read", uri="docs:docs://guide")
    assert outcome.is_error
    assert "it is gone" in outcome.text


def test_blobs_are_told_of_and_not_shown():
    """Kind and size, since their bytes are no text (H45)."""
    text = as_text(({"uri": "img://x", "mimeType": "image/png", "blob": "QUJDRA=="},))
    assert text == "[img://x: image/png, about 6 bytes, no text]"


@pytest.mark.parametrize(
    ("template", "values", "uri"),
    [
        ("a://{x}/b", {"x": "1 2"}, "a://1%202/b"),
        ("a://{+path}", {"path": "x/y"}, "a://x/y"),
        ("a://h{/x,y}", {"x": "1", "y": "2"}, "a://h/1/2"),
        ("a://h{?q,n}", {"q": "é"}, "a://h?q=%C3%A9"),
        ("a://h{?q}", {}, "a://h"),
        ("a://{x:2}", {"x": "abc"}, "a://ab"),
        ("a://h{#f}", {"f": "x"}, "a://h#x"),
    ],
)
def test_templates_are_expanded_and_fit_what_they_give(
    template: str, values: dict[str, str], uri: str
):
    """The forms of RFC 6570 with texts as values."""
    assert expanded(template, values) == uri
    assert fits(template, uri)
    assert not fits(template, "b" + uri)


def test_variables_are_named_once_each():
    """In their order."""
    assert variables("a://{x}/{+y,x}{?z*}") == ["x", "y", "z"]
    assert not fits("a://{x}", "a://1/2")
