"""`threadwright doctor --live`: each part is asked about, tried, and cleaned up, also after Ctrl-C or a failure."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Generator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

from bot import BUILD
from bot.cli.console import fail, not_written, say
from bot.cli.live.discord_trial import try_discord
from bot.cli.live.forge_trial import try_forge
from bot.cli.live.model_trial import try_models
from bot.cli.live.sandbox_trial import try_sandbox
from bot.cli.live.trials import Trials
from bot.cli.live.wire_record import RecordingRelay, WireRecord
from bot.config.settings import Settings

INTERRUPTED = 130
PATIENCE = 120.0
"""Seconds in which a person does their part of a step."""


@dataclass(frozen=True, slots=True)
class LiveOrder:
    """The command's arguments."""

    channel: int = 0
    repository: str = ""
    record: Path | None = None
    agreed: bool = False
    patience: float = PATIENCE


async def live(settings: Settings, order: LiveOrder) -> int:
    """Try everything for real; 0 where nothing failed."""
    if order.record is None:
        return await _tried(settings, order, None)
    try:
        out = order.record.open("w", encoding="utf-8")
    except OSError as error:
        return fail(f"The record can't be written to {not_written(order.record, error)}")
    with out:
        return await _tried(settings, order, out)


async def _tried(settings: Settings, order: LiveOrder, out: TextIO | None) -> int:
    record = WireRecord(out, settings.secrets) if out is not None else None
    if record is not None:
        record.begin(BUILD, datetime.now(UTC).date().isoformat())
    trials = Trials(agreed=order.agreed, record=record)
    work = asyncio.create_task(_parts(trials, settings, order, record), name="live")
    with _ended_by_signals(work):
        await asyncio.wait((work,))
    if work.cancelled():
        say("\nInterrupted.")
        return INTERRUPTED
    work.result()
    states = [row.state for row in trials.rows]
    say(f"\n{states.count('ok')} ✔, {states.count('missing')} ✘, {states.count('unknown')} not tried.")
    if order.record is not None:
        say(f"Record: {order.record} (shapes only: no token, name or text). Look through it before you share it.")
    return 1 if "missing" in states else 0


async def _parts(trials: Trials, settings: Settings, order: LiveOrder, record: WireRecord | None) -> None:
    async with AsyncExitStack() as stack:
        relay = await stack.enter_async_context(RecordingRelay(record)) if record is not None else None
        await try_sandbox(trials, settings)
        await try_discord(trials, settings, relay, order.channel, order.patience)
        await try_forge(trials, settings, order.repository, relay)
        await try_models(trials, settings, relay)


@contextmanager
def _ended_by_signals(work: asyncio.Task[None]) -> Generator[None]:
    """Cancel the work at Ctrl-C and SIGTERM: it cleans up then, and a second one ends that too."""
    loop = asyncio.get_running_loop()
    for one in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(one, work.cancel)
    try:
        yield
    finally:
        for one in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(one)
