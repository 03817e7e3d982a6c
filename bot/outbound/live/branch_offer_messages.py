"""The message that offers a branch: what is on it, how to decide, and later what became of it.

Offers that were decided and not shown yet are kept in the store, where the next process looks.
"""

from __future__ import annotations

from typing import Protocol

from agentic.core.events.execution_events import BranchMerged, CommitCreated, OutboxItem
from agentic.ports.runtime import OutboxRow, Store
from bot.history.run_history import Verdict, past_of
from bot.messages.question_text import Standing
from bot.outbound.discord_api import DiscordApi
from bot.outbound.live.live_message import LiveMessages, View
from bot.rendering.discord_text import (
    Attached,
    Rendered,
    clean,
    cut,
    fenced,
    inline,
    plain,
)

DIFF_SHOWN, STAT_SHOWN, MESSAGE_SHOWN, MESSAGE_LINES = 700, 400, 300, 8
"""Characters of the diff, of its summary and of the commit's message that stand in the message itself."""
FACT = "offers.unshown"
HOW = "🔀 merges it into {base}, 👎 deletes it. Operators only; nothing changes until then."


class OfferListener(Protocol):
    """Is told of offers that were decided."""

    async def decided(self, key: str) -> None:
        """The offer whose message has this outbox key."""
        ...


async def offer_of(store: Store, item: OutboxItem) -> Rendered:
    """The message of an outbox item of sort ``offer``, as it is to be shown now."""
    created, verdict = await _read(store, item)
    if created is None:
        return Rendered((cut(clean(item.text), 1_500),))
    blob = await store.get_blob(created.diff.sha) if created.diff is not None else None
    return offer_message(created, verdict, (blob or b"").decode("utf-8", "replace"))


def offer_message(created: CommitCreated, verdict: Verdict | None, diff: str) -> Rendered:
    """What is offered, how to decide or what was decided; a long diff is a file."""
    where = f" in {inline(created.repository)}" if created.repository else ""
    files = "1 file" if len(created.files) == 1 else f"{len(created.files)} files"
    lines = [
        f"🌿 **A branch for you: {inline(created.branch)}**",
        f"For {inline(created.base)}{where} · {files} · +{created.insertions} −{created.deletions}",
        *(f"> {line}" for line in cut(clean(created.message), MESSAGE_SHOWN).splitlines()[:MESSAGE_LINES]),
    ]
    lines.append(fenced(cut(created.diffstat or "\n".join(created.files), STAT_SHOWN)))
    attached: tuple[Attached, ...] = ()
    if len(diff) > DIFF_SHOWN:
        attached = (Attached(f"{created.branch.rpartition('/')[2]}.diff", diff.encode("utf-8", "replace")),)
    elif diff:
        lines.append(fenced(_readable(diff), "diff"))
    lines.append(_ending(created, verdict))
    return Rendered(("\n".join(lines),), attached)


def _readable(diff: str) -> str:
    """Without the lines that only git reads."""
    return "\n".join(line for line in diff.splitlines() if not line.startswith(("diff --git ", "index ")))


def _ending(created: CommitCreated, verdict: Verdict | None) -> str:
    if verdict is None:
        return HOW.format(base=inline(created.base))
    by = plain(verdict.by.name, 40)
    if isinstance(verdict, BranchMerged):
        return f"✅ {by} merged it into {inline(created.base)} as {inline(verdict.commit[:10])}."
    return f"🗑️ {by} rejected it; the branch was deleted."


async def _read(store: Store, item: OutboxItem) -> tuple[CommitCreated | None, Verdict | None]:
    row = await store.execution(item.execution)
    past = await past_of(store, row) if row is not None else None
    if past is None or item.question not in past.offers:
        return None, None
    return past.offers[item.question][0], past.verdicts.get(item.question)


class BranchOfferMessages:
    """Keeps the messages of offers true: whoever decides tells it, ``run`` shows it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.live = LiveMessages("offer", store, self, FACT)

    async def decided(self, key: str) -> None:
        """An offer was decided; its message is to say so, if need be after the next start."""
        await self.live.expect(key)
        self.live.changed(key)

    async def run(self, desk: DiscordApi) -> None:
        """Show what was decided, until cancelled."""
        await self.live.run(desk)

    async def view(self, row: OutboxRow) -> View:
        """What an offer's message says now."""
        rendered = await offer_of(self._store, row.item)
        return View(rendered.parts[-1], Standing(way="decided"))

    async def settled(self, item: OutboxItem, view: View) -> None:
        """Nothing is kept of what was shown."""
