"""Who has to wait for a free place is told so."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from agentic.models.scripted.model import answer
from bot.sessions import waiting_notices
from tests.unit.threads.house import Bench, house

FINISH = answer("", ("finish", {"answer": "done"}))
WORK = answer("", ("work", {}))


async def test_a_task_that_waits_for_a_place_is_told_how_many_are_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting_notices, "AFTER", 0.02)
    bench = Bench()
    bench.hold = asyncio.Event()
    async with house([WORK, FINISH, FINISH, FINISH], bench=bench, limit=1) as home:
        await home.say("first", "100")
        await bench.began.wait()
        await home.say("second", "200")
        await home.say("third", "300")
        waiting = partial(home.told, "Waiting for a free slot")
        assert "the running tasks are ahead of this one" in await waiting("200")
        assert "the running tasks and 1 more are ahead of this one" in await waiting("300")
        assert not any("Waiting" in text for text in await home.texts("100"))
        bench.hold.set()
        for thread in ("100", "200", "300"):
            await home.threads.idle(thread)
            assert await home.reasons(thread) == ["done"]
