"""What lists ask the bot about somebody's threads, and how long the answers count."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import cast

import pytest

from agentic.core.events.execution_events import Level, Person
from agentic.ports.runtime import SessionRow
from bot.console.access.sight import Sight
from bot.console.access.viewer import Viewer
from bot.console.bot_channel import Place
from bot.console.console_context import Console
from bot.console.overall.place_rights import PlaceRights
from bot.console.overall.remembered import Remembered

EVE = Person(id="666", name="Eve", level="viewer")


@pytest.mark.parametrize("rounds", range(16))
async def test_two_lists_of_one_person_are_both_answered_however_their_questions_meet(rounds: int) -> None:
    async def sees(person: Person, thread: str) -> bool:
        return True

    async def many(person: Person, places: Sequence[Place]) -> list[bool | None]:
        for _ in range(4):
            await asyncio.sleep(0)
        return [True] * len(places)

    async def session(thread: str) -> SessionRow:
        return SessionRow(thread, "2", "3")

    sight = Sight(sees, many, session)

    async def later() -> tuple[set[str], bool]:
        for _ in range(rounds):
            await asyncio.sleep(0)
        return await sight.among(EVE, ["12"], 20.0)

    found = await asyncio.gather(asyncio.create_task(later()), sight.among(EVE, ["11"], 20.0))
    assert found == [({"12"}, True), ({"11"}, True)]


class Bot:
    """Says once that somebody owns a server."""

    asked = 0

    async def level(self, person: Person, guild: str) -> Level | None:
        self.asked += 1
        return "owner" if self.asked == 1 else None


class Rights:
    """What the rights look at of a console."""

    def __init__(self) -> None:
        self.bot, self.levels = Bot(), Remembered[tuple[Level | None]](20.0)


async def test_a_level_that_was_lost_is_not_kept_by_looking_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: now[0])
    rights, found = Rights(), list[Level | None]()
    for _ in range(4):
        found.append(await PlaceRights(cast("Console", rights), Viewer(EVE, False, "")).level("3"))
        now[0] += 9.0
    assert found == ["owner", "owner", "owner", None]
