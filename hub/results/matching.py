"""Finds lines in a text. Also a program, so that a pattern that never ends can be ended.

``python -I -S matching.py PATTERN MOST`` reads the text from standard input and writes a JSON
object. It needs nothing but the standard library, and the system ends it after two seconds of CPU.
"""

import json
import re
import sys
from contextlib import suppress
from typing import Any

LONGEST_LINE = 400
"""Characters of one line that are shown, around the match."""
CPU_SECONDS = 2
MEMORY = 2 << 30


def find(pattern: "re.Pattern[str]", text: str, most: int) -> dict[str, Any]:
    """Return the first ``most`` matching lines and how many there are.

    Each is shown with its number from 1, the offset of its match from 0, and at most
    ``LONGEST_LINE`` characters around it.
    """
    shown: list[dict[str, Any]] = []
    count = 0
    number, counted_to = 1, 0
    end_of_last = -1
    for match in pattern.finditer(text):
        start = match.start()
        if start <= end_of_last:
            continue
        count += 1
        line_start = text.rfind("\n", 0, start) + 1
        line_end = text.find("\n", start)
        line_end = len(text) if line_end < 0 else line_end
        long = line_end - line_start > LONGEST_LINE
        end_of_last = start + LONGEST_LINE if long else line_end
        if len(shown) < most:
            number += text.count("\n", counted_to, line_start)
            counted_to = line_start
            first = max(line_start, start - LONGEST_LINE // 3) if long else line_start
            last = min(line_end, first + LONGEST_LINE) if long else line_end
            before = "…" if first > line_start else ""
            after = "…" if last < line_end else ""
            line = f"{before}{text[first:last]}{after}"
            shown.append({"line": number, "offset": start, "text": line})
    return {"count": count, "shown": shown}


def main() -> None:
    """Read a text, write what matches."""
    with suppress(
        ImportError, OSError, ValueError
    ):  # where the system has no such limits, the hub's own has to do
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    text = sys.stdin.buffer.read().decode("utf-8", "replace")
    try:
        found = find(re.compile(sys.argv[1], re.MULTILINE), text, int(sys.argv[2]))
    except (re.error, OverflowError, RecursionError) as error:
        found = {"error": str(error)}
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
