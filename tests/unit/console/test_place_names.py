"""Names of places: asked for once, remembered for a while, and missed by nobody while the bot is away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from bot.console import place_names
from bot.console.bot_channel import BotSilent
from bot.console.place_names import SECONDS, UNKNOWN_SECONDS, PlaceNames


@dataclass
class Bot:
    """What it knows, and what it was asked."""

    known: dict[str, str]
    asked: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])
    silent: bool = False
    now: float = 1_000.0

    async def names(self, ids: Sequence[str]) -> Mapping[str, str]:
        self.asked.append(tuple(ids))
        if self.silent:
            raise BotSilent
        return {id: name for id, name in self.known.items() if id in ids}

    def all(self) -> PlaceNames:
        return PlaceNames(self.names, lambda name: name.replace("key", "…"), lambda: self.now)


async def test_a_name_is_asked_for_once_and_again_after_a_while() -> None:
    bot = Bot({"1": "Bakery", "2": "the key place"})
    names = bot.all()
    assert await names.of(["1", "2", "3", "", "1"]) == {"1": "Bakery", "2": "the … place"}
    assert await names.of(["3", "1"]) == {"1": "Bakery"}
    assert bot.asked == [("1", "2", "3")]
    bot.now += UNKNOWN_SECONDS
    bot.known = {"1": "Other", "3": "New"}
    assert await names.of(["1", "2", "3"]) == {"1": "Bakery", "2": "the … place", "3": "New"}
    bot.now += SECONDS
    assert await names.of(["1", "2"]) == {"1": "Other"}, "the bot is not in the other one any more"
    assert bot.asked[1:] == [("3",), ("1", "2")]


async def test_without_the_bot_the_names_of_before_count_and_it_is_not_asked_by_every_page() -> None:
    bot = Bot({"1": "Bakery"})
    names = bot.all()
    await names.of(["1"])
    bot.now, bot.silent = bot.now + SECONDS, True
    assert [await names.of(["1", "2"]) for _ in range(3)] == [{"1": "Bakery"}] * 3
    assert len(bot.asked) == 2


async def test_so_many_are_asked_for_at_once_and_remembered_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place_names, "ASKED", 2)
    monkeypatch.setattr(place_names, "REMEMBERED", 3)
    bot = Bot({str(number): f"Place {number}" for number in range(9)})
    names = bot.all()
    assert list(await names.of(map(str, range(5)))) == ["0", "1"]
    assert list(await names.of(map(str, range(5)))) == ["1", "2", "3"]
    assert bot.asked == [("0", "1"), ("2", "3")]
