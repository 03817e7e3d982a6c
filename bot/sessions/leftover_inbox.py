"""Inbox items that no execution takes any more: each is stored where it belongs, or answered."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from agentic.core.events.execution_events import InboxItem, Sort
from bot.sessions.session import Session
from bot.thread_state.message_meaning import CLOSED, starts

EDITED_LATE = (
    "The task had already ended when you edited its message, so the edit changed nothing. Write here what I should do."
)
FILES = ".files"
"""Suffix of the id of an item that replaces another one, now that its files have arrived."""
AS = "as:"
"""Prefix of an item's target while it waits as a task for its files."""
HALFWAY = "; if a restart interrupted it halfway, ask for it again to finish it"
_ACTS: dict[Sort, str] = {
    "undo": "an undo", "redo": "a redo", "retry": "running a task again", "merge": "a merge",
    "rewind": "continuing from a checkpoint", "reject": "deleting a branch", "clean": "deleting the files of the workspace",
    "trial": "another attempt at the last task",
}  # fmt: skip
UNNEEDED = "The task ended before a stronger model could take over. 🔄 under its result runs it again."
_WORDS = {"edited": EDITED_LATE, "answer": CLOSED.text, "escalate": UNNEEDED}

Opine = Callable[[InboxItem], Awaitable[bool]]
"""Records a vote on a finished execution; the item stays in the inbox until then."""


async def leave_behind(session: Session, opine: Opine, items: list[InboxItem]) -> None:
    """Settle items that no execution will take: votes are recorded, the rest is answered."""
    for item in items:
        if item.sort in ("feedback", "correction"):
            await opine(item)
            continue
        if words := _WORDS.get(item.sort):
            await session.tell(f"{item.id}.late", "", words)
        await session.ground.store.discard([item.id])


def opinions_on_others(items: list[InboxItem], opened: list[str]) -> list[InboxItem]:
    """Return votes on earlier executions: the open one takes none of them, and may wait for a person for long."""
    mine = ("", *opened)
    return [one for one in items if one.sort in ("feedback", "correction") and one.target.partition("/")[0] not in mine]


def doubles(items: list[InboxItem]) -> list[str]:
    """Return ids of items that were stored again with their files just before the process ended."""
    ids = {item.id for item in items}
    return [item.id for item in items if f"{item.id}{FILES}" in ids]


def until_fetched(item: InboxItem) -> InboxItem:
    """Return the item as it is stored while its files are being fetched: a queued task that remembers its own kind."""
    return item.model_copy(update={"sort": "queue", "target": f"{AS}{item.sort}:{item.target}"})


def as_sent(item: InboxItem) -> InboxItem | None:
    """Return the item as it was sent, if it was stored while its files were being fetched; None for all others."""
    if item.sort != "queue" or not item.target.startswith(AS):
        return None
    sort, _, target = item.target.removeprefix(AS).partition(":")
    return item.model_copy(update={"sort": sort, "target": target})


async def call_off(session: Session, why: str) -> None:
    """Discard the waiting items of a thread that was stopped, and say which."""
    pending = await session.ground.store.pending(session.thread)
    last = max((place for place, one in enumerate(pending) if one.sort == "stop"), default=-1)
    off = [one for one in pending[: last + 1] if one.sort not in ("feedback", "correction", "fork")]
    lines = "".join(f"\n- {name}" for name in map(_named, off) if name)
    if lines:
        words = f" It waited, because {why}." if why else ""
        text = f"Stopped before it started; nothing was done.{words} Send it again if you want it:{lines}"
        await session.tell(f"{off[0].id}.called-off", "", text)
    await session.ground.store.discard([one.id for one in off])


def _named(item: InboxItem) -> str:
    """Name what would have begun, '' for an item that begins nothing."""
    if starts(item):
        return item.text[:200]
    return f"{_ACTS[item.sort]}{HALFWAY}" if item.sort in _ACTS else ""
