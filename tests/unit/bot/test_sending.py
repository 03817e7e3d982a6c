"""The send scheduler: order, rate, and what is sent again."""

from __future__ import annotations

import asyncio

import aiohttp
import pytest
from aiohttp import web

from bot.outbound.priorities import Schedule
from bot.outbound.rate_limits import PER_SECOND
from bot.outbound.request_queue import (
    ATTEMPTS,
    EDIT_SECONDS,
    Crowded,
    Sender,
    Urgency,
)
from tests.waiting import BOUND, eventually, loop_time


async def test_a_cancelled_waiter_does_not_hold_the_others() -> None:
    sender = Sender(Schedule(per_second=1))

    async def act() -> int:
        return 1

    await sender.send(Urgency.EDIT, act)
    waiting = asyncio.create_task(sender.send(Urgency.RESULT, act))
    await asyncio.sleep(0)
    waiting.cancel()
    async with loop_time(0.01):
        assert await sender.send(Urgency.EDIT, act) == 1
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert sender.traffic.waiting == 0


async def test_what_finds_no_room_is_told_so_and_edits_make_room_for_answers() -> None:
    sender = Sender(Schedule(per_second=1, at_most=1))

    async def act() -> str:
        return "done"

    await sender.send(Urgency.EDIT, act)
    edit = asyncio.create_task(sender.send(Urgency.EDIT, act))
    await asyncio.sleep(0)
    with pytest.raises(Crowded):
        await sender.send(Urgency.EDIT, act)
    async with loop_time(0.01):
        assert await sender.send(Urgency.RESULT, act) == "done"
    with pytest.raises(Crowded):
        await edit
    assert sender.traffic.refused == 2


async def test_an_edit_that_was_cancelled_in_the_same_moment_makes_room_as_well() -> None:
    sender = Sender(Schedule(per_second=1, at_most=1))

    async def act() -> str:
        return "done"

    await sender.send(Urgency.EDIT, act)
    edit = asyncio.create_task(sender.send(Urgency.EDIT, act))
    await asyncio.sleep(0)
    result = asyncio.create_task(sender.send(Urgency.RESULT, act, lane="1", route="post"))
    edit.cancel()  # its task has not run yet when the other begins
    async with loop_time(0.01):
        assert await result == "done"
        assert await sender.send(Urgency.RESULT, act, lane="1", route="post") == "done"
    with pytest.raises(asyncio.CancelledError):
        await edit
    assert sender.traffic.waiting == 0


async def test_how_long_things_waited_is_known() -> None:
    sender = Sender(Schedule(per_second=5))

    async def act() -> None:
        return None

    async with loop_time(0.01), asyncio.TaskGroup() as group:
        for _ in range(8):
            group.create_task(sender.send(Urgency.MESSAGE, act))
    waited = sender.traffic.waited(Urgency.MESSAGE)
    assert waited.sent == 8
    assert waited.median <= waited.p99 <= waited.slowest
    assert waited.slowest >= 0.9, "the last three had to wait for the next second"
    assert sender.traffic.waited(Urgency.EDIT).sent == 0


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


async def test_only_the_time_on_the_wire_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request that hangs is sent again; sleeping for a rate limit between two requests is not cut off."""
    asked, loop, ahead = list[str](), asyncio.get_running_loop(), [0.0]
    real, over = loop.time, asyncio.Event()
    monkeypatch.setattr(loop, "time", lambda: real() + ahead[0])

    async def slow_once(request: web.Request) -> web.Response:
        asked.append(request.path)
        if len(asked) == 1:
            ahead[0] += 2 * BOUND
            await over.wait()
        return web.Response(text="ok")

    app = web.Application()
    app.router.add_get("/", slow_once)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    sender = Sender(wire_seconds=BOUND, first_pause=0.01)
    async with aiohttp.ClientSession(trace_configs=[sender.trace()]) as session:

        async def act() -> str:
            async with session.get(f"http://127.0.0.1:{port}/") as response:
                text = await response.text()
            ahead[0] += 2 * BOUND
            for _ in range(20):  # what is due by now happens
                await asyncio.sleep(0)
            return text

        assert await sender.send(Urgency.RESULT, act) == "ok"
        async with session.get(f"http://127.0.0.1:{port}/") as response:
            assert response.status == 200
    over.set()
    assert len(asked) == 3
    assert sender.traffic.requests == 3
    await runner.shutdown()
    await runner.cleanup()


async def test_nothing_on_the_wire_goes_around_the_limit_but_answers_to_interactions() -> None:
    """What the library sends by itself waits for a turn as well; several requests of one act do, too."""
    at: list[float] = []
    loop = asyncio.get_running_loop()

    async def seen(request: web.Request) -> web.Response:
        if "interactions" not in request.path:
            at.append(loop.time())
        return web.Response(text="ok")

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", seen)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}/api/v10"
    sender = Sender(Schedule(per_second=5))
    async with aiohttp.ClientSession(trace_configs=[sender.trace()]) as session:

        async def ask(path: str) -> None:
            async with session.post(url + path) as response:
                assert response.status == 200

        async def twice() -> None:
            await ask("/channels/1/messages")
            await ask("/channels/1/messages")

        async with asyncio.TaskGroup() as group:
            for _ in range(3):
                group.create_task(sender.send(Urgency.MESSAGE, twice))
                group.create_task(ask("/users/@me"))
                group.create_task(ask("/interactions/1/token/callback"))
    await runner.cleanup()
    assert len(at) == 9
    assert sender.traffic.requests == 9
    assert sender.traffic.interactions == 3
    assert sender.traffic.busiest <= 5, "nine took two seconds"


def test_edits_are_further_apart_the_more_threads_are_busy() -> None:
    assert Sender.edit_interval(1) == EDIT_SECONDS
    assert Sender.edit_interval(200) == 10.0


async def test_turns_given_apart_and_used_together_by_a_late_loop_do_not_reach_the_wire_together() -> None:
    sender = Sender()

    async def goes() -> None:
        await sender.room()
        await asyncio.sleep(0)
        late = time.now + 0.4
        await eventually(lambda: time.now > late)
        sender.goes(exempt=False)

    async with loop_time(0.01) as time:
        await asyncio.gather(*(goes() for _ in range(2 * PER_SECOND)))
    assert sender.traffic.requests == 2 * PER_SECOND
    assert sender.traffic.busiest <= PER_SECOND
