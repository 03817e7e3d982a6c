"""`threadwright replay [EXECUTION] [--verify | --request REQUEST]`: show a log as a story and check it.

Without an execution it lists the newest ones. With ``--verify`` the rules are run again over the decisions in the log;
with ``--request`` a request is shown as it was sent.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from agentic.aws.aws_place import AwsPlace
from agentic.core.audit.verification import verify
from agentic.core.events.execution_events import Envelope, Started
from agentic.core.fold.fold import fold
from agentic.ports.errors import LogInvalid, StoreError
from agentic.ports.runtime import ExecutionRow, Store
from agentic.stores.factory import open_store
from bot.cli.console import fail, note, say
from bot.cli.replay.decision_check import verdict_of
from bot.cli.replay.invariants import broken_promises
from bot.cli.replay.request_view import show_request
from bot.config.settings import Settings
from bot.messages.log_text import story

NEWEST = 20
UNVERIFIED = 4
"""The exit code where the log holds, but other rules decided all or part of it."""
_BEGINNING = datetime(1, 1, 1, tzinfo=UTC)


async def replay(settings: Settings, execution: str, *, deciding_again: bool = False, request: str = "") -> int:
    """Print the story and the verdict; 0 if the log holds, 1 if it does not or is missing, 4 if it is not verified.

    With ``request`` (an id, or ``list``) the request to a model is printed instead.
    """
    for database in settings.stores():
        store = open_store(database)
        try:
            if await store.execution(execution) is not None:
                if request:
                    return await _request(store, execution, database, request)
                return await _replay(store, execution, database, deciding_again)
            if await store.was_buried(execution) is not None:
                return fail(deleted(execution))
        finally:
            await store.close()
    known = "`threadwright replay` lists the newest ones, and `/status` in a thread shows its id."
    return fail(f"There is no task {execution!r} in {settings.kept_in}. {known}")


def deleted(execution: str) -> str:
    """Say that the log of an execution was deleted."""
    return (
        f"The log of {execution} was deleted: logs of finished tasks are kept for THREADWRIGHT_RETENTION_DAYS days. "
        "An earlier backup may have it."
    )


async def newest(settings: Settings, *, deciding_again: bool = False, request: str = "") -> int:
    """List the newest executions; 1 where there is none, or where the options need a named one."""
    if deciding_again:
        return fail("threadwright replay --verify: name the EXECUTION to verify. Without --verify they are listed.")
    if request:
        return fail("threadwright replay --request: name the EXECUTION too. Without --request they are listed.")
    rows = [row async for row in _rows(settings)]
    rows.sort(key=lambda row: row.started_at or _BEGINNING, reverse=True)
    if not rows:
        return fail(f"There is no task in {settings.kept_in} yet. Start one: threadwright task 'say hello'")
    for row in rows[:NEWEST]:
        began = f"{row.started_at:%Y-%m-%d %H:%M}" if row.started_at else ""
        say(f"{row.execution}  {began:<16}  {row.finished or 'open':<9}  {_line(row.task)}")
    more = f", the newest {NEWEST} of {len(rows)}" if len(rows) > NEWEST else ""
    note(f"\nTimes are UTC{more}. `threadwright replay EXECUTION` tells one as a story; --verify runs the rules again.")
    return 0


async def _rows(settings: Settings) -> AsyncIterator[ExecutionRow]:
    for database in settings.stores()[: NEWEST + 1]:
        try:
            store = open_store(database)
            try:
                async for row in store.all_executions():
                    yield row
            finally:
                await store.close()
        except StoreError as error:
            note(f"{database} cannot be read: {error}")


async def _request(store: Store, execution: str, database: Path | AwsPlace, request: str) -> int:
    try:
        log = [envelope async for envelope in store.read(execution)]
        return await show_request(store, log, request)
    except (StoreError, LogInvalid) as error:
        return fail(f"The log of {execution} in {database} cannot be read: {error}")


async def _replay(store: Store, execution: str, database: Path | AwsPlace, deciding_again: bool) -> int:
    try:
        log = [envelope async for envelope in store.read(execution)]
        outcome = await store.read_outcome(execution)
        folded = fold(log)
    except (StoreError, LogInvalid) as error:
        return fail(f"The log of {execution} in {database} cannot be read: {error}")
    say(f"Task {execution}, {len(log)} events, in {database}\n")
    for envelope, line in story((*log, *outcome)):
        say(f"{envelope.at:%H:%M:%S} {envelope.seq:>4}  {line}")
    end = folded.finished.reason if folded.finished else "still open"
    turns = "1 turn" if folded.turn.number == 1 else f"{folded.turn.number} turns"
    say(f"\nFolded: {end}, {turns}, tier {folded.tier}, {folded.spent.tokens} tokens, {folded.spent.usd:.4f} USD.")
    broken = broken_promises(log, outcome)
    say(
        "The log is sound: every check passed."
        if not broken
        else "The log breaks these promises:\n" + "\n".join(f"- {one}" for one in broken)
    )
    verified = await _verify(store, log) if deciding_again else 0
    return 1 if broken else verified


async def _verify(store: Store, log: Sequence[Envelope]) -> int:
    verification = verify(log)
    say(verdict_of(verification))
    if verification.divergence is not None:
        return 1
    copied = await _verify_copied(store, log, verification.copied) if verification.copied else 0
    return copied or (UNVERIFIED if verification.others else 0)


async def _verify_copied(store: Store, log: Sequence[Envelope], through: int) -> int:
    """Compare the part that a fork copied with the original, and verify it there."""
    first = log[0].event
    source = first.forked_from[0] if isinstance(first, Started) and first.forked_from is not None else ""
    original = [envelope async for envelope in store.read(source)][:through]
    if not original:
        say(f"Not verified: events 1 to {through}, copied from {source}, whose log is not in this database.")
        return UNVERIFIED
    pairs = zip(original[1:], log[1:through], strict=False)
    other = next((there.seq for there, here in pairs if (there.event, there.at) != (here.event, here.at)), 0)
    if other or len(original) < through:
        say(
            f"Events 1 to {through} were copied from {source}, and event {other or len(original) + 1} is another there."
        )
        return 1
    say(f"Events 1 to {through} are those of {source}, where they were decided:")
    return await _verify(store, original)


def _line(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 80 else f"{flat[:79]}…"
