"""The cutting of bytes into events."""

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub.models.chat.sse import EventSplitter, NotEvents

RECORDED = (
    b": OPENROUTER PROCESSING\n\n"
    b'data: {"a":"\xf0\x9f\x98\x80 \xe4\xb8\xad"}\n\n'
    b"event: ping\nid: 7\ndata: {}\n\n"
    b'data:{"b":1}\n\n\n'
    b'data: {"c":\ndata: 2}\n\n'
    b": keep-alive\n"
    b'data: {"d":"\\ud83d\\ude00"}\n\n'
    b"data: [DONE]\n\n"
)


def split(*chunks: bytes) -> list[bytes]:
    splitter = EventSplitter()
    found = [data for chunk in chunks for data in splitter.feed(chunk)]
    return found + splitter.close()


WHOLE = split(RECORDED)


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    marks = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[a:b] for a, b in itertools.pairwise(marks)]


def test_events_comments_and_data_of_several_lines_are_read() -> None:
    """Case S3: what the recorded stream says, without comments, ids and names of events."""
    assert split(RECORDED) == [
        '{"a":"😀 中"}'.encode(),
        b"{}",
        b'{"b":1}',
        b'{"c":\n2}',
        rb'{"d":"\ud83d\ude00"}',
        b"[DONE]",
    ]


@given(st.lists(st.integers(min_value=0), max_size=40), st.sampled_from([b"\n", b"\r\n", b"\r"]))
def test_any_chunking_gives_the_same_events(cuts: list[int], newline: bytes) -> None:
    """Case A12: the bytes are cut at random places, also inside a character or a CRLF."""
    data = RECORDED.replace(b"\n", newline)
    assert split(*pieces(data, cuts)) == WHOLE


def test_single_bytes_give_the_same_events() -> None:
    """Case A12: the worst chunking is one byte at a time."""
    assert split(*(RECORDED[i : i + 1] for i in range(len(RECORDED)))) == WHOLE


@given(st.lists(st.integers(min_value=0), max_size=6))
def test_a_byte_order_mark_is_skipped_however_it_is_cut(cuts: list[int]) -> None:
    """A stream that begins with a mark loses nothing."""
    assert split(*pieces(b"\xef\xbb\xbf" + RECORDED, cuts)) == WHOLE


def test_events_without_blank_lines_between_them_are_still_events() -> None:
    """Some servers end each event with a single line break."""
    assert split(b'data: {"a":1}\ndata: {"b":2}\ndata: [DONE]\n') == [
        b'{"a":1}',
        b'{"b":2}',
        b"[DONE]",
    ]


def test_the_last_event_needs_no_blank_line() -> None:
    """A stream that ends in the middle of the separator keeps its last event."""
    assert split(b'data: {"a":1}\n\ndata: {"b":2}') == [b'{"a":1}', b'{"b":2}']


@given(st.lists(st.integers(min_value=0), max_size=6))
def test_a_json_answer_comes_out_whole_at_the_end(cuts: list[int]) -> None:
    """A server that ignores the wish to stream answers with one JSON text."""
    body = json.dumps({"choices": [], "x": "data: no\n\n"}, indent=1).encode()
    splitter = EventSplitter()
    assert [data for piece in pieces(b"\n " + body, cuts) for data in splitter.feed(piece)] == []
    assert splitter.plain
    assert splitter.close() == [body]


def test_a_web_page_is_refused_at_once() -> None:
    """A wrong base URL often answers with a page and status 200."""
    with pytest.raises(NotEvents, match="web page"):
        EventSplitter().feed(b"\n<!doctype html><title>Login</title>")


def test_an_endless_event_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server cannot fill the memory with one event."""
    monkeypatch.setattr("hub.models.chat.sse.MAX_EVENT", 1000)
    splitter = EventSplitter()
    splitter.feed(b"data: ")
    splitter.feed(b"x" * 900)
    with pytest.raises(NotEvents, match="1000 bytes"):
        splitter.feed(b"x" * 100)
