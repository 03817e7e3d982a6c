"""Forks: a new thread that continues from a checkpoint of another thread, which is not changed.

The new thread is made from a message that the bot posts in the parent channel, so its id is that message's. Its log is
a copy up to the checkpoint, its workspace holds the files of the checkpoint, and the snapshots that its log names are
kept for it too. From a checkpoint in the middle of a task the work continues there; with a checkpoint after an end,
the copied execution has ended.

Each step is done once or may be repeated: the message and the thread go through the outbox under keys made from the
inbox item; files are linked and restored where they are missing; the log is written in one transaction, under the new
thread's lease, right after the session. Before that the new thread is no session, and whoever takes the item up after
a crash ends with the same fork. No step needs the lease of the original thread, so what runs there goes on.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from agentic.core.display.outbox_items import card
from agentic.core.events.execution_events import (
    CheckpointSaved,
    Envelope,
    Evaluated,
    Event,
    InboxItem,
    InputReceived,
    Judged,
    OutboxItem,
    Reflected,
    Started,
    WorkspaceRestored,
)
from agentic.core.events.ids import execution_id
from agentic.core.fold.exposure import typed
from agentic.core.fold.fold import fold
from agentic.ports.failpoints import reach
from agentic.ports.runtime import (
    Clock,
    Lease,
    SessionRow,
    Store,
)
from agentic.workspace.snapshots.manifest import Manifest
from agentic.workspace.snapshots.snapshot_store import Snapshots
from bot.access.denials import refused as why_not
from bot.access.permissions import may, needed
from bot.actions.rerun import (
    GONE,
    NO_CHECKPOINT,
    TOUR,
    extension,
    written,
)
from bot.history import log_positions
from bot.history.checkpoint_list import (
    Kept,
    checkpoints_of,
    found,
    moment,
)
from bot.history.log_positions import Cut
from bot.history.run_history import past_of
from bot.ports.actions import Forked, NotDone
from bot.ports.conversation import named_fact
from bot.rendering.discord_text import inline, one_line, plain
from bot.sessions.lease import give_back, take, while_held
from bot.workspace.sandboxes import Workshop
from reflexion.evaluation.outcome_stream import OutcomeStream

LOOK_SECONDS, MOST_SECONDS = 0.05, 1.0
"""Seconds between looks whether something was delivered, which a store cannot announce: the first and the longest
pause.
"""
PATIENCE_SECONDS = 20.0
"""Seconds of waiting before a notice is posted."""
NONE_YET = (
    "There is no checkpoint here yet to fork from: I make one before the first change to a file. Mention me with the "
    "task in the channel instead; that opens a new thread."
)
NONE_LEFT = (
    "The checkpoints here were deleted with the logs of their tasks, so there is none to fork from. The files are "
    "still here: write what I should do, or mention me with a task in the channel."
)
SHARED = "All threads share one folder here, so a fork would change this thread's files. `/retry` works here."
WAITS = (
    "The fork is waiting: I can't post or open a thread in <#{parent}> right now. It continues by itself once "
    "Discord and my permissions there allow it."
)
REFUSED = "Discord rejected my message in <#{parent}>, so I couldn't open the fork's thread. Nothing was forked."
FORK = " (fork)"
LEFT_OUT = 5
ENDING_LOOKS = 40
"""Number of looks for the snapshot of an end; if the process crashed in that moment it never comes."""


@dataclass(frozen=True, slots=True)
class _Source:
    """What is forked: a checkpoint, its log, and where the log is cut."""

    kept: Kept
    log: list[Envelope]
    cut: Cut
    started: Started

    @property
    def idle(self) -> bool:
        """Whether the copy has its end, so that nothing continues by itself."""
        return not self.kept.seq


@dataclass(frozen=True, slots=True)
class Forking:
    """Makes forks."""

    store: Store
    clock: Clock
    workshop: Workshop
    snapshots: Snapshots
    owner: str
    tell: Callable[[OutboxItem], Awaitable[None]]
    build: str = ""

    async def fork(self, item: InboxItem, source: SessionRow) -> Forked:
        """Make the fork that the item asks for, once. Raises ``NotDone``, ``AgenticError`` and ``OSError``."""
        found_ = await self._source(item)
        thread = await self._thread(item, source, found_)
        title = _title(item, source)
        now = self.clock.now()
        row = SessionRow(thread, item.channel, source.guild, title, now, now, source.confidence, source.settings)
        lease = await take(self.store, self.clock, thread, self.owner)
        try:
            await while_held(self.store, self.clock, lease, self._fill(item, row, lease, found_))
        finally:
            await give_back(self.store, lease)
        reach("fork.after")
        return Forked(row, _receipt(item, row, found_))

    async def _source(self, item: InboxItem) -> _Source:
        if self.workshop.workspaces.shared:
            raise NotDone(SHARED)
        if not item.target:
            await self._ended(item.thread)
        kept = found(await checkpoints_of(self.store, self.snapshots, item.thread), item.target)
        if kept is None:
            none = NONE_LEFT if await self.store.buried(item.thread) else NONE_YET
            raise NotDone(NO_CHECKPOINT.format(named=inline(item.target, 40)) if item.target else none)
        if not kept.there:
            raise NotDone(GONE.format(named=inline(kept.id)))
        own = kept.requester == item.author.id
        if not may(item.author.level, "steer", own=own):
            raise NotDone(why_not("steer", needed("steer", own=own)))
        log_ = [envelope async for envelope in self.store.read(kept.execution)]
        first = log_[0].event
        assert isinstance(first, Started)
        cut = kept.cut(log_, with_end=True)
        if kept.seq and first.policy.tour:
            raise NotDone(TOUR)
        if kept.seq:  # before anything is seen of it, what would refuse it is found
            copy = log_positions.copied(log_, cut, first, kept.execution, 1)
            extension(copy, cut, item, self.clock.now())
        return _Source(kept, log_, cut, first)

    async def _ended(self, thread: str) -> None:
        """Wait for the snapshot of an execution that has just ended; it is the newest checkpoint."""
        for _ in range(ENDING_LOOKS):
            rows = await self.store.executions(thread)
            past = await past_of(self.store, rows[-1]) if rows and rows[-1].finished else None
            if past is None or not past.before or past.end is not None:
                return
            await self.clock.sleep(LOOK_SECONDS)

    # --- the thread -------------------------------------------------------------------------------------------

    async def _thread(self, item: InboxItem, source: SessionRow, found_: _Source) -> str:
        """Return the new thread's id, which is that of the message it is made from."""
        words = (
            f"{plain(item.author.name, 60)} forked <#{item.thread}> as it was {moment(found_.kept.why, found_.cut.turn)}: "
            f"“{plain(found_.started.task, 200)}”"
        )
        opening = OutboxItem(key=f"{item.id}.fork", thread=item.channel, execution="", sort="fork", text=words)
        await self.tell(opening)
        reach("fork.asked")
        (thread, *_) = await self._delivered(opening.key, item) or [""]
        if not thread:
            raise NotDone(REFUSED.format(parent=item.channel))
        title = _title(item, source)
        made = OutboxItem(
            key=f"{item.id}.thread", thread=thread, execution="", sort="thread", text=title, target=item.channel
        )
        await self.tell(made)
        await self._delivered(made.key, item)
        reach("fork.thread")
        return thread

    async def _delivered(self, key: str, item: InboxItem) -> list[str]:
        """Wait until an outbox item was delivered; returns the ids of its messages."""
        waited, pause = 0.0, LOOK_SECONDS
        while True:
            row = await self.store.outbox_row(key)
            if row is not None and row.done:
                return list(row.delivered)
            if waited < PATIENCE_SECONDS <= waited + pause:
                text = WAITS.format(parent=item.channel)
                await self.tell(
                    OutboxItem(key=f"{item.id}.waits", thread=item.thread, execution="", sort="notice", text=text)
                )
            await self.clock.sleep(pause)
            waited, pause = waited + pause, min(pause * 1.2, MOST_SECONDS)

    # --- what stands in it ------------------------------------------------------------------------------------

    async def _fill(self, item: InboxItem, row: SessionRow, lease: Lease, found_: _Source) -> None:
        name = execution_id(item.thread, item.id)
        if await self.store.execution(name) is None:
            wanted = await self._workspace(item, row.thread, found_)
            reach("fork.workspace")
            if self.workshop.repositories is not None:
                await self.workshop.repositories.forked(item.thread, row.thread)
            await self.store.save_session(row)
            await self.store.set_fact(named_fact(row.thread), row.title)  # a fork keeps the name that says it is one
            await self._write(item, row, lease, found_, wanted)
            reach("fork.log")
        if found_.idle:
            await self._afterwards(name, found_)
            await self._next_task(item, row)

    async def _workspace(self, item: InboxItem, thread: str, found_: _Source) -> Manifest:
        """Give the new thread the files of the checkpoint and nothing else, and its own hold on the snapshots in its
        log.
        """
        names = [e.event.manifest for e in found_.log[: found_.cut.through] if isinstance(e.event, CheckpointSaved)]
        await self.snapshots.adopt(item.thread, thread, [*names, found_.cut.manifest])
        reach("fork.copies")
        wanted = await self.snapshots.load(thread, found_.cut.manifest)
        workspace = self.workshop.world(thread).workspace
        now = Manifest()
        if any(workspace.iterdir()):  # begun before a crash
            saved = await self.workshop.save(thread)
            now = await self.snapshots.load(thread, saved.manifest) if saved.manifest else now
        more = {path: None for path in now.entries if path not in wanted.entries}
        left = (await self.snapshots.restore(thread, workspace, {**wanted.entries, **more}, now)).left
        if left:
            path, why = next(iter(left.items()))
            raise NotDone(f"Its files could not be copied ({inline(path)}: {why}), so nothing was forked.")
        return wanted

    async def _write(self, item: InboxItem, row: SessionRow, lease: Lease, found_: _Source, wanted: Manifest) -> None:
        name, cut = execution_id(item.thread, item.id), found_.cut
        update = {
            "thread": row.thread, "forked_from": (found_.kept.execution, cut.through), "requester": item.author,
            "inbox": item.id, "trial_of": "",
        }  # fmt: skip
        started = found_.started.model_copy(update=update)
        copy = log_positions.copied(found_.log, cut, started, name, lease.fence)
        events = [] if found_.idle else self._goes_on(item, copy, cut, wanted)
        log_ = written(copy, events, name, lease.fence, self.clock.now(), self.build)
        notice = OutboxItem(
            key=f"{item.id}.forked", thread=row.thread, execution="", sort="notice", text=_welcome(item, found_, wanted)
        )
        goes_on = fold(log_)
        progress = () if found_.idle else card(goes_on, goes_on.triage)
        await self.store.begin(name, lease, log_, (notice, *progress))

    def _goes_on(self, item: InboxItem, copy: list[Envelope], cut: Cut, wanted: Manifest) -> list[Event]:
        lost = "; ".join((*cut.not_kept, *_never_kept(wanted)))
        back = WorkspaceRestored(manifest=cut.manifest, lost=lost, by=item.author, way="rewind", turn=cut.turn)
        more = extension(copy, cut, item, self.clock.now())
        said = InputReceived(
            inbox=item.id, sort="guidance", author=item.author, text=item.text, exposure=typed(item.text)
        )
        return [back, *more, *([said] if item.text else [])]

    async def _afterwards(self, name: str, found_: _Source) -> None:
        """Copy the outcome of an ended execution, so that it is neither judged nor saved again."""
        if await self.store.read_outcome(name):
            return
        outcome = OutcomeStream(self.store, self.clock, name, self.build)
        end = found_.kept.saved.model_copy(update={"why": "end"})
        before = [e.event for e in await self.store.read_outcome(found_.kept.execution)]
        await outcome.add(end, *(event for event in before if isinstance(event, Judged | Evaluated | Reflected)))

    async def _next_task(self, item: InboxItem, row: SessionRow) -> None:
        if item.text:
            task = {"id": f"{item.id}.task", "thread": row.thread, "sort": "task", "target": "", "channel": ""}
            await self.store.put(item.model_copy(update=task))


def _never_kept(wanted: Manifest) -> list[str]:
    """Name the files that no snapshot holds."""
    left = [f"{path} ({why})" for path, why in wanted.left_out.items()]
    return left if len(left) <= LEFT_OUT else [*left[:LEFT_OUT], f"{len(left) - LEFT_OUT} more"]


def _title(item: InboxItem, source: SessionRow) -> str:
    """Return the title: the new task where there is one, so that forks of one thread can be told apart."""
    return f"{one_line(item.text or source.title.removesuffix(FORK) or 'A thread', 95 - len(FORK))}{FORK}"


def _welcome(item: InboxItem, found_: _Source, wanted: Manifest) -> str:
    """Return the first message of the new thread."""
    kept, cut = found_.kept, found_.cut
    lost = [*cut.not_kept, *_never_kept(wanted)]
    parts = [
        f"This is a fork of <#{item.thread}>. The files are as they were {moment(kept.why, cut.turn)}, and I know "
        "what was done until then.",
        f"Not copied: {plain('; '.join(lost), 700)}." if lost else "",
    ]
    if not found_.idle:
        parts.append("I'm continuing from there; 🛑 stops me.")
    if item.text:
        parts.append(f"{plain(item.author.name, 60)} wrote with it: “{plain(one_line(item.text, 300), 400)}”")
    elif found_.idle:
        parts.append("Write what I should do next.")
    return " ".join(filter(None, parts))


def _receipt(item: InboxItem, row: SessionRow, found_: _Source) -> str:
    """Return the receipt for the original thread."""
    goes = "it starts there with what you wrote" if found_.idle and item.text else "it's waiting there for a task"
    goes = goes if found_.idle else "it continues there"
    was = moment(found_.kept.why, found_.cut.turn)
    return f"Forked as it was {was}: <#{row.thread}>; {goes}. Nothing changes here."
