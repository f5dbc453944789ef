"""What servers put on the wire beside messages, and what a mended result looks like."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub.connections.lines import Lines
from hub.connections.records import read_record
from hub.connections.watch import Watch
from hub.core.messages import ToolOutcome
from hub.testing.faulty.launch import faulty_http
from tests.connections.pools import called, echoes, faulty, open_pool, over_http


@pytest.mark.parametrize(
    "knob",
    [
        "banner",
        "blank_lines",
        "json_noise",
        "bom",
        "crlf",
        "noise_between",
        "non_utf8",
        "flood=40000000",
        "trickle",
        "double_replies",
        "unknown_reply",
        "stderr_flood=3000000",
    ],
)
async def test_noise_on_the_wire_is_skipped(tmp_path: Path, knob: str):
    """Banners, blank lines, BOM, CRLF, bytes that are no UTF-8, floods without a line end (H17)."""
    async with open_pool(faulty("a", knob), workspace=tmp_path) as pool:
        assert await echoes(pool, "a")
        assert await echoes(pool, "a")


async def test_skipped_lines_are_counted_and_the_first_is_kept(tmp_path: Path):
    """The status can say what a server prints where messages belong (H17)."""
    spec = faulty("a", "banner=Hello there!")
    async with open_pool(spec, workspace=tmp_path, state=tmp_path) as pool:
        assert await echoes(pool, "a")
        watch = pool.link("a").watch
        assert watch.noise == 1
        assert "Hello there!" in watch.first_noise
        assert "Hello there!" in watch.describe()
        record = read_record(tmp_path, spec)
        assert record is not None
        assert (record.noise, record.first_noise) == (1, "Hello there!")


async def test_a_byte_that_is_no_utf_8_spoils_only_itself(tmp_path: Path):
    """A result with such a byte arrives with a replacement character (H17)."""
    async with open_pool(faulty("a", "non_utf8_result"), workspace=tmp_path) as pool:
        outcome = await called(pool, "a", "echo", text="x")
        assert not outcome.is_error
        assert "\ufffd" in outcome.text


async def answer(tmp_path: Path, knob: str, tool: str = "echo", **arguments: object) -> ToolOutcome:
    """The outcome of one call of a server with a knob, the same over stdio and HTTP."""
    async with open_pool(faulty("a", knob), workspace=tmp_path) as pool:
        outcome = await called(pool, "a", tool, **arguments)
    async with (
        faulty_http(knob) as url,
        open_pool(over_http("a", url), workspace=tmp_path) as pool,
    ):
        assert await called(pool, "a", tool, **arguments) == outcome
    return outcome


@pytest.mark.parametrize(
    ("knob", "tool"),
    [("structured_only", "echo"), ("structured_only", "add"), ("no_content", "add")],
)
async def test_structured_content_alone_becomes_the_text(tmp_path: Path, knob: str, tool: str):
    """With an empty content or none at all, the model is told the structure (H43)."""
    arguments = {"text": "x"} if tool == "echo" else {"a": 1, "b": 2}
    outcome = await answer(tmp_path, knob, tool, **arguments)
    assert not outcome.is_error
    assert outcome.structured is not None
    assert outcome.text.startswith("{")


async def test_a_result_with_nothing_in_it_says_so(tmp_path: Path):
    """Neither content nor structure: the protocol forbids it, and the tool has run (H43)."""
    outcome = await answer(tmp_path, "no_content", text="x")
    assert outcome.kind == "invalid_result"
    assert "The tool ran" in outcome.text


async def test_a_block_of_an_unknown_kind_leaves_the_rest(tmp_path: Path):
    """The call ran, so its result is no error (H45)."""
    outcome = await answer(tmp_path, "unknown_block", text="x")
    assert not outcome.is_error
    assert "unknown or broken type" in outcome.text


async def test_an_image_in_an_error_is_kept_as_a_block(tmp_path: Path):
    """Order and kinds are kept, and the model reads a line about the image (H45)."""
    outcome = await answer(tmp_path, "image_error", text="x")
    assert outcome.is_error
    assert [block["type"] for block in outcome.blocks] == ["text", "image"]
    assert "[image, " in outcome.text


async def test_an_image_that_is_not_base64_breaks_nothing(tmp_path: Path):
    """It is kept as it came, in its place, and the model is told (H45)."""
    outcome = await answer(tmp_path, "raw_image", text="x")
    assert not outcome.is_error
    assert [block["type"] for block in outcome.blocks] == ["text", "image"]
    assert outcome.text.startswith("x\n[image, image/png, not in base64")
    assert "PNG\r" not in outcome.text


async def test_a_result_that_its_output_schema_forbids_is_still_a_result(tmp_path: Path):
    """The tool ran; what it says is shown, not replaced by an error of ours."""
    outcome = await answer(tmp_path, "bad_output", "add", a=1, b=2)
    assert not outcome.is_error
    assert outcome.text


async def test_a_huge_result_arrives_whole(tmp_path: Path):
    """Five megabytes, over stdio and as one event over HTTP (H46)."""
    outcome = await answer(tmp_path, "huge_result=5000000", text="x")
    assert not outcome.is_error
    assert len(outcome.text) >= 5_000_000


async def test_an_answer_that_is_too_long_fails_at_once(tmp_path: Path):
    """It is thrown away, but not in silence, and the next call works (H17, H46)."""
    async with open_pool(faulty("a", "huge_result=18000000"), workspace=tmp_path) as pool:
        outcome = await called(pool, "a", "echo", text="x")
        assert outcome.kind == "server_error"
        assert "longer than 16 MiB" in outcome.text
        assert not (await called(pool, "a", "add", a=1, b=2)).is_error


@pytest.mark.parametrize("ask", ["elicitation", "url", "roots", "sampling"])
async def test_a_question_of_the_server_is_answered_at_once(tmp_path: Path, ask: str):
    """What we cannot give is refused, never left without an answer (H30)."""
    async with open_pool(faulty("a", f"ask={ask}", call=5), workspace=tmp_path) as pool:
        outcome = await called(pool, "a", "echo", text="x")
        assert outcome.kind != "timeout"


async def test_a_lone_surrogate_in_the_arguments_does_not_break_the_connection(tmp_path: Path):
    """No transport can carry it; it is replaced, and the next call works."""
    async with open_pool(faulty("a"), workspace=tmp_path) as pool:
        outcome = await called(pool, "a", "echo", text="a\ud800b")
        assert "a\ufffdb" in outcome.text
        assert await echoes(pool, "a")


@given(st.lists(st.binary(max_size=30), max_size=30), st.data())
def test_lines_do_not_depend_on_how_the_bytes_arrive(parts: list[bytes], data: st.DataObject):
    """Cut anywhere, the same lines come out, and every line above the limit is reported once."""
    stream, limit = b"\n".join(parts) + b"\n", 20
    whole, dropped = stream.split(b"\n")[:-1], list[bytes]()
    lines, got, rest = Lines(dropped.append, limit), list[bytes](), stream
    while rest:
        size = data.draw(st.integers(1, len(rest)))
        got += lines.feed(rest[:size])
        rest = rest[size:]
    assert got == [line for line in whole if len(line) <= limit]
    assert len(dropped) == sum(len(line) > limit for line in whole)


def test_a_flood_without_a_line_end_takes_no_memory():
    """A line that never ends is thrown away while it arrives (H17)."""
    dropped: list[bytes] = []
    lines, chunk = Lines(dropped.append, limit=1_000_000), b"x" * 65536
    for _ in range(20_000):
        assert lines.feed(chunk) == []
    assert len(dropped) == 1
    assert lines.feed(b"x\nnext\n") == [b"next"]


def test_a_watch_keeps_the_end_of_stderr_and_splits_no_character():
    """The last lines stay, long ones are cut, a character in two pieces is one."""
    watch = Watch()
    for number in range(200):
        watch.heard(f"line {number}\n".encode())
    piece = "é".encode()
    watch.heard(piece[:1])
    watch.heard(piece[1:] + b"y" * 10_000)
    assert watch.tail(2) == "line 199\n" + "é" + "y" * 499
    watch.exit_code = 7
    assert watch.describe().startswith("exit code 7; its last words on stderr: line 196")
