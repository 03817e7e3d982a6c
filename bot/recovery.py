"""What an earlier process left behind, and whether it is safe to go on with it.

An execution that ends its process each time it is taken up would do so for ever: after three crashes since a person last
said something it is left alone until one does.  A process that ended in order says so for each execution it left open,
and whoever waits for an answer ends no process: neither counts.
"""

from __future__ import annotations

from collections.abc import Sequence

from agentic.core.events import Asked, Decided, Envelope, InputReceived, OutboxItem, OwnerChanged
from agentic.ports import ExecutionRow, Store

CRASHES = 3

QUARANTINED = (
    "⚠️ The bot ended {times} times in the middle of this. I leave it alone now, in case it is the reason. Write anything "
    "here to try once more."
)


def crashes(log: Sequence[Envelope], handed_over: Sequence[int]) -> int:
    """How often a process ended in the middle of it since a person last said something, the last time included.

    ``handed_over`` are the log's lengths when a process ended in order.
    """
    since = max((e.seq for e in log if isinstance(e.event, InputReceived | Decided)), default=1)
    owners = 1 + sum(isinstance(e.event, OwnerChanged) for e in log if e.seq > since)
    return owners - sum(head >= since for head in handed_over)


def waits_for_a_person(log: Sequence[Envelope]) -> bool:
    """A question is open."""
    decided = {e.event.question for e in log if isinstance(e.event, Decided)}
    return any(isinstance(e.event, Asked) and e.event.question not in decided for e in log)


async def is_quarantined(store: Store, execution: str) -> bool:
    """Whether it is left alone until a person says something."""
    log = [envelope async for envelope in store.read(execution)]
    return not waits_for_a_person(log) and crashes(log, await _handed_over(store, execution)) >= CRASHES


async def hand_over(store: Store, execution: str) -> None:
    """Note that this process ends in order in the middle of an execution."""
    row = await store.execution(execution)
    if row is not None and not row.finished:
        heads = (*await _handed_over(store, execution), row.head)
        await store.set_fact(_fact(execution), " ".join(str(head) for head in heads))


def quarantine_notice(row: ExecutionRow) -> OutboxItem:
    """What the thread is told; once, however often the bot starts."""
    return OutboxItem(
        key=f"{row.execution}.quarantined.{row.head}", thread=row.thread, execution=row.execution, sort="notice",
        text=QUARANTINED.format(times=CRASHES), notify=True,
    )  # fmt: skip


async def _handed_over(store: Store, execution: str) -> tuple[int, ...]:
    return tuple(int(head) for head in (await store.fact(_fact(execution)) or "").split())


def _fact(execution: str) -> str:
    return f"handed over: {execution}"
