"""What models are sent in a long task, captured at the endpoint: prefix, breakpoints, compaction, shown as it was sent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import orjson
import pytest
from pydantic import JsonValue

from agentic.core.events.execution_events import (
    Compacted,
    Envelope,
    ModelRequested,
    Policy,
    Started,
    Tier,
)
from agentic.core.state.execution import Execution
from agentic.models.anthropic.request import AnthropicWire
from agentic.models.router import ModelRouter
from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from agentic.ports.runtime import Lease
from agentic.prompts import summary_prompt as summary
from agentic.runtime.clock import SystemClock
from agentic.runtime.loop import Loop
from agentic.runtime.request_refs import as_sent
from agentic.stores.sqlite.store import SQLiteStore
from bot.cli.main import perform
from tests.integration.loop.conftest import THREAD, Bench
from tests.integration.loop.housing import FINISH, MAIN, started
from tests.waiting import eventually

CLAUDE, GPT = "anthropic/claude-sonnet-4-5", "openai/gpt-4o-mini"
ASKS = summary.TEXT.splitlines()[0]


@dataclass
class Thread:
    """A thread over a real store, and a model behind HTTP."""

    store: SQLiteStore
    endpoint: ScriptedEndpoint
    loop: Loop
    lease: Lease

    async def run(self, begun: Started | None) -> Execution:
        async with asyncio.timeout(120):
            return await self.loop.run(self.lease, MAIN, Bench(), asyncio.Event(), begun)

    async def log(self) -> list[Envelope]:
        return [envelope async for envelope in self.store.read(MAIN)]


@asynccontextmanager
async def threads(folder: Path, script: Callable[[CapturedRequest], Reply]) -> AsyncGenerator[Thread]:
    async with ScriptedEndpoint.start(script) as endpoint:
        router = ModelRouter(endpoint.environment())
        store = SQLiteStore.open(folder / "threadwright.sqlite")
        try:
            lease = await store.acquire(THREAD, "me")
            assert lease is not None
            yield Thread(store, endpoint, Loop(store, router, SystemClock()), lease)
        finally:
            await router.close()
            await store.close()


def begun(*models: str, **policy: object) -> Started:
    made = started(Bench(), tiers=(Tier(number=2, models=models),), history_tokens=1_500, summary_tokens=300, **policy)
    assert isinstance(made.policy, Policy)
    return made.model_copy(update={"environment": ("Date: Sunday.",), "sandbox": "bubblewrap, no network"})


def look(number: int) -> Reply:
    name: dict[str, JsonValue] = {"name": f"part {number} " + "x" * 700}
    return Reply(f"I look at part {number}.", calls=(("look", name),))


def working(turns: int, stops_after: int = 10**6) -> Callable[[CapturedRequest], Reply]:
    """Looks at one part after another; asked for a summary it writes one."""
    asked = 0

    def script(request: CapturedRequest) -> Reply:
        nonlocal asked
        if ASKS in request.text():
            return Reply(f"Part {asked} was the last one I saw; the port is 4711.")
        asked += 1
        if asked == stops_after:
            return Reply(delay=600)
        return look(asked) if asked <= turns else FINISH

    return script


def marks(request: CapturedRequest) -> list[tuple[int, str]]:
    """Where breakpoints stand in the messages: (message, type of block)."""
    rows = cast("list[dict[str, list[dict[str, str]]]]", request.body["messages"])
    return [
        (place, block["type"]) for place, row in enumerate(rows) for block in row["content"] if "cache_control" in block
    ]


async def test_every_request_can_be_shown_as_it_was_sent_over_compactions_and_owners(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with threads(tmp_path, working(turns=16, stops_after=9)) as thread:
        first = asyncio.create_task(thread.run(begun(CLAUDE)))
        requests = thread.endpoint.requests
        await eventually(lambda: sum(ASKS not in one.text() for one in requests) == 9, "the ninth is never answered")
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        await thread.store.release(thread.lease)
        lease = await thread.store.acquire(THREAD, "another")
        assert lease is not None
        thread.lease = lease
        ended = await thread.run(None)
        assert ended.finished is not None
        assert ended.finished.reason == "done"

        log, sent = await thread.log(), thread.endpoint.requests
        made = [e.event for e in log if isinstance(e.event, ModelRequested)]
        compacted = [e.event for e in log if isinstance(e.event, Compacted)]
        assert len(compacted) >= 2
        assert sum(event.purpose == "summary" for event in made) >= 2
        assert len(made) == len(sent)
        for event, request in zip(made, sent, strict=True):
            shown = await as_sent(thread.store, log, event.request)
            assert shown.exact
            stream, most = request.stream, int(str(request.body["max_tokens"]))
            wire = AnthropicWire().request(request.model, shown.prompt, max_tokens=most, stream=stream)
            assert orjson.dumps(orjson.loads(wire)) == orjson.dumps(request.body)

        assert len({orjson.dumps(request.body["system"]) for request in sent}) == 1  # the same byte for byte
        assert len({orjson.dumps(request.body["tools"]) for request in sent}) == 1
        after = [request for request in sent if "[Summary by Threadwright" in request.messages[0].text]
        assert after
        assert all(2 <= len(marks(request)) + 2 <= 4 for request in sent)
        assert all((0, "text") in marks(request) for request in after)  # a breakpoint after the summary
        assert "the port is 4711" in sent[-1].text()
        assert "the port is 4711" not in sent[-1].messages[-1].text

    monkeypatch.setenv("THREADWRIGHT_HOME", str(tmp_path))
    asked = next(event for event in made if event.purpose == "summary")
    assert await asyncio.to_thread(perform, ["replay", MAIN, "--request", asked.request]) == 0
    told = capsys.readouterr().out
    assert "This is the request exactly as it was sent" in told
    assert ASKS in told
    assert "=== tool look" in told
    assert "call of look" in told
    assert "result of look" in told
    assert await asyncio.to_thread(perform, ["replay", MAIN, "--request", "list"]) == 0
    assert asked.request in capsys.readouterr().out
    assert await asyncio.to_thread(perform, ["replay", MAIN, "--request", "nosuch"]) == 1
    assert await asyncio.to_thread(perform, ["replay", "--request", "nosuch"]) == 1


async def test_another_history_than_was_sent_is_not_shown_as_if_it_were(tmp_path: Path) -> None:
    async with threads(tmp_path, working(turns=2)) as thread:
        await thread.run(begun(CLAUDE))
        log = await thread.log()
        (*_, last) = _turns(log)
        other = [
            e.model_copy(update={"event": e.event.model_copy(update={"task": "Another."})}) if e.seq == 1 else e
            for e in log
        ]
        assert (await as_sent(thread.store, log, last.request)).exact
        assert not (await as_sent(thread.store, other, last.request)).exact


async def test_another_provider_goes_on_in_the_middle_with_the_same_history(tmp_path: Path) -> None:
    """Signed reasoning stays with who signed it, calls keep their results, and compaction goes on."""

    def script(request: CapturedRequest) -> Reply:
        if ASKS in request.text():
            return Reply("The port is 4711.")
        turn = sum(said.role == "assistant" for said in request.messages) + 1
        if request.protocol == "anthropic" and request.number > 4:
            return Reply.error(529)
        reply = look(request.number)
        signed = Reply(reply.text, reply.calls, reasoning="I think.", signature="s1gned")
        return FINISH if request.number > 20 else signed if request.protocol == "anthropic" and turn else reply

    async with threads(tmp_path, script) as thread:
        ended = await thread.run(begun(CLAUDE, GPT, turns_medium=40))
        assert ended.finished is not None
        assert ended.finished.reason == "done"
        sent, log = thread.endpoint.requests, await thread.log()
        assert any(isinstance(e.event, Compacted) for e in log)
        other = [request for request in sent if request.protocol == "openai"]
        assert other
        assert all("s1gned" not in orjson.dumps(request.body).decode() for request in other)
        for request in sent:
            calls = [call.id for said in request.messages for call in said.calls]
            assert [answer.id for answer in request.answers] == calls
            assert len(set(calls)) == len(calls)


def _turns(log: list[Envelope]) -> list[ModelRequested]:
    return [e.event for e in log if isinstance(e.event, ModelRequested) and e.event.purpose == "turn"]
