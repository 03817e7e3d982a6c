"""The buttons under an answer, kept true: whether its changes can be undone, or are undone and can be redone.

Answers whose changes were undone and that do not show it yet are kept in the store, where the next process looks.
"""

from __future__ import annotations

from agentic.core.events.execution_events import OutboxItem
from agentic.ports.runtime import OutboxRow, Store
from bot.history.attempts import Tried, tried_in
from bot.history.run_history import past_of
from bot.messages.final_card import undoable, wakes
from bot.messages.question_text import Standing
from bot.outbound.discord_api import DiscordApi
from bot.outbound.live.live_message import LiveMessages, View
from bot.progress.feed import folded
from bot.progress.model import Progress
from bot.rendering.discord_text import Rendered

FACT = "answers.unshown"


def below_answer(progress: Progress, tried: Tried, *, undone: bool = False, waits: bool = True) -> Rendered:
    """Return the buttons under an answer, without its text; ``waits``: a wake-up it asked for is still to come."""
    stopped = progress.finished is not None and progress.finished.reason == "stopped"
    return Rendered(
        (), undo=undoable(progress) and not undone, redo=undone, again=tried.offered, votes=not progress.tour,
        steer=("continue",) if stopped else (),
        wake=progress.wake.wake if progress.wake is not None and waits and wakes(progress) else "",
    )  # fmt: skip


class AnswerMessages:
    """Keeps the buttons of answers true: who undoes or redoes tells it, ``run`` shows it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.live = LiveMessages("answer", store, self, FACT)

    async def restored(self, key: str) -> None:
        """The files of the execution whose answer has this outbox key were restored, if need be shown after the next start."""
        await self.live.expect(key)
        self.live.changed(key)

    async def run(self, desk: DiscordApi) -> None:
        """Show what was undone or redone, until cancelled."""
        await self.live.run(desk)

    async def view(self, row: OutboxRow) -> View | None:
        """The buttons of an answer now."""
        execution = await self._store.execution(row.item.execution)
        if execution is None:
            return None
        past = await past_of(self._store, execution)
        progress = await folded(self._store, row.item.execution)
        tried = await tried_in(self._store, row.item.execution)
        undone = past.undone and past.restored is not None and bool(past.restored.files)
        waits = progress.wake is not None and await self._waits(progress.wake.wake)
        return View(None, Standing(way="decided"), below=below_answer(progress, tried, undone=undone, waits=waits))

    async def _waits(self, wake: str) -> bool:
        row = await self._store.schedule(wake)
        return row is not None and row.due is not None

    async def settled(self, item: OutboxItem, view: View) -> None:
        """Nothing is kept of what was shown."""
