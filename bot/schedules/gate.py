"""The gate of a scheduled task: a command in its thread's sandbox that costs no tokens, and says whether to begin."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from agentic.core.events.execution_events import InboxItem, OutboxItem
from agentic.ports.runtime import Clock
from agentic.sandbox.protocol.results import ExecResult
from agentic.workspace.workspace import RealWorld
from bot.rendering.discord_text import inline
from bot.schedules import schedule_text
from bot.schedules.book import ScheduleBook
from bot.schedules.claim_delivery import Tell
from bot.schedules.schedule import schedule_of

SECONDS = 60.0
"""A gate that takes longer is closed."""
OUTPUT = 4_096
"""Bytes of its output that are read."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ScheduleGate:
    """Runs gates, under the lease of the thread whose task waits for it."""

    world: Callable[[str], RealWorld]
    book: ScheduleBook
    clock: Clock
    tell: Tell

    async def __call__(self, item: InboxItem) -> bool:
        """Whether the task is to begin; that it does is said in its thread, that it does not stands in the list alone."""
        result = await self.world(item.thread).exec(item.gate, timeout=SECONDS, cap=OUTPUT)
        said = _said(result, self.clock.now())
        schedule = await self.book.change(schedule_of(item.id), lambda one: one.changed(gate_said=said))
        log.info("the gate of %s: %s", item.id, said)
        if result.ok:
            text = schedule_text.opening(
                schedule_text.title_for(item.text), schedule.said if schedule else "", item.author.name
            )
            await self.tell(
                OutboxItem(key=f"{item.id}.told", thread=item.thread, execution="", sort="notice", text=text)
            )
        return result.ok


def _said(result: ExecResult, at: datetime) -> str:
    """What a gate came to, in a line."""
    if result.timed_out:
        ended = f"it took longer than {SECONDS:.0f} s"
    elif result.exit_code is None or result.killed_reason:
        ended = "it was ended"
    else:
        ended = f"exit {result.exit_code}"
    lines = [line for line in result.text.splitlines() if line.strip()]
    last = f" · {inline(lines[-1], 80)}" if lines else ""
    return f"{'open' if result.ok else 'closed'} ({ended}) {schedule_text.ago(at)}{last}"
