"""Faults of long conversations, against a provider behind HTTP: too long a request, call ids that do not pair."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agentic.core.events.execution_events import Compacted
from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.replies import Reply
from tests.integration.loop.housing import FINISH
from tests.integration.loop.test_context import ASKS, CLAUDE, GPT, begun, look, threads

every_route = pytest.mark.parametrize("model", [CLAUDE, GPT])
TOO_LONG = {
    "anthropic": "prompt is too long: 205000 tokens > 200000 maximum",
    "openai": "This model's maximum context length is 128000 tokens.",
}


def paired(request: CapturedRequest) -> None:
    calls = [call.id for said in request.messages for call in said.calls]
    assert [answer.id for answer in request.answers] == calls
    assert len(set(calls)) == len(calls)


@every_route
async def test_f52_a_request_that_is_too_long_is_compacted_and_tried_once_more(model: str, tmp_path: Path) -> None:
    def script(request: CapturedRequest) -> Reply:
        if request.number == 9:
            return Reply.error(400, TOO_LONG[request.protocol])
        return look(request.number) if request.number < 12 else FINISH

    async with threads(tmp_path, script) as thread:
        ended = await thread.run(begun(model, history="replay_all"))
        assert ended.finished is not None
        assert ended.finished.reason == "done"
        sent = thread.endpoint.requests
        refused, again = sent[8], sent[9]
        assert len(again.text()) < len(refused.text()) * 0.75
        assert "[Summary by Threadwright" in again.text()
        assert "Do the work." in again.text()  # the task
        assert again.answers[-3:] == refused.answers[-3:]  # the last turns, whole
        for request in sent:
            paired(request)
        log = await thread.log()
        assert [e.event.why for e in log if isinstance(e.event, Compacted)] == ["overflow"]


@every_route
async def test_f52_what_stays_too_long_ends_visibly_after_one_more_try(model: str, tmp_path: Path) -> None:
    def script(request: CapturedRequest) -> Reply:
        return look(request.number) if request.number < 9 else Reply.error(400, TOO_LONG[request.protocol])

    async with threads(tmp_path, script) as thread:
        ended = await thread.run(begun(model, history="replay_all"))
        assert len(thread.endpoint.requests) == 10
        assert ended.finished is not None
        assert ended.finished.reason == "failed"
        assert "too long for this model" in ended.finished.answer


@every_route
async def test_f49_ids_that_repeat_are_paired_in_every_request_also_after_compactions(
    model: str, tmp_path: Path
) -> None:
    turns = 0

    def script(request: CapturedRequest) -> Reply:
        nonlocal turns
        if ASKS in request.text():
            return Reply("So far so good.", calls=(("look", {"name": "in a summary nothing runs"}),), ids=("same",))
        turns += 1
        one = look(turns)
        two = (*one.calls, ("look", {"name": f"again {turns}"}))
        return Reply(one.text, two, ids=("same", "same")) if turns < 18 else FINISH

    async with threads(tmp_path, script) as thread:
        async with asyncio.timeout(120):
            ended = await thread.run(begun(model))
        assert ended.finished is not None
        assert ended.finished.reason == "done"
        log = await thread.log()
        assert sum(isinstance(e.event, Compacted) for e in log) >= 2
        for request in thread.endpoint.requests:
            paired(request)
            assert "in a summary nothing runs" not in request.text()
