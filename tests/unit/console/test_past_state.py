"""A task as it was at the end of a turn."""

from __future__ import annotations

from collections.abc import Sequence

from agentic.core.events.execution_events import (
    CheckpointSaved,
    Envelope,
    Event,
    FileChange,
    Started,
    Todo,
    TodoChanged,
    ToolFinished,
    ToolRef,
)
from agentic.core.fold.fold import fold
from agentic.ports.runtime import ExecutionRow
from bot.console.hindsight.past_state import FileThen, PastState, files_then, state_at
from bot.console.logs.task_log import TaskLog
from bot.console.views.changed_files import ChangedFiles
from bot.console.views.story import Story
from bot.history import log_positions
from bot.rendering.secrets import Discretion
from tests.integration.console import logs


def at(log: Sequence[Envelope], turn: int, outcome: Sequence[Envelope] = ()) -> PastState:
    story = Story()
    for envelope in log:
        story.take(envelope)
    return state_at(log, story.turns, turn, outcome)


def saved(turn: int, manifest: str) -> CheckpointSaved:
    return CheckpointSaved(manifest=manifest, through_seq=0, turn=turn, why="turns")


def changed(path: str, kind: str, after: str = "") -> FileChange:
    return FileChange.model_validate({"path": path, "kind": kind, "sha_after": after})


def test_the_state_is_that_of_the_end_of_the_turn_and_not_of_the_next() -> None:
    events = logs.events(3, ended=False)
    events.insert(7, TodoChanged(items=(Todo(text="Look at it", state="doing"),)))
    events += logs.end()
    log = logs.enveloped("x1", events)
    first, second, last = at(log, 1), at(log, 2), at(log, 3)
    assert [one.execution.turn.number for one in (first, second, last)] == [1, 2, 3]
    assert [one.text for one in first.execution.todo] == ["Look at it"]
    assert at(log, 0).execution.todo == ()
    assert (first.turns, first.through) == ((0, 3), 8)
    assert first.execution.spent.usd < second.execution.spent.usd
    assert second.execution.finished is None
    assert last.execution.finished is not None
    assert second.execution.confidence is not None
    assert second.execution.confidence.shown == 62
    assert at(log, 99).turn == 3


def test_files_are_counted_with_what_became_of_them_by_then() -> None:
    def result(*changes: FileChange) -> Event:
        return ToolFinished(call="c", outcome="ok", preview="", changes=changes)

    events = [
        logs.started(), logs.turn(5)[0], result(changed("a.py", "added"), changed("b.py", "added")),
        logs.turn(6)[0], result(changed("a.py", "modified", "f" * 64)), result(changed("b.py", "deleted")),
    ]  # fmt: skip
    changes = ChangedFiles()
    for envelope in logs.enveloped("x1", events):
        changes.take(envelope)
    at_end = [
        FileThen("a.py", "modified", 2, 6, "f" * 64),
        FileThen("b.py", "deleted", 2, 6, ""),
    ]
    assert [*files_then(changes.files.values(), 6)] == at_end
    before = files_then(changes.files.values(), 3)
    assert [(file.path, file.state, file.times, file.turn) for file in before] == [
        ("a.py", "added", 1, 5), ("b.py", "added", 1, 5),
    ]  # fmt: skip
    assert files_then(changes.files.values(), 2) == ()


def test_saved_states_are_named_as_the_chat_names_them_and_the_newest_says_whether_it_is_the_same() -> None:
    shell = ToolRef(name="shell", effect="unkeyed", permission="execute")
    events = [logs.started(tools=(shell,)), *logs.events(3)[1:]]
    events.insert(7, saved(1, "000001-aaaaaaaaaaaa"))
    log = logs.enveloped("x1", events)
    first, second = at(log, 1), at(log, 2)
    assert [(one.id, one.manifest, one.seq) for one in first.saved] == [
        (log_positions.id_in_log("x1", 8), "000001-aaaaaaaaaaaa", 8)
    ]
    assert at(log, 0).saved == ()
    assert first.saved[0].same
    assert not second.saved[0].same, "a command may have changed files since"
    assert first.saved[0].words == "after turn 1"
    ending = CheckpointSaved(manifest="000002-bbbbbbbbbbbb", through_seq=0, why="end")
    after = logs.enveloped("x1", [ending])
    last = at(log, 3, after)
    assert last.saved[0].id == log_positions.id_in_outcome("x1", ending)
    assert last.saved[0].same
    assert [one.manifest for one in at(log, 2, after).saved] == ["000001-aaaaaaaaaaaa"]


def test_a_checkpoint_that_a_fork_copied_goes_by_its_manifest() -> None:
    events = logs.events(2, ended=False)
    events.insert(7, saved(1, "000001-aaaaaaaaaaaa"))
    first = events[0]
    assert isinstance(first, Started)
    events[0] = first.model_copy(update={"forked_from": ("x0", 8)})
    assert [one.id for one in at(logs.enveloped("x1", events), 2).saved] == ["000001-aaaaaaaaaaaa"]


def test_a_long_log_is_folded_from_the_nearest_state_that_is_kept() -> None:
    events = logs.enveloped("x1", logs.events(220))
    row = ExecutionRow("x1", logs.THREAD, "Fix it", head=len(events))
    log = TaskLog(row, None)
    log.take(events, Discretion())
    assert [log.near(seq).seq for seq in (0, 499, 500, 1_050, 9_999)] == [0, 0, 500, 1_000, 1_000]
    for turn in (3, 150, 220):
        past = state_at(events, log.story.turns, turn, (), log.near)
        assert past.execution == fold(events[: past.through])
