"""In which servers somebody is looked for: within bounds, and nobody is shut out by how many there are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

import aiohttp
import discord
import pytest

from agentic.core.events.execution_events import Level
from bot.access import shared_servers
from bot.access.shared_servers import AT_ONCE, KNOWN, LOOK, NEXT_SECONDS, NOWHERE_SECONDS, NotAllAsked, SharedServers


@dataclass(frozen=True)
class Place:
    """A server as far as it is looked at."""

    id: int


@dataclass
class Answering:
    """Discord with servers, which says who is a member, and counts how often it was asked."""

    levels: dict[int, Level] = field(default_factory=dict[int, Level])
    asked: list[int] = field(default_factory=list[int])
    broken: set[int] = field(default_factory=set[int])

    async def __call__(self, person: int, guild: discord.Guild) -> Level:
        self.asked.append(guild.id)
        if guild.id in self.broken:
            raise OSError("away")
        if guild.id not in self.levels:
            raise discord.NotFound(cast("aiohttp.ClientResponse", Gone()), "Unknown Member")
        return self.levels[guild.id]

    def count(self) -> int:
        """How often it was asked since this was asked last."""
        count = len(self.asked)
        self.asked.clear()
        return count


@dataclass
class Gone:
    """An answer of Discord."""

    status: int = 404
    reason: str = "Not Found"


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    clock = [1_000.0]
    monkeypatch.setattr(shared_servers, "monotonic", lambda: clock[0])
    return clock


def servers(count: int) -> list[discord.Guild]:
    return [cast("discord.Guild", Place(id)) for id in range(count)]


@pytest.mark.parametrize("place", [0, 10, 11, 150])
async def test_somebody_is_found_in_whichever_server_they_are_and_asked_for_there_first_from_then_on(
    place: int,
) -> None:
    discord_says = Answering({place: "operator"})
    shared = SharedServers(discord_says)
    assert await shared.highest_level(7, servers(160)) == "operator"
    assert discord_says.count() <= place + AT_ONCE
    for _ in range(3):
        assert await shared.highest_level(7, servers(160)) == "operator"
        assert discord_says.asked[0] == place
        assert discord_says.count() <= KNOWN + AT_ONCE
    discord_says.levels.clear()
    assert await shared.highest_level(7, servers(160)[: place + 1]) is None, "who has left is nowhere"


async def test_the_highest_level_counts_and_others_have_their_turn() -> None:
    discord_says = Answering({3: "viewer", 8: "executor", 95: "owner"})
    shared = SharedServers(discord_says)
    assert await shared.highest_level(7, servers(10)) == "executor"
    levels = [await shared.highest_level(7, servers(100)) for _ in range(10)]
    assert levels[-1] == "owner"
    assert discord_says.count() <= 10 + 10 * (KNOWN + AT_ONCE)


async def test_who_is_nowhere_is_looked_for_again_after_a_while_or_once_they_were_seen(now: list[float]) -> None:
    discord_says = Answering()
    shared = SharedServers(discord_says)
    for _ in range(5):
        assert await shared.highest_level(7, servers(30)) is None
    assert discord_says.count() == 30
    discord_says.levels[29] = "viewer"
    now[0] += NOWHERE_SECONDS
    assert await shared.highest_level(7, servers(30)) == "viewer"
    discord_says.levels[5] = "owner"
    assert await shared.highest_level(8, servers(3)) is None
    shared.saw(8, 5)
    assert await shared.highest_level(8, servers(30)) == "owner"


async def test_a_look_that_saw_only_some_servers_denies_nothing_and_the_next_one_goes_on(now: list[float]) -> None:
    discord_says, many = Answering({LOOK + 5: "executor"}), servers(LOOK + 20)
    shared = SharedServers(discord_says)
    for _ in range(3):
        with pytest.raises(NotAllAsked):
            await shared.highest_level(7, many)
    assert discord_says.count() == LOOK
    now[0] += NEXT_SECONDS
    assert await shared.highest_level(7, many) == "executor"
    assert discord_says.count() == AT_ONCE
    discord_says.broken = {2}
    with pytest.raises(NotAllAsked):
        await shared.highest_level(8, many[:10])


async def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_servers, "PEOPLE", 3)
    discord_says = Answering(dict.fromkeys(range(40), "executor"))
    shared = SharedServers(discord_says)
    for person in range(10):
        for guild in range(30):
            shared.saw(person, guild)
    await shared.highest_level(9, servers(40))
    assert discord_says.count() == KNOWN + AT_ONCE
    await shared.highest_level(0, servers(40))
    assert discord_says.count() == AT_ONCE, "who was seen long ago is forgotten"
