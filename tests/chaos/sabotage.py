"""Promises taken out, one at a time, in processes that tests start: what holds without them shows nothing.

Nothing of this is in the product: a child of the cradle patches itself before it starts.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable
from dataclasses import replace


def without_nonces() -> None:
    """Each attempt to post is another message for Discord, and nothing is looked for that may have been posted."""
    import bot.outbound.discord_api
    import bot.outbound.duplicate_detection
    import bot.outbound.outbox

    def fresh(key: str, part: int = 0, generation: int = 0) -> str:
        return secrets.token_hex(12)

    bot.outbound.discord_api.nonce_of = fresh
    bot.outbound.outbox.nonce_of = fresh
    bot.outbound.duplicate_detection.Doubts.about = lambda self, item: False


def without_intents() -> None:
    """What was begun and has no result is begun again, whatever it does, and no sandbox is asked what became of it."""
    import agentic.core.rules.decide as rules
    import agentic.runtime.workspace_jobs
    from agentic.core.state.actions import Action, UseTools
    from agentic.core.state.execution import Execution

    proper = rules.older_fence

    def careless(execution: Execution) -> Action | None:
        action = proper(execution)
        left = [call for call in execution.open_calls if call.intent and not call.asked]
        again = tuple(call for call in left if call.fence != execution.fence)
        return UseTools(again[:1]) if again and execution.request is None else action

    rules.RULES = tuple(careless if rule is proper else rule for rule in rules.RULES)
    agentic.runtime.workspace_jobs.cut_off = lambda execution: ()


def without_diaries() -> None:
    """Diaries are taken to be empty: whatever was begun and has no result is taken for what never began."""
    from pathlib import Path

    import agentic.sandbox.protocol.call_journal as diaries

    def empty(path: Path, diary: str, key: str) -> diaries.Remembered:
        return diaries.Remembered(known=True)

    diaries._looked_up = empty


def without_fences() -> None:
    """Whoever had a thread once writes into its log, however late, and believes that the thread is still its own."""
    import agentic.stores.aws.subjects.events as events
    import bot.sessions.lease as leases
    from agentic.aws.items import PRESENT, ConditionCheck, Update, Write
    from agentic.ports.errors import StoreError
    from agentic.ports.runtime import Clock, Lease

    asks = events.Events._log

    async def asks_nobody(self: events.Events, append: events._Append) -> list[Write]:
        held, head, *rest = await asks(self, append)
        if isinstance(head, Update):
            values = {name: value for name, value in head.values.items() if name != "expected"}
            head = replace(head, condition=PRESENT, values=values)
        return [ConditionCheck(held.key, PRESENT) if isinstance(held, ConditionCheck) else held, head, *rest]

    async def kept(store: leases.LeaseStore, clock: Clock, lease: Lease, allow: leases.Allow) -> Exception | None:
        while True:
            allow(lease.thread, clock.monotonic() + 3600.0)
            with contextlib.suppress(StoreError):
                await store.renew(lease, leases.LEASE_SECONDS)
            await clock.sleep(leases.RENEW_SECONDS)

    events.Events._log = asks_nobody
    leases._keep = kept


WAYS: dict[str, Callable[[], None]] = {
    "nonces": without_nonces,
    "intents": without_intents,
    "diaries": without_diaries,
    "fence": without_fences,
}


def apply(way: str) -> None:
    """Take one promise out of this process."""
    if way:
        WAYS[way]()
