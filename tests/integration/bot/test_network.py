"""What a channel's commands may reach: chosen by owners, held at once, refused hosts told to model and people."""

from __future__ import annotations

from pathlib import Path

from agentic.models.scripted.endpoint import ScriptedEndpoint
from bot.local_discord.local_discord import LocalGuild
from tests.integration.bot.whole import finishes, uses, whole

FETCH = "curl -s -o /dev/null -w '%{http_code} ' http://packages.test/; curl -s -o /dev/null http://other.test/; true"


async def test_the_network_is_chosen_by_owners_only_and_counts_from_the_next_connection_on(
    guild: LocalGuild, tmp_path: Path
) -> None:
    script = [uses("shell", command=FETCH), finishes("One."), uses("shell", command=FETCH), finishes("Two.")]
    chiefs = guild.add_role("chiefs")
    guild.add_member("chief", (chiefs.id,))
    operators = {"operators": (str(chiefs.id),)}
    async with (
        ScriptedEndpoint.start(script) as endpoint,
        whole(tmp_path / "home", endpoint, guild, **operators) as running,
    ):
        thread = await running.task("fetch the packages")
        card = await running.says(thread, "One.")
        assert "🌐 refused: `packages.test`, `other.test`" in card.content
        told = str(endpoint.requests[1].body)
        assert (
            "The network refused packages.test: it's not on this channel's list. If you need it, call `network`" in told
        )

        chosen: dict[str, str | int | float | bool] = {"name": "network", "value": "packages.test", "scope": "channel"}
        await guild.slash(guild.channel().id, "settings set", chosen, author="chief")
        await guild.wait_for(lambda g: any("owner" in m.content for m in g.messages(g.channel().id, viewer="chief")))
        await guild.slash(guild.channel().id, "settings set", chosen)
        await guild.wait_for(
            lambda g: any("is now **packages.test**" in m.content for m in g.messages(g.channel().id, viewer=g.you))
        )
        await running.task("fetch them again", thread)
        card = await running.says(thread, "Two.")
        assert "🌐 refused: `other.test`" in card.content
        assert "bubblewrap, listed hosts only" in card.content
        assert "Network: only packages.test, on ports 80 and 443" in str(endpoint.requests[2].body)
