"""Undo: restore what an execution changed, and nothing else. Redo: take an undo back.

The state before its first change was saved by the execution, the state it left is saved when it has ended; both are
checkpoints. A file that is neither as the execution left it nor as it was before was changed by somebody since, and
stays. The state before the undo is saved too, so an undo loses nothing: a redo restores it by the same rules
(``bot/actions/restore_files.py``).
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

from agentic.core.events.execution_events import CheckpointSaved, InboxItem, WorkspaceRestored
from agentic.core.fold.fold import fold
from agentic.core.state.execution import Execution
from agentic.ports.runtime import Store
from bot.access.denials import refused as why_not
from bot.access.permissions import may, needed
from bot.actions.restore_files import NAMED, PutBack, Restoring, Wish, counted, name_of
from bot.history.run_history import Past, past_of, pasts_after
from bot.outbound.live.answer_messages import AnswerMessages
from bot.ports.actions import NotDone
from bot.rendering.discord_text import plain
from bot.sessions.dependencies import Acted, receipt_key
from bot.workspace.sandboxes import Workshop

DELETED = "The log of that task was deleted, and its checkpoints with it; nothing was restored."
NOT_HERE = "That task is from another thread or still running; nothing was restored."
NO_COPY = "That task can't be undone, because there is no copy of the files from before it{why}."
NOTHING = "That task changed no files, so there is nothing to undo."
AS_BEFORE = "The files are already as they were before that task; nothing to restore."
NOT_UNDONE = "That task was not undone, so there is nothing to redo."
CREATED = " this task had created"
AS_THEN = "The files are already as they were before the undo; nothing to restore."

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Undoing:
    """Saves how executions leave their workspace, undoes them, and redoes them."""

    store: Store
    workshop: Workshop
    restoring: Restoring
    answers: AnswerMessages

    async def remember(self, execution: Execution) -> None:
        """Save how an execution left the workspace, if it had saved how it found it."""
        if execution.checkpoint is None or not execution.checkpoint.manifest:
            return
        saved = await self.workshop.save(execution.thread)
        if saved.problem:
            log.warning("execution %s: how it left its files is not kept: %s", execution.id, saved.problem)
            return
        await self.restoring.outcome(execution.id).add(
            CheckpointSaved(
                manifest=saved.manifest,
                through_seq=execution.seq,
                turn=execution.turn.number,
                why="end",
                not_kept=saved.not_kept,
            )
        )

    async def catch_up(self, thread: str) -> None:
        """Save the end of the thread's last execution where its process ended before; nobody has changed a file since."""
        rows = [] if self.workshop.workspaces.shared else await self.store.executions(thread)
        for row in reversed(rows):
            past = await past_of(self.store, row)
            if past.side:
                continue
            if past.finished and past.before and not (past.end or past.acts or past.kept or past.verdicts):
                log_ = [envelope async for envelope in self.store.read(row.execution)]
                await self.remember(replace(fold(log_), id=row.execution))
            return

    async def undo(self, item: InboxItem) -> Acted:
        """Undo the execution that the item names; returns the receipt. Repeating it does nothing."""
        past, later = await self._past(item)
        if past.undone and item.id not in past.acts:
            by = f" by {plain(past.restored.by.name, 40)}" if past.restored and past.restored.by else ""
            return Acted(f"That was already undone{by}.")
        if not past.before:
            return Acted(NO_COPY.format(why=f": {past.problem}" if past.problem else ""))
        done = await self.restoring.put_back(item, Wish(past, later, past.before, "undo"))
        stays = await self.restoring.still_open(past)
        if not done.changed and not done.event.files:
            return Acted(NOTHING + stays)
        await self.answers.changed(past.answer)
        words = _words(done, f"Undone: {_told(done.event, CREATED)}", AS_BEFORE)
        if done.event.files:
            words += f" Redo brings {_back(done.event)} back."
        return Acted(words + stays, redo=past.execution if done.event.files else "")

    async def redo(self, item: InboxItem) -> Acted:
        """Take the undo of the named execution back."""
        past, later = await self._past(item)
        undo = past.restored
        if undo is None or undo.way not in ("undo", "clean") or not undo.kept:
            done = past.acts.get(item.id)
            return Acted(NOT_UNDONE) if done is None else Acted(_again(past, PutBack(done)))
        redone = await self.restoring.put_back(item, Wish(past, later, undo.kept, "redo"))
        await self.answers.changed(past.answer)
        for act in (act for act, event in past.acts.items() if event.way in ("undo", "clean")):
            await self.answers.changed(receipt_key(act))
        return Acted(_again(past, redone))

    async def _past(self, item: InboxItem) -> tuple[Past, list[Past]]:
        """Return the execution that the item names and those after it, if this person may undo it. Raises ``NotDone``."""
        pasts = [past async for past in pasts_after(self.store, item.thread, item.target)]
        if not pasts or pasts[0].execution != item.target:
            raise NotDone(DELETED if await self.store.was_buried(item.target) is not None else NOT_HERE)
        past = pasts[0]
        own = past.requester is None or past.requester.id == item.author.id
        if not may(item.author.level, "undo", own=own):
            raise NotDone(why_not("undo", needed("undo", own=own)))
        return past, pasts[1:]


def _again(past: Past, done: PutBack) -> str:
    cleaned = any(act.way == "clean" and act.kept == done.event.manifest for act in past.acts.values())
    return _words(done, f"{'Back from before the cleaning' if cleaned else 'Redone'}: {_told(done.event)}", AS_THEN)


def _told(event: WorkspaceRestored, about: str = "") -> str:
    """Say which files were restored and which removed; ``about`` follows on removed files alone."""
    restored = [path for path in event.files if path not in event.removed]
    removed = event.removed
    if not removed:
        return f"restored {counted(restored)}."
    if not restored:
        return f"removed {counted(removed, about=about)}."
    return f"restored {counted(restored, alone=False)}, removed {counted(removed, '', alone=False)}."


def _back(event: WorkspaceRestored) -> str:
    """Name what a redo brings back: the files where all of them are gone, else what was changed in them."""
    if set(event.files) != set(event.removed):
        return "the changes"
    return "it" if len(event.files) == 1 else "them"


def _words(done: PutBack, sentence: str, nothing: str) -> str:
    files, left = done.event.files, done.left
    parts = [sentence if files else "Nothing was restored." if left else nothing]
    if left:
        lines = [f"{name_of(path)} ({why})" for path, why in list(left.items())[:NAMED]]
        parts.append(f"Left as is: {'; '.join(lines)}.")
    if len(left) > NAMED:
        parts.append(f"And {len(left) - NAMED} more were left.")
    return " ".join(parts)
