"""What a channel's commands may reach: chosen by owners, held at once, refused hosts told to model and people."""

from __future__ import annotations

from pathlib import Path

from agentic.models.scripted.endpoint import ScriptedEndpoint
from bot.local_discord.local_discord import LocalGuild
from tests.integration.bot.whole import finishes, uses, whole
from tests.scripts import fetch

FETCH = fetch("http://packages.test/", "http://other.test/")


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


ASKS = uses("network", hosts=["packages.test", "other.test"], why="The tests need the package that lies there.")


async def test_hosts_are_asked_for_in_words_and_open_for_this_task_alone(guild: LocalGuild, tmp_path: Path) -> None:
    fetch = uses("shell", command=FETCH)
    script = [ASKS, fetch, finishes("One."), fetch, finishes("Two.")]
    async with ScriptedEndpoint.start(script) as endpoint, whole(tmp_path / "home", endpoint, guild) as running:
        posted = await guild.post(guild.channel().id, f"{guild.bot.mention} install the package")
        asked = await running.says(posted.id, "May this task's commands reach these hosts?")
        assert (
            "- `packages.test`\n- `other.test`\nIt says why: The tests need the package that lies there."
            in asked.content
        )
        assert "until the task ends" in asked.content
        labels = [button["label"] for button in asked.interactive()]
        assert labels[:3] == ["Allow for this task", "Always allow here", "Deny"]
        await guild.click(asked.id, asked.custom_ids()[0])
        assert "🌐" not in (await running.says(posted.id, "One.")).content
        await running.says(posted.id, "✅ **Allowed for this task** by")
        assert "may reach packages.test, other.test from now on" in str(endpoint.requests[1].body)
        await running.task("once more", posted.id)
        assert "🌐 refused: `packages.test`, `other.test`" in (await running.says(posted.id, "Two.")).content


async def test_an_owner_opens_them_for_good_with_one_press_and_nobody_else_does(
    guild: LocalGuild, tmp_path: Path
) -> None:
    fetch = uses("shell", command=FETCH)
    script = [ASKS, finishes("One."), fetch, finishes("Two.")]
    chiefs = guild.add_role("chiefs")
    guild.add_member("chief", (chiefs.id,))
    async with (
        ScriptedEndpoint.start(script) as endpoint,
        whole(tmp_path / "home", endpoint, guild, operators=(str(chiefs.id),)) as running,
    ):
        posted = await guild.post(guild.channel().id, f"{guild.bot.mention} install the package")
        asked = await running.says(posted.id, "May this task's commands reach these hosts?")
        await guild.click(asked.id, asked.custom_ids()[1], author="chief")
        await guild.wait_for(
            lambda g: any("owner" in m.content for m in g.messages(posted.id, viewer="chief") if m.ephemeral)
        )
        await guild.click(asked.id, asked.custom_ids()[1])
        await running.says(posted.id, "One.")
        await running.says(posted.id, "✅ **Always allowed here** by")
        assert "Later tasks in this channel may too." in str(endpoint.requests[1].body)
        elsewhere = await running.task("fetch it in another thread")
        assert "🌐" not in (await running.says(elsewhere, "Two.")).content
        assert "Network: only packages.test, other.test," in str(endpoint.requests[2].body)


async def test_what_is_denied_stays_shut(guild: LocalGuild, tmp_path: Path) -> None:
    script = [ASKS, uses("shell", command=FETCH), finishes("One.")]
    async with ScriptedEndpoint.start(script) as endpoint, whole(tmp_path / "home", endpoint, guild) as running:
        posted = await guild.post(guild.channel().id, f"{guild.bot.mention} install the package")
        asked = await running.says(posted.id, "May this task's commands reach these hosts?")
        await guild.click(asked.id, asked.custom_ids()[2])
        card = await running.says(posted.id, "One.")
        assert "🌐 refused: `packages.test`, `other.test`" in card.content
        await running.says(posted.id, "⛔ **Denied** by")
        assert "Not run: it opens the network to packages.test, other.test, and" in str(endpoint.requests[1].body)
