"""What the fold counts of repetition equals a scan of the whole log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentic.core.events.execution_events import (
    CallBlock,
    Decided,
    Envelope,
    Escalated,
    Intervened,
    ModelAnswered,
    ModelRequested,
    TextBlock,
    ToolFinished,
    TurnEnded,
)
from agentic.core.fold.fold import fold
from agentic.core.fold.loop_detection import (
    ComparedCall,
    exact,
    prose_of,
    step_of,
    stuck,
)
from tests.unit.core.building import TOOLS
from tests.unit.core.simulating import simulate


def _calls(log: Sequence[Envelope]) -> dict[str, CallBlock]:
    found: dict[str, CallBlock] = {}
    for envelope in log:
        if isinstance(envelope.event, ModelAnswered):
            blocks = [block for block in envelope.event.blocks if isinstance(block, CallBlock)]
            found |= {f"{envelope.event.request}.{index}": block for index, block in enumerate(blocks)}
    return found


def _since(log: Sequence[Envelope]) -> Sequence[Envelope]:
    """From the last event after which all counts begin anew."""
    for place in range(len(log) - 1, -1, -1):
        event = log[place].event
        if isinstance(event, Escalated | Decided) or (isinstance(event, Intervened) and event.rule == "advice"):
            return log[place + 1 :]
    return log


def _newly_passes(event: ToolFinished, before: Sequence[tuple[ToolFinished, ComparedCall]]) -> bool:
    passed = [earlier.tests_passed for earlier, _ in before if earlier.tests_passed is not None]
    return event.tests_passed is not None and bool(passed) and event.tests_passed > max(passed)


def _is_progress(event: ToolFinished, step: ComparedCall, before: Sequence[tuple[ToolFinished, ComparedCall]]) -> bool:
    """By all results before it, from the last at which counts began."""
    if _newly_passes(event, before):
        return True
    had = {(c.path, sha) for earlier, _ in before for c in earlier.changes for sha in (c.sha_before, c.sha_after)}
    moved = {
        earlier.call for place, (event_before, earlier) in enumerate(before)
        if _is_progress(event_before, earlier, before[:place])
    }  # fmt: skip
    new = any((c.path, c.sha_after) not in had for c in event.changes)
    return event.outcome == "ok" and new and step.call not in moved


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(st.data())
def test_what_repeats_itself_equals_a_scan_of_the_log(data: st.DataObject) -> None:
    log = simulate(data).log.envelopes
    blocks = _calls(log)
    beside = {e.event.request for e in log if isinstance(e.event, ModelRequested) and e.event.purpose != "turn"}
    own = {tool.name for tool in TOOLS if tool.cognitive}
    since = _since(log)
    seen: list[tuple[ToolFinished, ComparedCall]] = []
    steps: list[tuple[str, str]] = []
    texts: set[str] = set()
    errors: Counter[tuple[str, str]] = Counter()
    failing: dict[str, str] = {}
    stale = idle = 0
    news = stepped = acted = False
    said = ""
    for place, envelope in enumerate(since, len(log) - len(since)):
        event = envelope.event
        if isinstance(event, ModelAnswered) and event.request not in beside:
            said = prose_of("".join(block.text for block in event.blocks if isinstance(block, TextBlock)))
            said = "" if any(isinstance(block, CallBlock) for block in event.blocks) else said
        if isinstance(event, TurnEnded):
            steps += [(said, "")] if said and not fold(log[:place]).talk else []
            stale = 0 if news else stale + stepped
            idle = 0 if acted else idle + 1
            news = stepped = acted = False
        if not isinstance(event, ToolFinished) or blocks[event.call].tool in own:
            continue
        step = step_of(blocks[event.call].tool, blocks[event.call].arguments, event)
        acted = True
        moves = _is_progress(event, step, seen)
        if moves:
            errors.clear()
        if event.outcome == "ok":
            errors = Counter({known: n for known, n in errors.items() if known[1] != failing.get(step.call)})
            failing.pop(step.call, None)
        if _newly_passes(event, seen):
            failing = {}
        if event.outcome == "failed" and event.error:
            errors[blocks[event.call].tool, event.error] += 1
        if moves:
            steps, stale, news = [], 0, True
        elif not step.broken and not step.waits:
            news = news or exact(step.text) not in texts
            texts.add(exact(step.text))
            steps.append((step.call, exact(step.text)))
            stepped = True
            failing |= {step.call: event.error} if event.outcome != "ok" else {}
        seen.append((event, step))
    repeats = fold(log).judged.repeats
    assert {(tool, error): n for tool, error, n in fold(log).judged.errors_since} == dict(errors)
    assert [call for call, _ in repeats.steps] == [call for call, _ in steps][-16:]
    assert (repeats.stale_turns, repeats.idle_turns) == (stale, idle)
    assert (repeats.news, repeats.stepped, repeats.acted) == (news, stepped, acted)
    run = next((n for n, step in enumerate(reversed(steps)) if step != steps[-1]), len(steps))
    prose = bool(steps) and steps[-1][0].startswith("said ")
    told = (
        f"the same words {run} times, without using a tool"
        if prose
        else f"the same step with the same result {run} times"
    )
    assert (stuck(fold(log)) == told) == (run >= 4)
