"""Several processes learn: from one execution one at a time, however long it takes, so that nothing is paid twice."""

from __future__ import annotations

from typing import cast

from agentic.core.events.execution_events import Evaluated, Person
from bot.after_run.pipeline import AfterRunPipeline, Learner
from bot.sessions.learning import LEARN_SECONDS
from tests.stores import fresh_inline_store
from tests.unit.bot.test_shards import Jumping, together

ANN = Person(id="7", name="Ann")


class Slow:
    """Learning that takes as long as it may; how many did so at the same time."""

    def __init__(self, clock: Jumping) -> None:
        self._clock, self._now, self.most, self.done = clock, 0, 0, 0

    async def after(self, execution: str) -> Evaluated:
        self._now += 1
        self.most = max(self.most, self._now)
        await self._clock.sleep(2 * LEARN_SECONDS)
        self._now, self.done = self._now - 1, self.done + 1
        return Evaluated(score=50, parts={})

    async def feedback(self, execution: str, person: Person, vote: str, target: str = "", why: str = "") -> Evaluated:
        return await self.after(execution)


async def test_an_execution_is_learned_from_by_one_process_at_a_time_however_long_it_takes() -> None:
    clock = Jumping()
    store, slow = fresh_inline_store(seconds=clock.monotonic), Slow(clock)
    one, two = (AfterRunPipeline(cast(Learner, slow), store, clock, (), name) for name in ("one", "two"))
    await together(clock, one.after("x"), two.after("x"), one.feedback("x", ANN, "up"))
    assert (slow.most, slow.done) == (1, 3)
    for each in (one, two):
        await each.close()
