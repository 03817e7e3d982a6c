"""Who holds up the event loop is named, and how long is known."""

from __future__ import annotations

import asyncio
import logging
import re
import time

import pytest

from agentic.runtime.loop_watchdog import LATE_SECONDS, Watchdog
from bot.messages.embeds import status_embed
from bot.ports.conversation import StatusView

STALL = 2 * LATE_SECONDS
BACKTRACKING = re.compile(r"(a+)+b")


def stands() -> None:
    """Stand as a slow disk would, while other threads run."""
    time.sleep(STALL)


def computes() -> None:
    """Stand in one call that lets no thread run."""
    length, began = 18, time.monotonic()
    while time.monotonic() - began < STALL:
        BACKTRACKING.match("a" * length)
        began = time.monotonic() if (length := length + 1) < 24 else began


@pytest.mark.parametrize("stall", [stands, computes])
async def test_a_stall_is_named_in_the_log_with_its_place_and_is_the_longest_of_the_hour(
    caplog: pytest.LogCaptureFixture, stall: object
) -> None:
    assert callable(stall)

    def named() -> bool:
        said = [record.getMessage() for record in caplog.records]
        return any("stood still for" in one and f"in {stall.__name__}" in one for one in said)

    with caplog.at_level(logging.INFO, "agentic.runtime.loop_watchdog"), Watchdog(report_every=0.0) as watchdog:
        async with asyncio.timeout(30):
            while not named():  # on a busy machine a stall may be over before the watchdog looks
                await asyncio.sleep(0.2)
                stall()
                await asyncio.sleep(0.2)
        assert watchdog.longest() >= STALL / 2


async def test_stalls_that_follow_each_other_are_reported_once_with_their_number(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.INFO, "agentic.runtime.loop_watchdog"), Watchdog(report_every=1.0) as watchdog:
        await asyncio.sleep(0.2)
        async with asyncio.timeout(30):
            while len(caplog.records) < 2:
                before = watchdog.longest()
                stands()
                await asyncio.sleep(0.2)
                assert watchdog.longest() >= before
    assert "more were not reported" in caplog.records[1].getMessage()


async def test_a_stall_that_does_not_end_is_reported_while_it_lasts(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentic.runtime.loop_watchdog.FOR_GOOD_SECONDS", 0.4)
    with caplog.at_level(logging.INFO, "agentic.runtime.loop_watchdog"), Watchdog():
        await asyncio.sleep(0.1)
        until = time.monotonic() + 20
        while not caplog.records and time.monotonic() < until:
            time.sleep(0.05)
        assert "stands still" in caplog.records[0].getMessage()


def test_status_says_for_how_long_the_bot_stood_still_and_where_that_is_told() -> None:
    little, much = (str(status_embed(StatusView("idle"), seconds).to_dict()) for seconds in (1.9, 2.34))
    assert "Bot delay" not in little
    assert "Up to 2.3 s in the last hour. Whoever runs the bot can find the cause in its log." in much


def test_status_says_where_commands_run_once_that_is_known() -> None:
    known, unknown = (
        status_embed(StatusView("idle"), sandbox=said).fields for said in ("bubblewrap (bundled, 0.11.0)", "")
    )
    assert [(field.name, field.value) for field in known] == [("Sandbox", "bubblewrap (bundled, 0.11.0)")]
    assert unknown == []


async def test_only_a_long_stall_after_the_start_is_a_warning(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody who starts the bot on a busy machine reads the table, and no stacks."""
    for loud, starting, level in ((0.0, 60.0, logging.INFO), (60.0, 0.0, logging.INFO), (0.0, 0.0, logging.WARNING)):
        monkeypatch.setattr("agentic.runtime.loop_watchdog.LOUD_SECONDS", loud)
        monkeypatch.setattr("agentic.runtime.loop_watchdog.STARTING_SECONDS", starting)
        caplog.clear()
        with caplog.at_level(logging.INFO, "agentic.runtime.loop_watchdog"), Watchdog(report_every=0.0) as watchdog:
            await asyncio.sleep(0.2)
            stands()
            async with asyncio.timeout(20):
                while watchdog.longest() < STALL / 2 or not caplog.records:
                    await asyncio.sleep(0.01)
        assert {record.levelno for record in caplog.records} == {level}
