"""Events in a queue of SQS, over the wire of a local AWS: order, groups, keys, and what is said when it cannot be."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from unittest import mock

import pytest

from agentic.core.outside.outside_events import AnyOutsideEvent
from agentic.event_targets.event_queue import EventQueue
from agentic.event_targets.event_target import EventTarget, NotDelivered
from tests.integration.event_targets.local_queue import CREDENTIALS, LocalQueue, local_queue, needs_ministack
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


@needs_ministack
async def test_a_queue_gets_each_event_with_its_key_and_a_fifo_one_in_order_and_once() -> None:
    events = [turn(f"x{number % 3}", number // 3 + 1) for number in range(24)]
    async with local_queue("events.fifo") as queue, closing(EventQueue(queue.url)) as target:
        assert await target.trouble() == ""
        assert sorted(await delivered(target, events)) == sorted(event.key for event in events)
        await delivered(target, events[:3])  # again, as after a crash: the queue drops them
        await delivered(target, [turn("x0", 9)])
        found = await queue.received(25)
        for execution in ("x0", "x1", "x2"):
            of_it = [one for one in found if one["execution"] == execution]
            assert [one["seq"] for one in of_it] == list(range(1, 10 if execution == "x0" else 9))
            assert {one["attributes"]["MessageGroupId"] for one in of_it} == {execution}

        plain = await queue.client.create_queue(QueueName="events")
        standard = LocalQueue(plain["QueueUrl"], queue.client)
        async with closing(EventQueue(standard.url)) as other:
            assert await delivered(other, [turn("x1", 1), turn("x1", 2)]) == ["x1/1", "x1/2"]
        assert sorted(one["key"] for one in await standard.received(2)) == ["x1/1", "x1/2"]

        async with closing(EventQueue(standard.url.replace("/events", "/evnets"))) as wrong:
            says = "the queue evnets: there is no such queue: correct AGENTIC_EVENTS_QUEUE_URL"
            assert says in await wrong.trouble()
            with pytest.raises(NotDelivered, match=says):
                await delivered(wrong, [turn("x1", 1)])


@pytest.mark.parametrize(
    ("url", "environment", "says"),
    [
        ("http://127.0.0.1:9/000000000000/events", CREDENTIALS, "it cannot be reached: check AGENTIC_EVENTS_QUEUE_URL"),
        (
            "http://127.0.0.1:9/0/events",
            {"AWS_ENDPOINT_URL": "http://127.0.0.1:9"},
            "the region is not known: set AWS_REGION",
        ),
        ("http://127.0.0.1:9/000000000000/events", {"AWS_REGION": "eu-central-1"}, "no AWS credentials were found"),
    ],
)
async def test_what_is_missing_is_named(url: str, environment: dict[str, str], says: str) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    nowhere = {
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": "/nowhere",
        "AWS_SHARED_CREDENTIALS_FILE": "/nowhere",
    }
    with mock.patch.dict(os.environ, {**kept, **nowhere, **environment}, clear=True):
        async with closing(EventQueue(url)) as target:
            with pytest.raises(NotDelivered, match=says):
                await delivered(target, [turn("x1", 1)])
