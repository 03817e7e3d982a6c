"""Events as signed requests over real sockets: order, what is taken for delivered, and where nothing is ever sent."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentic.egress.host_list import private_places
from agentic.event_targets.event_target import NotDelivered
from agentic.event_targets.event_webhook import EventWebhook, key_from
from agentic.web.web_client import WebBounds, WebClient
from tests.integration.event_targets.receiver import HOST, SECRET, Receiver, found_here, receiver
from tests.unit.event_targets.test_event_targets import turn


def webhook(there: Receiver, own: str | None = None, url: str = "", seconds: float = 10.0) -> EventWebhook:
    private = private_places(f"{HOST}:{there.port}" if own is None else own)
    client = WebClient(private, resolve=found_here, bounds=WebBounds(seconds=seconds))
    return EventWebhook(url or there.url, key_from(SECRET), client, lambda: 1_700_000_000.5)


async def arrive(target: EventWebhook, *events: str, keys: list[str] | None = None) -> None:
    """Deliver these, and note in ``keys`` which arrived."""
    places = [event.split("/") for event in events]
    async for key in target.deliver([turn(execution, int(seq)) for execution, seq in places]):
        if keys is not None:
            keys.append(key)


async def test_each_event_is_posted_signed_and_those_of_an_execution_one_after_the_other() -> None:
    events = [turn(f"x{number % 4}", number // 4 + 1) for number in range(24)]
    async with receiver() as there:
        target = webhook(there)
        assert [key async for key in target.deliver(events)] == [event.key for event in events]
        await target.close()
    assert there.forged == []
    assert len(there.got) == 24
    for execution in ("x0", "x1", "x2", "x3"):
        assert [one["seq"] for one in there.got if one["execution"] == execution] == list(range(1, 7))


@pytest.mark.parametrize(
    ("status", "says"),
    [
        (500, f"{HOST} answered 500: look at its log"), (302, "answered 302"), (404, "THREADWRIGHT_EVENTS_WEBHOOK"),
        (401, "give it the secret in THREADWRIGHT_EVENTS_WEBHOOK_SECRET"),
    ],
)  # fmt: skip
async def test_what_is_not_taken_ends_it_and_nothing_of_that_execution_overtakes_it(status: int, says: str) -> None:
    def answers(event: dict[str, Any]) -> int:
        return status if event["key"] == "x1/2" else 200

    keys: list[str] = []
    async with receiver() as there:
        there.status = answers
        target = webhook(there)
        with pytest.raises(NotDelivered, match=says):
            await arrive(target, "x1/1", "x1/2", "x2/1", "x2/2", "x1/3", keys=keys)
        await target.close()
    assert sorted(keys) == ["x1/1", "x2/1", "x2/2"]
    assert sorted(one["key"] for one in there.got) == sorted(keys)
    assert there.refused == ["x1/2"]


async def test_nothing_is_sent_to_a_private_address_nor_waited_for_without_end() -> None:
    async with receiver() as there:
        for target, says in (
            (webhook(there, own=f"other.test:{there.port}"), "only port 80 is open"),
            (webhook(there, own="", url=f"https://{HOST}/hooks"), "its address 127.0.0.1 is in a private network"),
        ):
            with pytest.raises(NotDelivered, match=says):
                await arrive(target, "x1/1")
            await target.close()
        assert (there.got, there.refused) == ([], [])
        there.silent = asyncio.Event()
        target = webhook(there, seconds=0.05)
        with pytest.raises(NotDelivered, match=r"no whole answer came within 0\.05 seconds.*whether that host is up"):
            await arrive(target, "x1/1")
        there.silent.set()
        await target.close()
