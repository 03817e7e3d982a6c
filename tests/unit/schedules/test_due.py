"""What has come of a schedule, what was missed, and what a set clock does to its next time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from bot.schedules.schedule import (
    COUNTED,
    GRACE,
    ScheduledTask,
    as_row,
    by_hand,
    claimed,
    due,
    firing_id,
    from_row,
    replanned,
    resumed,
    schedule_of,
)
from bot.schedules.time_rules import Every, Once, Timing

NOON = datetime(2027, 1, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
HOURLY = Every(minutes=60, since=NOON)


def schedule(timing: Timing = HOURLY, following: datetime | None = NOON + HOUR, **more: object) -> ScheduledTask:
    made = {
        "id": "s1", "guild": "g", "channel": "c", "person": "7", "name": "Ann", "text": "look", "title": "look",
        "said": "hourly", "timing": timing, "next": following, **more,
    }  # fmt: skip
    return ScheduledTask.model_validate(made)


def test_a_time_has_come_from_its_very_moment_on_and_once_claimed_no_more() -> None:
    one = schedule()
    assert due(one, NOON + HOUR - timedelta(microseconds=1)) is None
    come = due(one, NOON + HOUR)
    assert come is not None
    after = claimed(one, come)
    assert (after.last, after.next, after.due) == (NOON + HOUR, NOON + 2 * HOUR, NOON + HOUR)
    assert after.claim is not None
    assert after.claim.id == "s1.20270101T130000" == firing_id("s1", NOON + HOUR)
    assert due(after, NOON + 5 * HOUR) is None, "one thing after the other"
    assert due(after.settled(), NOON + HOUR) is None
    assert due(one.changed(paused="Ann paused it"), NOON + HOUR) is None


def test_of_what_was_missed_the_newest_counts_if_it_is_not_old() -> None:
    come = due(schedule(), NOON + 3.5 * HOUR)
    assert come is not None
    assert (come.at, come.missed, come.passed, come.following) == (NOON + 3 * HOUR, 2, False, NOON + 4 * HOUR)
    daily = due(schedule(Every(minutes=1440, since=NOON), NOON), NOON + GRACE + timedelta(seconds=1))
    assert daily is not None
    assert (daily.at, daily.missed, daily.passed) == (NOON, 0, True)
    once = due(schedule(Once(at=NOON), NOON), NOON + GRACE)
    assert once is not None
    assert (once.passed, once.following) == (False, None)


def test_after_a_year_the_missed_times_are_not_all_counted() -> None:
    now = NOON + timedelta(days=365, minutes=1)
    come = due(schedule(Every(minutes=5, since=NOON), NOON), now)
    assert come is not None
    assert now - come.at < timedelta(minutes=5)
    assert COUNTED < come.missed < COUNTED + 100


def test_a_clock_that_was_set_back_makes_no_time_come_again() -> None:
    one = schedule(last=NOON + 3 * HOUR, next=NOON + 4 * HOUR)
    assert replanned(one, NOON + HOUR / 2) == one
    assert replanned(one, NOON + 5 * HOUR) == one, "what has come is not passed over"
    wrong = schedule(last=NOON + timedelta(days=400), next=NOON + timedelta(days=400) + HOUR)
    assert replanned(wrong, NOON).next == NOON + HOUR
    assert replanned(schedule(next=None), NOON).next is None


def test_what_passed_while_it_was_paused_does_not_come() -> None:
    assert resumed(schedule(paused="Ann paused it"), NOON + 9.5 * HOUR).next == NOON + 10 * HOUR


def test_a_time_by_hand_leaves_the_others_as_they_are() -> None:
    one = by_hand(schedule(), NOON, "now5")
    assert one.claim is not None
    assert (one.claim.id, one.next, one.due) == ("s1.now5", NOON + HOUR, NOON)


def test_an_inbox_item_says_which_schedule_it_comes_from() -> None:
    assert schedule_of("s1.20270101T130000") == "s1"
    assert schedule_of("w0a1b.20270101T130000") == "w0a1b"
    assert schedule_of("1575235582689280000") == ""
    assert schedule_of("trial.x1") == ""


def test_a_row_keeps_all_of_it_and_one_that_is_damaged_is_none() -> None:
    one = schedule()
    row = as_row(one, 3)
    assert from_row(row) == one
    assert (row.due, row.revision) == (NOON + HOUR, 3)
    assert from_row(as_row(one).__class__("s1", "g", "7", "", None, "{")) is None
