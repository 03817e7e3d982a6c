"""Where an execution can be gone on with: over drawn logs, log and workspace agree at every position that is offered."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentic.core.events.execution_events import (
    CheckpointSaved,
    Envelope,
    FileRef,
    Finished,
    InputReceived,
    ModelRequested,
    OwnerChanged,
    Perceived,
    Started,
    ToolFinished,
    ToolStarted,
    WorkspaceRestored,
)
from agentic.core.fold.fold import fold
from agentic.core.rules.decide import decide
from agentic.core.rules.used_up_limits import reached
from agentic.core.state.actions import Finish, Wait
from bot.actions.rerun import written
from bot.cli.replay.invariants import broken_promises
from bot.history.log_positions import (
    Cut,
    agree,
    at_end,
    before_turn,
    copied,
    last_turn,
    of_checkpoint,
)
from tests.unit.core.building import YOU, Log
from tests.unit.core.simulating import simulate

CHANGING = ("put", "shell", "wipe", "swap")


def workspace(log: Sequence[Envelope], through: int) -> tuple[tuple[str, str], ...]:
    """What was done to the files by then: an independent account, call by call."""
    tools = {e.event.call: e.event.tool for e in log if isinstance(e.event, ToolStarted)}
    done: list[tuple[str, str]] = []
    for event in (e.event for e in log[:through]):
        if isinstance(event, ToolStarted) and event.tool in CHANGING:
            done.append((event.call, "begun"))
        elif isinstance(event, ToolFinished) and tools.get(event.call) in CHANGING:
            done.append((event.call, event.outcome))
    return tuple(done)


def with_manifests(log: Sequence[Envelope]) -> list[Envelope]:
    """Each checkpoint under a name of its own, as what a store would have saved there."""
    return [
        e.model_copy(update={"event": e.event.model_copy(update={"manifest": f"m{e.seq}"})})
        if isinstance(e.event, CheckpointSaved) and not e.event.problem
        else e
        for e in log
    ]


def forked(log: Sequence[Envelope], cut: Cut) -> list[Envelope]:
    """The log that goes on from a position."""
    first = log[0].event
    assert isinstance(first, Started)
    started = first.model_copy(update={"forked_from": ("x1", cut.through), "thread": "200"})
    copy = copied(log, cut, started, "x2", 9)
    back = WorkspaceRestored(manifest=cut.manifest, by=YOU, way="rewind", turn=cut.turn)
    return written(copy, [back], "x2", 9, log[-1].at + timedelta(days=1), "")


def check(log: Sequence[Envelope], cut: Cut) -> None:
    """It goes on, and the log is one that an execution could have written."""
    fork = forked(log, cut)
    assert broken_promises(fork) == ()
    state = fold(fork)
    assert [e.event for e in fork[1:-1]] == [e.event for e in log[1 : cut.through]]
    assert not state.calls_in_flight
    assert state.request_in_flight is None
    action = decide(state)
    assert not isinstance(action, Wait), cut
    spent_up = reached(state) is not None or state.turn.number >= state.turn_limit
    assert spent_up or not isinstance(action, Finish), (cut, action)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_log_and_workspace_agree_at_every_position_and_it_goes_on_from_there(data: st.DataObject) -> None:
    drawn = simulate(data)
    log = with_manifests(drawn.log.envelopes)
    saved = {e.event.manifest: e.seq for e in log if isinstance(e.event, CheckpointSaved) and e.event.manifest}
    for seq, event in [(e.seq, e.event) for e in log if isinstance(e.event, CheckpointSaved) and e.event.manifest]:
        check(log, of_checkpoint(seq, event))
    end = CheckpointSaved(manifest="end", through_seq=len(log), why="end")
    if isinstance(log[-1].event, Finished) and drawn.log.execution.finished:
        check(log, at_end(log, end, with_end=False))
        assert at_end(log, end, with_end=True).through == len(log)
    usable = data.draw(st.sets(st.sampled_from(sorted(saved)))) if saved else set[str]()
    for turn in range(1, last_turn(log) + 1):
        cut = before_turn(log, turn, usable.__contains__)
        if cut is None:
            continue
        assert cut.turn < turn
        if cut.manifest:
            assert cut.manifest in usable
            assert workspace(log, cut.through) == workspace(log, saved[cut.manifest])
        else:
            assert workspace(log, len(log)) == ()
        following = next(e.event for e in log[cut.through :] if not isinstance(e.event, Perceived))
        assert isinstance(following, ModelRequested)
        assert following.turn == cut.turn + 1
        check(log, cut)


def test_a_turn_without_a_position_of_its_own_gives_way_to_the_one_before() -> None:
    """The only copy is from before the first change, in turn 1: turn 3 cannot be thought again, turn 1 can."""
    log = Log(saved=False)
    for _ in range(3):
        log.answer(("shell", {}))
        log.settle()
        log.use()
        log.settle(saving=False)
    log_ = with_manifests(log.envelopes)
    cut = before_turn(log_, 3, lambda _: True)
    assert cut is not None
    assert cut.turn == 0
    assert before_turn(log_, 3, lambda _: False) is None
    later = CheckpointSaved(manifest="end", through_seq=len(log_), why="end")
    log.answer(("finish", {"answer": "done"}))
    cut = before_turn(with_manifests(log.envelopes), 4, lambda _: True, later)
    assert cut is not None
    assert (cut.turn, cut.manifest) == (3, "end"), (
        "nothing changed after turn 3, so the copy of the end is that of then"
    )


def test_a_file_of_a_person_and_what_a_new_owner_found_are_changes_too() -> None:
    log = Log()
    seq = log.execution.seq
    log.say("guidance", "look at this")
    assert agree(log.envelopes, seq, log.execution.seq)
    log.add(InputReceived(inbox="i", sort="guidance", author=YOU, files=(FileRef(name="a", path="a"),)))
    assert not agree(log.envelopes, seq, log.execution.seq)
    assert agree(log.envelopes, log.execution.seq, log.execution.seq)


def test_an_execution_that_changed_nothing_is_thought_again_with_the_files_as_they_are() -> None:
    log = Log(saved=False)
    log.answer(("look", {}))
    log.use()
    log.settle()
    log.answer(("look", {}))
    log.add(OwnerChanged(worker="w2"))
    cut = before_turn(log.envelopes, 2, lambda _: False)
    assert cut is not None
    assert (cut.turn, cut.manifest) == (1, "")
