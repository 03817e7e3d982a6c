"""An endpoint may send more than was asked for: what is taken in is bounded, by both routes, streamed and whole."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from agentic.core.events.execution_events import CallBlock, TextBlock
from agentic.models.answers.answer_limit import LEAST, PART, allowance
from agentic.models.answers.sse import LONGEST, event_data
from agentic.models.providers.provider_errors import NoAnswer
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply

from .conftest import both_routes, both_ways

MUCH = "words " * 50_000
CALL = ("shell", {"command": MUCH})
SHORT = ("shell", {"command": "ls"})


@both_routes
@both_ways
@pytest.mark.parametrize(
    ("reply", "calls"),
    [
        (Reply(MUCH, piece=10_000), []),
        (Reply("", (CALL,), piece=10_000), ["cut_off"]),
        (Reply(MUCH, (SHORT,), piece=100_000), []),
        (Reply("hm", reasoning=MUCH, piece=10_000, signature="s" * LEAST), []),
    ],
    ids=["text", "call", "call behind it", "reasoning"],
)
async def test_an_answer_longer_than_any_that_was_asked_for_is_cut_off(
    asker, model: str, stream: bool, reply: Reply, calls: list[str]
):
    async with ScriptedEndpoint.start([reply]) as endpoint:
        ask = await asker(endpoint)
        answer = await ask(model, stream=stream)
    assert answer.stop == "length"
    assert [block.problem for block in answer.blocks if isinstance(block, CallBlock)] == calls
    assert LEAST / 2 < len(str(answer.blocks)) < LEAST + 1_000
    assert len("".join(ask.pieces)) <= LEAST
    assert answer.usage.output > 1_000, "what came is counted, whoever says otherwise"


@both_routes
@both_ways
async def test_an_answer_has_no_more_calls_than_can_be_meant(asker, model: str, stream: bool):
    async with ScriptedEndpoint.start([Reply("", (SHORT,) * 500)]) as endpoint:
        answer = await (await asker(endpoint))(model, stream=stream)
    assert answer.stop == "length"
    assert 100 < len(answer.blocks) <= LEAST // PART


@both_routes
@both_ways
async def test_an_answer_as_long_as_asked_for_is_whole(asker, model: str, stream: bool):
    text = "word " * 12_000
    async with ScriptedEndpoint.start([Reply(text, (SHORT,), piece=10_000)]) as endpoint:
        answer = await (await asker(endpoint))(model, stream=stream)
    assert answer.stop == "tool_use"
    assert answer.blocks[0] == TextBlock(text=text)


def test_the_longest_answer_grows_with_what_was_asked_for():
    assert allowance(100).left == LEAST
    assert allowance(100_000).left > 3_000_000


async def test_an_event_that_does_not_end_is_given_up():
    sent: list[int] = []

    async def endless() -> AsyncIterator[bytes]:
        yield b"data: "
        for number in range(10_000):
            sent.append(number)
            yield b" " * 100_000

    with pytest.raises(NoAnswer):
        async for _ in event_data(endless()):
            pass
    assert len(sent) == LONGEST // 100_000 + 1


async def test_an_event_may_come_in_any_pieces():
    text = b'event: a\ndata: {"a": 1}\n\ndata: {"b": 2}\n\ndata: {"c"'

    async def cut(length: int) -> AsyncIterator[bytes]:
        for start in range(0, len(text), length):
            yield text[start : start + length]

    for length in (1, 3, 10, 100):
        assert [data async for data in event_data(cut(length))] == [b'{"a": 1}', b'{"b": 2}', b'{"c"']
