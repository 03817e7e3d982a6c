"""How many executions run at once, and in which order."""

from __future__ import annotations

import asyncio

from bot.sessions.slots import Slots


class Worker:
    """Holds a slot until it is told to go."""

    def __init__(self, slots: Slots, thread: str, order: list[str]) -> None:
        self.go = asyncio.Event()
        self.entered = asyncio.Event()
        self._slots, self._thread, self._order = slots, thread, order
        self.task = asyncio.create_task(self._work())

    async def _work(self) -> None:
        async with self._slots.slot(self._thread):
            self._order.append(self._thread)
            self.entered.set()
            await self.go.wait()


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_threads_get_their_slots_in_the_order_they_asked() -> None:
    slots, order = Slots(1), list[str]()
    workers = [Worker(slots, name, order) for name in ("a", "b", "c")]
    await settled()
    assert order == ["a"]
    assert [slots.position(name) for name in ("a", "b", "c")] == [0, 1, 2]
    async with asyncio.timeout(60):
        for worker in workers:
            await worker.entered.wait()
            worker.go.set()
            await worker.task
    assert order == ["a", "b", "c"]


async def test_who_waits_for_a_person_makes_room_and_comes_back_without_waiting() -> None:
    slots, order = Slots(1), list[str]()
    asking, other, third = (Worker(slots, name, order) for name in ("asking", "other", "third"))
    await settled()
    slots.set_aside("asking")
    await settled()
    assert order == ["asking", "other"]
    slots.take_back("asking")
    asking.go.set()
    await settled()
    assert order == ["asking", "other"], "the answered one was over the bound; its end makes no room"
    other.go.set()
    await settled()
    assert order == ["asking", "other", "third"]
    third.go.set()
    async with asyncio.timeout(60):
        await asyncio.gather(asking.task, other.task, third.task)


async def test_a_cancelled_wait_leaves_the_line() -> None:
    slots, order = Slots(1), list[str]()
    workers = [Worker(slots, name, order) for name in ("a", "b", "c")]
    await settled()
    workers[1].task.cancel()
    await settled()
    assert slots.position("c") == 1
    workers[0].go.set()
    workers[2].go.set()
    async with asyncio.timeout(60):
        await asyncio.gather(workers[0].task, workers[2].task)
    assert order == ["a", "c"]


async def test_who_waits_for_a_person_from_the_beginning_takes_no_slot() -> None:
    slots, order = Slots(1), list[str]()
    async with asyncio.timeout(60), slots.slot("asking", aside=True):
        worker = Worker(slots, "a", order)
        await worker.entered.wait()
        worker.go.set()
        await worker.task
    assert order == ["a"]
