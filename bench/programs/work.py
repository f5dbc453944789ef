"""What both reference loops do beside asking the model: the tools, and what is measured."""

import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

INSTRUCTIONS = {
    "lead": "You lead the benchmark.",
    "child": "You are a child of the benchmark.",
}

_TEXT = {"type": "string"}
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": {"type": "object", "properties": properties},
        },
    }
    for name, description, properties in (
        ("files__read", "Read a text file.", {"path": _TEXT}),
        ("dispatch", "Hand a task to a child agent.", {"role": _TEXT, "task": _TEXT}),
        ("report", "End your work.", {"status": _TEXT, "summary": _TEXT}),
    )
]


def read_file(folder: Path, arguments: dict[str, Any]) -> str:
    """Read a file and number its lines, as the bundled server does."""
    text = (folder / arguments["path"]).read_text(encoding="utf-8")
    return "\n".join(f"{number}\t{line}" for number, line in enumerate(text.splitlines(), 1))


def given() -> tuple[str, str, Path]:
    """Return base URL, model and folder from the command line."""
    base_url, model, folder = sys.argv[1:4]
    return base_url, model, Path(folder)


class Meter:
    """Wall and CPU seconds of a piece of work."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def tell(self, **more: Any) -> None:
        """Print the figures as one line of JSON."""
        figures = {
            "wall": time.perf_counter() - self._wall,
            "cpu": time.process_time() - self._cpu,
            "rss_mb": peak_memory(),
        }
        print(json.dumps(figures | more))


def peak_memory() -> float:
    """Return the most memory that this program has had, in MB.

    What ``getrusage`` says holds that of the process which has started it as well, on Linux.
    """
    status = Path("/proc/self/status")
    if status.exists():
        lines = status.read_text(encoding="utf-8").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
