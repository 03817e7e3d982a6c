"""`threadwright replay EXECUTION`: reads a log, folds it, tells it as a story and says whether it holds."""

from __future__ import annotations

from pathlib import Path

from agentic.core.evolving import fold
from agentic.errors import LogInvalid, StoreError
from agentic.ports import Store
from bot.commandline.output import fail, say
from bot.commandline.story import line_of
from bot.commandline.verdict import broken_promises
from bot.settings import Settings
from bot.state import databases, open_store


async def replay(settings: Settings, execution: str) -> int:
    """Print the story and the verdict; 0 if the log holds, 1 if it does not or is not there."""
    for database in databases(settings.home):
        store = open_store(database)
        try:
            if await store.execution(execution) is not None:
                return await _replay(store, execution, database)
        finally:
            await store.close()
    return fail(f"There is no execution {execution!r} below {settings.home}. `/status` in its thread shows its id.")


async def _replay(store: Store, execution: str, database: Path) -> int:
    try:
        log = [envelope async for envelope in store.read(execution)]
        outcome = await store.read_outcome(execution)
        folded = fold(log)
    except (StoreError, LogInvalid) as error:
        return fail(f"The log of {execution} in {database} cannot be read: {error}")
    say(f"Execution {execution}, {len(log)} events, in {database}\n")
    for envelope in (*log, *outcome):
        if line := line_of(envelope):
            say(f"{envelope.at:%H:%M:%S} {envelope.seq:>4}  {line}")
    broken = broken_promises(log)
    end = folded.finished.reason if folded.finished else "still open"
    turns = "1 turn" if folded.turn.number == 1 else f"{folded.turn.number} turns"
    say(f"\nFolded: {end}, {turns}, tier {folded.tier}, {folded.spent.tokens} tokens, {folded.spent.usd:.4f} USD.")
    say("The log holds." if not broken else "The log does not hold:\n" + "\n".join(f"- {one}" for one in broken))
    return 1 if broken else 0
