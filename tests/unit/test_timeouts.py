"""A time-out within a task that was called off is one, whichever Python runs it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from agentic import mend_timeouts


@pytest.fixture(params=["as this Python has it", "mended"])
def timeouts(request: pytest.FixtureRequest) -> Iterator[None]:
    before = asyncio.Timeout.__aenter__, asyncio.Timeout.__aexit__
    if request.param == "mended":
        mend_timeouts()
    yield
    asyncio.Timeout.__aenter__, asyncio.Timeout.__aexit__ = before  # type: ignore[method-assign]


@pytest.mark.usefixtures("timeouts")
async def test_what_cleans_up_after_a_stop_is_timed_and_not_called_off() -> None:
    told, began = list[str](), asyncio.Event()

    async def work() -> None:
        try:
            began.set()
            await asyncio.Future()
        finally:
            try:
                async with asyncio.timeout(0):
                    await asyncio.Future()
            except TimeoutError:
                told.append("not answered")

    task = asyncio.create_task(work())
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert told == ["not answered"]


@pytest.mark.usefixtures("timeouts")
async def test_a_stop_within_a_time_out_stays_a_stop() -> None:
    began = asyncio.Event()

    async def work() -> None:
        async with asyncio.timeout(600):
            began.set()
            await asyncio.Future()

    task = asyncio.create_task(work())
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.usefixtures("timeouts")
async def test_one_in_another_ends_alone() -> None:
    async with asyncio.timeout(600):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await asyncio.Future()
        await asyncio.sleep(0)
