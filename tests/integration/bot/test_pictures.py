"""Pictures of confidence and escalation: from the logs, drawn by a process of their own, shown in Discord."""

from __future__ import annotations

import logging
import struct
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from agentic.core.events.execution_events import (
    Envelope,
    Event,
    FeedbackGiven,
    Finished,
    Person,
    Started,
)
from agentic.core.events.values import Policy
from bot.charts.data import (
    Chart,
    Kind,
    Mark,
    chart_of,
)
from bot.charts.renderer import Studio
from bot.local_discord.local_discord import LocalGuild
from tests.integration.bot.commanding import desk, history
from tests.unit.core.building import BEGUN, TIERS, YOU


def log_of(*events: Event, execution: str = "x1") -> list[Envelope]:
    return [Envelope(execution=execution, seq=n, at=BEGUN, fence=1, event=e) for n, e in enumerate(events, start=1)]


def ran(task: str, *more: Event) -> list[Envelope]:
    return log_of(Started(thread="1", task=task, requester=YOU, policy=Policy(tiers=TIERS)), *history(), *more)


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Studio:
    return Studio(tmp_path_factory.mktemp("pictures"))


def test_a_chart_holds_turns_tiers_spending_ends_and_votes() -> None:
    vote = FeedbackGiven(by=Person(id="9", name="Ada"), vote="down")
    chart = chart_of(
        "escalation", [ran("first", Finished(reason="done", answer="")), ran("second")], [log_of(vote), []]
    )
    assert chart is not None
    first, second = chart.runs
    assert [(p.x, p.shown, p.tier, p.usd) for p in first.points] == [(1, 80, 2, 0.25), (2, 25, 2, 0.5)]
    assert (first.title, first.ended, second.ended) == ("first", "done", "")
    assert [(p.x, p.usd) for p in second.points] == [(4, 0.75), (5, 1.0)]
    assert chart.marks[:2] == (
        Mark(x=2.5, sort="escalated", text="the same error 3 times", tier=3), Mark(x=2, sort="down"),
    )  # fmt: skip
    assert "2 changes, 1.00 US dollars" in chart.told


def test_there_is_no_picture_of_one_turn() -> None:
    assert chart_of("confidence", [log_of(*history()[:3])], [[]]) is None


@pytest.mark.parametrize("kind", ["confidence", "escalation"])
async def test_a_picture_is_drawn_without_the_library_in_this_process(
    studio: Studio, kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in {"matplotlib", *(name for name in sys.modules if name.startswith("matplotlib."))}:
        monkeypatch.setitem(sys.modules, name, None)  # whoever imports it here fails, also where a command drew before
    odd = "\0 $\\frac{ 🙂 <script> 日本"  # neither markup nor an unknown sign breaks it
    chart = chart_of(kind, [ran(odd), ran("b" * 300), ran("c")], [[], [], []])
    assert chart is not None
    png = await studio.png(chart)
    assert png is not None
    assert struct.unpack(">II", png[16:24]) == (1200, 540)


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("import sys; sys.exit('no font')", "no font"),
        ("print('no picture')", "no picture"),
        ("import os; os.abort()", ""),
    ],
)
async def test_what_cannot_be_drawn_is_said_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, program: str, why: str
) -> None:
    broken = tmp_path / "draw.py"
    broken.write_text(program)
    chart = chart_of("confidence", [ran("a")], [[]])
    assert chart is not None
    with caplog.at_level(logging.WARNING):
        assert await Studio(tmp_path / "cache", broken).png(chart) is None
    assert "no picture" in caplog.text
    assert why in caplog.text


async def test_a_drawing_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hangs = tmp_path / "draw.py"
    hangs.write_text(f"import os, time; open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid())); time.sleep(600)")
    monkeypatch.setattr("bot.charts.renderer.SECONDS", 2.0)
    chart = Chart(kind="confidence", runs=())
    assert await Studio(tmp_path / "cache", hangs).png(chart) is None
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text()}").exists()


async def test_the_commands_show_their_picture(guild: LocalGuild, studio: Studio) -> None:
    async with desk(guild) as here:
        thread = await here.worked()
        here.scenery.bot.backstage = replace(here.scenery.bot.backstage, studio=studio)
        for name in ("confidence", "escalation"):
            shown = await here.slash(thread, name)
            (picture,) = shown.attachments
            assert picture.filename == f"{name}.png"
            assert guild.file(picture.id).startswith(b"\x89PNG")
