"""Model-facing names of tools: ``<server>__<tool>``, stable and without collisions. Pure.

A name depends on its own server and tool alone, never on what else is connected, and two
different tools never get the same one: whatever had to be changed to fit the alphabet or the
length carries a hash of what it was.
"""

import hashlib
import json
import re

JOINT = "__"
MAX_LENGTH = 64
"""The longest name that common model servers accept."""
HASH_DIGITS = 8

_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]")
_HASHED = re.compile(rf"_[0-9a-f]{{{HASH_DIGITS}}}\Z")


def model_name(server: str, tool: str) -> str:
    """Return the name under which a model sees a server's tool.

    Names made of ``[A-Za-z0-9_-]`` that fit into 64 characters are joined as they are. In every
    other name the illegal characters become ``_``, the whole is cut, and 8 hex digits of a hash
    over server and tool follow. The same happens where the joint could be read in two ways.
    """
    plain = f"{server}{JOINT}{tool}"
    if _is_clear(server, tool) and len(plain) <= MAX_LENGTH:
        return plain
    canonical = json.dumps([server, tool]).encode()
    digest = hashlib.sha256(canonical).hexdigest()
    tail = f"_{digest[:HASH_DIGITS]}"
    return _ILLEGAL.sub("_", plain)[: MAX_LENGTH - len(tail)] + tail


def _is_clear(server: str, tool: str) -> bool:
    """Say whether the joined name can be read in one way only, and never as one with a hash."""
    if not server or not tool or _ILLEGAL.search(server + tool):
        return False
    if JOINT in server or server.endswith("_") or tool.startswith("_"):
        return False
    return not _HASHED.search(server + JOINT + tool)
