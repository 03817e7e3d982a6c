"""Servers over HTTP: what is lost stays lost, what is secret stays secret, and only what the file names is connected to."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

import pytest

from agentic.core.events.execution_events import ToolFinished, ToolStarted
from agentic.mcp_client.guarded_http import Resolve
from agentic.mcp_client.http_server import HttpServer
from agentic.mcp_client.server_connection import McpConnection, ServerTrouble
from agentic.mcp_client.server_file import Endpoint

from .odd_bench import McpBench, open_mcp_bench
from .odd_http import OddHttp, odd_http, run_over

BELIEVED = {"readOnly": ["*"], "timeout": 2}


@pytest.fixture
async def bench() -> AsyncIterator[McpBench]:
    async with open_mcp_bench() as opened:
        yield opened


@pytest.fixture(params=[(), ("--modern",)])
def server(bench: McpBench, request: pytest.FixtureRequest) -> Iterator[OddHttp]:
    with odd_http(bench.workspace, *request.param) as opened:
        yield opened


async def test_a_request_whose_answer_was_lost_is_not_made_again(bench: McpBench, server: OddHttp) -> None:
    headers = {"Authorization": "Bearer ${ODD_TOKEN}"}
    await bench.serve({"odd": {"url": server.url, "headers": headers, **BELIEVED}})
    assert "very-secret-token" not in repr(bench.servers.servers)
    assert "very-secret-token" not in json.dumps([spec.description for spec in bench.toolbox.specs])
    specs = {spec.name: spec for spec in bench.toolbox.specs}
    assert specs["mcp__odd__add"].outside == "always"
    assert (specs["mcp__odd__look"].outside, specs["mcp__odd__look"].private) == ("no", True)
    added = await bench.call("mcp__odd__add", text="one")
    assert (added.outcome, set(server.tokens)) == ("ok", {"Bearer very-secret-token"})
    died = await bench.call("mcp__odd__die")
    assert died.outcome == "unknown", died.preview
    (bench.workspace / "died").unlink()
    assert (await bench.call("mcp__odd__die_once")).outcome == "ok"
    assert (await bench.call("mcp__odd__never")).outcome == "unknown"
    huge = await bench.call("mcp__odd__huge")
    assert "x" * 10_000 in huge.preview  # 9 MB are not too much for HTTP: cut, and the rest kept
    server.status = 503
    lost = await bench.call("mcp__odd__add", text="two")
    assert (lost.outcome, "HTTP 503" in lost.preview) == ("unknown", True)
    server.status = 401
    refused = await bench.call("mcp__odd__add", text="three")
    assert (refused.outcome, "headers of this server" in refused.preview) == ("failed", True)
    server.close()
    gone = await bench.call("mcp__odd__add", text="four")
    assert gone.outcome in ("failed", "unknown")
    again = await bench.call("mcp__odd__add", text="five")
    assert again.outcome == "failed"
    did = bench.did()
    assert [did.count(name) for name in ("add one", "die", "die_once", "never")] == [1, 1, 2, 1]


async def test_a_name_that_leads_into_the_own_network_is_not_connected_to(server: OddHttp) -> None:
    port = int(server.url.rpartition(":")[2].partition("/")[0])

    async def resolve(_: str, __: int) -> Sequence[str]:
        return ["127.0.0.1"]

    async def metadata(_: str, __: int) -> Sequence[str]:
        return ["169.254.169.254"]

    async def opened(endpoint: Endpoint, how: Resolve) -> None:
        connection = McpConnection("odd", HttpServer(endpoint, 5, resolve=how), 5)
        try:
            await connection.open()
        finally:
            await connection.close()

    url = f"http://tools.example.org:{port}/mcp"
    with pytest.raises(ServerTrouble, match="private network"):
        await opened(Endpoint(url), resolve)
    await opened(Endpoint(url, private=True), resolve)
    with pytest.raises(ServerTrouble, match="no public one"):
        await opened(Endpoint(url, private=True), metadata)


@pytest.mark.parametrize(("tool", "times", "outcome"), [("never", 1, "unknown"), ("look", 2, "ok")])
async def test_a_process_that_is_killed_in_the_middle_of_a_call_repeats_only_reads(
    tmp_path: Path, tool: str, times: int, outcome: str
) -> None:
    """It is really killed, and the next one takes the task up from the log."""
    (tmp_path / "workspace").mkdir()
    with odd_http(tmp_path) as server:
        server.odd.called = _held(server)  # type: ignore[method-assign]
        servers = {"odd": {"url": server.url, "readOnly": ["look"], "timeout": 30}}
        (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
        name = f"mcp__odd__{tool}"
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.integration.mcp.odd_http", str(tmp_path), name
        )
        assert await asyncio.to_thread(server.called.wait, 60)
        process.send_signal(signal.SIGKILL)
        await process.wait()
        server.over.set()
        log = [envelope.event for envelope in await run_over(tmp_path, name)]
    results = [event for event in log if isinstance(event, ToolFinished) and event.preview]
    assert results[0].outcome == outcome, results[0].preview
    assert [event.tool for event in log if isinstance(event, ToolStarted)].count(name) == times
    assert (tmp_path / "calls.log").read_text().split().count(tool) == times


def _held(server: OddHttp):
    """The first answer of a call is held back until its client is gone."""
    answer = server.odd.called

    def called(id: object, params: dict[str, object]) -> object:
        came = answer(id, params)  # type: ignore[arg-type]
        first = not server.called.is_set()
        server.called.set()
        if first:
            server.over.wait(60)
        return came

    return called
