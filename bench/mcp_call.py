"""What a call of an MCP server costs beside the bare SDK: the same server over stdio, in one run, by turns.

The server is one that nobody here wrote (``mcp-server-time``; ``make servers`` installs it).  Ours goes through the toolbox
(arguments checked, the answer cleaned, masked and cut) into a sandbox; the SDK starts the server on this machine.  What is
added is also told in milliseconds, for a call that reads and for one after which the workspace is looked at.

    python -m bench mcp_call
"""

from __future__ import annotations

import hashlib
import math
import shutil
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable

from mcp import Client
from mcp.client.stdio import StdioServerParameters

from bench.figures import Figure, size
from tests.integration.mcp.odd_bench import odd, open_mcp_bench
from tests.integration.mcp.test_others_servers import OTHERS

ROUNDS = size("ROUNDS", 20, 1)
CALLS = size("CALLS", 25, 5)
MOST = 1.5
ZONE = {"timezone": "UTC"}


async def figures() -> AsyncIterator[Figure]:
    """Rounds of each by turns, so that a machine that is busy is so for all of them."""
    if not (OTHERS / "site").exists():
        yield Figure("mcp_call_over_bare_sdk", math.nan, "x", "<=", MOST, "not measured: make servers")
        return
    async with open_mcp_bench() as bench:
        home = bench.folder / "homes" / hashlib.sha256(b"t1").hexdigest()[:24]
        shutil.copytree(OTHERS / "site", home / "site", symlinks=True)
        run = {"command": "python3", "args": ["-m", "mcp_server_time"]}
        ours = {**run, "env": {"PYTHONPATH": "/home/agent/site"}, "readOnly": ["*"], "timeout": 60}
        await bench.serve({"odd": odd(readOnly=[]), "time": ours})
        bare_server = StdioServerParameters(
            command="/usr/bin/python3", args=["-m", "mcp_server_time"], env={"PYTHONPATH": str(OTHERS / "site")}
        )
        async with Client(bare_server) as client:
            calls: dict[str, Callable[[], Awaitable[object]]] = {
                "bare": lambda: client.call_tool("get_current_time", dict(ZONE)),
                "ours": lambda: bench.call("mcp__time__get_current_time", timezone="UTC"),
                "acts": lambda: bench.call("mcp__odd__put", text="x"),
            }
            taken: dict[str, list[float]] = {name: [] for name in calls}
            for _ in range(ROUNDS):
                for name, call in calls.items():
                    taken[name] += await _timed(call)
    middle = {name: 1000 * statistics.median(each) for name, each in taken.items()}
    note = f"{middle['ours']:.2f} ms, bare {middle['bare']:.2f} ms, {len(taken['bare'])} of each"
    yield Figure("mcp_call_over_bare_sdk", middle["ours"] / middle["bare"], "x", "<=", MOST, note)
    yield Figure(
        "mcp_call_that_acts_ms", middle["acts"], "ms", note="a server of no cost, with a look for changed files"
    )


async def _timed(call: Callable[[], Awaitable[object]]) -> list[float]:
    taken: list[float] = []
    for _ in range(CALLS):
        begun = time.perf_counter()
        await call()
        taken.append(time.perf_counter() - begun)
    return taken
