"""The part of the fold that watchers cause: what they have looked at, what they note, which calls they object to."""

from __future__ import annotations

from agentic.core.claims.call_counts import call_of, change_call
from agentic.core.events.execution_events import Envelope, Watched
from agentic.core.state.execution import Execution
from agentic.core.state.replace import changed


def watched(execution: Execution, event: Watched, envelope: Envelope) -> Execution:
    """A watcher has looked: it is not asked about the same again."""
    watches = execution.watches
    noted = ((event.watcher, event.text),) if event.text and not event.held else ()
    watches = changed(
        watches,
        looked={**watches.looked, event.watcher: event.turn},
        failed={**watches.failed, event.watcher: watches.failed.get(event.watcher, 0) + 1 if event.problem else 0},
        notes=watches.notes + noted,
    )
    execution = changed(execution, watches=watches, consulted=None)
    for id in event.calls:
        call = call_of(execution, id)
        if call is None:
            continue
        why = objection(event) if id in event.held else ""
        both = ", and ".join(filter(None, (call.objection, why)))
        execution = change_call(execution, id, watched=(*call.watched, event.watcher), objection=both)
    return execution


def objection(event: Watched) -> str:
    """Why a watcher holds calls, as the end of a sentence that begins with "It"."""
    if event.problem:
        return f"could not be looked at by the {event.watcher} watcher ({event.problem})"
    return f"looks wrong to the {event.watcher} watcher (“{event.text}”)"
