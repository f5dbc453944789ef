"""A server cannot write on the user's terminal through the SDK."""

import subprocess
import sys
from pathlib import Path

SERVER = r"""
import json, sys

def out(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message or "method" not in message:
        continue
    answer = {
        "initialize": {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "x", "version": "1"},
        },
        "tools/list": {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]},
        "tools/call": {"content": [{"type": "text", "text": "ran"}]},
    }.get(message["method"])
    if message["method"] == "tools/call":
        out(method="notifications/progress", params={"progressToken": "x", "progress": "soon"})
        out(method="notifications/message", params={"level": "loud", "data": 5})
    if answer is None:
        out(id=message["id"], error={"code": -32601, "message": "unknown"})
    else:
        out(id=message["id"], result=answer)
"""

DRIVER = """
import os, sys
from pathlib import Path
import anyio
from hub.connections.pool import ServerPool
from hub.core.clock import SystemClock
from hub.core.ports import CallContext
from hub.core.servers import ServerSpec

async def main():
    spec = ServerSpec("a", "stdio", command=sys.executable, args=("server.py",))
    context = CallContext("s", "lead", "c", lambda *told: None)
    with anyio.fail_after(20):
        async with ServerPool(
            [spec],
            workspace=Path.cwd(),
            env=os.environ,
            resolve=lambda spec: spec,
            emit=lambda event: None,
            clock=SystemClock(),
        ) as pool:
            print((await pool.call("a", "t", {}, context)).text)

anyio.run(main)
"""


def test_broken_notifications_print_nothing(tmp_path: Path):
    """The SDK warns of them with a traceback; without a handler Python would print that."""
    (tmp_path / "server.py").write_text(SERVER, encoding="utf-8")
    ended = subprocess.run(
        [sys.executable, "-c", DRIVER], cwd=tmp_path, capture_output=True, text=True, timeout=30
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == "ran\n"
    assert ended.stderr == ""
