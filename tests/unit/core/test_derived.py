"""What the fold derives equals a scan of the log: one truth, counted twice."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentic.core.claims.confidence import voted
from agentic.core.events.execution_events import (
    Asked,
    CallBlock,
    CheckpointSaved,
    CommitCreated,
    Confidence,
    DeadlinePassed,
    Decided,
    Envelope,
    Escalated,
    Event,
    Finished,
    Gated,
    InputReceived,
    ModelAnswered,
    ModelFailed,
    ModelRequested,
    OwnerChanged,
    PolicyChanged,
    Reported,
    TextBlock,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    Watched,
    WorkspaceFound,
)
from agentic.core.fold.fold import evolve
from agentic.core.fold.model_requests import UNCOUNTED
from agentic.core.fold.prompt_size import characters
from agentic.core.state.execution import Execution
from tests.unit.core.building import YOU
from tests.unit.core.simulating import simulate


def _turns_unchanged(log: list[Envelope]) -> int:
    unchanged, changed = 0, False
    passed: int | None = None
    for envelope in log:
        event = envelope.event
        if isinstance(event, ModelAnswered):
            changed = False
        if isinstance(event, ToolFinished):
            changed = changed or bool(event.changes) or event.outcome == "unknown"
            if event.tests_passed is not None:
                changed = changed or (passed is not None and event.tests_passed > passed)
                passed = event.tests_passed
        changed = changed or isinstance(event, CommitCreated)
        changed = changed or (isinstance(event, WorkspaceFound) and bool(event.changes))
        if isinstance(event, TurnEnded):
            unchanged = 0 if changed else unchanged + 1
    return unchanged


def _turns_changed(log: list[Envelope]) -> int:
    ends = [at for at, envelope in enumerate(log, start=1) if isinstance(envelope.event, TurnEnded)]
    return sum(_turns_unchanged(log[:end]) == 0 for end in ends)


def _stuck_since(log: list[Envelope]) -> bool:
    stuck = False
    for envelope in log:
        if isinstance(envelope.event, Escalated | Decided):
            stuck = False
        if isinstance(envelope.event, Reported):
            stuck = envelope.event.status == "stuck"
        if isinstance(envelope.event, ModelAnswered):
            said = [block.text for block in envelope.event.blocks if isinstance(block, TextBlock)]
            stuck = stuck and not any("confidence:" in text for text in said)
    return stuck


def _spent(log: list[Envelope]) -> float:
    reserved = {e.event.request: e.event.reserved_usd for e in log if isinstance(e.event, ModelRequested)}
    answered = sum(e.event.usd for e in log if isinstance(e.event, ModelAnswered))
    unpaid = ("lost", "cancelled", "timed_out")
    lost = (e.event.request for e in log if isinstance(e.event, ModelFailed) and e.event.failure in unpaid)
    return answered + sum(reserved[request] for request in lost)


def _failures(log: list[Envelope]) -> int:
    """In a row, since an answer, a change of tier, or a person had the account looked at."""
    count = 0
    accounts = {e.event.question for e in log if isinstance(e.event, Asked) and e.event.what == "account"}
    for envelope in log:
        event = envelope.event
        again = isinstance(event, Decided) and event.question in accounts
        if again or isinstance(event, ModelAnswered | Escalated):
            count = 0
        if isinstance(envelope.event, ModelFailed) and envelope.event.failure not in UNCOUNTED:
            count += 1
    return count


def _unknown(log: list[Envelope]) -> frozenset[str]:
    """Models that their provider did not know, since a person last had all of them tried again."""
    asked, accounts, unknown = dict[str, str](), dict[str, Asked](), frozenset[str]()
    for event in (envelope.event for envelope in log):
        if isinstance(event, ModelRequested):
            asked[event.request] = event.model
        elif isinstance(event, ModelFailed) and event.failure == "model_unknown":
            unknown |= {asked[event.request]}
        elif isinstance(event, Asked) and event.what == "account":
            accounts[event.question] = event
        elif isinstance(event, Decided) and event.question in accounts:
            chosen = event.choice in {option.id for option in accounts[event.question].options}
            unknown = unknown if chosen else frozenset[str]()
    return unknown


def _in_a_row(log: list[Envelope], *, textual: bool) -> int:
    count = 0
    for envelope in log:
        event = envelope.event
        if isinstance(event, Escalated | Decided) and not textual:
            count = 0
        if isinstance(event, ModelAnswered):
            text = any(isinstance(block, TextBlock) for block in event.blocks)
            calls = any(isinstance(block, CallBlock) for block in event.blocks)
            if textual:
                count = 0 if calls else count + (text and event.stop != "length")
            else:
                count = 0 if calls or text else count + 1
    return count


def _question(log: list[Envelope]) -> str:
    open_ = ""
    for envelope in log:
        if isinstance(envelope.event, Asked):
            open_ = envelope.event.question
        if isinstance(envelope.event, Decided) or envelope.event.kind == "finished":
            open_ = ""
    return open_


def _seconds_at_rest(log: list[Envelope]) -> float:
    """Between two events nobody works: while a person is asked or holds it, and when an owner has died."""
    seconds, question, holder, before, through = 0.0, "", "", None, log[0].at
    for envelope in log:
        event = envelope.event
        rests = bool(question or holder)
        if rests or (isinstance(event, OwnerChanged) and before is not None):
            through = envelope.at if rests else through
            seconds += (envelope.at - before).total_seconds() if before is not None else 0.0
        before = envelope.at
        question = _question_after(question, event)
        holder = _holder_after(holder, event)
    still = _open_rest(log)
    return seconds - (log[-1].at - still).total_seconds() if still is not None else seconds


def _question_after(question: str, event: Event) -> str:
    if isinstance(event, Asked):
        return event.question
    return "" if isinstance(event, Decided | Finished) else question


def _holder_after(holder: str, event: Event) -> str:
    if isinstance(event, InputReceived) and event.sort == "pause":
        return holder if holder == YOU.id else event.author.id
    if isinstance(event, InputReceived) and event.sort == "resume":
        return holder if (event.author.id, holder) == ("0", YOU.id) else ""
    return holder


def _open_rest(log: list[Envelope]) -> datetime | None:
    """Since when it rests now."""
    question, holder, since = "", "", None
    for envelope in log:
        question = _question_after(question, envelope.event)
        holder = _holder_after(holder, envelope.event)
        since = (since or envelope.at) if question or holder else None
    return since


def _expired(log: list[Envelope]) -> bool:
    question, expired = "", False
    for envelope in log:
        question = _question_after(question, envelope.event)
        if isinstance(envelope.event, Asked | Decided):
            expired = False
        if isinstance(envelope.event, DeadlinePassed) and envelope.event.ref == question:
            expired = True
    return expired


def _held_back(log: list[Envelope]) -> set[str]:
    """Calls that wait for an approval: gated since they were last allowed, or allowed by what an owner's death undid."""
    waits: set[str] = set()
    gated: set[str] = set()
    asked: dict[str, str] = {}
    for envelope in log:
        event = envelope.event
        if isinstance(event, Gated):
            waits.add(event.call)
            gated.add(event.call)
        elif isinstance(event, Asked) and event.sort == "approval":
            asked[event.question] = event.call
        elif isinstance(event, Decided) and event.question in asked and event.choice == "allow":
            waits.discard(asked[event.question])
        elif isinstance(event, OwnerChanged):
            waits |= gated
        elif isinstance(event, ModelRequested):
            waits, gated = set(), set()
    return waits


def _open_calls(log: list[Envelope]) -> set[str]:
    known: list[str] = []
    for envelope in log:
        event = envelope.event
        if isinstance(event, ModelAnswered):
            calls = [block for block in event.blocks if isinstance(block, CallBlock)]
            known = [f"{event.request}.{index}" for index in range(len(calls))]
    done = {e.event.call for e in log if isinstance(e.event, ToolFinished)}
    return set(known) - done


@settings(
    max_examples=120,
    report_multiple_bugs=False,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
)
@given(st.data())
def test_each_derived_value_equals_a_scan_of_the_log(data: st.DataObject) -> None:
    log = simulate(data).log.envelopes
    execution = Execution(id="x1")
    beside: set[str] = set()
    turns: list[Envelope] = []
    """The log without requests beside the turns and what came of them."""
    for end, envelope in enumerate(log, start=1):
        execution = evolve(execution, envelope)
        part, event = log[:end], envelope.event
        if isinstance(event, ModelRequested) and event.purpose != "turn":
            beside.add(event.request)
        if not isinstance(event, ModelRequested | ModelAnswered | ModelFailed) or event.request not in beside:
            turns.append(envelope)
        results = [e.event for e in part if isinstance(e.event, ToolFinished)]
        judged = execution.judged
        assert judged.turns_unchanged == _turns_unchanged(turns)
        assert judged.turns_changed == _turns_changed(turns)
        assert judged.stuck_since == _stuck_since(turns)
        assert judged.calls_ok == sum(result.outcome == "ok" for result in results)
        assert judged.calls == sum(result.outcome in ("ok", "failed") for result in results)
        assert judged.empty_answers == _in_a_row(turns, textual=False)
        assert judged.textual_answers == _in_a_row(turns, textual=True)
        assert abs(execution.spent.usd - _spent(part)) < 1e-9
        assert execution.spent.tokens == sum(e.event.usage.total for e in part if isinstance(e.event, ModelAnswered))
        assert execution.failure.count == _failures(turns)
        assert execution.unknown == _unknown(part)
        assert (execution.question.question if execution.question else "") == _question(part)
        assert {call.id for call in execution.open_calls} == _open_calls(turns)
        assert execution.turn.number == max(
            (e.event.turn for e in part if isinstance(e.event, ModelRequested)), default=0
        )
        assert execution.caps.turns == sum(e.event.add_turns for e in part if isinstance(e.event, PolicyChanged))
        assert (execution.stopping is not None) == any(
            isinstance(e.event, InputReceived) and e.event.sort == "stop" for e in part
        )
        assert execution.fence == max(e.fence for e in part)
        assert execution.spent.minutes_passed == _time_is_over(part)
        assert abs(execution.spent.waiting - _seconds_at_rest(part)) < 1e-6
        assert execution.resting_since == _open_rest(part)
        assert execution.expired == _expired(part)
        assert {call.id for call in execution.turn.calls if call.held_back} == _held_back(turns)
        assert (execution.checkpoint is not None) == any(isinstance(e.event, CheckpointSaved) for e in part)
        assert (execution.saved, execution.touched) == _saved(part)
        assert execution.mind.offers == tuple(e.event for e in part if isinstance(e.event, CommitCreated))
        assert execution.extent.history == characters(execution.history)
        assert execution.judged.votes == _votes(part)
        assert execution.confidence == _confidence(part)
        assert (execution.deeds.looked, execution.deeds.acted) == _reached(turns)
        seen = [e.event for e in part if isinstance(e.event, Watched)]
        assert execution.watches.looked == {event.watcher: event.turn for event in seen}
        shown = {(event.watcher, call) for event in seen for call in event.calls}
        assert {(name, call.id) for call in execution.turn.calls for name in call.watched} <= shown
        held = {call for event in seen for call in event.held}
        assert {call.id for call in execution.turn.calls if call.objection} <= held
        begun = {e.event.call for e in part if isinstance(e.event, ToolStarted)}
        assert {call.id for call in execution.turn.calls if call.intent} <= begun


def _votes(log: list[Envelope]) -> tuple[tuple[str, str], ...]:
    """The last vote of each person, the newest last; one that was taken back is none."""
    given = [e.event for e in log if isinstance(e.event, InputReceived) and e.event.sort == "feedback"]
    last = {event.author.id: number for number, event in enumerate(given)}
    stands = [event for number, event in enumerate(given) if last[event.author.id] == number and event.text != "none"]
    return tuple((event.author.id, event.text) for event in stands)


def _confidence(log: list[Envelope]) -> Confidence | None:
    """What the last turn ended with, moved by the votes that stand."""
    ended = next((e.event.confidence for e in reversed(log) if isinstance(e.event, TurnEnded)), None)
    moved = sum(15 if vote == "up" else -20 for _, vote in _votes(log))
    return voted(ended, moved) if ended is not None else None


def _reached(log: list[Envelope]) -> tuple[bool, bool]:
    """Whether a tool came to something that looks, acts or asks, and whether one did that may change the world."""
    made: dict[str, str] = {}
    for envelope in log:
        if isinstance(envelope.event, ModelAnswered):
            calls = [block for block in envelope.event.blocks if isinstance(block, CallBlock)]
            made |= {f"{envelope.event.request}.{index}": block.tool for index, block in enumerate(calls)}
    came = [
        e.event for e in log if isinstance(e.event, ToolFinished) and e.event.outcome in ("ok", "failed", "unknown")
    ]
    tools = {made[event.call] for event in came}
    return bool(tools - {"finish"}), bool(tools & {"put", "shell", "wipe", "swap"})


def _time_is_over(log: list[Envelope]) -> bool:
    """Until more of it is given."""
    over = False
    for envelope in log:
        event = envelope.event
        over = over or (isinstance(event, DeadlinePassed) and event.ref == "minutes")
        over = over and not (isinstance(event, PolicyChanged) and event.add_minutes)
    return over


def _saved(part: Sequence[Envelope]) -> tuple[CheckpointSaved | None, bool]:
    """The newest checkpoint, and whether something that may change the world was begun after it."""
    saved, touched = None, False
    for envelope in part:
        if isinstance(envelope.event, CheckpointSaved):
            saved, touched = envelope.event, False
        elif isinstance(envelope.event, ToolStarted):
            touched |= envelope.event.tool in ("put", "shell", "wipe", "swap")
    return saved, touched
