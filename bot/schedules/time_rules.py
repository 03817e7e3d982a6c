"""When something happens again: a rule in somebody's time zone, and the instants that follow from it; pure.

What is kept is the rule and never a list of instants, so that a change of the zone's own rules counts from the next time
on. Days and hours are those on a wall there. A time that a clock change leaves out happens at the change; one that comes
twice happens the first time. Steps such as “every 2 hours”, and cron lines with ``*`` for the hour, are real time: they
go on through a clock change as if there were none.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from itertools import count, islice, pairwise
from typing import Annotated, Literal
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

CLOSEST = timedelta(minutes=5)
"""No schedule is due more often."""
LOOKED_THROUGH, LOOKED_AHEAD = 300, timedelta(days=400)
"""Times of a cron line that are compared with ``CLOSEST``, at most: a day of the closest steps."""
TOO_OFTEN = f"that is more often than every {CLOSEST // timedelta(minutes=1)} minutes"
LONGEST_CRON = 100
"""Characters of a cron line."""
_BACK = timedelta(hours=3)
"""Clocks are set back by less than this."""


class BadTiming(ValueError):
    """It says no time that anything could be due at; the message says why."""


class _Rule(BaseModel):
    model_config = ConfigDict(frozen=True)


class Cron(_Rule):
    """Five fields: minute, hour, day of the month, month, day of the week."""

    kind: Literal["cron"] = "cron"
    line: str


class Every(_Rule):
    """Every so many minutes of real time, counted from ``since``."""

    kind: Literal["steps"] = "steps"
    minutes: int
    since: datetime


class Days(_Rule):
    """Every so many days at a time on the wall, counted from the day ``since``."""

    kind: Literal["days"] = "days"
    days: int
    at: time
    since: date


class Once(_Rule):
    """One instant."""

    kind: Literal["once"] = "once"
    at: datetime


Timing = Annotated[Cron | Every | Days | Once, Field(discriminator="kind")]
TIMING: TypeAdapter[Timing] = TypeAdapter(Timing)


def next_firing(timing: Timing, zone: str, after: datetime) -> datetime | None:
    """Return the first instant (UTC) later than ``after``; None where there is none any more."""
    match timing:
        case Once(at=at):
            return at if at > after else None
        case Every(minutes=minutes, since=since):
            step = timedelta(minutes=minutes)
            return since + max((after - since) // step + 1, 1) * step
        case Days():
            return _first(_days(timing, zone, after), zone, after, real=False)
        case Cron(line=line):
            return _first(_walls(line, after.astimezone(ZoneInfo(zone))), zone, after, real=_is_real(line))


def checked(timing: Timing, zone: str, now: datetime) -> Timing:
    """Return the rule. Raises ``BadTiming`` where it is due too often or never again."""
    if next_firing(timing, zone, now) is None:
        raise BadTiming("that time has passed" if isinstance(timing, Once) else "that day never comes")
    walls = _walls(timing.line, now) if isinstance(timing, Cron) else iter(())
    for before, following in pairwise(islice(walls, LOOKED_THROUGH)):
        if following - before < CLOSEST:
            raise BadTiming(TOO_OFTEN)
        if following - now.replace(tzinfo=None) > LOOKED_AHEAD:
            break
    if isinstance(timing, Every) and timedelta(minutes=timing.minutes) < CLOSEST:
        raise BadTiming(TOO_OFTEN)
    return timing


def cron(line: str) -> Cron:
    """Read a cron line. Raises ``BadTiming``."""
    fields = line.split()
    if len(fields) != 5 or len(line) > LONGEST_CRON:
        raise BadTiming("a cron line has five fields: minute, hour, day of the month, month, day of the week")
    try:
        CronSim(" ".join(fields), datetime(2000, 1, 1))  # noqa: DTZ001  # it looks at a wall, in no zone yet
    except CronSimError as error:
        raise BadTiming(f"as a cron line it has a {str(error)[:1].lower()}{str(error)[1:]}") from None
    return Cron(line=" ".join(fields))


def instants(wall: datetime, zone: str) -> tuple[datetime, ...]:
    """Return the instants (UTC) at which clocks there show this: one, or two on the day they are set back.

    For a time that is left out it is the moment at which they are set ahead.
    """
    there = ZoneInfo(zone)
    first, second = (wall.replace(tzinfo=there, fold=fold).astimezone(UTC) for fold in (0, 1))
    if first <= second:
        return (first,) if first == second else (first, second)
    return (_change(second, first, there),)


def _change(before: datetime, after: datetime, there: ZoneInfo) -> datetime:
    """Return the second in which the offset changes between the two."""
    offset = before.astimezone(there).utcoffset()
    while after - before > timedelta(seconds=1):
        middle = (before + (after - before) / 2).replace(microsecond=0)
        if middle.astimezone(there).utcoffset() == offset:
            before = middle
        else:
            after = middle
    return after


def _first(walls: Iterator[datetime], zone: str, after: datetime, *, real: bool) -> datetime | None:
    """Return the earliest instant later than ``after``; walls come in order, and no later one has an earlier first instant.

    ``real``: a wall time that comes twice counts twice, one that is left out never.
    """
    best: datetime | None = None
    for wall in walls:
        found = instants(wall, zone)
        if best is not None and found[0] > best:
            break
        if real and found[0].astimezone(ZoneInfo(zone)).replace(tzinfo=None) != wall:
            continue
        later = [one for one in (found if real else found[:1]) if one > after]
        if later and (best is None or later[0] < best):
            best = later[0]
    return best


def _days(rule: Days, zone: str, after: datetime) -> Iterator[datetime]:
    there = after.astimezone(ZoneInfo(zone)).date()
    passed = max((there - rule.since).days // rule.days - 1, 0)
    for number in count(passed):
        yield datetime.combine(rule.since + timedelta(days=number * rule.days), rule.at)


def _walls(line: str, after: datetime) -> Iterator[datetime]:
    """Yield what a wall shows at each time that the line names, from a little before ``after``."""
    try:
        yield from CronSim(line, after.replace(tzinfo=None) - _BACK)
    except CronSimError:
        return


def _is_real(line: str) -> bool:
    return line.split()[1] == "*"
