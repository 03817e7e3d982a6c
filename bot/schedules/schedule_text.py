"""What people read of schedules."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from bot.rendering.discord_text import inline, one_line, plain
from bot.schedules.schedule import LATE, Claim, ScheduledTask
from bot.schedules.time_rules import next_firing

SHOWN_TIMES = 3
"""The next times that are shown."""
NONE = "There are no schedules of yours here. For example: `/schedule add when:every Monday at 9 task:look for failing tests`."
LEFT = (
    "{name} has left this server, and a schedule works with the rights of who made it. Whoever wants it can make it anew "
    "with `/schedule add`; an operator can delete this one in `/schedule list`."
)
LOST = (
    "{name} may no longer start tasks here. Once they may again, they or an operator press Resume in `/schedule list`."
)
GONE = "its {place} is gone. Make it anew somewhere else with `/schedule add`, and delete this one in `/schedule list`."
MINE = (
    "I may not write or open threads in <#{channel}> any more. An administrator can grant me “View Channel”, “Send Messages”, "
    "“Create Public Threads” and “Send Messages in Threads” there; then press Resume in `/schedule list`."
)
REMOVED = "I am no longer in that server."
PAUSED = "⏸ The schedule “{title}” is paused: {why}"
STILL = (
    "⏰ Skipped “{title}” at {at}: the task from the time before is still open. It goes on; the schedule comes again "
    "{following}."
)
STILL_NOW = "It is still at work on the time before, in <#{thread}>. Stop that first with 🛑, or wait for its end."
REFUSED = "⏰ “{title}” did not begin: {why}"
PASSED = "⏰ I was away {count} “{title}” was due ({at}), so it did not happen. {following}"
WOKEN = "[You asked to be woken: {why}] Go on with what was asked for in this thread."
WOKEN_NO_MORE = "⏰ I won't go on by myself at {at}{because}."
_BECAUSE = {"task": ", as you gave me a new task", "queue": ", as you gave me a new task"}
NO_MORE = "⏰ I wanted to go on here ({why}), but {name} may not start tasks here any more. Write here if I should."
OVER = "That time has come or was cancelled already; there is nothing left to cancel."
PASSED_WAKE = "⏰ I wanted to go on here at {at} ({why}), but was away. Write here if I should."


def full(at: datetime) -> str:
    """A moment, as Discord shows it to each reader in their own time zone."""
    return f"<t:{int(at.timestamp())}:F>"


def short(at: datetime) -> str:
    """The same as day and time alone."""
    return f"<t:{int(at.timestamp())}:f>"


def ago(at: datetime) -> str:
    """How long ago a moment is, as Discord counts it on."""
    return f"<t:{int(at.timestamp())}:R>"


def next_times(schedule: ScheduledTask, count: int = SHOWN_TIMES) -> list[datetime]:
    """The next times of a schedule that goes on."""
    found: list[datetime] = []
    at = schedule.next
    while at is not None and len(found) < count:
        found.append(at)
        at = next_firing(schedule.timing, schedule.zone, at)
    return found


def added(schedule: ScheduledTask, *, alone: bool) -> str:
    """What whoever made a schedule reads; ``alone``: in a direct message."""
    lines = [f"⏰ **{plain(schedule.title, 80)}** · {plain(schedule.said, 100)} ({schedule.zone})"]
    times = next_times(schedule)
    lines += [f"{number}. {full(at)}" for number, at in enumerate(times, 1)]
    place = "Works in this conversation." if alone else "Works in this thread."
    if not schedule.thread:
        place = "Opens a new thread here each time."
    lines.append(f"-# {place} {_told(schedule)}{_gated(schedule)} `/schedule list` shows and changes it.")
    return "\n".join(lines)


def _told(schedule: ScheduledTask) -> str:
    if schedule.ping == "nobody":
        return "The answer pings nobody."
    return "The answer pings you." if schedule.ping == "me" else f"The answer pings {schedule.ping}."


def _gated(schedule: ScheduledTask) -> str:
    return f" Begins only if {inline(schedule.gate, 100)} exits with 0 there." if schedule.gate else ""


def listed(schedules: Sequence[ScheduledTask], first: int, person: str) -> str:
    """A page of schedules, numbered from ``first``, as ``person`` reads it."""
    blocks: list[str] = []
    for number, schedule in enumerate(schedules, first):
        whose = "" if schedule.person == person else f" · by {plain(schedule.name, 40)}"
        place = f"<#{schedule.thread or schedule.channel}>"
        lines = [
            f"**{number}. {plain(schedule.title, 80)}** · {plain(schedule.said, 100)} ({schedule.zone}) · {place}{whose}"
        ]
        lines.append(f"-# {_state(schedule)}{f' · last: <#{schedule.run.thread}>' if schedule.run else ''}")
        if schedule.gate:
            last = f" · last: {schedule.gate_said}" if schedule.gate_said else ""
            lines.append(f"-# Gate: {inline(schedule.gate, 80)}{last}")
        blocks.append("\n".join(lines))
    return "\n".join(blocks)


def _state(schedule: ScheduledTask) -> str:
    if schedule.paused:
        return f"⏸ Paused: {schedule.paused}"
    times = next_times(schedule)
    return "Next: " + " · ".join(map(short, times)) if times else "It is beginning now." if schedule.claim else "Over."


def announced(schedule: ScheduledTask, claim: Claim, now: datetime) -> str:
    """The message under which a scheduled task begins."""
    late = f"\n-# It was due {full(claim.at)}; I was away." if now - claim.at > LATE and not claim.by_hand else ""
    more = f"\n-# {_counted(claim.missed)} passed while I was away." if claim.missed else ""
    return f"{opening(schedule.title, schedule.said, schedule.name)}{late}{more}"


def opening(title: str, said: str, name: str) -> str:
    """The same without what is special about this time."""
    when = f"{plain(said, 100)} · " if said else ""
    return f"⏰ **{plain(title, 80)}**\n-# {when}for {plain(name, 40)}"


def _counted(missed: int) -> str:
    return "One more time" if missed == 1 else f"{missed:,} more times"


def passed(schedule: ScheduledTask, claim: Claim) -> str:
    """That its time passed while nobody looked."""
    if schedule.kind == "wake":
        return PASSED_WAKE.format(at=full(claim.at), why=plain(schedule.title, 200))
    count = "when" if not claim.missed else f"the last {claim.missed + 1:,} times"
    return PASSED.format(
        title=plain(schedule.title, 80), count=count, at=full(claim.at), following=_following(schedule)
    )


def awake(schedule: ScheduledTask) -> str:
    """That an agent goes on as it planned."""
    return f"⏰ I go on as planned: {plain(schedule.title, 300)}"


def woken_no_more(schedule: ScheduledTask, sort: str) -> str:
    """That a wake-up is cancelled by what a person did."""
    at = short(schedule.next) if schedule.next is not None else "any time"
    return WOKEN_NO_MORE.format(at=at, because=_BECAUSE.get(sort, ""))


def cancelled_by(schedule: ScheduledTask, name: str) -> str:
    """That somebody cancelled it by its button."""
    at = short(schedule.next) if schedule.next is not None else "any time"
    return WOKEN_NO_MORE.format(at=at, because=f": {plain(name, 40)} cancelled it")


def still(schedule: ScheduledTask, claim: Claim) -> str:
    """That a time was skipped because the one before is still being worked on."""
    following = short(schedule.next) if schedule.next is not None else "no more"
    return STILL.format(title=plain(schedule.title, 80), at=short(claim.at), following=following)


def _following(schedule: ScheduledTask) -> str:
    return f"Next: {full(schedule.next)}." if schedule.next is not None else "There is no further time."


def paused(schedule: ScheduledTask, why: str) -> str:
    """That it was paused, and what to do."""
    return PAUSED.format(title=plain(schedule.title, 80), why=why)


def title_for(text: str) -> str:
    """The title of a task's threads and messages: its first words."""
    return one_line(text, 80) or "A task"
