"""The graph of a team in the language of Mermaid, for pages that draw it themselves. Pure."""

from collections.abc import Sequence

from hub.core.text import one_line
from hub.roles.graph import KIND_WORDS, Kind, Node

COLOURS: dict[Kind, str] = {
    "writer": "fill:#fde3cf,stroke:#b45309,color:#111827",
    "reader": "fill:#d7ecdf,stroke:#1b7f4b,color:#111827",
    "bare": "fill:#e4e7ee,stroke:#56606f,color:#111827",
}
"""Each with a colour of its own for text, so that a dark page does not make it unreadable."""
WIDTH = 60
"""Characters of one line of a label."""
_ESCAPES = str.maketrans({
    "#": "#35;",
    "&": "#38;",
    "<": "#60;",
    ">": "#62;",
    '"': "#34;",
    "`": "#96;",
    "|": "#124;",
})


def mermaid(layers: Sequence[Sequence[Node]]) -> str:
    """Return a flowchart; each label is quoted, and no text in it is read as Mermaid or HTML."""
    nodes = [node for row in layers for node in row]
    numbers = {node.name: f"r{number}" for number, node in enumerate(nodes)}
    lines = ["flowchart LR"]
    for node in nodes:
        start, end = ('(["', '"])') if node.user_facing else ('["', '"]')
        lines.append(f"  {numbers[node.name]}{start}{_label(node)}{end}:::{_class(node)}")
    for node in nodes:
        for line in node.lines:
            if line.exists:
                words = _escaped(line.words)
                lines.append(f'  {numbers[node.name]} -- "{words}" --> {numbers[line.target]}')
    lines += [f"  classDef {kind} {COLOURS[kind]}" for kind in KIND_WORDS]
    lines += [f"  classDef {kind}Lost {COLOURS[kind]},stroke-dasharray:5 4" for kind in KIND_WORDS]
    return "\n".join(lines) + "\n"


def _class(node: Node) -> str:
    return node.kind if node.reachable else f"{node.kind}Lost"


def _label(node: Node) -> str:
    parts = [f"<b>{_escaped(node.name)}</b>", _escaped(node.what)]
    parts += [_escaped(node.bounds)] if node.bounds else []
    parts += [_escaped(f"{server}: {', '.join(names)}") for server, names in node.tools]
    missing = [line.target for line in node.lines if not line.exists]
    parts += [_escaped(f"no such role: {', '.join(missing)}")] if missing else []
    return "<br/>".join(parts)


def _escaped(text: str) -> str:
    return one_line(text, WIDTH).translate(_ESCAPES)
