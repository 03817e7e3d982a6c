"""Traces over the loop alone: owners that die, a collector that misbehaves, words where they are wanted."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from agentic.core.events.execution_events import InboxItem, Policy, Started, Tier, ToolRef
from agentic.core.events.ids import execution_id, span_id, trace_id
from agentic.core.state.execution import Execution
from agentic.log_context import about
from agentic.models.scripted.model import Script, ScriptedModel, answer
from agentic.ports.runtime import Answer
from agentic.runtime.clock import SystemClock
from agentic.runtime.loop import Loop
from agentic.runtime.shutdown import Leaving
from agentic.stores.sqlite.store import SQLiteStore
from bot.telemetry import names, otlp_export, reporting
from bot.telemetry.otlp_export import OtlpExport
from bot.telemetry.reporting import Reporting, wanted
from bot.telemetry.trace_sink import TraceSink
from tests.integration.loop.conftest import THREAD, YOU, Bench
from tests.integration.telemetry.collector import Collector, Received
from tests.stores import fresh_store
from tests.waiting import eventually

MAIN = execution_id(THREAD, "1")
SECONDS = 60.0


@dataclass
class Process:
    """One that works on the thread, with traces of its own."""

    loop: Loop
    sink: TraceSink
    reporting: Reporting
    store: SQLiteStore
    number: int
    doorbell: asyncio.Event = field(default_factory=asyncio.Event)

    def begin(self, toolbox: Bench, task: str = "Do the work.", execution: str = MAIN) -> asyncio.Task[Execution]:
        policy = Policy(tiers=(Tier(number=2, models=("openai/small",)),))
        tools = tuple(ToolRef(name=s.name, effect=s.effect, cognitive=s.cognitive) for s in toolbox.specs)
        started = Started(thread=THREAD, task=task, requester=YOU, inbox="1", policy=policy, tools=tools)

        async def run() -> Execution:
            lease = await self.store.acquire(THREAD, f"owner-{self.number}")
            assert lease is not None
            try:
                async with asyncio.timeout(SECONDS):
                    return await self.loop.run(lease, execution, toolbox, self.doorbell, started)
            finally:
                await self.store.release(lease)

        return asyncio.create_task(run())

    @property
    def export(self) -> OtlpExport:
        assert isinstance(self.reporting.export, OtlpExport)
        return self.reporting.export


@asynccontextmanager
async def process(
    store: SQLiteStore, script: Script, number: int = 1, mask: Callable[[str], str] | None = None
) -> AsyncGenerator[Process]:
    sink = TraceSink(store.read, mask)
    of_it = Reporting(sink, wanted(os.environ), "0.1.0", {})
    loop = Loop(store, ScriptedModel(script), SystemClock(), (sink,), leaving=Leaving())
    of_it.begin()
    try:
        yield Process(loop, sink, of_it, store, number)
    finally:
        await of_it.close()


def called(collector: Collector, name: str) -> list[Received]:
    return sorted((span for span in collector.spans if span.name.startswith(name)), key=lambda span: span.begun)


async def test_an_execution_that_is_taken_up_goes_on_in_its_trace_with_a_link(collector: Collector) -> None:
    """The first process dies in a call, the second leaves in order while a person is asked, the third hears the answer."""
    store, toolbox = fresh_store(), Bench()
    async with process(store, [answer("", ("act", {"name": "one", "seconds": 60.0}))]) as first:
        running = first.begin(toolbox)
        await toolbox.under_way()
        running.cancel()  # as a process that dies: nothing is noted of it
        await asyncio.wait((running,))
    async with process(store, [answer("", ("ask_user", {}))], 2) as second:
        running = second.begin(toolbox)

        async def asked() -> bool:
            return "asked" in [e.event.kind async for e in store.read(MAIN)]

        await eventually(asked)
        second.loop.leaving.until = SystemClock().monotonic()
        second.doorbell.set()
        await running
    assert not called(collector, names.WAIT), "it is told by whoever sees its end"
    async with process(store, [answer("", ("finish", {}))], 3) as third:
        running = third.begin(toolbox)
        item = InboxItem(id="200", thread=THREAD, sort="answer", author=YOU, at=datetime.now(UTC), text="A")
        await store.put(item)
        third.doorbell.set()
        assert (await running).finished is not None
    await collector.until(lambda: len(called(collector, "invoke_agent")) == 3)

    log = {envelope.event.kind: envelope async for envelope in store.read(MAIN)}
    changed = [envelope.seq async for envelope in store.read(MAIN) if envelope.event.kind == "owner_changed"]
    one, two, three = called(collector, "invoke_agent")
    assert [span.id for span in (one, two, three)] == [span_id(MAIN, seq) for seq in (1, *changed)]
    assert {span.trace for span in collector.spans} == {trace_id(MAIN)}
    assert (one.links, two.links, three.links) == ((), ((one.trace, one.id),), ((one.trace, two.id),))
    outcomes = [
        (span.attributes[names.OUTCOME], span.attributes.get(names.TAKEN_UP), span.failed) for span in (one, two, three)
    ]
    assert outcomes == [("owner_lost", None, True), ("handed_over", "crash", False), ("done", "handover", False)]
    [act] = called(collector, "execute_tool act")
    assert (act.parent, act.attributes[names.OUTCOME]) == (one.id, "unknown"), "its end is told by who found it out"
    [wait] = called(collector, names.WAIT)
    asked, decided = log["asked"], log["decided"]
    assert (wait.parent, wait.id) == (two.id, span_id(MAIN, asked.seq))
    assert wait.ended - wait.begun == pytest.approx((decided.at - asked.at).total_seconds() * 1e9, abs=2_000)
    assert len({span.id for span in collector.spans}) == len(collector.spans)


async def test_a_collector_that_fails_delays_nothing_is_told_of_once_and_holds_up_no_end(
    collector: Collector, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    monkeypatch.setattr(otlp_export, "QUEUE_SPANS", 16)
    monkeypatch.setattr(reporting, "FLUSH_SECONDS", 0.2)
    store, toolbox, tasks = fresh_store(), Bench(), 0

    def script(_: object) -> Answer:
        return answer("", ("finish", {}))

    async def work(here: Process) -> None:
        nonlocal tasks
        tasks += 1
        assert (await here.begin(toolbox, execution=execution_id(THREAD, f"of {tasks}"))).finished is not None

    with caplog.at_level(logging.INFO):
        async with process(store, script) as here:
            for manner in ("refuses", "endless"):
                collector.manner = manner  # type: ignore[assignment]
                lost = here.export.traces.lost if here.reporting.export else 0
                await work(here)
                await eventually(lambda lost=lost: here.reporting.export and here.export.traces.lost > lost)
            collector.manner = "hangs"
            asked = collector.asked
            await work(here)
            await collector.until(lambda: collector.asked > asked)
            while not here.export.dropped:  # the one that hangs is waited for by nobody
                await work(here)
                await asyncio.sleep(0)
            assert here.export.dropped
            collector.manner = "takes"
            collector.let_go.set()
            await eventually(lambda: here.export.traces.taken)
            await collector.until(lambda: names.DROPPED.name in collector.names())
            collector.let_go.clear()
            collector.manner, asked = "hangs", collector.asked
            await work(here)
        assert not collector.let_go.is_set(), "it hung until the end, and the end did not wait"
    told = [
        record.getMessage() for record in caplog.records if record.name.startswith(("bot.telemetry", "opentelemetry"))
    ]
    assert [line.partition(" (")[0] for line in told if line.startswith("traces are not")] == ["traces are not taken"]
    assert [line for line in told if "no room" in line] == [
        "traces come faster than they are taken: what finds no room is dropped and counted"
    ]
    assert any(line.startswith("traces are taken again; ") for line in told)
    assert collector.sent < 16_000_000, "nobody reads an endless answer to its end"


async def test_what_is_not_sampled_is_counted_all_the_same(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "traceidratio")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", "0.0")
    async with process(fresh_store(), [answer("", ("finish", {}))]) as here:
        assert (await here.begin(Bench())).finished is not None
        await collector.until(lambda: names.AGENT_SECONDS.name in collector.names())
    assert collector.spans == []


async def test_events_that_nobody_reads_are_dropped_and_counted(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("bot.telemetry.trace_sink.EVENTS", 5)
    store, toolbox = fresh_store(), Bench()
    sink = TraceSink(store.read)
    lease = await store.acquire(THREAD, "me")
    assert lease is not None
    loop = Loop(store, ScriptedModel([answer("", ("finish", {}))]), SystemClock(), (sink,))
    started = Started(
        thread=THREAD, task="Go.", requester=YOU, policy=Policy(tiers=(Tier(number=2, models=("small",)),))
    )
    assert (await loop.run(lease, MAIN, toolbox, asyncio.Event(), started)).finished is not None
    assert sink.dropped > 0
    assert len([record for record in caplog.records if "no room" in record.getMessage()]) == 1


async def test_words_are_told_without_secrets_where_somebody_wants_them(collector: Collector) -> None:
    def mask(text: str) -> str:
        return text.replace("geheim", "[redacted]")

    script = [answer("I look.", ("look", {"name": "a geheim b"})), answer("", ("finish", {}))]
    store, logged = fresh_store(), list[dict[str, str]]()

    class Looking(Bench):
        def prepare(self, *arguments: object, **more: object) -> object:  # type: ignore[override]
            logged.append(dict(about()))
            return super().prepare(*arguments, **more)  # type: ignore[arg-type]

    async with process(store, script, mask=mask) as here:
        assert (await here.begin(Looking(), task="Look at the geheim thing" + "x" * 10_000)).finished is not None
        await collector.until(lambda: called(collector, "invoke_agent"))
    [whole] = called(collector, "invoke_agent")
    asked = json.loads(str(whole.attributes[names.INPUT_MESSAGES]))[0]["parts"][0]["content"]
    assert asked.startswith("Look at the [redacted] thing")
    assert len(asked) == 8_000
    assert json.loads(str(whole.attributes[names.OUTPUT_MESSAGES]))[0]["role"] == "assistant"
    [look] = called(collector, "execute_tool look")
    assert json.loads(str(look.attributes[names.ARGUMENTS])) == {"name": "a [redacted] b"}
    assert look.attributes[names.RESULT] == "a [redacted] b seen"
    parts = json.loads(str(called(collector, "chat")[0].attributes[names.OUTPUT_MESSAGES]))[0]["parts"]
    assert [part["type"] for part in parts] == ["text", "tool_call"]
    assert not any(b"geheim" in body for body in collector.bodies)
    assert {(each["thread"], each["execution"], each["trace_id"]) for each in logged} == {
        (THREAD, MAIN, trace_id(MAIN))
    }


@pytest.mark.parametrize(
    ("env", "signals", "told"),
    [
        ({}, set[str](), ""),
        ({"ENDPOINT": "http://x:4318"}, {"traces", "metrics"}, ""),
        ({"TRACES_ENDPOINT": "http://x:4318/t"}, {"traces"}, ""),
        ({"ENDPOINT": "x:4318"}, set[str](), "no address that begins with http"),
        ({"ENDPOINT": "http://x:4317", "PROTOCOL": "grpc"}, set[str](), "only OTLP over HTTP"),
    ],
)
def test_what_is_sent_is_said_by_the_standard_variables(
    env: dict[str, str], signals: set[str], told: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert wanted({f"OTEL_EXPORTER_OTLP_{name}": value for name, value in env.items()}) == signals
    assert told in caplog.text
    assert bool(told) == bool(caplog.text)
    assert wanted({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_SDK_DISABLED": "true"}) == set()
    assert wanted({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_METRICS_EXPORTER": "none"}) == {"traces"}
