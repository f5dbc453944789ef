"""The tool ``read_result``."""

import json
from pathlib import Path

import anyio
import pytest

from hub.core.messages import ToolOutcome
from hub.results.tool import ReadResultTool
from tests.results.shelves import keep, read, shelf

LINES = "\n".join(f"line {number} of the log" for number in range(1, 5001))
ROWS = [{"id": number, "name": f"row {number}", "tags": ["a", "b"]} for number in range(3000)]


async def test_without_more_it_gives_the_beginning_and_the_way_on(tmp_path: Path):
    """Page after page, until everything has been read exactly once."""
    mine = shelf(tmp_path)
    handle = keep(mine, LINES)
    offset, whole = 0, ""
    while True:
        outcome = await read(mine, handle, offset=offset)
        head, _, page = outcome.text.partition("\n")
        whole += page
        if head.endswith("this is the end]"):
            break
        offset = int(head.rpartition("offset ")[2].rstrip("]"))
    assert whole == LINES


async def test_a_line_can_be_gone_to(tmp_path: Path):
    """Lines are counted from 1, and the head says which are shown."""
    mine = shelf(tmp_path)
    outcome = await read(mine, keep(mine, LINES), line=4000, limit=100)
    head, first, *_ = outcome.text.splitlines()
    assert first == "line 4000 of the log"
    assert "lines 4,000 to 4,00" in head


async def test_what_lies_behind_the_end_is_said(tmp_path: Path):
    """With how much there is."""
    mine = shelf(tmp_path)
    handle = keep(mine, LINES)
    for where in ({"line": 9999}, {"offset": 10_000_000}):
        assert "in 5,000 lines" in (await read(mine, handle, **where)).text


async def test_grep_lists_lines_with_their_numbers(tmp_path: Path):
    """A text is found whatever its case, and is no pattern."""
    mine = shelf(tmp_path)
    handle = keep(mine, LINES + "\nodd (chars) [here]")
    outcome = await read(mine, handle, grep="LINE 42 ")
    assert outcome.text.splitlines()[0] == "[1 matching lines]"
    assert outcome.text.splitlines()[1].startswith("42 (offset ")
    assert "(chars) [here]" in (await read(mine, handle, grep="(CHARS) [")).text
    many = await read(mine, handle, grep="line")
    assert many.text.splitlines()[0] == "[5,000 matching lines, the first 100 shown]"


async def test_grep_shows_the_surroundings_in_a_line_without_end(tmp_path: Path):
    """Minified JSON is one line; the offset leads on."""
    mine = shelf(tmp_path)
    text = json.dumps(ROWS)
    handle = keep(mine, text)
    outcome = await read(mine, handle, grep='"row 2500"')
    line = outcome.text.splitlines()[1]
    assert "row 2500" in line
    assert len(line) < 500
    offset = int(line.partition("(offset ")[2].partition(")")[0])
    assert text[offset:].startswith('"row 2500"')


async def test_grep_takes_a_regular_expression(tmp_path: Path):
    """Only when it is asked for."""
    mine = shelf(tmp_path)
    outcome = await read(mine, keep(mine, LINES), grep=r"^line 49\d\d ", regex=True)
    assert outcome.text.startswith("[100 matching lines]\n4900 (offset")


async def test_a_regular_expression_that_never_ends_is_ended(tmp_path: Path):
    """Its process is, and the call says what to do."""
    mine = shelf(tmp_path)
    handle = keep(mine, "a" * 30_000)
    with anyio.fail_after(15):
        outcome = await read(mine, handle, grep=r"(a|aa)+$x", regex=True)
    assert outcome.is_error
    assert "takes too long" in outcome.text


async def test_a_broken_regular_expression_is_explained(tmp_path: Path):
    """With what Python says of it."""
    mine = shelf(tmp_path)
    outcome = await read(mine, keep(mine, LINES), grep="(", regex=True)
    assert outcome.is_error
    assert "cannot be used" in outcome.text


async def test_a_path_picks_from_json(tmp_path: Path):
    """One value by itself, several as an array; it can be searched and paged."""
    mine = shelf(tmp_path)
    handle = keep(mine, json.dumps({"rows": ROWS}))
    assert json.loads((await read(mine, handle, path="$.rows[7]")).text) == ROWS[7]
    assert json.loads((await read(mine, handle, path="$.rows[:3].id")).text) == [0, 1, 2]
    found = await read(mine, handle, path="$.rows[*].name", grep="row 2999")
    assert '"row 2999"' in found.text
    page = await read(mine, handle, path="$.rows", offset=0, limit=300)
    assert page.text.startswith("[characters 0 to ")


async def test_a_path_to_too_much_gives_a_preview_that_is_json(tmp_path: Path):
    """Under a line that says so."""
    mine = shelf(tmp_path)
    outcome = await read(mine, keep(mine, json.dumps({"rows": ROWS})), path="$.rows")
    note, _, rest = outcome.text.partition("\n")
    assert "3,000 items, cut" in note
    assert json.loads(rest)[0] == ROWS[0]
    assert len(outcome.text) <= 10_000


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"path": "$.nothing"}, "Nothing is at $.nothing"),
        ({"path": "$[?@.id]"}, "cannot be read"),
        ({"grep": "x" * 2000}, "longer than"),
    ],
)
async def test_what_leads_nowhere_is_an_error_that_helps(
    tmp_path: Path, arguments: dict[str, str], words: str
):
    """Never an empty answer."""
    mine = shelf(tmp_path)
    outcome = await read(mine, keep(mine, json.dumps(ROWS)), **arguments)
    assert outcome.is_error
    assert words in outcome.text


async def test_a_path_into_a_text_is_refused(tmp_path: Path):
    """It says how else to read it."""
    mine = shelf(tmp_path)
    outcome = await read(mine, keep(mine, LINES), path="$.a")
    assert "no JSON" in outcome.text


async def test_a_handle_of_another_session_is_unknown(tmp_path: Path):
    """Like one that was made up."""
    handle = keep(shelf(tmp_path), LINES)
    outcome = await read(shelf(tmp_path, "s-2"), handle)
    assert outcome.is_error
    assert "no result" in outcome.text


async def test_a_picture_is_named_and_not_shown(tmp_path: Path):
    """Its bytes are no text for a model (H45)."""
    mine = shelf(tmp_path)
    block = {"type": "image", "mimeType": "image/png", "data": "A" * 10_000}
    (part,) = mine.shape(ToolOutcome("[image]", blocks=(block,))).kept
    outcome = await read(mine, part.handle)
    assert outcome.is_error
    assert "image/png" in outcome.text


async def test_no_answer_is_longer_than_a_result_may_be(tmp_path: Path):
    """Whatever limit is asked for, it is not cut and kept again."""
    mine = shelf(tmp_path, inline=5000, preview=1000)
    handle = keep(mine, json.dumps(ROWS))
    for arguments in ({"limit": 10**9}, {"path": "$[*].tags", "limit": 10**9}, {"grep": "row"}):
        outcome = await read(mine, handle, **arguments)
        assert not mine.shape(outcome).kept


def test_the_offer_is_small(tmp_path: Path):
    """It costs little where it is needed."""
    spec = ReadResultTool(shelf(tmp_path)).spec
    assert len(json.dumps(spec.parameters)) + len(spec.description) < 1200
    assert spec.read_only
