"""The odd server over HTTP, and a loop over it that a process of its own can run and be killed in."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from agentic.core.events.execution_events import Envelope, Person, Policy, Started, Tier, ToolRef
from agentic.core.events.ids import execution_id
from agentic.mcp_client.agreed_tools import Catalogue
from agentic.mcp_client.server_file import load
from agentic.mcp_client.servers import McpServers
from agentic.models.scripted.model import ScriptedModel, answer
from agentic.runtime.clock import SystemClock
from agentic.runtime.loop import Loop
from agentic.sandbox.pool import Choice, Sandboxes
from agentic.stores.factory import open_store
from agentic.stores.process_identity import this_process
from agentic.tools.foreign.server_offer import server_tools
from agentic.tools.toolbox import STANDARD, StandardToolbox
from agentic.workspace.workspace import RealWorld

from .odd_server import OddServer

THREAD = "100"


class OddHttp:
    """Serves until it is closed; ``silent`` holds answers back, ``status`` answers calls with an error."""

    def __init__(self, folder: Path, *flags: str) -> None:
        self.odd = OddServer(list(flags), folder)
        self.tokens: list[str] = []
        self.status = 0
        self.called = threading.Event()
        self.over = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                outer.serve(self)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/mcp"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def serve(self, request: BaseHTTPRequestHandler) -> None:
        """One POST."""
        message = json.loads(request.rfile.read(int(request.headers["Content-Length"])))
        self.tokens.append(request.headers.get("Authorization", ""))
        name = (message.get("params") or {}).get("name") if message.get("method") == "tools/call" else ""
        if name == "die" or (name == "die_once" and not (self.odd.folder / "died").exists()):
            self.odd.did(name)
            (self.odd.folder / "died").touch()
            request.close_connection = True  # as if it had died: nothing is answered
            return
        if name and self.status:
            self._send(request, self.status, b"no")
            return
        answered = self.odd.answer(message)
        if name:
            self.called.set()
        if name in ("never", "look") and answered is None:
            self.over.wait(60)
        self._send(request, 200 if answered else 202, json.dumps(answered).encode() if answered else b"")

    def _send(self, request: BaseHTTPRequestHandler, status: int, body: bytes) -> None:
        with contextlib.suppress(OSError):
            request.send_response(status)
            request.send_header("Content-Type", "application/json")
            request.send_header("Content-Length", str(len(body)))
            request.end_headers()
            request.wfile.write(body)

    def close(self) -> None:
        """End it."""
        self.over.set()
        self.server.shutdown()
        self.server.server_close()


@contextlib.contextmanager
def odd_http(folder: Path, *flags: str) -> Iterator[OddHttp]:
    """A server on loopback, closed afterwards."""
    server = OddHttp(folder, *flags)
    try:
        yield server
    finally:
        server.close()


async def run_over(folder: Path, tool: str) -> list[Envelope]:
    """Take a task up, or go on with it: it calls this tool and is done.  Nothing runs in a sandbox."""

    async def none() -> Choice:
        return Choice(None, "there is none here")

    store = open_store(folder / "s.sqlite")
    lease = await store.acquire(THREAD, this_process())
    assert lease is not None
    world = RealWorld(Sandboxes(folder / "state", none), THREAD, folder / "workspace")

    async def given() -> RealWorld:
        return world

    servers = McpServers(load(folder / "mcp.json", {}), Catalogue(folder / "mcp-tools.json"))
    await servers.ready()
    toolbox = StandardToolbox(given, (*STANDARD, *server_tools(servers, THREAD)))
    refs = (ToolRef(name=s.name, effect=s.effect, permission=s.permission) for s in toolbox.specs)
    execution = execution_id(THREAD, "1")
    started = Started(
        thread=THREAD, task="Call it.", requester=Person(id="7", name="you"), tools=tuple(refs), inbox="1",
        policy=Policy(tiers=(Tier(number=2, models=("small",)),), triage_by_model=False),
    )  # fmt: skip
    begun = [envelope async for envelope in store.read(execution)]
    script = [answer("", ("finish", {"answer": "Done."}))] * 3
    steps = script if begun else [answer("I call it.", (tool, {"text": "x"})), *script]
    loop = Loop(store, ScriptedModel(steps), SystemClock())
    try:
        async with asyncio.timeout(60):
            await loop.run(lease, execution, toolbox, asyncio.Event(), None if begun else started)
        return [envelope async for envelope in store.read(execution)]
    finally:
        await servers.close()
        await store.close()


if __name__ == "__main__":
    asyncio.run(run_over(Path(sys.argv[1]), sys.argv[2]))
