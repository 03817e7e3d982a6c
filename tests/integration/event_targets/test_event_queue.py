"""Events in a queue of SQS, over the wire of a local AWS: order, groups, keys, and what is said when it cannot be."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import pytest

from agentic.aws.aws_place import events_place
from agentic.core.outside.outside_events import AnyOutsideEvent
from agentic.event_targets.event_queue import EventQueue
from agentic.event_targets.event_target import EventTarget, NotDelivered
from tests.integration.event_targets.local_queue import REGION, local_queue
from tests.unit.event_targets.test_event_targets import turn


@asynccontextmanager
async def closing(target: EventQueue) -> AsyncGenerator[EventQueue]:
    """Close it at the end."""
    try:
        yield target
    finally:
        await target.close()


async def delivered(target: EventTarget, events: Sequence[AnyOutsideEvent]) -> list[str]:
    """Keys of those that arrived."""
    return [key async for key in target.deliver(events)]


async def test_a_queue_gets_each_event_with_its_key_and_a_fifo_one_in_order_and_once(
    aws_endpoint: str, aws_credentials: None
) -> None:
    events = [turn(f"x{number % 3}", number // 3 + 1) for number in range(24)]
    async with (
        local_queue(aws_endpoint, "events.fifo") as queue,
        closing(EventQueue(events_place(queue.url, REGION))) as target,
    ):
        assert sorted(await delivered(target, events)) == sorted(event.key for event in events)
        await delivered(target, events[:3])  # again, as after a crash: the queue drops them
        await delivered(target, [turn("x0", 9)])
        found = await queue.received(25)
        for execution in ("x0", "x1", "x2"):
            of_it = [one for one in found if one["execution"] == execution]
            assert [one["seq"] for one in of_it] == list(range(1, 10 if execution == "x0" else 9))
            assert {one["attributes"]["MessageGroupId"] for one in of_it} == {execution}

    async with local_queue(aws_endpoint, "events") as queue:
        async with closing(EventQueue(events_place(queue.url, REGION))) as other:
            assert await delivered(other, [turn("x1", 1), turn("x1", 2)]) == ["x1/1", "x1/2"]
        assert sorted(one["key"] for one in await queue.received(2)) == ["x1/1", "x1/2"]
        async with closing(EventQueue(events_place(queue.url.replace("-events", "-evnets"), REGION))) as wrong:
            says = "there is no queue .*-evnets in region .*: deploy .* or set AGENTIC_EVENTS_QUEUE_URL"
            with pytest.raises(NotDelivered, match=says):
                await delivered(wrong, [turn("x1", 1)])
