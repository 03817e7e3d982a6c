"""What a thread costs while nothing is done in it: all that ever were are known, so it has to be little."""

from __future__ import annotations

import gc
import tracemalloc
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

from agentic.ports.runtime import SessionRow
from bot.sessions.dependencies import Ground
from bot.sessions.session import Session

THREADS, MOST = 2_000, 6_500
"""Bytes of a session with its row, as docs/ARCHITECTURE.md says."""


async def serve(_: Session) -> None:
    raise AssertionError("nothing is to be done")


def session(number: int) -> Session:
    now = datetime.now(UTC)
    row = SessionRow(str(10**18 + number), str(10**18), str(10**18 + 1), f"Fix the export, number {number}", now, now)
    return Session(row, cast(Ground, None), serve)


def test_a_session_in_which_nothing_runs_costs_what_is_said_of_it() -> None:
    kept = [session(0)]
    gc.collect()
    tracemalloc.start()
    try:
        kept += [session(number) for number in range(THREADS)]
        gc.collect()
        bytes_each = tracemalloc.get_traced_memory()[0] / THREADS
    finally:
        tracemalloc.stop()
    assert bytes_each < MOST
    told = (Path(__file__).parents[3] / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8")
    assert f"{MOST:,} bytes" in told
