"""Rerun a task in the same thread: from its beginning, from a turn, or from a checkpoint.

The machine may also try a task again (``bot/after_run/auto_retry.py``): that is a retry from the beginning that nobody
asked for, so it begins only where nothing was said meanwhile, and may spend only what earlier attempts left.

Each rerun begins a new execution, whose id follows from the person's action, so that after a crash it is the same one;
the old one is not changed. A retry from the beginning has a new log; otherwise the log begins with a copy of the old
one up to the position (``bot/history/log_positions.py``), so that the transcript and what was spent come along. The
files are restored first, as an undo does it (``bot/actions/restore_files.py``). The execution is then open in the log,
and the thread continues it like one that an earlier process left.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

from agentic.core.display.outbox_items import card
from agentic.core.events.execution_events import (
    Envelope,
    Event,
    InboxItem,
    Level,
    PolicyChanged,
    Started,
    WorkspaceRestored,
)
from agentic.core.events.ids import execution_id
from agentic.core.fold.fold import fold
from agentic.core.fold.people import MACHINE
from agentic.core.rules.decide import RULES_VERSION
from agentic.core.rules.model_failures import standing_timers
from agentic.ports.runtime import (
    Clock,
    Lease,
    SessionRow,
    Store,
    Toolbox,
)
from bot.access.denials import refused as why_not
from bot.access.permissions import may, needed
from bot.actions.restore_files import Restoring, Wish, counted
from bot.history import log_positions
from bot.history.attempts import attempts_at
from bot.history.checkpoint_list import Kept, checkpoints_of, found
from bot.history.log_positions import Cut
from bot.history.run_history import Past, family, heard_key, pasts_after
from bot.outbound.live.answer_messages import AnswerMessages
from bot.ports.actions import NotDone
from bot.progress.text import money
from bot.rendering.discord_text import inline, plain
from bot.sessions.dependencies import Acted, receipt_of
from bot.workspace.sandboxes import Workshop

GONE_LOGS = "That task's log was deleted, so I can't run it again. Write what I should do."
NOTHING_YET = "No task has ended here yet that I could run again. Write what I should do."
NO_COPY = (
    "I can't start that task over, because there is no copy of the files from before it{why}. Write what should be "
    "different; I know what was done."
)
TOUR = "That was only the tour, which can't be continued from the middle. `/retry` without a turn starts the task over."
NO_TURN = "That task has no turn {turn}: it had {last}. `/retry` without a turn tries the whole task again."
NO_POSITION = (
    "No checkpoint is left to redo turn {turn} from{why}. `/checkpoints` lists them, and `/retry` without a turn "
    "starts the task over."
)
NO_CHECKPOINT = "This thread has no checkpoint {named}. `/checkpoints` lists them."
GONE = (
    "Checkpoint {named} can no longer be restored: only the newest 30 of a thread are kept. `/checkpoints` lists them."
)
FILES_ONLY = (
    "Checkpoint {named} has the files from between two tasks, so there is no task to continue. **Redo the changes** "
    "under the undo brings them back, and `/fork` opens a thread with them."
)
OVERTAKEN = (
    "Somebody wrote something new here, so I won't retry the last task by myself. 🔄 under its answer retries it."
)
TRIED = "{check} still fails, so I'm trying again with what I learned (attempt {attempt} of {most}). 🛑 stops it."
STILL_OPEN = "That task is still running. Stop it with 🛑; then it can be continued from a checkpoint."
WAS_DONE = "That task was done, so there is nothing to continue. Write what you want next, or `/retry` it."
USED_UP = (
    "Its {what} is used up, and continuing would not reset that. {who} can continue it, which gives it the same "
    "again; `/retry` tries the task again from its start."
)

Begin = Callable[[InboxItem, SessionRow, Toolbox], Awaitable[Started]]


@dataclass(frozen=True, slots=True)
class Rewinding:
    """Retries, and executions that continue from a checkpoint."""

    store: Store
    clock: Clock
    workshop: Workshop
    restoring: Restoring
    begin: Begin
    answers: AnswerMessages
    build: str = ""

    async def retry(self, item: InboxItem, row: SessionRow, lease: Lease) -> Acted:
        """Run a task again: the one that the item names or the newest, from the turn in its text or from the beginning."""
        past, later = await self._past(item)
        if (done := await self._done(item)) is not None:
            return done
        log = [envelope async for envelope in self.store.read(past.execution)]
        wanted = int(item.text) if item.text.isdecimal() and len(item.text) < 10 else 0
        if not wanted:
            return await self._from_beginning(item, row, lease, past, later)
        if wanted > (last := log_positions.last_turn(log)):
            raise NotDone(NO_TURN.format(turn=wanted, last="1 turn" if last == 1 else f"{last} turns"))
        there = frozenset(await self.restoring.snapshots.listed(item.thread))
        cut = log_positions.before_turn(log, wanted, there.__contains__, past.end)
        if cut is None:
            raise NotDone(NO_POSITION.format(turn=wanted, why=f" ({past.problem})" if past.problem else ""))
        return await self._go_on(item, lease, log, cut, past, later, trial=True)

    async def trial(self, item: InboxItem, row: SessionRow, lease: Lease) -> Acted:
        """Retry a task whose check failed, without a person asking for it; ``item.text`` is that check."""
        past, later = await self._past(item)
        if (done := await self._done(item)) is not None:
            return done
        waiting = [one for one in await self.store.pending(item.thread) if one.author.id != MACHINE.id]
        if later or past.undone or any(one.sort not in ("feedback", "correction", "fork") for one in waiting):
            raise NotDone(OVERTAKEN)
        return await self._from_beginning(item, row, lease, past, later)

    async def rewind(self, item: InboxItem, row: SessionRow, lease: Lease) -> Acted:
        """Continue a finished execution from the checkpoint that the item names."""
        kept = found(await checkpoints_of(self.store, self.restoring.snapshots, item.thread), item.target)
        if (done := await self._done(item)) is not None:
            return done
        if why := unusable(kept, item.target):
            raise NotDone(why)
        assert kept is not None
        past, later = await self._past(item.model_copy(update={"target": kept.execution}))
        log = [envelope async for envelope in self.store.read(past.execution)]
        return await self._go_on(item, lease, log, kept.cut(log), past, later)

    async def _past(self, item: InboxItem) -> tuple[Past, list[Past]]:
        """Return the execution that the item names, or the newest finished one, and those after it.

        Raises ``NotDone`` where there is none or the person may not rerun it.
        """
        named = item.target.partition("/")[0] or await self._newest(item)
        pasts = [past async for past in pasts_after(self.store, item.thread, named) if not past.side]
        if not pasts or pasts[0].execution != named:
            raise NotDone(GONE_LOGS if await self.store.buried(item.thread) else NOTHING_YET)
        past = pasts[0]
        own = past.requester is None or past.requester.id == item.author.id
        if item.sort != "trial" and not may(item.author.level, "steer", own=own):
            raise NotDone(why_not("steer", needed("steer", own=own)))
        return past, pasts[1:]

    async def _newest(self, item: InboxItem) -> str:
        """Return the newest finished execution that is no side question and was not begun by this very item."""
        own = execution_id(item.thread, item.id)
        for row in reversed(await self.store.executions(item.thread)):
            if row.finished and row.execution != own:
                async for envelope in self.store.read(row.execution):
                    if isinstance(envelope.event, Started) and not envelope.event.side:
                        return row.execution
                    break
        return ""

    async def _done(self, item: InboxItem) -> Acted | None:
        """Return the receipt, where the action was done before a crash."""
        name = execution_id(item.thread, item.id)
        if await self.store.execution(name) is None:
            return None
        log = [envelope async for envelope in self.store.read(name)]
        started = next(e.event for e in log if isinstance(e.event, Started))
        restored = next(e.event for e in log if isinstance(e.event, WorkspaceRestored))
        return Acted(told(started, restored, item, extended=bool(_extensions(log))))

    async def _from_beginning(
        self, item: InboxItem, row: SessionRow, lease: Lease, past: Past, later: list[Past]
    ) -> Acted:
        if not past.before and (past.problem or past.changes):
            raise NotDone(NO_COPY.format(why=f": {past.problem}" if past.problem else ""))
        restored = await self._restored(item, past, later, Cut(0, past.before, 0), exact=False)
        before = await self._started_of(past)
        asks = {"text": before.task, "author": before.requester, "files": (), "quoted": (), "target": ""}
        again = item.model_copy(update=asks)
        started = await self.begin(again, row, self.workshop.toolbox(item.thread))
        attempts = await attempts_at(self.store, item.thread, past.execution)
        if item.sort == "trial":
            left = min(started.policy.max_usd, attempts.left_usd)
            started = started.model_copy(update={"policy": started.policy.model_copy(update={"max_usd": left})})
        update = {
            "trial_of": attempts.first, "attempt": attempts.most + 1, "files": before.files,
            "rules": RULES_VERSION, "quoted": tuple(dict.fromkeys((*before.quoted, *started.quoted))), "inbox": item.id,
        }  # fmt: skip
        started = started.model_copy(update=update)
        text = told(started, restored, item) + await self.restoring.still_open(past)
        await self._write(item, lease, past, [], [started, restored], text)
        return Acted(text)

    async def _started_of(self, past: Past) -> Started:
        async for envelope in self.store.read(past.execution):
            if isinstance(envelope.event, Started):
                return envelope.event
        raise NotDone(NOTHING_YET)

    async def _go_on(
        self, item: InboxItem, lease: Lease, log: list[Envelope], cut: Cut, past: Past, later: list[Past], *,
        trial: bool = False,
    ) -> Acted:  # fmt: skip
        first = log[0].event
        assert isinstance(first, Started)
        if first.policy.tour:
            raise NotDone(TOUR)
        update: dict[str, object] = {"forked_from": (past.execution, cut.through), "inbox": item.id}
        if trial:
            attempts = await attempts_at(self.store, item.thread, past.execution)
            update |= {"trial_of": attempts.first, "attempt": attempts.most + 1}
        started = first.model_copy(update=update)
        copy = log_positions.copied(log, cut, started, execution_id(item.thread, item.id), lease.fence)
        more = extension(copy, cut, item, self.clock.now())
        restored = await self._restored(item, past, later, cut, exact=True)
        text = told(started, restored, item, extended=bool(more)) + await self.restoring.still_open(past, cut.through)
        await self._write(item, lease, past, copy, [restored, *more], text)
        return Acted(text)

    async def _restored(
        self, item: InboxItem, past: Past, later: list[Past], cut: Cut, *, exact: bool
    ) -> WorkspaceRestored:
        """Restore the files and end background processes; returns the event for the new execution's log."""
        event = WorkspaceRestored(manifest="", by=item.author, way="rewind", turn=cut.turn)
        if cut.manifest:
            way = "undo" if not cut.through else "rewind"
            kin = family(past, later)
            others = [one for one in later if one not in kin]
            wish = Wish(past, others, cut.manifest, way, exact=exact, turn=cut.turn, family=kin)
            event = (await self.restoring.put_back(item, wish)).event
        await self.workshop.end_sandbox(item.thread)
        lost = "; ".join(filter(None, (*cut.not_kept, event.lost)))
        return event.model_copy(update={"lost": lost, "way": "rewind", "turn": cut.turn})

    async def _write(
        self, item: InboxItem, lease: Lease, past: Past, copy: list[Envelope], events: list[Event], text: str
    ) -> None:
        """Write the new execution's log so far, with the receipt and its progress message, in one transaction.

        So people are told of it before it has any effect, whatever crashes afterwards. The buttons of the execution before
        it, which are used then, are taken away.
        """
        name = execution_id(item.thread, item.id)
        log = written(copy, events, name, lease.fence, self.clock.now(), self.build)
        goes_on = fold(log)
        await self.store.begin(name, lease, log, [receipt_of(item, Acted(text)), *card(goes_on, goes_on.triage)])
        for key in filter(None, (past.answer, heard_key(past.execution))):
            await self.answers.changed(key)


def written(
    copy: list[Envelope], events: list[Event], execution: str, fence: int, at: datetime, build: str
) -> list[Envelope]:
    """Return a copied log with new events after it."""
    new = [
        Envelope(execution=execution, seq=seq, at=at, fence=fence, event=event, build=build)
        for seq, event in enumerate(events, len(copy) + 1)
    ]
    return [*copy, *new]


def unusable(kept: Kept | None, named: str) -> str:
    """Say why an execution cannot continue from a checkpoint, '' where it can."""
    if kept is None:
        return NO_CHECKPOINT.format(named=inline(named, 40))
    if not kept.there:
        return GONE.format(named=inline(kept.id))
    if kept.why == "restore":
        return FILES_ONLY.format(named=inline(kept.id))
    if not kept.finished:
        return STILL_OPEN
    return WAS_DONE if kept.why == "end" and kept.finished == "done" else ""


def extension(copy: list[Envelope], cut: Cut, item: InboxItem, now: datetime) -> list[PolicyChanged]:
    """Return the raises of caps that continuing needs, by whoever may raise them; turns are asked about later.

    Raises ``NotDone`` where a cap is used up and the person may not raise it.
    """
    back = WorkspaceRestored(manifest=cut.manifest, way="rewind", turn=cut.turn)
    after = fold(written(copy, [back], copy[0].execution, copy[0].fence, now, ""))
    policy, caps, spent = after.policy, after.caps, after.spent
    what: list[str] = []
    add = PolicyChanged(by=item.author.name)
    if spent.usd >= policy.max_usd + caps.usd:
        what, add = [*what, f"budget of {money(policy.max_usd + caps.usd)}"], _adding(add, add_usd=policy.max_usd)
    if spent.tokens >= policy.max_tokens + caps.tokens:
        words = f"budget of {policy.max_tokens + caps.tokens:,} tokens"
        what, add = [*what, words], _adding(add, add_tokens=policy.max_tokens)
    paid = bool(what)  # more time for what is one's own costs nothing that another cap does not hold
    if any(timer.at <= now for timer in standing_timers(after)):
        words = f"time of {policy.max_minutes + caps.minutes:g} minutes"
        what, add = [*what, words], _adding(add, add_minutes=policy.max_minutes)
    if paid and not may(item.author.level, "budget"):
        level: Level = needed("budget")
        raise NotDone(USED_UP.format(what=" and its ".join(what), who=f"An {level}"))
    return [add] if what else []


def _adding(event: PolicyChanged, **amounts: float) -> PolicyChanged:
    return event.model_copy(update=amounts)


def _extensions(log: list[Envelope]) -> list[PolicyChanged]:
    """Return the raises of caps after the files were restored."""
    since = next(e.seq for e in log if isinstance(e.event, WorkspaceRestored))
    return [e.event for e in log[since : since + 1] if isinstance(e.event, PolicyChanged)]


def told(started: Started, restored: WorkspaceRestored, item: InboxItem, *, extended: bool = False) -> str:
    """Return the receipt: where it continues, what was restored, what differs from then."""
    parts: list[str] = []
    wanted = item.text if item.sort == "retry" else ""
    if item.sort == "trial":
        check = inline(item.text, 80) if item.text else "Its check"
        parts.append(TRIED.format(check=check, attempt=started.attempt, most=started.policy.trials_most))
    elif started.forked_from is None:
        parts.append("Starting that task over.")
    elif wanted:
        turn = restored.turn + 1
        near = "" if str(turn) == wanted else f" The nearest checkpoint to turn {wanted[:9]} is before turn {turn}."
        parts.append(f"Continuing from turn {turn} of “{plain(started.task, 80)}”.{near}")
    else:
        parts.append(f"Continuing “{plain(started.task, 80)}”.")
    parts.append(_as_of(started, restored))
    if restored.files:
        parts.append(f"{counted(restored.files, became='restored')}.")
    if restored.lost:
        parts.append(f"Could not be restored: {plain(restored.lost, 700)}.")
    if extended:
        parts.append("It has the same budget again, on top of what was spent.")
    return " ".join(parts)


def _as_of(started: Started, restored: WorkspaceRestored) -> str:
    if not restored.manifest:
        return "It had changed no files."
    if started.forked_from is None:
        return "The files are back as they were before it."
    return (
        "The files are back as they were "
        f"{'after turn ' + str(restored.turn) if restored.turn else 'before its first turn'}."
    )
