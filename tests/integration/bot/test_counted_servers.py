"""In how many servers the bot is, for a process that does not hear of all of them: what one alone may use, two may not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from discord.http import HTTPClient

from agentic.models.scripted.endpoint import ScriptedEndpoint
from bot.app import client
from bot.app.services import Roles
from bot.local_discord.local_discord import LocalGuild
from tests.integration.bot.whole import finishes, whole
from tests.waiting import eventually


async def test_a_worker_counts_its_servers_until_it_could_there_are_several_and_it_knows_people_by_all_of_them(
    guild: LocalGuild, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "COUNT_SECONDS", 0.02)
    operators = guild.add_role("operator").id
    worker, owner = guild.add_member("worker", (operators,)).id, guild.state.identity.owner_id
    asks, away, more = HTTPClient.get_guilds, [True], list[dict[str, str]]()

    async def get_guilds(self: HTTPClient, limit: int, **options: Any) -> list[Any]:
        if away[0]:
            raise OSError("Discord is away")
        return [*await asks(self, limit, **options), *more][:limit]

    monkeypatch.setattr(HTTPClient, "get_guilds", get_guilds)
    async with (
        ScriptedEndpoint.start([finishes()]) as endpoint,
        whole(tmp_path, endpoint, guild, roles=Roles(talks=False), operators=(str(operators),)) as bot,
    ):

        async def becomes(servers: int) -> None:
            await eventually(lambda: bot.app.bot.servers == servers, f"it is in {servers} servers")

        assert bot.app.bot.servers == 2, "nobody knows yet"
        away[0] = False
        await becomes(1)
        more.append({"id": "42", "name": "another"})
        await becomes(2)
        levels = [await bot.app.bot.reader.level_anywhere(person) for person in (worker, owner, owner + 1)]
        assert levels == ["operator", "owner", None]
