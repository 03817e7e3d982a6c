"""Traces and metrics of tasks that the real bot did, as a real collector gets them."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest

from agentic.core.events.execution_events import OutboxItem
from agentic.core.events.ids import call_id, is_child, span_id, trace_id
from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from bot.config.log_format import JsonEntries
from bot.local_discord.local_discord import LocalGuild
from bot.rendering.secrets import Discretion
from bot.telemetry import names, process_state
from tests.integration.bot.whole import Whole, finishes, uses, whole
from tests.integration.telemetry.collector import Collector, Received
from tests.integration.telemetry.conventions import METRICS, OURS, SPANS

CANARY = "KANARIENVOGEL"
KEY = "ghp_AbCdEf1234567890AbCdEf1234567890AbCd"
TASK = f"Write {CANARY} to bird.txt with a helper"
ASKED = "[Task from the agent that you help]"


def birds(request: CapturedRequest) -> Reply:
    """A parent that has a helper, asks a person, uses a tool that there is not, and ends; the canary is everywhere."""
    done, first = len(request.answers), request.messages[0].text
    if ASKED in first:
        command = f"echo {CANARY} token={KEY} | tee bird.txt; exit 3"
        return uses("shell", command=command) if not done else finishes(f"{CANARY} is written.")
    steps = (
        uses("subagent", tasks=[{"task": f"Write {CANARY}", "role": "coder"}]),
        uses("ask_user", question=f"Is {CANARY} all?", options=[f"Yes {CANARY}", "No"]),
        uses(f"fly_{CANARY}"),
        finishes(f"It is {CANARY}."),
    )
    return steps[min(done, 3)]


@asynccontextmanager
async def bird_task(home: Path, guild: LocalGuild, **settings: object) -> AsyncGenerator[tuple[Whole, str]]:
    """The bot that has done the task, and its execution."""
    async with ScriptedEndpoint.start(birds) as endpoint, whole(home, endpoint, guild, **settings) as bot:
        posted = await guild.post(guild.channel().id, f"{guild.bot.mention} {TASK}")
        question = await bot.says(posted.id, f"Is {CANARY} all?")
        button = next(each for each in question.interactive() if str(each["label"]).startswith("Yes"))
        await guild.click(question.id, str(button["custom_id"]))
        await bot.says(posted.id, f"It is {CANARY}.")
        await bot.app.threads.idle(str(posted.id))
        [execution] = await bot.executions(posted.id)
        yield bot, execution


@contextmanager
def logged_as_json() -> Iterator[io.StringIO]:
    """All that our packages log, as lines of JSON."""
    out, handler = io.StringIO(), logging.StreamHandler()
    handler.setStream(out)
    handler.setFormatter(JsonEntries(Discretion()))
    loggers = [logging.getLogger(name) for name in ("agentic", "bot", "reflexion")]
    before = [each.level for each in loggers]
    for each in loggers:
        each.addHandler(handler)
        each.setLevel(logging.DEBUG)
    try:
        yield out
    finally:
        for each, level in zip(loggers, before, strict=True):
            each.removeHandler(handler)
            each.setLevel(level)


def called(collector: Collector, name: str) -> list[Received]:
    return sorted((span for span in collector.spans if span.name.startswith(name)), key=lambda span: span.begun)


def ended(collector: Collector) -> bool:
    return any(not span.parent for span in called(collector, "invoke_agent"))


async def test_a_task_is_one_trace_by_the_conventions_and_holds_nobody_s_words(
    collector: Collector, guild: LocalGuild, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20of-the-test")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
    monkeypatch.setattr(process_state, "EVERY_SECONDS", 1.0)
    with logged_as_json() as logged:
        async with bird_task(tmp_path, guild) as (bot, execution):
            log = [envelope async for envelope in bot.app.store.read(execution)]
            rows = [row.execution async for row in bot.app.store.all_executions()]
            await bot.app.store.put_outbox([OutboxItem(key="k", thread="1", execution="", sort="notice", text=CANARY)])
            await collector.until(lambda: ended(collector) and {*METRICS, names.SESSIONS.name} <= collector.names())

    # the tree
    [child] = [row for row in rows if is_child(row)]
    assert {span.trace for span in collector.spans} == {trace_id(execution)}
    [whole_task] = [span for span in collector.spans if not span.parent]
    assert (whole_task.name, whole_task.id) == ("invoke_agent threadwright", span_id(execution, 1))
    [helper] = [span for span in called(collector, "invoke_agent") if span.parent]
    [tool] = called(collector, "execute_tool subagent")
    assert (helper.name, helper.parent, tool.parent) == ("invoke_agent coder", tool.id, whole_task.id)
    assert helper.attributes[names.EXECUTION] == child
    assert {span.parent for span in collector.spans} == {"", whole_task.id, tool.id, helper.id}
    [shell] = called(collector, "execute_tool shell")
    assert (shell.parent, shell.failed) == (helper.id, True)
    assert (shell.attributes[names.ERROR], shell.attributes[names.EXIT_CODE]) == ("failed", 3)
    [unknown] = called(collector, f"execute_tool {names.OTHER}")
    assert unknown.attributes[names.OUTCOME] == "refused"
    [wait] = called(collector, names.WAIT)
    assert (wait.name, wait.attributes[names.OUTCOME]) == ("wait_for_person question", "answered")
    requested = {e.event.request: e for e in log if e.event.kind == "model_requested"}
    for span in called(collector, "chat"):
        if span.attributes[names.EXECUTION] == execution:
            envelope = requested[str(span.attributes[names.REQUEST])]
            assert (span.id, span.begun // 1_000) == (
                span_id(execution, envelope.seq),
                _micros(envelope.at.timestamp()),
            )
    assert unknown.attributes[names.CALL] == call_id(list(requested)[-2], 0)
    spent = sum(e.event.usd for e in log if e.event.kind == "model_answered")
    assert whole_task.attributes[names.USD] == pytest.approx(spent)
    assert collector.resource["service.name"] == "threadwright"
    assert collector.resource["deployment.environment.name"] == "test"
    assert set(collector.headers) == {"Bearer of-the-test"}

    # the names
    for span in collector.spans:
        operation = str(span.attributes[names.OPERATION])
        theirs = {name for name in span.attributes if not name.startswith(OURS)}
        assert set(span.attributes) <= set(names.ATTRIBUTES)
        assert span.ended >= span.begun
        if operation != names.WAIT:
            kind, must, may = SPANS[operation]
            assert span.name.startswith(f"{operation} ")
            assert (span.kind, must - theirs, theirs - must - may) == (kind, set(), set()), span.name
            assert span.failed == (names.ERROR in span.attributes)
    assert {metric.name for metric in names.METRICS} >= collector.names()
    for name, (instrument, unit, may) in METRICS.items():
        metric = collector.newest(name)
        assert (metric.WhichOneof("data"), metric.unit) == (instrument, unit)
        for point in getattr(metric, instrument).data_points:
            assert {each.key for each in point.attributes if not each.key.startswith(OURS)} <= may

    # nobody's words
    assert called(collector, "chat")
    for body in collector.bodies:
        assert CANARY.encode() not in body
        assert KEY.encode() not in body
    lines = [json.loads(line) for line in logged.getvalue().splitlines()]
    assert lines
    assert CANARY not in logged.getvalue()
    assert KEY not in logged.getvalue()
    of_requests = {line["request"] for line in lines if "request" in line}
    assert of_requests <= {str(span.attributes[names.REQUEST]) for span in called(collector, "chat")}
    assert {line["trace_id"] for line in lines if "trace_id" in line} <= {trace_id(execution)}
    assert all({"time", "level", "logger", "message"} <= set(line) for line in lines)


def _micros(seconds: float) -> int:
    return int(seconds * 1e9) // 1_000
