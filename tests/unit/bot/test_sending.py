"""The send scheduler: order, rate, and what is sent again."""

from __future__ import annotations

import asyncio

import aiohttp
import pytest
from aiohttp import web

from bot.sending import ATTEMPTS, BURST, EDIT_SECONDS, Sender, Urgency


async def test_results_go_before_messages_and_messages_before_edits() -> None:
    sender = Sender(per_second=200.0)
    went: list[str] = []

    async def act(name: str) -> None:
        went.append(name)

    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        for number in range(int(BURST)):
            group.create_task(sender.send(Urgency.EDIT, lambda n=number: act(f"burst {n}")))
        await asyncio.sleep(0)
        for urgency in (Urgency.EDIT, Urgency.MESSAGE, Urgency.RESULT):
            for _ in range(3):
                group.create_task(sender.send(urgency, lambda u=urgency: act(u.name)))
    assert went[int(BURST) :] == ["RESULT"] * 3 + ["MESSAGE"] * 3 + ["EDIT"] * 3


async def test_no_more_is_sent_in_a_second_than_allowed() -> None:
    sender = Sender(per_second=50.0)
    sent: list[float] = []
    loop = asyncio.get_running_loop()

    async def act() -> None:
        sent.append(loop.time())

    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        for _ in range(60):
            group.create_task(sender.send(Urgency.MESSAGE, act))
    assert len(sent) == 60
    assert sent[-1] - sent[0] >= (60 - BURST - 1) / 50.0


async def test_a_cancelled_waiter_does_not_hold_the_others() -> None:
    sender = Sender(per_second=100.0)

    async def act() -> int:
        return 1

    for _ in range(int(BURST)):
        await sender.send(Urgency.EDIT, act)
    waiting = asyncio.create_task(sender.send(Urgency.RESULT, act))
    await asyncio.sleep(0)
    waiting.cancel()
    async with asyncio.timeout(2):
        assert await sender.send(Urgency.EDIT, act) == 1
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_a_reset_is_tried_again_and_given_up_in_the_end() -> None:
    sender = Sender(first_pause=0.001)
    tries: list[int] = []

    async def act(fails: int) -> int:
        tries.append(1)
        if len(tries) <= fails:
            raise ConnectionResetError(104, "Connection reset by peer")
        return len(tries)

    assert await sender.send(Urgency.RESULT, lambda: act(2)) == 3
    tries.clear()
    with pytest.raises(ConnectionResetError):
        await sender.send(Urgency.RESULT, lambda: act(ATTEMPTS))
    assert len(tries) == ATTEMPTS


async def test_our_own_bug_is_not_tried_again() -> None:
    tries: list[int] = []

    async def act() -> None:
        tries.append(1)
        raise ValueError("ours")

    with pytest.raises(ValueError, match="ours"):
        await Sender().send(Urgency.RESULT, act)
    assert len(tries) == 1


async def test_only_the_time_on_the_wire_is_bounded() -> None:
    """A request that hangs is sent again; sleeping for a rate limit between two requests is not cut off."""
    asked: list[float] = []
    loop = asyncio.get_running_loop()

    async def slow_once(request: web.Request) -> web.Response:
        asked.append(loop.time())
        await asyncio.sleep(1.5 if len(asked) == 1 else 0)
        return web.Response(text="ok")

    app = web.Application()
    app.router.add_get("/", slow_once)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    sender = Sender(wire_seconds=0.3, first_pause=0.01)
    async with asyncio.timeout(10), aiohttp.ClientSession(trace_configs=[sender.trace()]) as session:

        async def act() -> str:
            async with session.get(f"http://127.0.0.1:{port}/") as response:
                text = await response.text()
            await asyncio.sleep(0.6)
            return text

        assert await sender.send(Urgency.RESULT, act) == "ok"
        async with session.get(f"http://127.0.0.1:{port}/") as response:
            assert response.status == 200
    assert len(asked) == 3
    await runner.shutdown()
    await runner.cleanup()


def test_edits_are_further_apart_the_more_threads_are_busy() -> None:
    assert Sender.edit_interval(1) == EDIT_SECONDS
    assert Sender.edit_interval(200) == 10.0
