"""How far channels were read: never ahead of what was taken care of, durable a moment later, cheap."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.ports.errors import StoreUnavailable
from agentic.stores.sqlite.store import SQLiteStore
from bot.catch_up.watermarks import Lanes, Watermarks
from tests.stores import fresh_store


class Counting(SQLiteStore):
    """Counts what is written, and fails when told."""

    writes = 0
    fails = False

    async def set_fact(self, key: str, value: str) -> None:
        if self.fails:
            raise StoreUnavailable("the disk is full")
        self.writes += 1
        await super().set_fact(key, value)


async def test_a_mark_survives_the_process_and_many_messages_are_few_writes() -> None:
    store = fresh_store(Counting)
    marks = Watermarks(store)
    for message in range(1, 1001):
        marks.taken_care_of("5", message)
    await marks.write()
    assert store.writes == 2
    assert await Watermarks(store).of("5") == 1000
    assert await Watermarks(store).latest() == 1000
    assert await Watermarks(store).of("6") is None


async def test_what_began_during_a_gap_is_new_until_everything_was_read_also_after_a_crash_in_its_midst() -> None:
    store = fresh_store()
    marks = Watermarks(store)
    marks.opened()
    marks.closed("5", 10)
    await marks.write()
    assert (await marks.latest(), await Watermarks(store).latest()) == (None, None)
    marks.all_closed()
    await marks.write()
    assert (await marks.latest(), await Watermarks(store).latest()) == (10, 10)
    marks.taken_care_of("5", 11)
    for _ in range(2):  # a second gap begins before the first was closed
        marks.opened()
        marks.closed("5", 30)
        marks.begins("20", 20)
        await marks.write()
        assert await marks.latest() == 11
    again = Watermarks(store)
    again.opened()
    assert (await again.latest(), await again.of("20"), await again.of("5")) == (10, 20, 30)
    marks.all_closed()
    await marks.write()
    assert await Watermarks(store).latest() == 30


async def test_messages_taken_in_beside_each_other_move_the_mark_only_over_what_is_complete() -> None:
    marks = Watermarks(fresh_store())
    marks.taken_care_of("5", 1)
    first, second, third = (marks.taking("5", number) for number in (2, 3, 4))
    first.__enter__()
    second.__enter__()
    third.__enter__()
    second.__exit__(None, None, None)
    assert (await marks.of("5"), marks.known(3), marks.known(2)) == (1, True, False)
    first.__exit__(None, None, None)
    assert await marks.of("5") == 3
    third.__exit__(None, None, None)
    assert await marks.of("5") == 4


async def test_what_is_not_acknowledged_yet_is_known_and_holds_the_mark_whatever_is_read_beyond_it() -> None:
    marks = Watermarks(fresh_store())
    marks.taken_care_of("5", 1)
    with marks.taking("5", 2):
        marks.taken(2)
        assert marks.known(2)
        marks.taken_care_of("5", 3)
        assert await marks.of("5") == 1
        marks.opened()
        marks.taken_care_of("5", 6)
        marks.closed("5", 4)
        assert await marks.of("5") == 1
    assert await marks.of("5") == 6


async def test_a_message_whose_taking_in_broke_is_not_known() -> None:
    marks = Watermarks(fresh_store())
    marks.taken_care_of("5", 1)
    with pytest.raises(ValueError, match="broke"), marks.taking("5", 2):
        raise ValueError("it broke")
    assert (await marks.of("5"), marks.known(2)) == (1, False)


async def test_a_message_whose_taking_in_was_cut_off_holds_the_mark_for_the_next_process() -> None:
    """Else one that came after it and was done sooner would carry the mark over it, and nobody would read it again."""
    marks = Watermarks(fresh_store())
    marks.taken_care_of("5", 1)
    with marks.taking("5", 3), pytest.raises(asyncio.CancelledError), marks.taking("5", 2):
        raise asyncio.CancelledError
    assert (await marks.of("5"), marks.known(2), marks.known(3)) == (1, False, True)


async def test_what_could_not_be_written_is_written_later() -> None:
    store = fresh_store(Counting)
    marks = Watermarks(store)
    marks.taken_care_of("5", 7)
    store.fails = True
    await marks.write()
    store.fails = False
    await marks.write()
    assert await Watermarks(store).of("5") == 7


async def test_what_is_taken_care_of_last_is_written_when_the_process_ends_in_order() -> None:
    store = fresh_store()
    marks = Watermarks(store)
    running = asyncio.create_task(marks.run())
    await asyncio.sleep(0)
    marks.taken_care_of("5", 7)
    running.cancel()
    await asyncio.wait((running,))
    assert await Watermarks(store).of("5") == 7


@given(st.lists(st.sampled_from(["live", "missed", "gap", "crash", "close"]), max_size=30))
def test_a_mark_is_never_ahead_of_what_was_taken_care_of(script: list[str]) -> None:
    """Whatever comes live, is missed, fetched or lost: after a crash everything after the mark is fetched again."""

    async def play() -> None:
        store = fresh_store()
        marks = Watermarks(store)
        marks.taken_care_of("5", 1)
        await marks.write()
        said, cared_for, number = [1], {1}, 1
        gap = False
        for step in script:
            if step in ("live", "missed"):
                number += 1
                said.append(number)
                if step == "live":
                    marks.taken_care_of("5", number)
                    cared_for.add(number)
                else:
                    gap = True
                    marks.opened()
            elif step == "gap":
                marks.opened()
                gap = True
            elif step == "crash":
                await marks.write()
                marks = Watermarks(store)
                marks.opened()
                gap = True
            elif gap:
                mark = await marks.of("5")
                assert mark is not None
                for message in said:
                    if message > mark:
                        cared_for.add(message)
                marks.closed("5", max(said))
                gap = False
            mark = await marks.of("5")
            assert mark is not None
            assert {message for message in said if message <= mark} <= cared_for

    asyncio.run(play())


async def test_a_lane_lets_one_through_after_the_other_in_the_order_they_came() -> None:
    lanes, order = Lanes(), list[int]()

    async def pass_by(number: int) -> None:
        async with lanes.lane("5"):
            order.append(number)
            await asyncio.sleep(0)
            order.append(number)

    await asyncio.gather(*(pass_by(number) for number in range(20)))
    assert all(one == two for one, two in list(pairwise(order))[::2])
    assert order[::2] == list(range(20))
    assert lanes.lanes == 0
