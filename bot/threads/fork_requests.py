"""Forks that people asked for; each runs beside the thread's other work and stays in the inbox until it is complete and
announced.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from agentic.core.events.execution_events import InboxItem, OutboxItem
from agentic.ports.errors import StoreError
from agentic.ports.failpoints import reach
from agentic.ports.runtime import Lease, SessionRow
from agentic.workspace.snapshots.snapshot_store import SnapshotLost
from bot.ports.actions import ForkAction, NotDone
from bot.sessions.lease import ThreadTaken, give_back, take, while_held

BROKEN = "The fork failed because of a bug on my side. Nothing here was changed; I'll try again after my next restart."

LOOK_SECONDS = 5.0
"""How often a fork that another process makes is looked at: that one may die."""

log = logging.getLogger(__name__)


class Forks:
    """Carries out fork requests."""

    def __init__(self, forking: ForkAction | None, adopt: Callable[[SessionRow], None]) -> None:
        self._forking, self._adopt = forking, adopt
        self._tasks: dict[str, asyncio.Task[None]] = {}

    @property
    def tasks(self) -> tuple[asyncio.Task[None], ...]:
        """The forks that are running now."""
        return tuple(self._tasks.values())

    def take(self, item: InboxItem, source: SessionRow) -> None:
        """Begin the fork, unless it is running already."""
        if self._forking is None or item.id in self._tasks:
            return
        task = asyncio.create_task(self._do(self._forking, item, source), name=f"fork {item.id}")
        self._tasks[item.id] = task
        task.add_done_callback(lambda _: self._tasks.pop(item.id, None))

    async def _do(self, forking: ForkAction, item: InboxItem, source: SessionRow) -> None:
        try:
            lease = await _turn(forking, item)
            try:
                await while_held(forking.store, forking.clock, lease, self._make(forking, item, source))
            finally:
                await give_back(forking.store, lease)
        except (
            Exception
        ):  # a fork is a task of its own: whatever ends it, whoever asked is told, and it is kept to be tried
            log.exception("fork %s is not complete; it is taken up again at the next start", item.id)
            await _told(forking, item)

    async def _make(self, forking: ForkAction, item: InboxItem, source: SessionRow) -> None:
        if all(one.id != item.id for one in await forking.store.pending(item.thread)):
            return  # another process has made it
        words, row = await _tried(forking, item, source)
        receipt = OutboxItem(
            key=f"{item.id}.done", thread=item.thread, execution="", sort="receipt", text=words, target=item.message
        )
        await forking.tell(receipt)
        reach("fork.told")
        if row is not None:
            self._adopt(row)
        await forking.store.discard([item.id])


async def _turn(forking: ForkAction, item: InboxItem) -> Lease:
    """Make a fork as the only process: every one that hears of it begins."""
    while True:
        try:
            return await take(forking.store, forking.clock, f"fork: {item.id}", forking.owner, patient=False)
        except ThreadTaken:
            await forking.clock.sleep(LOOK_SECONDS)


async def _told(forking: ForkAction, item: InboxItem) -> None:
    """Tell the person that the fork failed; where that cannot be stored, log it."""
    notice = OutboxItem(
        key=f"{item.id}.broken", thread=item.thread, execution="", sort="notice", text=BROKEN, target=item.message, notify=True
    )  # fmt: skip
    try:
        await forking.tell(notice)
    except StoreError as error:
        log.error("and it could not be told in thread %s: %s", item.thread, error)


async def _tried(forking: ForkAction, item: InboxItem, source: SessionRow) -> tuple[str, SessionRow | None]:
    """Return the reply and the new session; failures that may be temporary are retried."""

    for pause in (0.5, 3.0, None):
        try:
            done = await forking.fork(item, source)
        except NotDone as why:
            return str(why), None
        except SnapshotLost as lost:
            return f"Nothing was forked. {lost}", None
        except StoreError as error:
            if pause is None:
                raise  # it stays in the inbox
            log.warning("fork %s: %s; trying again", item.id, error)
            await forking.clock.sleep(pause)
        except OSError as error:
            if pause is None:
                return f"Nothing was forked: the files could not be written ({error.strerror or error}).", None
            log.warning("fork %s: %s; trying again", item.id, error)
            await forking.clock.sleep(pause)
        else:
            return done.text, done.row
    raise AssertionError("unreachable: the last attempt returns")
