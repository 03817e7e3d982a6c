"""A schedule and what is due of it; pure.

    waiting --its time has come--> claimed --its task is in an inbox--> waiting for the next time

``due`` says which time has come, and ``claimed`` is how that is kept before anything follows from it: the next time
stands there with it, so no time comes twice, and what follows may be repeated under the id of the claim. A schedule is
never waited for by its clock alone: what was missed is counted, and the newest of it still happens if it is not too old.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from agentic.core.events.ids import execution_id
from agentic.ports.schedules import ScheduleRow
from bot.schedules.time_rules import Timing, next_firing

LATE = timedelta(minutes=2)
"""What begins later than this after its time is said to be late."""
GRACE = timedelta(hours=6)
"""What was missed by more than this does not happen any more."""
COUNTED = 1_000
"""Missed times that are counted."""
SET_BACK = timedelta(days=1)
"""A time that has come and lies further ahead than this was read from a clock that was wrong."""

Ping = str
"""Who is called with the answer: 'me', 'nobody', or the mention of a person or a role."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True)


class Claim(_Part):
    """A time that has come and of which not everything is done."""

    id: str
    """The id of the inbox item that it becomes."""
    at: datetime
    missed: int = 0
    """Times before it that passed unnoticed."""
    passed: bool = False
    """It passed itself too long ago: nothing happens but that this is said."""
    by_hand: bool = False
    """Somebody asked for it now."""


class Begun(_Part):
    """What a time became: an item in a thread's inbox."""

    thread: str
    item: str

    @property
    def execution(self) -> str:
        """The execution that begins with it."""
        return execution_id(self.thread, self.item)


class ScheduledTask(_Part):
    """A task for set times, or the wake-up of an agent."""

    id: str
    kind: Literal["task", "wake"] = "task"
    guild: str
    channel: str
    """Where it was made; where it belongs to a thread, that thread's channel."""
    thread: str = ""
    """The thread that it works in; '' for a new one each time."""
    person: str
    name: str
    text: str
    title: str
    said: str
    """The time in the words of who made it."""
    timing: Timing
    zone: str = "UTC"
    gate: str = ""
    """A command that must end well in the thread's sandbox before the task begins."""
    gate_said: str = ""
    """What it came to last, in words."""
    ping: Ping = "me"
    next: datetime | None
    """The next time; None where there is none any more."""
    last: datetime | None = None
    """The newest time that has come."""
    claim: Claim | None = None
    paused: str = ""
    """Why nothing happens, in words; '' while it does."""
    run: Begun | None = None
    """The newest."""
    execution: str = ""
    """The one that asked to be woken."""

    @property
    def due(self) -> datetime | None:
        """When it is to be looked at."""
        if self.claim is not None:
            return self.claim.at
        return None if self.paused else self.next

    @property
    def over(self) -> bool:
        """Nothing comes of it any more."""
        return self.next is None and self.claim is None and not self.paused

    def changed(self, **changes: object) -> ScheduledTask:
        """Return it with other values."""
        return self.model_copy(update=changes)

    def settled(self, run: Begun | None = None) -> ScheduledTask:
        """Return it after everything was done about its claim."""
        return self.changed(claim=None, run=run or self.run)


class Due(_Part):
    """The times of a schedule that have come: the last of them, and how many were before it."""

    at: datetime
    missed: int
    passed: bool
    following: datetime | None


def due(schedule: ScheduledTask, now: datetime) -> Due | None:
    """Return what has come by ``now``; None where nothing has, or where the last is not dealt with yet."""
    if schedule.claim is not None or schedule.paused or schedule.next is None or schedule.next > now:
        return None
    at, missed = schedule.next, 0
    following = next_firing(schedule.timing, schedule.zone, at)
    while following is not None and following <= now:
        at, missed = following, missed + 1
        if missed == COUNTED and at < now - GRACE:  # the rest is not counted, and what is too old is passed over
            following = next_firing(schedule.timing, schedule.zone, now - GRACE)
            continue
        following = next_firing(schedule.timing, schedule.zone, at)
    return Due(at=at, missed=missed, passed=now - at > GRACE, following=following)


def claimed(schedule: ScheduledTask, come: Due) -> ScheduledTask:
    """Return the schedule as it is kept before anything is done about what has come."""
    claim = Claim(id=firing_id(schedule.id, come.at), at=come.at, missed=come.missed, passed=come.passed)
    return schedule.changed(claim=claim, last=come.at, next=come.following)


def by_hand(schedule: ScheduledTask, now: datetime, key: str) -> ScheduledTask:
    """Return the schedule with a time that somebody asked for; ``key`` names the asking."""
    return schedule.changed(claim=Claim(id=f"{schedule.id}.{key}", at=now, by_hand=True))


def resumed(schedule: ScheduledTask, now: datetime) -> ScheduledTask:
    """Return it going on with the next time after now; what passed meanwhile was meant not to happen."""
    return schedule.changed(paused="", next=next_firing(schedule.timing, schedule.zone, now))


def replanned(schedule: ScheduledTask, now: datetime) -> ScheduledTask:
    """Return it with its next time by the clock as it is now, after that was set or the zone's rules have changed.

    A time that has come does not come again, but for one that a clock ahead of its time by days had told of. What has
    come already, and waits to be noticed, stays.
    """
    if schedule.next is None or schedule.next <= now:
        return schedule
    last = schedule.last
    after = now if last is None or last > now + SET_BACK else max(now, last)
    return schedule.changed(next=next_firing(schedule.timing, schedule.zone, after))


def firing_id(schedule: str, at: datetime) -> str:
    """Return the one id of what happens at this time."""
    return f"{schedule}.{at.astimezone(UTC):%Y%m%dT%H%M%S}"


def schedule_of(item: str) -> str:
    """Return the schedule that an inbox item comes from, '' for none."""
    name, _, when = item.partition(".")
    return name if when and name[:1] in ("s", "w") and not name.isdecimal() else ""


def as_row(schedule: ScheduledTask, revision: int = 0) -> ScheduleRow:
    """Return the row that keeps it."""
    return ScheduleRow(
        schedule.id,
        schedule.guild,
        schedule.person,
        schedule.thread,
        schedule.due,
        schedule.model_dump_json(),
        revision,
    )


def from_row(row: ScheduleRow) -> ScheduledTask | None:
    """Read a row; None where it is damaged, or only a newer version knows what it says."""
    try:
        return ScheduledTask.model_validate_json(row.body)
    except ValidationError:
        return None
