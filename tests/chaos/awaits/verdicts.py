"""What must be true after a strike, beside what is true of every simulated world (``simulated/judging.py``).

The engine keeps its own ledger of what was really done, the store its own of what is set aside: the log is held against both.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator

from agentic.core.events.execution_events import (
    Envelope,
    InputReceived,
    ModelAnswered,
    ToolFinished,
    ToolStarted,
)
from agentic.runtime.budget_ledger import costs_in
from agentic.stores.money import dollars, nanos
from tests.chaos.awaits.engine import meant
from tests.chaos.awaits.scene import COSTS, HIDDEN, Stage
from tests.chaos.simulated.judging import Judge, Violation

STOP_SECONDS = 2.0
SILENT_SECONDS = 5.0
"""So long an engine that has just died may hold up a stop: until its sandboxes miss the heartbeat."""
NOT_BEGUN = "Not begun"
COMMANDS = ("shell", "python")


async def judged(stage: Stage) -> list[Violation]:
    """All that is broken, when the last process has ended."""
    judge = Judge(stage)
    _, found = await judge.judge()
    for execution, log in judge.logs.items():
        found += [Violation("other", f"log of {execution}: {text}") for text in _log(stage, log)]
        found += [Violation("other", text) for text in _money(stage, execution, log)]
    found += [Violation("other", text) for text in _left(stage)]
    return found


def _log(stage: Stage, log: list[Envelope]) -> Iterator[str]:
    intents = {e.event.call: e.event for e in log if isinstance(e.event, ToolStarted)}
    for envelope in log:
        event = envelope.event
        if not isinstance(event, ToolFinished):
            continue
        intent = intents.get(event.call)
        if intent is None or intent.tool not in COMMANDS:
            continue
        token, _ = meant(str(intent.arguments.get("command", intent.arguments.get("code", ""))))
        times = stage.benches.times[token]
        if event.preview.startswith(NOT_BEGUN) and times:
            yield f"{token!r} is said not to have begun at {envelope.seq}, and was done {times} times"
        if event.outcome in ("refused", "denied") and times:
            yield f"{token!r} is said to be {event.outcome} at {envelope.seq}, and was done"
        if event.outcome == "ok" and not times and not event.job:
            yield f"{token!r} is said to be done at {envelope.seq}, and never was"


def _money(stage: Stage, execution: str, log: list[Envelope]) -> Iterator[str]:
    """Nothing is set aside any more but for what was asked and has no answer; what is settled is what the log says."""
    costs = costs_in(envelope.event for envelope in log)
    answered = {e.event.request for e in log if isinstance(e.event, ModelAnswered)}
    entries = stage.truth.counted(execution)
    for request in costs:
        counts = entries.get(request, 0)
        lost = request not in answered and counts == nanos(COSTS)  # it was paid, and its owner ended before it was kept
        if counts != nanos(costs[request]) and not lost:
            yield f"request {request} counts as ${dollars(counts):g} in the ledger, and as ${costs[request]:g} in the log"
    for request, amount in entries.items():
        if request not in costs:
            yield f"${dollars(amount):g} are set aside for {execution}/{request}, which was never asked"


def _left(stage: Stage) -> Iterator[str]:
    """Nothing is left behind by processes that ended in order."""
    yield from stage.left
    for thread in stage.guild.threads:
        if (owner := stage.truth.owner(thread)) and stage.failed not in ("store.release", "store.acquire done"):
            yield f"thread {thread} is still held by {owner}"
        secret = stage.folder / "workspaces" / thread / HIDDEN
        if secret.exists() and stat.S_IMODE(secret.stat().st_mode) != 0o644:
            yield f"the mask of {secret.name} in thread {thread} is left behind"
    ledgers = stage.folder / "state" / "hidden"
    for ledger in sorted(ledgers.iterdir()) if ledgers.exists() else []:
        yield f"the masks' ledger {ledger.name} is left behind"


def late_stops(stage: Stage) -> Iterator[str]:
    """A stop is obeyed within two seconds of its being kept."""
    for row_log in stage.truth.logs():
        stop = next((e for e in row_log if isinstance(e.event, InputReceived) and e.event.sort == "stop"), None)
        if stop is None or stop.event.inbox not in stage.truth.kept or stop.event.inbox in stage.truth.doubtful:
            continue
        given = stage.truth.kept[stop.event.inbox][0]
        ended = stage.truth.open.get(stop.execution, (0.0, given))[1]
        if ended > given + (SILENT_SECONDS if given - SILENT_SECONDS < stage.benches.died_at < ended else STOP_SECONDS):
            yield f"{stop.execution} ended {ended - given:.1f} s after its stop"
