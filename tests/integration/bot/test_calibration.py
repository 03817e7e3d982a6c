"""What people are shown follows how earlier executions came out, in the whole product over the local guild."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from agentic.calibration.fitting import LEAST_LABELS
from agentic.core.claims.features import FEATURES
from agentic.core.events.execution_events import Started, TurnEnded
from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from agentic.ports.runtime import LabelRow, Look
from agentic.stores.sqlite.store import SQLiteStore
from bot.cli.main import perform
from bot.config.home import DATABASE
from bot.local_discord.local_discord import LocalGuild
from tests.integration.bot.whole import Whole, finishes, uses, whole
from tests.waiting import eventually

MODEL = "anthropic/claude-haiku-4-5"


async def label_of(running: Whole, thread: int, number: int, wanted: str) -> LabelRow:
    """The label of a thread's execution, once it has this source."""

    async def there() -> LabelRow | None:
        rows = await running.app.store.labels(str(thread))
        return rows[number] if len(rows) > number and rows[number].source == wanted else None

    found = await eventually(there, f"label {number} of {wanted}")
    assert found is not None
    return found


def earlier(count: int) -> list[LabelRow]:
    """Executions of this model, of which one in four came out right."""
    features = dict.fromkeys(FEATURES, 0.0)
    looks = (Look(3, features, 90.0, 85, 85, "", MODEL),)
    return [
        LabelRow(f"old{n}", f"t{n}", "g", "", MODEL, 2, n % 4 == 0, "verifier", 1.0, 85, looks=looks)
        for n in range(count)
    ]


async def test_labels_follow_people_and_after_enough_of_them_the_shown_number_is_the_calibrated_one(
    guild: LocalGuild, tmp_path: Path
) -> None:
    """The second task of a home with labels shows by a calibrator; a 👎 turns the first one's label."""
    home = tmp_path / "home"
    first = [
        uses("shell", command="echo mended > parser.py"),
        finishes("First."),
        Reply(text="no reflection"),
        Reply(text="none"),
    ]
    async with ScriptedEndpoint.start(first) as endpoint, whole(home, endpoint, guild) as running:
        thread = await running.task("fix the failing test in parser.py")
        assert (await label_of(running, thread, 0, "")).label is None, "that it ended as done is no evidence"
        log = await running.log((await running.executions(thread))[0])
        (started,) = [event for event in log if isinstance(event, Started)]
        assert started.calibrator is None
        assert {event.confidence.calibrator for event in log if isinstance(event, TurnEnded)} == {"none"}
        session = await running.app.store.session(str(thread))
        assert session is not None
        before = session.confidence
        assert before != 80
        answer = await running.says(thread, "First.")
        await guild.react(answer.id, "👎")
        voted = await label_of(running, thread, 0, "person")
        assert (voted.label, voted.weight, voted.down) == (False, 1.0, 1)

        async def moved() -> bool:
            kept = await running.app.store.session(str(thread))
            return kept is not None and kept.confidence == before - 20

        await eventually(moved, "the thread's confidence is 20 lower")
        for row in earlier(2 * LEAST_LABELS):
            await running.app.store.put_label(row)

    def second(request: CapturedRequest) -> Reply:
        if request.system.startswith("You review"):
            return Reply(text="none")
        return finishes("Second.") if request.answers else uses("shell", command="echo mended > lexer.py")

    async with ScriptedEndpoint.start(second) as endpoint, whole(home, endpoint, guild) as again:
        await again.task("fix the failing test in lexer.py", thread)
        log = await again.log((await again.executions(thread))[1])
        (started,) = [event for event in log if isinstance(event, Started)]
        assert started.calibrator is not None
        assert started.calibrator.labels == 2 * LEAST_LABELS + 1
        ends = [event.confidence for event in log if isinstance(event, TurnEnded)]
        assert {end.calibrator for end in ends} == {started.calibrator.id}
        assert all(end.shown < 55 < end.heuristic for end in ends)
        card = await again.says(thread, "Second.")
        assert f"confidence {ends[-1].shown}" in card.content


def test_the_command_tells_what_the_labels_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv("THREADWRIGHT_HOME", str(home))
    monkeypatch.chdir(tmp_path)
    assert perform(["calibration"]) == 1
    assert "nothing in" in capsys.readouterr().err

    async def prepare() -> None:
        store = SQLiteStore.open(home / DATABASE)
        for row in earlier(40):
            await store.put_label(row)
        await store.close()

    asyncio.run(prepare())
    assert perform(["calibration", "--points"]) == 0
    told = capsys.readouterr().out
    assert re.search(r"^all +40 +25% +0\.5\d\d +0\.5\d\d +0\.6\d\d +0\.18\d +0\.6\d\d$", told, re.MULTILINE)
    assert f"{MODEL} " in told
    assert "fitted on 40 outcomes" in told
    points = re.findall(r"^ +(\d+)% +(\d+)% +(\d+)-(\d+)% +(\d+)$", told, re.MULTILINE)
    assert sum(int(point[-1]) for point in points) % 40 == 0
    assert all(int(low) <= int(came) <= int(high) for _, came, low, high, _ in points), points
    assert perform(["calibration", "--rebuild"]) == 0
    told = capsys.readouterr().out
    assert "0 outcomes were worked out again" in told
    assert "interval" not in told
