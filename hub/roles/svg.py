"""The graph of a team as an SVG picture of its own: no font, script or file from elsewhere. Pure.

Each role is a box with its tools and one row for each edge; the line of an edge begins at its row,
so that no label has to stand on a line. The colours follow the reader's choice of dark or light.
"""

from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape, quoteattr

from msgspec import Struct

from hub.core.text import cells, one_line
from hub.roles.graph import KIND_WORDS, Line, Node

BOX = 320
"""Width of a box."""
GAP = 110
"""Between two columns."""
BETWEEN = 26
"""Between two boxes of a column."""
MARGIN = 24
HEAD = 46
ROW = 20
"""Height of an edge's row without its words."""
WORDS = 14
TEXT = 17
PAD = 12
CHARACTER = 7.3
"""Width of one character of the font; others that a system may take are no wider."""
ROOM = int((BOX - 2 * PAD) / CHARACTER)
"""Characters of a line within a box."""
LANE = 9
"""Between two lines that lead back."""
LANES = 10
"""Lines that lead back beside each other between two columns; more are drawn over these."""

STYLE = """
.hub-roles text{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
.hub-roles text{fill:#111827} .hub-roles .name{font-weight:bold;font-size:14px}
.hub-roles .strong{font-weight:bold} .hub-roles .dim{fill:#4b5563}
.hub-roles .bad{fill:#b42318} .hub-roles .page{fill:#ffffff}
.hub-roles .box{fill:#f8fafc;stroke:#94a3b8;stroke-width:1}
.hub-roles .user .box{stroke:#1d4ed8;stroke-width:2.5} .hub-roles .lost .box{stroke-dasharray:6 4}
.hub-roles .rule{stroke:#cbd5e1} .hub-roles .writer .head{fill:#fde3cf}
.hub-roles .reader .head{fill:#d7ecdf} .hub-roles .bare .head{fill:#e4e7ee}
.hub-roles .edge{fill:none;stroke:#64748b;stroke-width:1.5} .hub-roles .back{stroke-dasharray:5 4}
.hub-roles .tip{fill:#64748b} .hub-roles .port{fill:#64748b}
@media (prefers-color-scheme:dark){
.hub-roles text{fill:#e5e7eb} .hub-roles .dim{fill:#a3adba} .hub-roles .bad{fill:#ff9b8f}
.hub-roles .page{fill:#0d1117} .hub-roles .box{fill:#161b22;stroke:#57606a}
.hub-roles .user .box{stroke:#6ea8fe} .hub-roles .rule{stroke:#30363d}
.hub-roles .writer .head{fill:#5a3413} .hub-roles .reader .head{fill:#143d28}
.hub-roles .bare .head{fill:#2b303a} .hub-roles .edge{stroke:#8b98a9}
.hub-roles .tip{fill:#8b98a9} .hub-roles .port{fill:#8b98a9}}
"""


class _Box(Struct, frozen=True):
    """A role with its place."""

    node: Node
    column: int
    x: float
    y: float
    texts: tuple[tuple[str, str], ...]
    """Lines of text between head and rows, each with its class."""
    words: tuple[tuple[str, ...], ...]
    """What is said of each edge, in lines."""

    def row(self, number: int) -> float:
        """Return where the row of an edge begins; that behind the last is the end of the box."""
        above = sum(ROW + WORDS * len(words) for words in self.words[:number])
        return self.y + HEAD + PAD * 1.5 + len(self.texts) * TEXT + above

    @property
    def height(self) -> float:
        return self.row(len(self.words)) - self.y + PAD / 4


def svg(layers: Sequence[Sequence[Node]]) -> str:
    """Return the picture as a document."""
    boxes = _placed(layers)
    back = _back_edges(boxes)
    aside = min(len(back), LANES) * LANE
    left = MARGIN + aside
    bottom = max((box.y + box.height for box in boxes.values()), default=MARGIN)
    columns = max((box.column for box in boxes.values()), default=0) + 1
    width = left + columns * BOX + (columns - 1) * GAP + MARGIN + aside
    legend_at = bottom + (len(back) + 2) * LANE
    height = legend_at + 2 * TEXT + MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="hub-roles" role="img" '
        f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" '
        f"aria-label={quoteattr(_spoken(layers))}>",
        f"<title>Roles: who may dispatch to whom, and with which tools</title>"
        f"<style>{STYLE}</style>",
        f'<rect class="page" width="{width:g}" height="{height:g}"/>',
        f'<g transform="translate({aside:g} 0)">',
        *_forward(boxes),
        *(_round(boxes, edge, lane, bottom) for lane, edge in enumerate(back)),
        *(piece for box in boxes.values() for piece in _drawn(box)),
        *_legend(legend_at),
        "</g></svg>",
    ]
    return "\n".join(parts) + "\n"


def _placed(layers: Sequence[Sequence[Node]]) -> dict[str, _Box]:
    boxes: dict[str, _Box] = {}
    for column, row in enumerate(layers):
        y = float(MARGIN)
        for node in row:
            words = tuple(
                tuple(_wrapped(line.words, ROOM - 2)) if line.exists else () for line in node.lines
            )
            x = MARGIN + column * (BOX + GAP)
            box = _Box(node, column, x, y, tuple(_texts(node)), words)
            boxes[node.name] = box
            y += box.height + BETWEEN
    return boxes


def _texts(node: Node) -> Iterator[tuple[str, str]]:
    if node.description:
        lines = _wrapped(node.description, ROOM)
        lines = lines if len(lines) <= 2 else [lines[0], one_line(" ".join(lines[1:]), ROOM)]
        yield from (("dim", part) for part in lines)
    if node.bounds:
        yield from (("dim", part) for part in _wrapped(node.bounds, ROOM))
    for server, names in node.tools:
        start = f"{server}: " if server else ""
        yield from (("", part) for part in _wrapped(start + ", ".join(names), ROOM, "  "))
    if not node.tools:
        yield "dim", "no tools"


def _wrapped(text: str, room: int, indent: str = "") -> list[str]:
    """Break a text between words; a word that is too long is cut."""
    lines: list[str] = []
    line = ""
    for word in one_line(text, 2_000).split():
        more = f"{line} {word}" if line else word
        if cells(more) <= room:
            line = more
            continue
        if line:
            lines.append(line)
        line = one_line(indent + word, room)
    return [*lines, line] if line else lines


def _drawn(box: _Box) -> Iterator[str]:
    node, x, y = box.node, box.x, box.y
    classes = [node.kind, *(["user"] if node.user_facing else [])]
    classes += [] if node.reachable else ["lost"]
    yield f'<g class="{" ".join(classes)}">'
    yield f'<rect class="box" x="{x:g}" y="{y:g}" width="{BOX}" height="{box.height:g}" rx="8"/>'
    yield (
        f'<path class="head" d="M{x + 1:g} {y + HEAD:g}V{y + 9:g}q0 -8 8 -8h{BOX - 18}'
        f'q8 0 8 8V{y + HEAD:g}z"/>'
    )
    yield _text("name", x + PAD, y + 19, one_line(node.name, 34))
    yield _text("dim", x + PAD, y + 37, node.what)
    for number, (kind, text) in enumerate(box.texts):
        yield _text(kind, x + PAD, y + HEAD + 4 + (number + 1) * TEXT, text)
    for number, line in enumerate(node.lines):
        yield from _row(box, line, number)
    yield "</g>"


def _row(box: _Box, line: Line, number: int) -> Iterator[str]:
    x, y = box.x, box.row(number)
    yield f'<path class="rule" d="M{x + 1:g} {y:g}h{BOX - 2}"/>'
    known = "strong" if line.exists else "bad"
    target = f"→ {line.target}" if line.exists else f"→ {line.target} (no such role)"
    yield _text(known, x + PAD, y + 14, one_line(target, ROOM))
    for below, words in enumerate(box.words[number]):
        yield _text("dim", x + PAD + 2 * CHARACTER, y + 14 + (below + 1) * WORDS, words)
    if line.exists:
        port_x, port_y = _port(box, number)
        yield f'<circle class="port" cx="{port_x:g}" cy="{port_y:g}" r="3"/>'


def _port(box: _Box, number: int) -> tuple[float, float]:
    return box.x + BOX, box.row(number) + ROW / 2


def _forward(boxes: dict[str, _Box]) -> Iterator[str]:
    for box in boxes.values():
        for number, line in enumerate(box.node.lines):
            target = boxes.get(line.target)
            if target is None or target.column <= box.column:
                continue
            x, y = _port(box, number)
            end_x, end_y = target.x - 8, target.y + HEAD / 2
            bend = (end_x - x) / 2
            yield (
                f'<path class="edge" d="M{x:g} {y:g}C{x + bend:g} {y:g} {end_x - bend:g} '
                f'{end_y:g} {end_x:g} {end_y:g}"/>{_tip(end_x, end_y)}'
            )


def _back_edges(boxes: dict[str, _Box]) -> list[tuple[str, int]]:
    """Return the edges that do not lead to a later column, each as role and number."""
    return [
        (name, number)
        for name, box in boxes.items()
        for number, line in enumerate(box.node.lines)
        if line.target in boxes and boxes[line.target].column <= box.column
    ]


def _round(boxes: dict[str, _Box], edge: tuple[str, int], lane: int, bottom: float) -> str:
    box = boxes[edge[0]]
    target = boxes[box.node.lines[edge[1]].target]
    x, y = _port(box, edge[1])
    beside = lane % LANES * LANE
    out, down = x + 10 + beside, bottom + (lane + 1) * LANE
    end_x, end_y = target.x - 8, target.y + HEAD / 2 + min(lane + 1, 2) * 6
    into = end_x - 8 - beside
    return (
        f'<path class="edge back" stroke-linejoin="round" d="M{x:g} {y:g}H{out:g}V{down:g}'
        f'H{into:g}V{end_y:g}H{end_x:g}"/>{_tip(end_x, end_y)}'
    )


def _tip(x: float, y: float) -> str:
    return f'<path class="tip" d="M{x + 8:g} {y:g}l-9 -4.5v9z"/>'


def _legend(y: float) -> Iterator[str]:
    x = float(MARGIN)
    for kind, words in KIND_WORDS.items():
        square = f'<rect class="head" x="{x:g}" y="{y:g}" width="14" height="14"/>'
        yield f'<g class="{kind}">{square}</g>'
        yield _text("dim", x + 20, y + 11, words)
        x += 20 + (len(words) + 3) * CHARACTER
    yield _text(
        "dim",
        MARGIN,
        y + 11 + TEXT,
        "blue border: a user may start it · dashed border: nobody can · dashed line: leads back",
    )


def _text(kind: str, x: float, y: float, text: str) -> str:
    classes = f' class="{kind}"' if kind else ""
    return f'<text{classes} x="{x:g}" y="{y:g}" xml:space="preserve">{escape(text)}</text>'


def _spoken(layers: Sequence[Sequence[Node]]) -> str:
    nodes = [node for row in layers for node in row]
    said = [
        f"{node.name} dispatches to {', '.join(line.target for line in node.lines) or 'nobody'}"
        for node in nodes
    ]
    return one_line("; ".join(said), 2_000)
