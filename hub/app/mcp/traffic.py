"""What ``hub mcp test`` says of a server's start, its noise and its end. Pure."""

from hub.app.mcp.checks import Check
from hub.connections.raw.stdio import END_LIMIT, Ending
from hub.connections.raw.wire import Traffic

LOUD = 200_000
"""Bytes on standard error that are worth a warning."""
SLOW_START = 10.0
"""Seconds after which a start is worth a warning."""


def stderr_check(size: int, last: str) -> Check:
    """Say how much came on standard error."""
    if size > LOUD:
        return Check("stderr", "warn", f"{size // 1000} kB, which fills logs; last: {last}")
    return Check("stderr", "ok", f"{size} bytes; last: {last}" if size else "silent")


def gone_check(what: str, exit_code: int | None, last: str) -> Check:
    """Say that a server ended in the middle of the test."""
    code = "" if exit_code is None else f" with exit code {exit_code}"
    said = f"; it wrote: {last}" if last else ""
    return Check("life", "fail", f"it ended by itself{code} when asked for {what}{said}")


def start_check(seconds: float) -> Check:
    """Say how long the first answer took."""
    words = f"first answer after {seconds:.2f} s"
    if seconds > SLOW_START:
        return Check("start", "warn", f"{words}; raise start_timeout where machines are slower")
    return Check("start", "ok", words)


def traffic_checks(traffic: Traffic, *, stdio: bool) -> list[Check]:
    """Say what came beside the answers that were asked for."""
    checks: list[Check] = []
    if traffic.noise_count:
        more = traffic.noise_count - 1
        words = f"{traffic.noise[0]!r} is no message" + (
            f", nor are {more} more lines" if more else ""
        )
        why = "stdout is for messages alone; log to stderr"
        checks.append(Check("stdout", "fail", f"{words}; {why}"))
    elif stdio:
        checks.append(Check("stdout", "ok", "nothing but messages"))
    if traffic.not_utf8:
        words = f"{traffic.not_utf8} messages are not UTF-8; many clients hang on the first"
        checks.append(Check("encoding", "fail", words))
    if traffic.strays:
        words = f"{traffic.strays} replies to requests that nobody made"
        checks.append(Check("replies", "warn", words))
    if traffic.malformed:
        words = f"{len(traffic.malformed)} are not what they have to be: {traffic.malformed[0]}"
        checks.append(Check("messages", "fail", words))
    if traffic.requests:
        names = ", ".join(sorted(set(traffic.requests)))
        words = f"asks a client that offers nothing: {names}"
        checks.append(Check("requests", "warn", words))
    return checks


def ending_checks(ending: Ending) -> list[Check]:
    """Say how the process ended once its input was closed, and what it left behind."""
    if ending.exit_code is None:
        words = f"still runs {END_LIMIT:g} s after its input was closed, so it has to be killed"
        return [Check("end", "fail", words)]
    took = f"ended {ending.seconds:.2f} s after its input was closed"
    checks = [
        Check("end", "ok", took)
        if ending.exit_code == 0
        else Check("end", "warn", f"{took}, with exit code {ending.exit_code}")
    ]
    if ending.left:
        words = f"still running after its end: {', '.join(ending.left[:5])}"
        return [*checks, Check("orphans", "fail", words)]
    return [*checks, Check("orphans", "ok", "nothing that it started is left")]
