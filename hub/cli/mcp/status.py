"""``hub mcp status``: everything that is known of servers; nothing is started."""

from collections.abc import Iterator
from pathlib import Path
from time import time
from typing import Annotated

import typer

from hub.app.mcp.approval import launch_changes
from hub.app.mcp.looks import Look, View, look_around
from hub.app.mcp.masking import shown_command, shown_url, shown_values
from hub.cli.examples import examples
from hub.cli.figures import plural
from hub.cli.layout import facts, painted, paragraph, show
from hub.cli.mcp.words import place, when
from hub.cli.options import AsJson, Directory, StrictMcp
from hub.cli.results import json_line
from hub.core.text import one_line

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog=examples("hub mcp status", "hub mcp status git", "hub mcp status git --json"))
def show_status(
    server: Annotated[str | None, typer.Argument(help="Only this server.")] = None,
    *,
    directory: Directory = Path(),
    strict_mcp: StrictMcp = None,
    as_json: AsJson = False,
) -> None:
    """Show what is known of servers: launch, approval, last life, pins."""
    view = look_around(directory, strict_mcp=strict_mcp)
    looks = view.looks if server is None else (view.find(server),)
    if as_json:
        show(json_line(look.as_dict()).rstrip() for look in looks)
        return
    for number, look in enumerate(looks):
        show([""] if number else [])
        show([painted(look.spec.name, "bold"), *_lines(look, view)])


def _lines(look: Look, view: View) -> Iterator[str]:
    pairs = [*_launch(look, view), *_approval(look), *_life(look), *_known(look)]
    yield from (f"  {line}" for line in facts(pairs))
    reasons = look.pinned.reasons()
    if reasons:
        yield "  " + painted("quarantined", "yellow")
        for name, why in reasons.items():
            yield from paragraph(f"{one_line(name, 200)}: {why}", indent="    ")
        yield from paragraph(
            f"See hub mcp diff {look.spec.name}; accept with: hub mcp approve {look.spec.name}",
            indent="    ",
        )
    if look.record is not None and look.record.stderr.strip() and look.error:
        yield "  " + painted("stderr", "bold")
        yield from paragraph(look.record.stderr.strip(), indent="    ")


def _launch(look: Look, view: View) -> list[tuple[str, str]]:
    spec = look.spec
    project = view.setup.loaded.sources.project
    bundled = f"bundled: {spec.command}" if spec.transport == "memory" else ""
    return [
        ("state", look.words),
        ("origin", place(spec.origin, project)),
        ("transport", spec.transport),
        ("command", bundled or " ".join(shown_command(spec))),
        ("address", shown_url(spec.url)),
        ("folder", spec.cwd),
        ("variables", _named(shown_values(spec.env))),
        ("headers", _named(shown_values(spec.headers))),
        ("fingerprint", spec.fingerprint()),
        ("limits", f"start {spec.start_timeout:g} s, call {spec.call_timeout:g} s"),
    ]


def _named(values: dict[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in values.items())


def _approval(look: Look) -> list[tuple[str, str]]:
    standing = look.standing
    if standing is None:
        return [("approval", "switched off (enabled: false)")]
    words = standing.words
    if standing.record is not None and standing.state == "approved":
        words = f"{words}, {when(standing.record.at, time())}"
    pairs = [("approval", words)]
    if standing.record is not None and standing.state == "changed":
        pairs.append(("changes", "\n".join(launch_changes(look.spec, standing.record))))
    if not standing.approved:
        pairs.append(("to do", f"hub mcp approve {look.spec.name}"))
    return pairs


def _life(look: Look) -> list[tuple[str, str]]:
    record, now = look.record, time()
    if record is None:
        never = look.standing is not None and look.standing.approved
        return [("last life", "never started")] if never else []
    code = "" if record.exit_code is None else str(record.exit_code)
    return [
        ("started", when(record.started, now)),
        ("connected", when(record.connected, now)),
        ("ended", when(record.ended, now)),
        ("last call", when(record.used, now)),
        ("exit code", code),
        ("noise", look.noise),
        ("starts", f"{record.starts} within a minute" if record.starts else ""),
        ("next try", when(record.retry_at, now) if look.state == "crash-loop" else ""),
        ("error", look.error),
    ]


def _known(look: Look) -> list[tuple[str, str]]:
    listing, pinned = look.listing, look.pinned
    if listing is None:
        return []
    offers = [plural(len(listing.tools), "tool")]
    offers += [plural(len(listing.prompts), "prompt")] if listing.prompts else []
    offers += [plural(len(listing.resources), "resource")] if listing.resources else []
    version = f", version {one_line(listing.version)}" if listing.version else ""
    pairs = [
        ("protocol", f"MCP {listing.protocol}{version}"),
        ("offers", ", ".join(offers)),
        ("list kept", when(look.cached_at, time()) or "comes with the hub"),
    ]
    if look.spec.transport != "memory":
        words = f"{plural(pinned.tools, 'tool')} pinned" if pinned.exists else "nothing pinned yet"
        words += f", {pinned.held_back} quarantined" if pinned.held_back else ""
        words += ", and by hub.lock" if pinned.locked else ""
        pairs.append(("pins", words))
    warnings = "\n".join(listing.warnings)
    return [*pairs, ("warnings", warnings)]
