"""The picture of a team: layers, words and both languages of pictures."""

import re
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

from hub.core.team import Edge, Role
from hub.roles.escalation import WRITERS
from hub.roles.graph import Node, edge_words, layers, short
from hub.roles.load import RoleBook
from hub.roles.matrix import matrix
from hub.roles.mermaid import mermaid
from hub.roles.svg import svg

Team = Callable[..., RoleBook]
Names = tuple[str, ...]
SVG = "{http://www.w3.org/2000/svg}"


def drawn(book: RoleBook, tool_names: Names) -> list[list[Node]]:
    return layers(book.roles, matrix(book.roles, tool_names), WRITERS)


def texts(picture: str) -> list[str]:
    return ["".join(text.itertext()) for text in ElementTree.fromstring(picture).iter(f"{SVG}text")]


def test_roles_stand_in_layers_by_their_distance_from_the_user(
    team: Team, tool_names: Names
) -> None:
    """A cycle ends nothing; what nobody reaches comes last."""
    book = team(
        lead="user_facing: true\ndispatch: [hand, eye]",
        hand="tools: [files__edit]\ndispatch: [finger, lead]",
        eye="tools: [files__read]",
        finger="tools: []",
        lost="dispatch: [hand]",
    )
    found = drawn(book, tool_names)
    assert [[node.name for node in row] for row in found] == [
        ["lead"],
        ["hand", "eye"],
        ["finger"],
        ["lost"],
    ]
    kinds = {node.name: node.kind for row in found for node in row}
    assert (kinds["hand"], kinds["eye"], kinds["finger"]) == ("writer", "reader", "bare")
    assert not found[-1][0].reachable


def test_tools_are_told_by_server_and_all_of_them_in_a_word(team: Team, tool_names: Names) -> None:
    """So that a role with everything needs no long list."""
    book = team(a="user_facing: true\ntools: [files__read, files__edit, 'notes__*', shell__run]")
    [[node]] = drawn(book, tool_names)
    assert node.tools == (("files", ("read", "edit")), ("shell", ("run",)), ("notes", ("all 3",)))


def test_an_edge_is_told_with_its_cap_and_budgets() -> None:
    """Numbers are shortened where nothing is lost by it."""
    edge = Edge("x", max_parallel=2, tokens=200_000, usd=1.5, tools=("files__*", "a"))
    assert edge_words(edge) == "2 at once · 200k tokens · $1.5 · only files__* a"
    assert [short(n) for n in (7, 999, 1_000, 1_234, 1_500_000, 2_000_001)] == [
        "7",
        "999",
        "1k",
        "1234",
        "1.5M",
        "2000001",
    ]


def test_a_picture_holds_every_role_edge_bound_and_tool_and_nothing_from_elsewhere(
    team: Team, tool_names: Names
) -> None:
    """It is well-formed, has its own colours for dark pages, and reaches no font or address."""
    book = team(
        lead="user_facing: true\ndescription: Leads <them> & all\ndispatch:\n"
        "  - {role: hand, max_parallel: 3, tokens: 50000}\n  - nobody",
        hand="tools: [files__edit]\ndispatch: [lead]\nacceptance: {command: make test}",
    )
    picture = svg(drawn(book, tool_names))
    said = " ".join(texts(picture))
    for words in ("lead", "Leads <them> & all", "→ hand", "3 at once · 50k tokens", "files: edit"):
        assert words in said
    assert "nobody (no such role)" in said
    assert "accepted: make test" in said
    assert "prefers-color-scheme:dark" in picture
    assert not re.findall(r"(?:href|url\(|@import|<script|<image|src=)", picture)
    assert set(re.findall(r"https?://[^\"]+", picture)) == {"http://www.w3.org/2000/svg"}
    root = ElementTree.fromstring(picture)
    edges = [e for e in root.iter(f"{SVG}path") if "edge" in e.get("class", "").split()]
    assert [("back" in e.get("class", "")) for e in edges] == [False, True]


def test_boxes_do_not_overlap_and_stay_within_the_picture(team: Team, tool_names: Names) -> None:
    """Whatever the number of roles, edges and words."""
    many = [f"r{number}" for number in range(12)]
    book = team(
        lead=f"user_facing: true\ndescription: {'word ' * 60}\ndispatch: [{', '.join(many)}]",
        **dict.fromkeys(many, "tools: ['*']\ndispatch: [lead, r0, r1]"),
    )
    root = ElementTree.fromstring(svg(drawn(book, tool_names)))
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    boxes = [
        tuple(float(rect.get(key, 0)) for key in ("x", "y", "width", "height"))
        for rect in root.iter(f"{SVG}rect")
        if rect.get("class") == "box"
    ]
    assert len(boxes) == 13
    for number, (x, y, wide, high) in enumerate(boxes):
        assert x + wide < width
        assert y + high < height
        for other_x, other_y, _, other_high in boxes[number + 1 :]:
            assert x != other_x or y + high < other_y or other_y + other_high < y


def test_hostile_words_stay_words_in_both_pictures(tool_names: Names) -> None:
    """A role file may come from a stranger, and its picture may be put on a page."""
    evil = '</text><script>x</script>"]; click r0 href "x" %%{init}%% |`#quot;\x1b[2J\u202e'
    role = Role("boss", description=evil, user_facing=True, dispatch=(Edge("b", tools=(evil,)),))
    roles = {"boss": role, "b": Role("b", tools=(evil,))}
    found = layers(roles, matrix(roles, (*tool_names, evil)), WRITERS)
    picture = svg(found)
    assert ElementTree.fromstring(picture) is not None
    assert "<script" not in picture
    chart = mermaid(found)
    for text in (picture, chart):
        assert "\x1b" not in text
        assert "\u202e" not in text
    inside = re.findall(r'"([^"]*)"', chart)
    assert chart.count('"') == 2 * len(inside)
    assert not any(re.search(r"<(?!b>|/b>|br/>)|`|\|", text) for text in inside)


def test_a_flowchart_has_nodes_edges_and_colours(team: Team, tool_names: Names) -> None:
    """Roles that a user may start have round ends; those that nobody can are dashed."""
    book = team(
        lead="user_facing: true\ntools: []\ndispatch: [{role: hand, max_parallel: 2}]",
        hand="tools: [files__edit]",
        lost="tools: [files__read]",
    )
    lines = mermaid(drawn(book, tool_names)).splitlines()
    assert lines[0] == "flowchart LR"
    assert lines[1].startswith('  r0(["<b>lead</b><br/>no tools')
    assert lines[1].endswith('"]):::bare')
    assert lines[2].endswith('files: edit"]:::writer')
    assert lines[3].endswith(":::readerLost")
    assert lines[4] == '  r0 -- "2 at once" --> r1'


def test_a_team_of_nobody_is_an_empty_picture(tool_names: Any) -> None:
    """No fault."""
    assert ElementTree.fromstring(svg([])) is not None
    assert mermaid([]).startswith("flowchart LR\n")
