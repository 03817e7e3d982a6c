"""The instants of a rule: what a wall shows, over clock changes, against a count of every minute."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.config.time_zones import zone_named
from bot.schedules.time_rules import (
    BadTiming,
    Cron,
    Days,
    Every,
    Once,
    Timing,
    checked,
    cron,
    instants,
    next_firing,
)

ZONES = (
    "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/St_Johns", "Asia/Kathmandu", "Africa/Casablanca",
    "America/Santiago", "Pacific/Chatham", "Atlantic/Azores", "Europe/Dublin", "Asia/Beirut", "UTC",
)  # fmt: skip
"""Whole hours and halves, both hemispheres, changes at midnight, and none."""
YEAR = datetime(2027, 1, 1, tzinfo=UTC)


def wall(month: int, day: int, hour: int, minute: int) -> datetime:
    """What a wall shows, in no zone."""
    return datetime(2027, month, day, hour, minute, tzinfo=UTC).replace(tzinfo=None)


@cache
def changes(zone: str) -> list[datetime]:
    """The hours of a year in which the zone's clocks are set."""
    there, hours = ZoneInfo(zone), [YEAR + timedelta(hours=n) for n in range(366 * 24)]
    offsets = [hour.astimezone(there).utcoffset() for hour in hours]
    return [hours[n] for n in range(len(hours) - 1) if offsets[n] != offsets[n + 1]] or [YEAR]


def every(timing: Timing, zone: str, since: datetime, until: datetime) -> list[datetime]:
    """The instants from one moment to another, one after the other."""
    found: list[datetime] = []
    at: datetime | None = since
    while (at := next_firing(timing, zone, at or since)) is not None and at <= until:
        found.append(at)
    return found


def by_the_wall(zone: str, since: datetime, until: datetime, hour: int, minute: int) -> list[datetime]:
    """The same by counting minutes: the first at which a wall shows that time of its day or, where none does, a later one."""
    seen: dict[date, list[tuple[datetime, datetime]]] = {}
    there = ZoneInfo(zone)
    moment = since - timedelta(days=1)
    while moment <= until:
        wall = moment.astimezone(there).replace(tzinfo=None)
        seen.setdefault(wall.date(), []).append((moment, wall))
        moment += timedelta(minutes=1)
    found: list[datetime] = []
    days = sorted(seen)
    for day in (days[0] + timedelta(days=n) for n in range((days[-1] - days[0]).days + 1)):
        wanted = datetime.combine(day, time(hour, minute))
        later = [pair for near in (day, day + timedelta(days=1)) for pair in seen.get(near, ())]
        shown = [at for at, wall in later if wall == wanted] or [at for at, wall in later if wall > wanted]
        found += shown[:1]
    return sorted({at for at in found if since < at <= until})


@settings(max_examples=40)
@given(
    st.sampled_from(ZONES), st.integers(0, 3), st.sampled_from([0, 0, 0, 1, 2, 3, 4, 23, 9]),
    st.sampled_from([0, 15, 30, 45, 59]), st.booleans(),
)  # fmt: skip
def test_a_time_of_day_comes_once_a_day_over_every_clock_change(
    zone: str, which: int, hour: int, minute: int, by_days: bool
) -> None:
    around = changes(zone)
    since = around[which % len(around)] - timedelta(days=1)
    until = since + timedelta(days=2)
    rule: Timing = Cron(line=f"{minute} {hour} * * *")
    if by_days:
        rule = Days(days=1, at=time(hour, minute), since=(since - timedelta(days=9)).date())
    assert every(rule, zone, since, until) == by_the_wall(zone, since, until, hour, minute)


@settings(max_examples=25)
@given(st.sampled_from(ZONES), st.integers(0, 3), st.sampled_from([5, 15, 30, 60]))
def test_cron_lines_for_every_hour_go_on_in_real_time_over_a_clock_change(zone: str, which: int, step: int) -> None:
    around = changes(zone)
    since = around[which % len(around)] - timedelta(hours=5)
    line = "0 * * * *" if step == 60 else f"*/{step} * * * *"
    found = every(Cron(line=line), zone, since, since + timedelta(hours=10))
    minutes = [since + timedelta(minutes=n) for n in range(1, 601)]
    assert found == [at for at in minutes if at.astimezone(ZoneInfo(zone)).minute % step == 0]


def test_what_a_clock_change_leaves_out_comes_at_the_change_and_what_comes_twice_the_first_time() -> None:
    berlin, howe = "Europe/Berlin", "Australia/Lord_Howe"
    assert instants(wall(3, 28, 2, 30), berlin) == (datetime(2027, 3, 28, 1, 0, tzinfo=UTC),)
    first, second = instants(wall(10, 31, 2, 30), berlin)
    assert (first, second - first) == (datetime(2027, 10, 31, 0, 30, tzinfo=UTC), timedelta(hours=1))
    assert next_firing(Cron(line="30 2 * * *"), berlin, first) == datetime(2027, 11, 1, 1, 30, tzinfo=UTC)
    half = instants(wall(4, 4, 1, 45), howe)
    assert half[1] - half[0] == timedelta(minutes=30)
    assert instants(wall(10, 3, 2, 15), howe) == (datetime(2027, 10, 2, 15, 30, tzinfo=UTC),)


def test_two_left_out_times_are_one_instant_and_it_comes_once() -> None:
    found = every(
        Cron(line="0,30 2 * * *"), "Europe/Berlin", datetime(2027, 3, 27, 12, tzinfo=UTC),
        datetime(2027, 3, 28, 12, tzinfo=UTC),
    )  # fmt: skip
    assert found == [datetime(2027, 3, 28, 1, tzinfo=UTC)]


@given(st.integers(5, 100_000), st.integers(0, 10_000_000))
def test_steps_are_real_time_from_where_they_began(minutes: int, after: int) -> None:
    rule = Every(minutes=minutes, since=YEAR)
    found = next_firing(rule, "America/New_York", YEAR + timedelta(seconds=after))
    assert found is not None
    assert found > YEAR + timedelta(seconds=after)
    assert (found - YEAR) % timedelta(minutes=minutes) == timedelta(0)
    assert found - timedelta(minutes=minutes) <= YEAR + timedelta(seconds=after)


def test_every_other_friday_stays_every_other_friday() -> None:
    rule = Days(days=14, at=time(9), since=date(2027, 1, 8))
    found = every(rule, "Europe/Berlin", YEAR, YEAR + timedelta(days=365))
    assert len(found) == 26
    assert {at.astimezone(ZoneInfo("Europe/Berlin")).strftime("%a %H:%M") for at in found} == {"Fri 09:00"}
    assert found[0].date() == date(2027, 1, 8)


def test_days_that_never_come_and_times_that_passed_are_refused() -> None:
    with pytest.raises(BadTiming, match=r"never comes|bad day"):
        checked(cron("0 0 30 2 *"), "UTC", YEAR)
    with pytest.raises(BadTiming, match="has passed"):
        checked(Once(at=YEAR), "UTC", YEAR)
    for line in ("* * * * *", "*/2 * * * *", "0,3 4 * * *", "59 * * * *,", "0 0 0 0 0", "a b c d e", "1 2 3 4"):
        with pytest.raises(BadTiming):
            checked(cron(line), "UTC", YEAR)
    assert checked(cron("*/5 * * * *"), "UTC", YEAR) == Cron(line="*/5 * * * *")
    assert next_firing(Once(at=YEAR), "UTC", YEAR) is None


def test_a_zone_is_found_however_it_is_written() -> None:
    assert zone_named("europe/berlin") == "Europe/Berlin"
    assert zone_named(" America/new york ") == "America/New_York"
    assert zone_named("utc") == "UTC"
    assert zone_named("../etc/passwd") is None
    assert zone_named("Middle/Earth") is None
