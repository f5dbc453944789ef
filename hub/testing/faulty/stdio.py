"""The stdio face of the faulty MCP server: lines in, lines out, and what can go wrong with them."""

import json
import os
import sys
import threading
from collections.abc import Callable

from hub.testing.faulty.knobs import Knobs
from hub.testing.faulty.process import Process
from hub.testing.faulty.results import RAW_BYTE
from hub.testing.faulty.rpc import Message
from hub.testing.faulty.session import Session

_RAW = json.dumps(RAW_BYTE)[1:-1].encode()
_CHUNK = b"x" * 65536
_GRACE = 1.0
"""Seconds that calls under way have to finish once stdin has ended."""


class Pipe:
    """Standard output, shared by all threads."""

    def __init__(self, knobs: Knobs) -> None:
        self._knobs = knobs
        self._lock = threading.Lock()
        self._end = b"\r\n" if knobs.on("crlf") else b"\n"

    def begin(self) -> None:
        """Write what stands on stdout before the first message."""
        knobs = self._knobs
        if knobs.on("bom"):
            self._write(b"\xef\xbb\xbf")
        if knobs.on("banner"):
            self._write(knobs.text("banner").encode() + self._end)
        if knobs.on("blank_lines"):
            self._write(self._end * 2)
        if knobs.on("json_noise"):
            self._write(b'{"hello":1}' + self._end)
        if knobs.on("non_utf8"):
            self._write(b"caf\xe9 au lait" + self._end)
        if knobs.on("flood"):
            self._flood(knobs.count("flood"))

    def send(self, message: Message) -> None:
        """Write one message, with the noise that the knobs put around it."""
        knobs = self._knobs
        line = self._encode(message)
        is_reply = "method" not in message
        with self._lock:
            if knobs.on("noise_between"):
                self._write(b"INFO working on it" + self._end)
            if is_reply and knobs.on("unknown_reply"):
                self._write(self._encode({"jsonrpc": "2.0", "id": 987654, "result": {}}))
            self._write(line)
            if is_reply and knobs.on("double_replies"):
                self._write(line)

    def tear(self, message: Message) -> None:
        """Write the first half of a message."""
        line = self._encode(message)
        with self._lock:
            self._write(line[: len(line) // 2])

    def drop(self) -> None:
        """Do nothing: a pipe has no connection to close."""

    def withhold(self) -> None:
        """Do nothing: on a pipe, no answer is no bytes."""

    def gone(self) -> bool:
        """Whether the reader has left; a pipe tells only when it is written to."""
        return False

    def _encode(self, message: Message) -> bytes:
        return json.dumps(message).encode().replace(_RAW, b"\xe9") + self._end

    def _flood(self, size: int) -> None:
        left = size
        while left > 0 or size == 0:
            self._write(_CHUNK if size == 0 else _CHUNK[:left])
            left -= len(_CHUNK)
        self._write(self._end)

    def _write(self, data: bytes) -> None:
        step = 1 if self._knobs.on("trickle") else len(data)
        view = memoryview(data)
        while view:
            view = view[os.write(1, view[:step]) :]


def serve_stdio(process: Process) -> None:
    """Talk to one client over stdin and stdout until stdin ends."""
    pipe = Pipe(process.knobs)
    session = Session(process, "stdio")
    session.open_stream(pipe)
    calls: list[threading.Thread] = []
    try:
        pipe.begin()
        for line in sys.stdin.buffer:
            _take_line(session, pipe, line, calls)
    except BrokenPipeError:
        process.exit(1, "stdout closed")
    process.log.write("eof", ignored=process.knobs.on("ignore_eof"))
    if process.knobs.on("ignore_eof"):
        process.linger()
    session.close()
    for call in calls:
        call.join(_GRACE)
    process.exit(0, "stdin ended")


def _take_line(session: Session, pipe: Pipe, line: bytes, calls: list[threading.Thread]) -> None:
    try:
        message = json.loads(line)
    except ValueError:
        session.process.log.write("garbage", size=len(line))
        return
    if not isinstance(message, dict):
        session.process.log.write("garbage", size=len(line))
    elif "method" not in message or "id" not in message:
        session.notice(message)
    else:
        answer = session.take(message, pipe)
        if message["method"] != "tools/call" or session.process.knobs.on("serial"):
            answer()
            return
        thread = threading.Thread(target=_quietly, args=(session.process, answer), daemon=True)
        calls.append(thread)
        thread.start()


def _quietly(process: Process, answer: Callable[[], None]) -> None:
    """Answer in a thread of its own; a reader that has left ends the process without a trace."""
    try:
        answer()
    except BrokenPipeError:
        process.exit(1, "stdout closed")
