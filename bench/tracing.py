"""What traces and metrics add to a turn: the product's own loop, without and with them, one after the other in one run.

A turn is one answer and one call with 2 kB of output, over a store in memory and tools that cost nothing: all that is left
is the engine. CPU of the whole process counts, so that the threads that send count too; the collector is another process.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator

from agentic.models.scripted.model import ScriptedModel
from agentic.ports.runtime import Store
from agentic.runtime.clock import SystemClock
from agentic.runtime.loop import Loop
from bench.figures import Figure, size
from bench.trajectory import THREAD, InProcess, answers, started
from bot.telemetry.reporting import Reporting, wanted
from bot.telemetry.trace_sink import TraceSink
from tests.stores import passing_store

TURNS = size("TURNS", 100, 5)
ROUNDS = size("ROUNDS", 7, 1)
COLLECTOR = """
import http.server
class Take(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *_):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Take)
print(server.server_port, flush=True)
server.serve_forever()
"""


async def figures() -> AsyncIterator[Figure]:
    """CPU of a turn without and with traces, their ratio, and what an event costs whoever runs the loop."""
    with subprocess.Popen([sys.executable, "-c", COLLECTOR], stdout=subprocess.PIPE, text=True) as collector:
        try:
            assert collector.stdout is not None
            os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = f"http://127.0.0.1:{collector.stdout.readline().strip()}"
            plain, traced, sent = [], [], 0
            await _untraced()  # whatever is imported or filled once
            await _traced()
            for _ in range(ROUNDS):
                plain.append(await _untraced())
                seconds, sent = await _traced()
                traced.append(seconds)
        finally:
            collector.kill()
    without, beside = statistics.median(plain), statistics.median(traced)
    yield Figure("turn_cpu_untraced", 1_000 * without / TURNS, "ms", note=f"median of {ROUNDS} runs of {TURNS} turns")
    yield Figure("turn_cpu_traced", 1_000 * beside / TURNS, "ms", note=f"{sent} spans sent a run, and metrics")
    yield Figure(
        "turn_cpu_traced_ratio", beside / without, "times", "<=", 1.5, "turns that cost nothing but the engine"
    )
    yield Figure("turn_cpu_of_traces", 1_000 * (beside - without) / TURNS, "ms", "<=", 2.0)


async def _traced() -> tuple[float, int]:
    """CPU of a run with traces, up to when all was sent; and how many spans."""
    async with passing_store() as store:
        sink = TraceSink(store.read)
        reporting = Reporting(sink, wanted(os.environ), "0.1.0", {})
        reporting.begin()
        while reporting.export is None:  # it is opened once a process, and not measured
            await asyncio.sleep(0.01)
        begun = time.process_time()
        await _run(sink, store)
        await reporting.close()
        spent = time.process_time() - begun
    spans = reporting.export.traces.taken + reporting.export.traces.lost  # type: ignore[attr-defined]
    assert not sink.dropped
    return spent, spans


async def _untraced() -> float:
    """CPU of a run without them."""
    async with passing_store() as store:
        return await _run(None, store)


async def _run(sink: TraceSink | None, store: Store) -> float:
    """CPU seconds of a run."""
    toolbox = InProcess()
    lease = await store.acquire(THREAD, "bench")
    assert lease is not None
    loop = Loop(store, ScriptedModel(answers(TURNS)), SystemClock(), (sink,) if sink is not None else ())
    begun = time.process_time()
    finished = await loop.run(lease, "x1", toolbox, asyncio.Event(), started(toolbox, TURNS))
    assert finished.finished is not None
    return time.process_time() - begun
