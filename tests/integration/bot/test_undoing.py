"""What an undo says and does where something is missing: real files and checkpoints, a log as an execution leaves it."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from agentic.core.events.execution_events import (
    CheckpointSaved,
    Envelope,
    Event,
    FileChange,
    Finished,
    InboxItem,
    Level,
    Person,
    Sort,
    Started,
    ToolFinished,
    WorkspaceRestored,
)
from agentic.core.fold.fold import fold
from agentic.ports.runtime import (
    Saved,
    SessionRow,
    Store,
    Toolbox,
)
from agentic.runtime.clock import SystemClock
from agentic.sandbox.backends.selection import chooser
from agentic.sandbox.pool import Sandboxes
from agentic.stores.factory import open_store
from agentic.workspace.snapshots.snapshot_store import SnapshotLimits, Snapshots
from bot.actions.branches import Branches
from bot.actions.clean import Cleaning
from bot.actions.dispatch import ThreadActs
from bot.actions.rerun import Rewinding
from bot.actions.restore_files import Restoring
from bot.actions.undo import Undoing
from bot.history.run_history import undoable
from bot.outbound.live.answer_messages import AnswerMessages
from bot.outbound.live.branch_offer_messages import BranchOfferMessages
from bot.workspace.attachments import download
from bot.workspace.folders import Workspaces
from bot.workspace.sandboxes import Workshop
from tests.stores import fresh_store
from tests.walls.tally import Wall

ANN, BEN = Person(id="7", name="Ann"), Person(id="8", name="Ben")
ROW = SessionRow("100", "1", "2")
ODD = [
    b"caf\xe9.txt", b"\xff\xfe", b"line\nbreak", b"\x1b[31mred", b"-rf", b"quote'\"$(x)`", b"star*[a]?", b"tab\t",
    b"\xed\xa0\x80", b"back\\slash", b" ", b"\xe2\x80\xae",
]  # fmt: skip


class Scene:
    """A thread whose executions are written by the test."""

    def __init__(self, folder: Path, limits: SnapshotLimits | None = None, store: Store | None = None) -> None:
        self.number = 9
        self.store = store or fresh_store()
        self.snapshots = Snapshots(folder / "checkpoints", limits, needed=partial(undoable, self.store))
        sandboxes = Sandboxes(folder / "sandboxes", chooser("bubblewrap", folder / "sandboxes"))
        self.workshop = Workshop(sandboxes, Workspaces(folder / "workspaces"), download, snapshots=self.snapshots)
        self.files = self.workshop.workspaces.folder("100")
        clock = SystemClock()
        restoring = Restoring(self.store, clock, self.workshop, self.snapshots)
        answers = AnswerMessages(self.store)
        self.acts = ThreadActs(
            Undoing(self.store, self.workshop, restoring, answers),
            Branches(self.store, clock, self.workshop, BranchOfferMessages(self.store)),
            Rewinding(self.store, clock, self.workshop, restoring, self.begin, answers),
            Cleaning(restoring),
        )

    async def begin(self, item: InboxItem, row: SessionRow, toolbox: Toolbox) -> Started:
        return Started(thread=item.thread, task=item.text, requester=item.author, inbox=item.id)

    async def executed(
        self, name: str, *changes: tuple[str, str], saved: Saved | None = None, ended: bool = True
    ) -> None:
        """An execution of Ann's that writes files; ``ended`` False: the process died before it looked at the end."""
        saved = saved or await self.workshop.save("100")
        seen: list[FileChange] = []
        for path, text in changes:
            (self.files / path).write_text(text)
            seen.append(FileChange(path=path, kind="modified", sha_before="x", sha_after=_sha(text)))
        events: list[Event] = [
            Started(thread="100", task=f"task of {name}", requester=ANN),
            CheckpointSaved(manifest=saved.manifest, through_seq=1, problem=saved.problem),
            ToolFinished(call="c", outcome="ok", preview="", changes=tuple(seen)),
            Finished(reason="done", answer="."),
        ]
        lease = await self.store.acquire("100", "test")
        assert lease is not None
        envelopes = [
            Envelope(execution=name, seq=seq, at=datetime.now(UTC), fence=lease.fence, event=event)
            for seq, event in enumerate(events, 1)
        ]
        await self.store.append(name, 0, lease, envelopes)
        if ended:
            await self.acts.ended(replace(fold(envelopes), id=name))

    async def undo(self, name: str, by: Person = ANN, thread: str = "100") -> str:
        return await self.act("undo", name, by, thread)

    async def act(self, sort: Sort, name: str, by: Person = ANN, thread: str = "100", id: str = "") -> str:
        self.number += 1
        item = InboxItem(
            id=id or str(self.number), thread=thread, sort=sort, author=by, at=datetime.now(UTC), target=name
        )
        lease = await self.store.acquire(thread, "test")
        assert lease is not None
        return (await self.acts.act(item, ROW, lease)).text


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    made = Scene(tmp_path)
    for name in ("a.txt", "b.txt"):
        (made.files / name).write_text("old")
    return made


async def test_after_a_crash_at_its_end_the_log_says_what_the_execution_left(scene: Scene) -> None:
    """Nobody looked at the end: what is not as the log left it was changed by somebody, the rest is put back."""
    await scene.executed("x1", ("a.txt", "new"), ("b.txt", "new"), ended=False)
    (scene.files / "a.txt").write_text("a person's")
    told = await scene.undo("x1")
    assert "restored 1 file: `b.txt`" in told
    assert "`a.txt` (it was changed since)" in told
    assert (scene.files / "a.txt").read_text() == "a person's"
    assert (scene.files / "b.txt").read_text() == "old"


async def test_what_was_before_the_undo_is_kept(scene: Scene) -> None:
    """The checkpoint that the log names holds it."""
    await scene.executed("x1", ("a.txt", "new"))
    assert (await scene.undo("x1")).endswith("Redo brings the changes back.")
    (restored,) = [e.event for e in await scene.store.read_outcome("x1") if isinstance(e.event, WorkspaceRestored)]
    assert await scene.snapshots.content("100", restored.kept, "a.txt") == b"new"


async def test_an_execution_without_a_checkpoint_cannot_be_undone_and_says_why(scene: Scene) -> None:
    await scene.executed("x1", ("a.txt", "new"), saved=Saved(problem="the files have more than 1,024 MB together"))
    assert "no copy of the files from before it: the files have more than 1,024 MB" in await scene.undo("x1")
    assert (scene.files / "a.txt").read_text() == "new"


async def test_a_checkpoint_that_was_deleted_is_said_to_be(tmp_path: Path) -> None:
    scene = Scene(tmp_path, SnapshotLimits(kept=2))
    (scene.files / "a.txt").write_text("old")
    for number in range(3):
        await scene.executed(f"x{number}", (f"{number}.txt", "new"))
    told = await scene.undo("x0")
    assert "cannot be undone" in told
    assert "the newest 2 are kept" in told


@pytest.mark.parametrize("limits", [SnapshotLimits(kept=3), SnapshotLimits(total=3 << 20)], ids=["number", "bytes"])
async def test_the_latest_task_is_undone_however_many_checkpoints_came_since(
    tmp_path: Path, limits: SnapshotLimits
) -> None:
    """Those by which it is undone, and that is taken back, stay; others go."""
    scene = Scene(tmp_path, limits)
    (scene.files / "a.txt").write_text("old")
    await scene.executed("x1", ("a.txt", "first"))
    await scene.executed("x2", ("a.txt", "new"))
    for number in range(6):
        (scene.files / "large").write_bytes(bytes([number]) * (1 << 20))
        assert not (await scene.workshop.save("100")).problem
    assert "cannot be undone" in await scene.undo("x1") or (scene.files / "a.txt").read_text() == "new"
    assert "Undone" in await scene.undo("x2")
    assert (scene.files / "a.txt").read_text() == "first"
    for number in range(6):
        (scene.files / "large").write_bytes(bytes([number, 1]) * (1 << 19))
        await scene.workshop.save("100")
    await scene.act("redo", "x2")
    assert (scene.files / "a.txt").read_text() == "new"


@pytest.mark.wall("snapshots")
async def test_files_whose_names_are_no_text_are_undone_and_cleaned(tmp_path: Path, wall: Wall) -> None:
    """Undo, redo and clean do it, say it, and write it into the log; what is hidden or cannot be kept stays."""
    store = open_store(tmp_path / "store.db")
    scene = Scene(tmp_path, store=store)
    (scene.files / ".aiignore").write_text("*.secret\n")
    for name in ("a.txt", "b.txt", "caf\udce9[a].secret"):
        (scene.files / name).write_text("old")
    os.mkfifo(scene.files / "pipe\udcff\n*")
    names = {os.fsdecode(name): name for name in ODD}
    saved = await scene.workshop.save("100")
    for folder in ("", "made/"):
        for name, content in names.items():
            (scene.files / folder / name).parent.mkdir(exist_ok=True)
            (scene.files / folder / name).write_bytes(content)
    await scene.executed("x1", ("b.txt", "new"), saved=saved)
    await scene.executed("x2", ("a.txt", "new"))
    told = await scene.undo("x1")
    for name in names:
        wall.held(
            f"undo {name!r}", not (scene.files / name).exists() and not (scene.files / "made" / name).exists(), told
        )
    told = await scene.act("redo", "x1")
    for name, content in names.items():
        there = (scene.files / name).is_file() and (scene.files / name).read_bytes() == content
        wall.held(f"redo {name!r}", there and (scene.files / "made" / name).is_file(), told)
    try:
        told = await scene.act("clean", "")
    finally:
        await scene.workshop.end_sandbox("100")
        await store.close()
    for name in ("caf\udce9[a].secret", "pipe\udcff\n*"):
        wall.held(f"clean spares {name!r}", os.path.lexists(scene.files / name), told)
    assert "Not everything" not in told
    for name in names:
        wall.held(
            f"clean {name!r}", not (scene.files / name).exists() and not (scene.files / "made" / name).exists(), told
        )
    told.encode()  # Discord takes it


async def test_what_changed_nothing_has_nothing_to_undo(scene: Scene) -> None:
    await scene.executed("x1")
    assert await scene.undo("x1") == "That task changed no files, so there is nothing to undo."
    await scene.executed("x2", ("a.txt", "new"))
    (scene.files / "a.txt").write_text("old")
    assert "already as they were before that task" in await scene.undo("x2")
    assert "was already undone by Ann" in await scene.undo("x2")


@pytest.mark.parametrize(("level", "allowed"), [("executor", False), ("operator", True)])
async def test_only_operators_undo_what_others_asked_for(scene: Scene, level: Level, allowed: bool) -> None:
    await scene.executed("x1", ("a.txt", "new"))
    told = await scene.undo("x1", BEN.model_copy(update={"level": level}))
    assert ("Undone" in told) is allowed
    assert ("operator" in told) is not allowed
    assert (scene.files / "a.txt").read_text() == ("old" if allowed else "new")


async def test_a_task_of_another_thread_is_not_undone_from_here(scene: Scene) -> None:
    await scene.executed("x1", ("a.txt", "new"))
    assert "from another thread" in await scene.undo("x1", thread="200")
    assert "from another thread" in await scene.undo("x7")
    assert (scene.files / "a.txt").read_text() == "new"


async def test_nothing_is_put_back_where_the_present_state_cannot_be_kept(tmp_path: Path) -> None:
    scene = Scene(tmp_path, SnapshotLimits(max_files=2))
    await scene.executed("x1", ("a.txt", "new"))
    for name in ("b.txt", "c.txt"):
        (scene.files / name).write_text("more")
    assert "because I couldn't save the current files first (there are more than 2 files" in await scene.undo("x1")
    assert (scene.files / "a.txt").read_text() == "new"
