"""The picture of a run: its agents as a tree of coloured lines that fit the screen."""

from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from hub.cli.agents import AgentRow, RunAgents
from hub.cli.figures import plural, short_count, short_time
from hub.core.text import one_line

STYLES = {
    "queued": "dim",
    "thinking": "cyan",
    "streaming": "cyan",
    "tool": "blue",
    "waiting": "bold yellow",
    "done": "green",
}
STATE_WIDTH = 9
FIGURES_WIDTH = 27
NAME_WIDTH = 28
NARROW = 60
"""Below this many columns a line has no room for figures."""
GOOD = frozenset({"done", "partial"})
LAST_NOTICES = 3


def picture(agents: RunAgents, now: float, *, width: int, height: int) -> list[Text]:
    """Draw all agents; those that do not fit ``height`` lines are counted in a last line."""
    rows = list(agents.in_order())
    notices = agents.notices[-LAST_NOTICES:]
    room = max(height - len(notices) - 2, 1)
    shown = rows if len(rows) <= room else _most_telling(rows, room - 1)
    guides = _guides(shown)
    names = [f"{guide}{_name(row)}" for guide, row in zip(guides, shown, strict=True)]
    name_width = min(max(map(cell_len, names), default=0), NAME_WIDTH, max(width // 3, 8))
    lines = [
        _line(row, name, now, width, name_width) for row, name in zip(shown, names, strict=True)
    ]
    if len(shown) < len(rows):
        lines.append(Text(_hidden(rows, shown), style="dim"))
    lines.extend(Text(one_line(f"! {notice}", width), style="yellow") for notice in notices)
    lines.append(Text(_total(rows, agents.session, now), style="dim"))
    for line in lines:
        line.truncate(width, overflow="ellipsis")
    return lines


def _line(row: AgentRow, name: str, now: float, width: int, name_width: int) -> Text:
    text = Text(no_wrap=True, overflow="ellipsis")
    text.append(_fit(name, name_width), style="bold")
    style = "bold red" if row.outcome and row.outcome not in GOOD else STYLES[row.state]
    text.append(" " + _fit(_state(row), STATE_WIDTH) + " ", style=style)
    figures = _figures(row, now) if width >= NARROW else ""
    room = width - text.cell_len - (FIGURES_WIDTH if figures else 0)
    text.append(_fit(row.detail(max(room, 0)), max(room, 0)), style="dim" if row.ended else "")
    text.append(figures.rjust(FIGURES_WIDTH) if figures else "", style="dim")
    return text


def _name(row: AgentRow) -> str:
    own = one_line(row.path.rpartition("/")[2], NAME_WIDTH)
    return own if not row.role or own.partition("#")[0] == row.role else f"{own} ({row.role})"


def _state(row: AgentRow) -> str:
    return row.outcome.replace("_", " ") if row.outcome else row.state


def _figures(row: AgentRow, now: float) -> str:
    if not row.steps and row.state == "queued":
        return ""
    steps = plural(row.steps, "step")
    return f" {steps:>9} {short_count(row.tokens):>5} tok {short_time(row.elapsed(now)):>6}"


def _total(rows: Sequence[AgentRow], session: str, now: float) -> str:
    steps, tokens = sum(row.steps for row in rows), sum(row.tokens for row in rows)
    elapsed = max((row.elapsed(now) for row in rows), default=0.0)
    parts = [plural(len(rows), "agent"), plural(steps, "step"), f"{short_count(tokens)} tokens"]
    parts += [short_time(elapsed), *([session] if session else [])]
    return " · ".join(parts)


def _most_telling(rows: Sequence[AgentRow], room: int) -> list[AgentRow]:
    """Choose what to show when not all fits: roots, who needs a person, who works, the rest."""
    order = ("waiting", "tool", "streaming", "thinking", "queued", "done")
    ranked = sorted(rows, key=lambda row: (row.depth > 0, order.index(row.state)))
    chosen = {row.path for row in ranked[: max(room, 1)]}
    return [row for row in rows if row.path in chosen]


def _hidden(rows: Sequence[AgentRow], shown: Sequence[AgentRow]) -> str:
    visible = {row.path for row in shown}
    hidden = [row for row in rows if row.path not in visible]
    done = sum(row.state == "done" for row in hidden)
    return f"… {len(hidden)} more agents, {done} of them done"


def _guides(rows: Sequence[AgentRow]) -> list[str]:
    """Return the tree's lines before each row; rows are in tree order."""
    guides: list[str] = []
    open_below: set[int] = set()
    for row in reversed(rows):
        open_below = {depth for depth in open_below if depth <= row.depth}
        stems = "".join("│  " if depth in open_below else "   " for depth in range(1, row.depth))
        if row.depth:
            guides.append(stems + ("├─ " if row.depth in open_below else "└─ "))
        else:
            guides.append("")
        open_below.add(row.depth)
    return guides[::-1]


def _fit(text: str, width: int) -> str:
    if cell_len(text) <= width:
        return text + " " * (width - cell_len(text))
    return set_cell_size(text, max(width - 1, 0)) + "…" if width else ""
