"""The buttons under an answer and under receipts, kept true: what can be undone, redone, continued or tried again now.

Those that do not show yet what was done are kept in the store, where the next process looks.
"""

from __future__ import annotations

from agentic.core.events.execution_events import OutboxItem
from agentic.ports.runtime import OutboxRow, Store
from bot.history.attempts import Tried, tried_in
from bot.history.run_history import family, pasts_after
from bot.messages.final_card import undoable, wakes
from bot.messages.question_text import Standing
from bot.outbound.discord_api import DiscordApi
from bot.outbound.live.live_message import LiveMessages, View
from bot.progress.feed import folded
from bot.progress.model import Progress
from bot.rendering.discord_text import Rendered

FACT = "answers.unshown"


def below_answer(
    progress: Progress, tried: Tried, *, undone: bool = False, rerun: bool = False, since: bool = False,
    waits: bool = True,
) -> Rendered:  # fmt: skip
    """Return the buttons under an answer, without its text.

    ``rerun``: another execution continues it or tries it again; ``since``: a later task was given in the thread;
    ``waits``: a wake-up it asked for is still to come.
    """
    stopped = progress.finished is not None and progress.finished.reason == "stopped"
    return Rendered(
        (), undo=undoable(progress) and not undone, redo=undone, again="" if rerun else tried.offered, votes=not progress.tour,
        steer=("continue",) if stopped and not since else (),
        wake=progress.wake.wake if progress.wake is not None and waits and wakes(progress) else "",
    )  # fmt: skip


class AnswerMessages:
    """Keeps the buttons of answers and receipts true: who undoes, redoes or reruns tells it, ``run`` shows it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.live = LiveMessages("answer", store, self, FACT)

    async def changed(self, key: str) -> None:
        """What the buttons of the message with this outbox key do has changed, if need be shown after the next start."""
        if await self._store.outbox_row(key) is None:
            return
        await self.live.expect(key)
        self.live.changed(key)

    async def run(self, desk: DiscordApi) -> None:
        """Show what was undone or redone, until cancelled."""
        await self.live.run(desk)

    async def view(self, row: OutboxRow) -> View | None:
        """The buttons of an answer or a receipt now; used ones of a receipt stay, disabled."""
        item = row.item
        name = item.redo or item.again or item.execution
        pasts = [past async for past in pasts_after(self._store, item.thread, name, running=True)]
        if not pasts or pasts[0].execution != name:
            return None
        past, rerun = pasts[0], bool(family(pasts[0], pasts[1:]))
        if item.sort == "receipt":
            back = past.restored is not None and past.restored.way in ("undo", "clean")
            return View(None, Standing(way="open" if (back if item.redo else not rerun) else "decided"))
        pending = await self._store.pending(item.thread)
        since = any(not one.side for one in pasts[1:]) or any(one.sort in ("task", "queue") for one in pending)
        progress = await folded(self._store, row.item.execution)
        tried = await tried_in(self._store, row.item.execution)
        undone = past.undone and past.restored is not None and bool(past.restored.files)
        waits = progress.wake is not None and await self._waits(progress.wake.wake)
        below = below_answer(progress, tried, undone=undone, rerun=rerun, since=since, waits=waits)
        return View(None, Standing(way="decided"), below=below)

    async def _waits(self, wake: str) -> bool:
        row = await self._store.schedule(wake)
        return row is not None and row.due is not None

    async def settled(self, item: OutboxItem, view: View) -> None:
        """Nothing is kept of what was shown."""
