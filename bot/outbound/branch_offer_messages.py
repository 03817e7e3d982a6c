"""The message that offers a branch: what is on it, how to decide, and later what became of it.

What has to be shown is read from the log each time, so it does not matter which process shows it; offers that were
decided and not shown yet are noted as a fact, which the next process looks at.
"""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Protocol, cast

from agentic.core.events.execution_events import BranchMerged, CommitCreated, OutboxItem
from agentic.ports.errors import StoreError
from agentic.ports.runtime import Store
from bot.history.run_history import Verdict, past_of
from bot.messages.question_text import Standing
from bot.outbound.discord_api import (
    Desk,
    Gone,
    Held,
    Unfit,
)
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
TRIES, LONGEST_WAIT = 5, 60.0
HOW = "👍 merges it into {base}, 👎 deletes it; an operator decides. Nothing changes until then."

log = logging.getLogger(__name__)


class Decided(Protocol):
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
    return f"🗑️ {by} turned it down; the branch was deleted."


async def _read(store: Store, item: OutboxItem) -> tuple[CommitCreated | None, Verdict | None]:
    row = await store.execution(item.execution)
    past = await past_of(store, row) if row is not None else None
    if past is None or item.question not in past.offers:
        return None, None
    return past.offers[item.question][0], past.verdicts.get(item.question)


class Offers:
    """Keeps the messages of offers up to date: whoever decides tells it, ``run`` shows it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._due: asyncio.Queue[str] = asyncio.Queue()
        self._noting = asyncio.Lock()

    async def decided(self, key: str) -> None:
        """An offer was decided; its message is to say so, if need be after the next start."""
        await self._note(key, due=True)
        self._due.put_nowait(key)

    async def run(self, desk: Desk) -> None:
        """Show what was decided, until cancelled."""
        try:
            for key in _keys(await self._store.fact(FACT)):
                self._due.put_nowait(key)
        except StoreError as error:
            log.warning("what was decided about offers cannot be read: %s", error)
        async with asyncio.TaskGroup() as group:
            while True:
                key = await self._due.get()
                group.create_task(self._follow(desk, key), name=f"offer {key}")

    async def _follow(self, desk: Desk, key: str) -> None:
        for _ in range(TRIES):
            try:
                if await self._show(desk, key):
                    await self._note(key, due=False)
                    return
                await asyncio.sleep(1.0)
            except Held as held:
                log.info("offer %s is not brought up to date now: %s", key, held.reason)
                await asyncio.sleep(min(held.seconds, LONGEST_WAIT))
            except (Gone, Unfit) as error:
                log.info("offer %s keeps its looks: %s", key, error or "its message was deleted")
                await self._note(key, due=False)
                return
            except StoreError as error:
                log.warning("offer %s cannot be read: %s", key, error)
                return
            except Exception:  # one offer must not end the care for all others
                log.exception("a fault of ours: offer %s keeps its looks", key)
                return

    async def _show(self, desk: Desk, key: str) -> bool:
        """Whether there is nothing left to do; False while the message has not been posted."""
        row = await self._store.outbox_row(key)
        if row is None:
            return True
        if not row.delivered:
            return False
        rendered = await offer_of(self._store, row.item)
        await desk.show_question(row.item, row.delivered[-1], rendered.parts[-1], Standing(way="decided"))
        return True

    async def _note(self, key: str, *, due: bool) -> None:
        try:
            async with self._noting:
                keys = set(_keys(await self._store.fact(FACT)))
                wanted = keys | {key} if due else keys - {key}
                if wanted != keys:
                    await self._store.set_fact(FACT, json.dumps(sorted(wanted)))
        except StoreError as error:
            log.warning("what was decided about offer %s cannot be noted: %s", key, error)


def _keys(fact: str | None) -> list[str]:
    return cast("list[str]", json.loads(fact or "[]"))
