"""Compaction: what the history becomes when it is longer than pays, or than the model reads.

Rewriting the history breaks the provider's cache, so it is done in steps: it grows at its end until ``history_tokens``,
and is then cut once to the task, a summary of bounded length and the last turns in full.  Just before, the model is asked
what must not be forgotten, over the same prefix, so that the cache serves it; where that fails, the log of what was done
has to do.  A cut must pay: what stays is at most half of what was there, so a long last turn is not cut around each turn.

Where the provider keeps no cache the history is cut each turn (``seed``), which makes the shortest requests; ``replay_all``
never cuts.  Whatever the strategy, a request that would not fit into the model, or did not, is made to fit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from agentic.core.events.execution_events import Compacted
from agentic.core.fold.compacted_turns import asking, trimmed
from agentic.core.fold.prompt_size import (
    characters,
    history_tokens,
    pending,
    rate,
    request_tokens,
    window,
)
from agentic.core.prompt.build import build_prompt
from agentic.core.prompt.summary import (
    CHARACTERS_A_TOKEN,
    HEADING,
    REMEMBERED,
    remembered,
    room_of,
    summary_of,
)
from agentic.core.prompt.user_messages import pending_message
from agentic.core.state.actions import Action, Consult, Record
from agentic.core.state.conversation import Message, Prompt, ToolSpec
from agentic.core.state.execution import Execution
from agentic.core.state.tiers import model_of
from agentic.core.state.work_log import advanced
from agentic.core.text.foreign_text import mark_of
from agentic.prompts import summary_prompt as asked_for

Why = Literal["length", "each turn", "window", "overflow"]
PAYS, HELPS = 0.5, 0.9
"""What stays, as a share of what was there, for a cut to pay; for one that has to be, to be of use."""
SPARE = 0.9
"""So much of a model's window is used, because tokens are estimated."""
HEAD = 8_000
"""Characters of the first message that stay as they are; of a longer one the beginning stands in the summary."""
LEAST_RESULT, LEAST_ROOM = 200, 800
"""Characters: no result is cut shorter, and no summary gets less room."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Where the history is cut."""

    start: int
    """The first message that stays."""
    room: int
    """Characters for the summary."""
    opening: int = 0
    """Characters that stay of a first message which is too long to stay whole; 0: it stays."""
    longest: int = 0
    """Characters that stay of each result; 0: all of them."""


def compact(execution: Execution) -> Action | None:
    """The history is longer than pays, or than the model reads."""
    why = _due(execution)
    cut = _cut(execution, why) if why is not None else None
    if why is None or cut is None:
        return None
    if why == "length" and (execution.consulted is None or execution.consulted.purpose != "summary"):
        return _consult(execution)
    return Record((_compacted(execution, why, cut),))


def overflow_helped(execution: Execution) -> bool:
    """A request that was too long can be made shorter, and was not made so before."""
    asked_again = execution.failure.compacted or execution.talk
    return not asked_again and _cut_to_fit(execution) is not None


def prompt(execution: Execution, tools: tuple[ToolSpec, ...]) -> Prompt:
    """What the model would be sent next, with other last words."""
    turn = build_prompt(execution, None, tools)
    waiting = pending_message(execution)
    messages = (*turn.messages, waiting) if waiting is not None else turn.messages
    return Prompt(system=turn.system, tools=turn.tools, messages=messages, tail=asked_for.TEXT)


def _due(execution: Execution) -> Why | None:
    """Why the history is to be cut now; None where it need not be."""
    failed, policy = execution.failure.last, execution.policy
    if execution.talk or not execution.history:
        return None
    if failed is not None and failed.failure == "context_overflow":
        return None if execution.failure.compacted else "overflow"
    reads = window(execution, model_of(execution))
    if reads is not None and request_tokens(execution) > SPARE * reads:
        return "window"
    if policy.history == "append" and history_tokens(execution) >= policy.history_tokens:
        return "length"
    return "each turn" if policy.history == "seed" else None


def _cut(execution: Execution, why: Why) -> Cut | None:
    """Where to cut; None where it would not help."""
    if why in ("overflow", "window"):
        return _cut_to_fit(execution)
    history, cut = execution.history, Cut(0, room_of(execution), _opening(execution, HEAD))
    cut = replace(cut, start=_start_of(history, execution.policy.turns_kept))
    if cut.start <= _first_turn(history):
        return None
    return cut if why == "each turn" or _after(execution, cut) <= PAYS * _present(execution) else None


def _cut_to_fit(execution: Execution) -> Cut | None:
    """As many of the last turns as fit; where not even the last one does, its results are cut."""
    history, target = execution.history, _target(execution)
    room = max(LEAST_ROOM, min(room_of(execution), target // 3))
    cut = Cut(len(history), room, _opening(execution, max(LEAST_ROOM, min(HEAD, target // 3))))
    for turns in range(execution.policy.turns_kept, 0, -1):
        cut = replace(cut, start=max(_start_of(history, turns), _first_turn(history)))
        if _after(execution, cut) <= target:
            break
    else:
        results = sum(len(message.answers) for message in history[cut.start :]) + len(execution.turn.calls)
        longest = (target - _after(execution, replace(cut, longest=1))) // max(results, 1)
        cut = replace(cut, longest=max(LEAST_RESULT, longest))
    return cut if _after(execution, cut) <= HELPS * _present(execution) else None


def _after(execution: Execution, cut: Cut) -> int:
    """Characters of the history after a cut, with what the next request adds; the summary at its longest."""
    kept = execution.history[cut.start :]
    results = [len(answer.text) for message in kept for answer in message.answers]
    results += [len(call.result.preview) for call in execution.turn.calls if call.result and execution.turn.answered]
    saved = sum(size - cut.longest for size in results if size > cut.longest) if cut.longest else 0
    first = cut.opening or characters(execution.history[:1])
    return first + cut.room + characters(kept) + pending(execution) - saved


def _present(execution: Execution) -> int:
    return execution.extent.history + pending(execution)


def _target(execution: Execution) -> int:
    """Characters that the history may have: what the window leaves, else half of what was there."""
    reads = window(execution, model_of(execution))
    present = _present(execution)
    if reads is None:
        return present // 2
    fits = int(SPARE * reads / rate(execution)) - execution.extent.rest
    overflowed = execution.failure.last is not None and execution.failure.last.failure == "context_overflow"
    return min(fits, present // 2) if overflowed else fits


def _compacted(execution: Execution, why: Why, cut: Cut) -> Compacted:
    history, mind = execution.history, execution.mind
    head = 0 if cut.opening else 1
    kept = tuple(trimmed(message, cut.longest) if cut.longest else message for message in history[cut.start :])
    chronicle = advanced(mind.chronicle, history[head : cut.start], asking(execution))
    consulted, before = execution.consulted, mind.compacted
    fresh = consulted.text if consulted is not None and consulted.purpose == "summary" else ""
    written = remembered(fresh or (before.remembered if before is not None else ""), cut.room)
    summary = summary_of(execution, chronicle, (*history[:head], *kept), written, cut.room)
    opening = f"{history[0].text[: cut.opening]}…" if cut.opening else ""
    return Compacted(
        through_seq=execution.seq,
        summary="\n\n".join(part for part in (opening, summary.text) if part),
        kept=len(kept),
        head=head,
        why=why,
        remembered=written,
        notes=summary.notes,
        longest=cut.longest,
        opening=cut.opening,
    )


def _consult(execution: Execution) -> Consult:
    policy = execution.policy
    return Consult(
        purpose="summary",
        turn=execution.turn.number,
        tier=execution.tier,
        model=model_of(execution),
        max_tokens=int(REMEMBERED * room_of(execution)) // CHARACTERS_A_TOKEN,
        seconds=min(policy.summary_seconds, policy.request_seconds),
    )


def _opening(execution: Execution, most: int) -> int:
    """How much of the first message goes over into the summary; 0 where it can stay as it is."""
    first = execution.history[0]
    if first.landmark:
        heading = f"{mark_of(execution.started)} {HEADING}"
        return min(first.text.index(heading) - 3, most)  # an earlier cut took it up, and put three characters after it
    words = characters((replace(first, pictures=()),))
    return 0 if words <= most else min(most, len(first.text))


def _first_turn(history: tuple[Message, ...]) -> int:
    """Where the first answer stands that is in the history."""
    return next((place for place, message in enumerate(history) if message.role == "assistant"), len(history))


def _start_of(history: tuple[Message, ...], turns: int) -> int:
    """Where the last so many turns begin; the beginning where there are no more of them."""
    for place in range(len(history) - 1, -1, -1):
        turns -= history[place].role == "assistant"
        if not turns:
            return place
    return 0
