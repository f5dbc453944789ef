"""How a result is made to fit into a conversation."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from hub.core.messages import ToolOutcome
from tests.results.shelves import shelf

ROWS = [{"id": number, "words": "lorem ipsum dolor"} for number in range(2000)]


def test_a_small_result_stays_as_it_is(tmp_path: Path):
    """Nothing is written for it."""
    outcome = ToolOutcome("well", structured={"a": 1})
    assert shelf(tmp_path).shape(outcome) == outcome
    assert not (tmp_path / "results").exists()


def test_a_large_json_result_is_shown_as_json(tmp_path: Path):
    """The preview parses, names the handle, and the whole is on disk (H46)."""
    text = json.dumps(ROWS)
    mine = shelf(tmp_path)
    shaped = mine.shape(ToolOutcome(text))
    told = json.loads(shaped.text)
    (part,) = shaped.kept
    assert told["handle"] == part.handle
    assert "an array of 2,000 items" in told["cut"].replace("a JSON array", "an array")
    assert told["preview"][0] == ROWS[0]
    assert told["preview"][-1].endswith("more items")
    assert len(shaped.text) < 7000
    entry = mine.find(part.handle)
    assert entry is not None
    assert mine.read(entry).decode() == text
    assert (part.size, part.media_type) == (len(text), "application/json")


def test_a_large_text_shows_its_ends(tmp_path: Path):
    """With the handle in the first line (H46)."""
    shaped = shelf(tmp_path).shape(ToolOutcome("\n".join(f"line {n}" for n in range(9000))))
    first, *lines = shaped.text.splitlines()
    assert shaped.kept[0].handle in first
    assert lines[0] == "line 0"
    assert lines[-1] == "line 8999"


def test_the_same_result_has_the_same_text_again(tmp_path: Path):
    """So that a loop is noticed, and prompts are stable."""
    outcome = ToolOutcome(json.dumps(ROWS))
    assert shelf(tmp_path).shape(outcome) == shelf(tmp_path).shape(outcome)


def test_structured_content_that_the_text_repeats_is_not_kept_twice(tmp_path: Path):
    """Servers are to send it as text as well; some wrap it (H43)."""
    rows = ROWS[:200]
    for structured in (rows, {"result": rows}):
        shaped = shelf(tmp_path).shape(ToolOutcome(json.dumps(rows), structured=structured))
        assert shaped.structured is None
        assert not shaped.kept


def test_structured_content_of_its_own_is_kept_beside_the_text(tmp_path: Path):
    """Inline while it is moderate; on disk, with a line for the model, when it is large (H43)."""
    shaped = shelf(tmp_path).shape(ToolOutcome("200 rows", structured={"rows": ROWS[:200]}))
    assert shaped.structured == {"rows": ROWS[:200]}
    assert shaped.text == "200 rows"
    shaped = shelf(tmp_path).shape(ToolOutcome("2000 rows", structured={"rows": ROWS}))
    (part,) = shaped.kept
    assert part.part == "structured"
    assert shaped.structured is None
    assert shaped.text.startswith("2000 rows\n[structured content, a JSON object")
    assert part.handle in shaped.text


def test_blocks_keep_their_order_and_types(tmp_path: Path):
    """A large image leaves its content on disk, in an error too (H45)."""
    picture = bytes(range(256)) * 100
    blocks: tuple[dict[str, Any], ...] = (
        {"type": "text", "text": "see"},
        {"type": "image", "mimeType": "image/png", "data": base64.b64encode(picture).decode()},
        {"type": "resource_link", "uri": "file:///a", "name": "a"},
        {"type": "audio", "mimeType": "audio/wav", "data": "AAAA"},
        {"type": "resource", "resource": {"uri": "file:///b", "text": "b" * 9000}},
    )
    mine = shelf(tmp_path)
    outcome = ToolOutcome("see\n[image, image/png, 25600 bytes]", is_error=True, blocks=blocks)
    shaped = mine.shape(outcome)
    assert [block["type"] for block in shaped.blocks] == [block["type"] for block in blocks]
    (part,) = shaped.kept
    assert (part.part, part.media_type, part.size) == ("block 2", "image/png", len(picture))
    assert "data" not in shaped.blocks[1]
    assert shaped.blocks[1]["handle"] == part.handle
    assert shaped.blocks[3] == blocks[3]
    assert shaped.blocks[4]["resource"]["left_out"] == 1000
    entry = mine.find(part.handle)
    assert entry is not None
    assert mine.read(entry) == picture
    assert shaped.is_error


def test_very_many_blocks_are_counted(tmp_path: Path):
    """The log does not grow without bound."""
    blocks = tuple({"type": "text", "text": str(number)} for number in range(1000))
    shaped = shelf(tmp_path).shape(ToolOutcome("many", blocks=blocks))
    assert len(shaped.blocks) == 101
    assert shaped.blocks[-1] == {"type": "left_out", "blocks": 900}


def test_a_warning_is_told_with_the_result(tmp_path: Path):
    """Behind a small one, inside of the preview of a large one."""
    warned = ToolOutcome("small", warnings=("odd",))
    assert shelf(tmp_path).shape(warned).text == "small\n[warning: odd]"
    shaped = shelf(tmp_path).shape(replace(warned, text=json.dumps(ROWS)))
    assert json.loads(shaped.text)["also"] == ["[warning: odd]"]
    assert shaped.warnings == ("odd",)


def test_what_cannot_be_kept_is_shown_all_the_same(tmp_path: Path):
    """A full or read-only disk loses the rest, and it is said; no handle is made up."""
    (tmp_path / "results").write_text("no folder", encoding="utf-8")
    shaped = shelf(tmp_path).shape(ToolOutcome(json.dumps(ROWS)))
    told = json.loads(shaped.text)
    assert "could not be kept" in told["cut"]
    assert "handle" not in told
    assert told["preview"][0] == ROWS[0]
    assert not shaped.kept


@pytest.mark.parametrize("structured", [object(), {"a": float}, [{1, 2}]])
def test_what_is_no_json_does_not_reach_the_log(tmp_path: Path, structured: Any):
    """It could not be stored."""
    assert shelf(tmp_path).shape(ToolOutcome("x", structured=structured)).structured is None


def test_nothing_holds_a_lone_surrogate_afterwards(tmp_path: Path):
    """In text, structured content and blocks (A12)."""
    bad = "a\ud800b"
    shaped = shelf(tmp_path).shape(
        ToolOutcome(bad, structured={"x": bad}, blocks=({"type": "text", "text": bad},) * 2)
    )
    assert shaped.text == "a\ufffdb"
    assert shaped.structured == {"x": "a\ufffdb"}
    assert shaped.blocks[0]["text"] == "a\ufffdb"


def test_handles_are_noticed_in_texts(tmp_path: Path):
    """A report or a task may hand one on; what only looks like one is none."""
    mine = shelf(tmp_path)
    (part,) = mine.shape(ToolOutcome(json.dumps(ROWS))).kept
    assert mine.mentions(f"see {part.handle}.")
    assert not mine.mentions("see res_0123456789abcdef.")
    assert not shelf(tmp_path, "s-2").mentions(f"see {part.handle}.")
