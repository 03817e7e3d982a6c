"""Who goes next to Discord: simulated with a clock of its own, so that hours pass in moments."""

from __future__ import annotations

import heapq
import itertools
from collections import Counter, defaultdict
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.outbound.priorities import (
    AGES_SECONDS,
    Crowded,
    Job,
    Schedule,
    Urgency,
)
from bot.outbound.rate_limits import PER_SECOND

TAKES = 0.08
"""Seconds a request is on its way."""
Asked = tuple[float, Urgency, str, str]


@dataclass
class World:
    """Discord and a process that sends: asks at given times, and lets time pass from one event to the next."""

    schedule: Schedule = field(default_factory=Schedule)
    limits: dict[str, tuple[int, float]] = field(default_factory=dict)
    """What Discord allows by route, for each channel: (requests, seconds)."""
    sent: list[tuple[float, Job]] = field(default_factory=list)
    breaches: int = 0
    _windows: dict[tuple[str, str], tuple[float, int]] = field(default_factory=dict)

    def run(self, asks: list[Asked]) -> None:
        happenings: list[tuple[float, int, object]] = []
        ties = itertools.count()
        for at, *ask in asks:
            heapq.heappush(happenings, (at, next(ties), tuple(ask)))
        now = 0.0
        while True:
            again = self.schedule.look_again(now)
            due = min(happenings[0][0] if happenings else float("inf"), float("inf") if again is None else again)
            if due == float("inf"):
                return
            now = max(now, due)
            while happenings and happenings[0][0] <= now:
                match heapq.heappop(happenings)[2]:
                    case Job() as job:
                        if job.route:
                            self.schedule.buckets.learn(job.route, job.lane, self._headers(job, now), now)
                        self.schedule.ended(job)
                    case (urgency, lane, route):
                        self.schedule.add(urgency, lane, route, now)
            for job in self.schedule.grant(now):
                self.sent.append((now, job))
                self._arrives(job, now)
                heapq.heappush(happenings, (now + TAKES, next(ties), job))

    def _arrives(self, job: Job, now: float) -> None:
        if job.route not in self.limits:
            return
        limit, seconds = self.limits[job.route]
        opened, used = self._windows.get((job.route, job.lane), (now, 0))
        if now >= opened + seconds:
            opened, used = now, 0
        self._windows[job.route, job.lane] = (opened, used + 1)
        self.breaches += used + 1 > limit

    def _headers(self, job: Job, now: float) -> dict[str, str]:
        if job.route not in self.limits:
            return {}
        limit, seconds = self.limits[job.route]
        opened, used = self._windows[job.route, job.lane]
        if now >= opened + seconds:
            opened, used = now, 0
        return {
            "X-RateLimit-Limit": str(limit), "X-RateLimit-Remaining": str(max(0, limit - used)),
            "X-RateLimit-Reset-After": str(opened + seconds - now), "X-RateLimit-Bucket": f"hash of {job.route}",
        }  # fmt: skip

    def waits(self, urgency: Urgency) -> list[float]:
        return [at - job.asked for at, job in self.sent if job.urgency is urgency]

    def busiest_second(self, late: float = 0.0) -> int:
        """As Discord may count it where some requests arrive up to so many seconds later than others."""
        times = [at for at, _ in self.sent]
        most, first = 0, 0
        for last, at in enumerate(times):
            while times[first] + 1.0 + late <= at:
                first += 1
            most = max(most, last - first + 1)
        return most


ASKS = st.lists(
    st.tuples(
        st.floats(0, 20, allow_nan=False),
        st.sampled_from(Urgency),
        st.integers(0, 12).map(lambda number: f"thread {number}"),
        st.sampled_from(["", "post", "edit"]),
    ),
    max_size=400,
)


@given(ASKS)
@settings(max_examples=60, deadline=None)
def test_no_second_sees_more_than_allowed_and_all_of_it_goes(asks: list[Asked]) -> None:
    world = World(limits={"post": (5, 5.0), "edit": (3, 2.0)})
    world.run(asks)
    assert world.busiest_second() <= PER_SECOND
    assert world.busiest_second(late=0.2) <= 50
    assert len(world.sent) == len(asks)
    assert world.schedule.waiting == 0
    assert world.breaches == 0, "no limit of a route was run into"
    for queue in {(job.lane, job.urgency, job.route) for _, job in world.sent}:
        mine = [job.asked for _, job in world.sent if (job.lane, job.urgency, job.route) == queue]
        assert mine == sorted(mine), "a channel's messages, which have one route, keep their order"


def test_a_flood_never_sends_more_than_allowed_in_any_second() -> None:
    world = World()
    world.run([(number * 0.001, Urgency.MESSAGE, f"thread {number % 500}", "") for number in range(2_000)])
    assert world.busiest_second() == PER_SECOND
    assert world.busiest_second(late=0.2) <= 50, "also where the network delays some of it"
    assert world.sent[-1][0] <= 2_000 / PER_SECOND + 1, "and the allowance is used"


def test_results_go_before_messages_and_messages_before_edits() -> None:
    world = World()
    asks: list[Asked] = [
        (0.0, urgency, f"thread {number}", "") for number in range(150) for urgency in reversed(Urgency)
    ]
    world.run(asks)
    assert [job.urgency for _, job in world.sent] == [u for u in Urgency for _ in range(150)]


def test_an_answer_waits_for_no_more_than_a_slot_while_edits_pile_up() -> None:
    world = World()
    edits: list[Asked] = [(0.0, Urgency.EDIT, f"thread {number}", "") for number in range(900)]
    world.run([*edits, (3.0, Urgency.RESULT, "thread 1", "")])
    assert world.waits(Urgency.RESULT)[0] <= 1.0


def test_a_busy_channel_does_not_hold_up_the_others() -> None:
    world = World()
    asks: list[Asked] = [(0.0, Urgency.MESSAGE, "loud", "") for _ in range(1_000)]
    asks += [(1.0, Urgency.MESSAGE, f"quiet {number}", "") for number in range(20)]
    world.run(asks)
    quiet = [at for at, job in world.sent if job.lane != "loud"]
    assert max(quiet) <= 3.0


def test_nothing_waits_for_ever_behind_what_matters_more() -> None:
    world = World()
    flood: list[Asked] = [
        (number / (PER_SECOND * 1.2), Urgency.RESULT, f"thread {number % 40}", "") for number in range(3_600)
    ]
    world.run([*flood, (1.0, Urgency.EDIT, "the edit", ""), (1.0, Urgency.MESSAGE, "the message", "")])
    assert world.waits(Urgency.EDIT)[0] <= 2 * AGES_SECONDS + 20
    assert world.waits(Urgency.MESSAGE)[0] <= world.waits(Urgency.EDIT)[0]
    assert flood[-1][0] > world.waits(Urgency.EDIT)[0] + 10, "the flood had not ended by then"


def test_a_channel_whose_limit_is_used_up_steps_aside() -> None:
    world = World(limits={"post": (1, 10.0)})
    asks: list[Asked] = [(0.0, Urgency.RESULT, "slow", "post") for _ in range(4)]
    asks += [(0.1 + number, Urgency.EDIT, f"other {number}", "edit") for number in range(20)]
    world.run(asks)
    assert world.breaches == 0
    assert max(world.waits(Urgency.EDIT)) < 0.2
    assert [round(at) for at, job in world.sent if job.lane == "slow"] == [0, 10, 20, 30]


def test_what_an_answer_says_of_a_route_counts_for_other_channels_too() -> None:
    world = World(limits={"post": (5, 5.0)})
    asks: list[Asked] = [(0.0, Urgency.MESSAGE, "first", "post")]
    asks += [(1.0, Urgency.MESSAGE, "second", "post") for _ in range(5)]
    world.run(asks)
    second = [at for at, job in world.sent if job.lane == "second"]
    assert second == [1.0] * 5, "the size of the bucket is known: all of them go at once"


def test_a_global_limit_stops_everything_for_as_long_as_it_says() -> None:
    schedule = Schedule()
    job, _ = schedule.add(Urgency.RESULT, "a", "post", 0.0)
    assert schedule.grant(0.0) == [job]
    schedule.pause(0.1, 3.0)
    schedule.add(Urgency.RESULT, "b", "", 0.2)
    assert schedule.grant(3.0) == []
    assert schedule.look_again(0.2) == pytest.approx(3.1)
    assert len(schedule.grant(3.2)) == 1


def test_a_limit_of_one_route_stops_that_channel_only() -> None:
    schedule = Schedule()
    job, _ = schedule.add(Urgency.EDIT, "a", "edit", 0.0)
    schedule.grant(0.0)
    schedule.limited(job, 0.1, 3.0)
    schedule.ended(job)
    again, _ = schedule.add(Urgency.EDIT, "a", "edit", 0.2)
    other, _ = schedule.add(Urgency.EDIT, "b", "edit", 0.2)
    assert schedule.grant(0.2) == [other]
    assert schedule.look_again(0.2) == pytest.approx(3.1)
    assert schedule.grant(3.2) == [again]


@pytest.mark.parametrize("route", ["react", ""])
def test_a_limit_of_one_route_holds_up_no_other_one_of_its_channel(route: str) -> None:
    schedule = Schedule()
    job, _ = schedule.add(Urgency.RESULT, "a", route, 0.0)
    schedule.grant(0.0)
    schedule.limited(job, 0.1, 537.0)
    schedule.ended(job)
    again, _ = schedule.add(Urgency.RESULT, "a", route, 0.2)
    answer, _ = schedule.add(Urgency.RESULT, "a", "post", 0.2)
    assert answer in schedule.grant(0.2)
    assert (again.granted is None) == bool(route), "what has no route is held up by the library"


def test_a_lost_answer_does_not_block_its_route() -> None:
    schedule = Schedule()
    for now in (0.0, 1.0, 2.0):
        job, _ = schedule.add(Urgency.MESSAGE, "a", "post", now)
        assert schedule.grant(now) == [job]
        schedule.ended(job)


def test_the_queue_is_bounded_and_edits_make_room_first() -> None:
    schedule = Schedule(per_second=1, at_most=3)
    schedule.add(Urgency.EDIT, "t", "", 0.0)
    schedule.grant(0.0)
    waiting = [schedule.add(Urgency.EDIT, f"t{number}", "", 0.0)[0] for number in range(3)]
    with pytest.raises(Crowded):
        schedule.add(Urgency.EDIT, "more", "", 0.0)
    answers: list[Job] = []
    for number in range(3):
        answer, dropped = schedule.add(Urgency.RESULT, f"r{number}", "", 0.0)
        answers.append(answer)
        assert dropped is waiting[2 - number], "the latest edit goes first"
        assert schedule.waiting == 3
    with pytest.raises(Crowded):
        schedule.add(Urgency.MESSAGE, "more", "", 0.0)
    assert [job for now in (1.0, 2.0, 3.0, 4.0) for job in schedule.grant(now)] == answers


@given(st.lists(st.tuples(st.sampled_from(Urgency), st.integers(0, 3), st.booleans()), max_size=60))
@settings(max_examples=60, deadline=None)
def test_who_gives_up_waiting_holds_nobody_up(asks: list[tuple[Urgency, int, bool]]) -> None:
    schedule = Schedule(per_second=2)
    jobs = [schedule.add(urgency, f"t{lane}", "", 0.0)[0] for urgency, lane, _ in asks]
    stays = [job for job, (_, _, gives_up) in zip(jobs, asks, strict=True) if not gives_up]
    for job, (_, _, gives_up) in zip(jobs, asks, strict=True):
        if gives_up:
            schedule.withdraw(job)
    went = [job for second in range(len(asks) + 1) for job in schedule.grant(second * 1.0)]
    assert Counter(map(id, went)) == Counter(map(id, stays))
    by_lane = defaultdict(list)
    for job in went:
        by_lane[job.lane, job.urgency].append(jobs.index(job))
    assert all(places == sorted(places) for places in by_lane.values())
    assert schedule.waiting == 0
