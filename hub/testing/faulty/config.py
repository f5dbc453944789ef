"""Reads a file of knobs for the faulty MCP server, YAML or JSON."""

import json
from pathlib import Path

import yaml

from hub.testing.faulty.knobs import KnobError, Setting, parse_mapping


def read_knobs(path: str) -> list[Setting]:
    """The settings in a file that holds one mapping from knob to value.

    Raises:
        KnobError: The file cannot be read or parsed, or a knob in it is wrong.
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
        values = json.loads(text) if path.endswith(".json") else yaml.safe_load(text)
    except (OSError, ValueError, yaml.YAMLError) as fault:
        raise KnobError(f"{path}: cannot be read as knobs: {fault}") from fault
    if not isinstance(values, dict):
        raise KnobError(f"{path}: a mapping from knob to value is needed, such as `mute: true`")
    try:
        return parse_mapping(values)
    except KnobError as fault:
        raise KnobError(f"{path}: {fault}") from fault
