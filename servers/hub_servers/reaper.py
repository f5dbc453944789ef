"""Ends process groups when the process that started them is gone; runs alone on the bare stdlib.

Its stdin is a pipe whose only writer is that process. One command a line: ``*TOKEN`` a start is
about to happen, ``+PGID TOKEN`` it has happened, ``!TOKEN`` it has failed, ``-PGID`` the group has
ended. When the pipe closes, every group that is left gets SIGTERM, two seconds later SIGKILL. A
start that was announced and not concluded is looked for by the token in the environment of every
process; so is what has left a group of which ``~PGID TOKEN`` was said.
"""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress

TOKEN_VARIABLE = "HUB_PROCESS_GROUP"
"""The environment variable that marks what was started."""
GRACE_SECONDS = 2.0
"""How long a group has between SIGTERM and SIGKILL."""
_LOOK_SECONDS = 0.5
_POLL_SECONDS = 0.02


def main() -> None:
    """Follow the commands on stdin until it closes, then end what is left."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    groups, tokens = follow(0)
    end_all(groups | found(tokens))
    while tokens and (strays := carriers(tokens)):  # what was forked off meanwhile
        end_all(strays)


def follow(descriptor: int) -> tuple[set[int], set[str]]:
    """Read commands until the pipe closes; return the groups that are left, and tokens to find."""
    groups: set[int] = set()
    starting: set[str] = set()
    marked: dict[int, str] = {}
    pending = b""
    while part := os.read(descriptor, 65536):
        *lines, pending = (pending + part).split(b"\n")
        for line in lines:
            kind, (first, *rest) = line[:1], line[1:].decode().split(" ")
            if kind == b"*":
                starting.add(first)
            elif kind == b"!":
                starting.discard(first)
            elif kind == b"+":
                groups.add(int(first))
                starting.difference_update(rest)
            elif kind == b"~":
                marked[int(first)] = rest[0]
            elif kind == b"-":
                groups.discard(int(first))
                marked.pop(int(first), None)
    return groups, starting.union(marked.values())


def found(tokens: set[str]) -> set[int]:
    """Return the groups of processes that carry one of the tokens, looking for a little while."""
    groups: set[int] = set()
    deadline = time.monotonic() + _LOOK_SECONDS
    while tokens and time.monotonic() < deadline:
        groups |= carriers(tokens)
        time.sleep(_POLL_SECONDS)
    return groups


def carriers(tokens: set[str]) -> set[int]:
    """Return the groups of processes that carry one of the tokens now."""
    groups: set[int] = set()
    marks = {f"{TOKEN_VARIABLE}={token}".encode() for token in tokens}
    for pid, environment in _each_process("environ"):
        if not marks.isdisjoint(environment.split(b"\0")):
            with suppress(ProcessLookupError):
                groups.add(os.getpgid(pid))
    return groups - {os.getpgid(0)}


def end_all(groups: set[int]) -> None:
    """Send SIGTERM to all groups, wait, and send SIGKILL to what is left."""
    for group in groups:
        send(group, signal.SIGTERM)
        send(group, signal.SIGCONT)
    deadline = time.monotonic() + GRACE_SECONDS
    while groups and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
        groups = {group for group in groups if has_members(group)}
    for group in groups:
        send(group, signal.SIGKILL)


def send(group: int, number: int) -> bool:
    """Send a signal to a group; return whether there is such a group."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def has_members(group: int) -> bool:
    """Return whether a group has a member that is not a zombie."""
    if not send(group, 0):
        return False
    seen = False
    for _pid, status in _each_process("stat"):
        seen = True
        # The command's name stands in parentheses and may itself hold spaces and parentheses.
        state, _parent, process_group = status.rpartition(b")")[2].split()[:3]
        if int(process_group) == group and state not in {b"Z", b"X"}:
            return True
    return not seen


def _each_process(file: str) -> Iterator[tuple[int, bytes]]:
    """Yield the pid and the content of one file in ``/proc`` for each process that lets us."""
    try:
        with os.scandir("/proc") as entries:
            pids = [int(entry.name) for entry in entries if entry.name.isdigit()]
    except OSError:
        return
    for pid in pids:
        try:
            descriptor = os.open(f"/proc/{pid}/{file}", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            content = os.read(descriptor, 1 << 20)
        except OSError:
            continue
        finally:
            os.close(descriptor)
        if content:
            yield pid, content


if __name__ == "__main__":
    main()
