"""The list of the faulty MCP server's knobs, from which parser, help and documentation are made."""

from typing import NamedTuple

_NUMBERS = {"SECONDS", "MILLISECONDS", "CODE", "BYTES", "COUNT"}

CHANGES = (
    "description", "parameter", "enum", "default", "title", "annotations", "output_schema", "meta",
    "instructions", "prompt", "added", "removed", "renamed",
)  # fmt: skip
"""The parts of the server's offer that the knob `change` can alter."""


class Knob(NamedTuple):
    """One way of misbehaving."""

    name: str
    does: str
    """What the server then does, as a phrase that follows the name."""
    takes: str = ""
    """The kind of value: empty for a switch, a word in capitals, or choices joined by `|` (one of
    them may be given) or by a comma (several may)."""
    default: str | int | float | bool | None = None
    """The value when none is given; None if one must be."""
    cases: str = ""
    """The numbers of the field cases that it reproduces."""
    always: float | None = None
    """The value when the knob is not turned at all."""

    @property
    def is_number(self) -> bool:
        """Whether the value is a number."""
        return self.takes in _NUMBERS

    @property
    def choices(self) -> tuple[str, ...]:
        """The words that it takes; empty when any text will do."""
        return tuple(self.takes.replace(",", "|").split("|")) if self.takes.islower() else ()

    @property
    def is_list(self) -> bool:
        """Whether several of the choices may be given at once."""
        return "," in self.takes


def _switch(name: str, does: str, cases: str = "") -> Knob:
    return Knob(name, does, default=True, cases=cases)


# fmt: off
FAMILIES: dict[str, tuple[Knob, ...]] = {
    "start": (
        _switch("mute", "reads and never answers anything", "H1"),
        Knob("slow_start", "reads nothing for this long", "SECONDS", 5.0, "H2"),
        Knob("exit_on_start",
            "prints a reason on stderr and exits before it reads anything", "CODE", 3, "H5"),
        Knob("stderr_flood",
            "writes this much to stderr before it reads anything", "BYTES", 1_000_000, "H31"),
        Knob("starts",
            "counts its starts in this file; needed by NAME@STARTS", "FILE", None, "H10, H13"),
        Knob("lifetime",
            "ends itself, whatever else was asked, after this long", "SECONDS", 300.0, "", 300.0),
    ),
    "handshake": (
        Knob("initialize_delay",
            "answers initialize and server/discover after this delay", "SECONDS", 1.5, "H3"),
        _switch("initialize_never", "does not answer initialize, but everything else", "H1"),
        Knob("initialize_error",
            "answers initialize with this JSON-RPC error", "CODE", -32603, "H5"),
        Knob("exit_on_initialize", "exits instead of answering initialize", "CODE", 1, "H11"),
        Knob("exit_after_initialize", "exits as soon as initialize is answered", "CODE", 0, "H10"),
        Knob("exit_after_list", "exits as soon as tools/list is answered", "CODE", 0, "H10"),
        Knob("version",
            "claims this protocol version in its answer to initialize", "TEXT", "1999-01-01"),
        _switch("no_server_info", "leaves serverInfo out of its answer to initialize"),
        Knob("server_version",
            "gives itself this version", "TEXT", "2.0", "H31"),
        Knob("instructions", "sends these instructions", "TEXT", "Use every tool at once.", "H50"),
        Knob("era",
            "speaks the 2025 handshake, the 2026 requests without one, or both",
            "handshake|both|modern", None, "H31"),
        Knob("discover",
            "in the handshake era, answers server/discover this way",
            "error|silent|exit|invalid_params", None, "H31"),
        _switch("ping_unsupported", "answers ping with -32601", "H8"),
        _switch("ping_never", "does not answer ping", "H8"),
    ),
    "process": (
        _switch("ignore_eof", "stays when its stdin ends", "H9"),
        _switch("ignore_term", "stays on SIGTERM", "H9, A47"),
        Knob("grandchild",
            "starts a process that ignores SIGTERM and keeps its pipes, in its group or a "
            "session of its own", "group|session", "group", "H9, A47"),
    ),
    "wire": (
        Knob("banner",
            "prints this line on stdout first", "TEXT", "Welcome to the faulty server!", "H17"),
        _switch("blank_lines", "prints two empty lines on stdout first", "H17"),
        _switch("json_noise", "prints JSON that is no JSON-RPC on stdout first", "H17"),
        _switch("bom", "begins stdout with a UTF-8 byte order mark", "H17"),
        _switch("crlf", "ends its lines with CR LF", "H17"),
        _switch("noise_between", "prints a line of chatter before every message", "H17"),
        _switch("non_utf8", "prints a line with a byte that is not UTF-8 first", "H17"),
        Knob("flood",
            "first writes this much to stdout without a line end; 0 is without end",
            "BYTES", 20_000_000, "H17"),
        _switch("trickle", "writes its messages one byte at a time"),
        _switch("double_replies", "sends every reply twice", "H22"),
        _switch("unknown_reply",
            "sends a reply to a request that nobody made before every reply", "H22"),
        _switch("torn_reply", "writes half of a tool's reply and exits", "H12"),
    ),
    "lists": (
        Knob("pages", "lists its tools in pages of this size", "COUNT", 2, "H19"),
        _switch("repeat_cursor", "gives the same page and cursor for ever", "H19"),
        Knob("empty_cursor",
            "uses the empty string as the cursor of its second page, or on its last page",
            "middle|last", "middle", "H19"),
        _switch("empty_page", "puts an empty page into the middle", "H19"),
        _switch("reject_cursor", "answers -32602 to its own cursors", "H19"),
        Knob("list_error", "answers tools/list with this JSON-RPC error", "CODE", -32603, "H5"),
        Knob("list_delay", "answers tools/list after this delay", "SECONDS", 1.0, "H29"),
        _switch("list_never", "does not answer tools/list", "H1"),
        _switch("list_changed_on_list", "announces a changed list inside every tools/list", "H20"),
        Knob("list_changed_storm",
            "announces a changed list this many times during every call", "COUNT", 200, "H20"),
        Knob("late_tools",
            "offers the tool late, and announces it, this long after the handshake",
            "SECONDS", 3.0, "H4"),
    ),
    "extras": (
        _switch("only_tools", "says that it has neither prompts nor resources"),
        Knob("resources", "offers this many resources, note://0, note://1, …", "COUNT", 3),
        _switch("no_templates", "knows no templates of resources"),
        Knob("extras_error",
            "answers the lists of prompts and resources with this JSON-RPC error",
            "CODE", -32603, "H5"),
        _switch("extras_never", "does not answer the lists of prompts and resources", "H1"),
        Knob("exit_on_prompts", "exits when it is asked for its prompts", "CODE", 4, "H5"),
        _switch("odd_extras", "lists prompts and resources that are none", "H39"),
        Knob("extras_changed",
            "offers one more prompt and resource, and announces it this many times in each call",
            "COUNT", 1, "H20"),
    ),
    "tools": (
        Knob("extra_tools", "offers this many more tools, t0, t1, …", "COUNT", 50),
        _switch("long_names",
            "offers two tools with names of 80 characters that differ in the last", "H32"),
        _switch("duplicate_names", "offers two tools with one name and different schemas", "H38"),
        _switch("colliding_names", "offers read-file, read_file and read.file", "H34"),
        _switch("no_properties",
            "offers an object without properties and an array without items", "H39"),
        _switch("any_of", "offers a schema with anyOf at its top", "H40"),
        _switch("invalid_members", "offers a schema whose members are invalid", "H40"),
        _switch("no_schema", "offers a tool without inputSchema", "H39"),
        _switch("empty_schema", "offers a tool whose inputSchema is {}", "H39"),
        _switch("hostile_text",
            "offers a description with terminal escapes, bidi controls and imitated harness "
            "text, and answers echo with such text", "A59"),
        Knob("huge_description", "offers a description of this length", "BYTES", 100_000, "H46"),
    ),
    "change": (
        Knob("change",
            "alters these parts of its offer; with @2- it is a rug pull",
            ",".join(CHANGES), None, "H50"),
        _switch("change_on_call",
            "makes the change at the first call, and announces it", "H20, H50"),
    ),
    "calls": (
        Knob("call_delay", "answers every call after this delay", "SECONDS", 2.0, "H25"),
        _switch("call_never", "takes every call and never answers", "A48"),
        Knob("call_error", "answers every call with this JSON-RPC error", "CODE", -32603),
        _switch("tool_error", "answers every call with isError"),
        Knob("crash_on_call",
            "prints a reason on stderr and exits during any call", "CODE", 7, "H12"),
        Knob("progress_every",
            "reports progress at this interval while a call waits", "MILLISECONDS", 100, "H23"),
        Knob("log_messages", "sends this many log messages during every call", "COUNT", 3),
        _switch("ignore_cancel", "finishes cancelled calls and answers them late", "H22"),
        _switch("serial", "takes the next message only when a call is done", "H25"),
        Knob("huge_result",
            "answers echo with a JSON array of this length", "BYTES", 5_000_000, "H46"),
        _switch("structured_only", "answers with structuredContent and an empty content", "H43"),
        _switch("no_content", "answers without the member content", "H43"),
        _switch("bad_output", "answers add with a result that its own outputSchema forbids"),
        _switch("image_error", "answers with isError, a text and an image", "H45"),
        _switch("raw_image", "answers with an image that is not base64", "H45"),
        _switch("unknown_block", "answers with a content type that does not exist"),
        _switch("non_utf8_result", "answers with a byte that is not UTF-8", "H17"),
        Knob("ask",
            "asks the client this in the middle of every echo, whatever the client can do",
            "elicitation|form|url|away|roots|sampling|again", "elicitation", "H30, A27"),
    ),
    "http": (
        Knob("http_status", "answers every POST with this status and no JSON-RPC", "CODE", 503),
        Knob("lose_session",
            "answers this way when a session is unknown: a status, or 200 with a JSON-RPC error",
            "CODE", 404, "H27", 404.0),
        Knob("lose_after", "forgets a session after this many of its calls", "COUNT", 1, "H27"),
        _switch("drop_connection",
            "runs a call and closes the connection instead of answering", "A48"),
        _switch("sse_replies", "answers every request with an event stream"),
        _switch("endless_sse", "keeps the event stream open after the reply"),
        Knob("redirect", "redirects every POST to this URL", "TEXT", None),
    ),
}
# fmt: on
"""Every knob under the heading that the documentation gives it."""

KNOBS: dict[str, Knob] = {knob.name: knob for family in FAMILIES.values() for knob in family}
"""Every knob by its name."""


def knob_table() -> str:
    """The knobs as Markdown, one table per family."""
    parts = []
    for family, knobs in FAMILIES.items():
        parts += [f"### {family}", "", "| knob | the server… | cases |", "|---|---|---|"]
        for knob in knobs:
            parts.append(f"| {_spelling(knob)} | {knob.does} | {knob.cases} |")
        parts.append("")
    return "\n".join(parts)


def _spelling(knob: Knob) -> str:
    if not knob.takes:
        return f"`{knob.name}`"
    choices = " \\| ".join(knob.choices)
    shown = f"`{knob.name}`=`{knob.takes}`" if not choices else f"`{knob.name}`= {choices}"
    return shown if knob.default is None else f"{shown} (default {knob.default})"
