"""Who holds up the event loop is named, and how long is known."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable

import pytest

from agentic.runtime.loop_watchdog import LATE_SECONDS, TICK, Watchdog
from bot.messages.embeds import status_embed
from bot.ports.conversation import StatusView
from tests.waiting import BOUND, eventually

LOOKS = 10
"""So many looks of the watchdog are a stall."""
BACKTRACKING = re.compile(r"(a+)+b")


class Looks(threading.Event):
    """What ends a watchdog: it is asked before each of its looks, which are counted."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self._looked = threading.Condition()

    def wait(self, timeout: float | None = None) -> bool:
        with self._looked:
            self.count += 1
            self._looked.notify_all()
        return super().wait(timeout)

    def until(self, holds: Callable[[], object]) -> None:
        """Stand still until a look finds that it holds."""
        with self._looked:
            assert self._looked.wait_for(holds, BOUND)


@pytest.fixture
def looks(caplog: pytest.LogCaptureFixture) -> Looks:
    """Those of a watchdog whose reports are heard."""
    caplog.set_level(logging.INFO, "agentic.runtime.loop_watchdog")
    return Looks()


def watching(looks: Looks, report_every: float = 0.0) -> Watchdog:
    """Make a watchdog whose looks are counted, and which keeps the lags that it measures."""
    watchdog = Watchdog(report_every)
    watchdog._ended, watchdog.lags = looks, []
    return watchdog


def stands(looks: Looks) -> None:
    """Stand as a slow disk would, while other threads run."""
    last = looks.count + LOOKS
    looks.until(lambda: looks.count > last)


def computes(_: Looks) -> None:
    """Stand in one call that lets no thread run."""
    length, took = 18, 0.0
    while took < LOOKS * TICK:
        began = time.monotonic()
        BACKTRACKING.match("a" * length)
        length, took = length + 1, time.monotonic() - began


def stalls(watchdog: Watchdog) -> int:
    """How often the loop answered too late."""
    return sum(lag > LATE_SECONDS for _, lag in watchdog.lags or ())


async def stall(watchdog: Watchdog, looks: Looks, how: Callable[[Looks], None] = stands) -> None:
    """Stand still in the middle of the watchdog's looks, until it has its answer."""
    known, before = stalls(watchdog), looks.count
    await eventually(lambda: looks.count > before + 1)
    how(looks)
    await eventually(lambda: stalls(watchdog) > known)


@pytest.mark.parametrize("how", [stands, computes])
async def test_a_stall_is_named_in_the_log_with_its_place_and_is_the_longest_of_the_hour(
    caplog: pytest.LogCaptureFixture, looks: Looks, how: Callable[[Looks], None]
) -> None:
    async def named() -> bool:
        """On a busy machine a stall may be over before the watchdog looks, or hide behind another one."""
        await stall(watchdog, looks, how)
        said = [record.getMessage() for record in caplog.records]
        return any("stood still for" in one and f"in {how.__name__}" in one for one in said)

    with watching(looks) as watchdog:
        await eventually(named)
        assert watchdog.longest() >= LATE_SECONDS


async def test_stalls_that_follow_each_other_are_reported_once_with_their_number(
    caplog: pytest.LogCaptureFixture, looks: Looks
) -> None:
    with watching(looks, 600.0) as watchdog:
        for _ in range(3):
            before = watchdog.longest()
            await stall(watchdog, looks)
            assert watchdog.longest() >= before
        assert len(caplog.records) == 1
        watchdog.report_every = 0.0
        await stall(watchdog, looks)
    assert re.search(r"\(\d+ more were not reported", caplog.records[1].getMessage())


async def test_a_stall_that_does_not_end_is_reported_while_it_lasts(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, looks: Looks
) -> None:
    monkeypatch.setattr("agentic.runtime.loop_watchdog.FOR_GOOD_SECONDS", LOOKS * TICK)
    with watching(looks):
        looks.until(lambda: any("stands still" in record.getMessage() for record in caplog.records))


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


@pytest.mark.parametrize(
    ("loud", "starting", "level"),
    [(0.0, 600.0, logging.INFO), (600.0, 0.0, logging.INFO), (0.0, 0.0, logging.WARNING)],
)
async def test_only_a_long_stall_after_the_start_is_a_warning(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, looks: Looks,
    loud: float, starting: float, level: int,
) -> None:  # fmt: skip
    """Somebody who starts the bot on a busy machine reads the table, and no stacks."""
    monkeypatch.setattr("agentic.runtime.loop_watchdog.LOUD_SECONDS", loud)
    monkeypatch.setattr("agentic.runtime.loop_watchdog.STARTING_SECONDS", starting)
    with watching(looks) as watchdog:
        await stall(watchdog, looks)
    assert {record.levelno for record in caplog.records} == {level}
