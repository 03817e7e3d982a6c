"""What an earlier process left behind, what its sessions know of it, and whether it is safe to go on with it.

An execution that ends its process each time it is taken up would do so for ever: after three crashes since a person last
said something the rules leave it alone (``agentic/core/owning.py``).  From then on no process takes it up by itself, only
what a person does.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from agentic.core.events import Envelope
from agentic.core.evolving import fold
from agentic.ports import Store
from agentic.purse import DailyCaps, Purse
from bot.session import Session


async def recall(session: Session, execution: str) -> None:
    """What outlives a process: whose it is, a question, a pause, that it is left alone.  Raises ``StoreError``."""
    folded = fold([envelope async for envelope in session.ground.store.read(execution)])
    session.requester = folded.started.requester.id if folded.started is not None else ""
    session.side = folded.side
    if folded.question is not None:
        session.asked(folded.question)
    else:
        session.answered()
    session.paused = folded.paused.author.id if folded.paused is not None else ""
    session.left_alone = folded.quarantined is not None


async def settle_leftovers(store: Store, caps: DailyCaps) -> None:
    """Money that ended executions, and the judging of them, had set aside and did not come to settle, by their logs.

    An open execution's is settled by whoever takes it up.  Raises ``StoreError``.
    """
    purse = Purse(store, caps)
    left = {key.rpartition("/")[0] for key in await store.unsettled_usd("")} - {""}
    opened = {row.execution for row in await store.executions(open_only=True)}
    for of in sorted(left - opened):
        execution, _, outcome = of.partition(".")
        row = await store.execution(execution)
        if row is not None and row.finished:
            await purse.clear_up(of, _outcome(store, execution) if outcome else store.read(execution))


async def _outcome(store: Store, execution: str) -> AsyncIterator[Envelope]:
    for envelope in await store.read_outcome(execution):
        yield envelope
