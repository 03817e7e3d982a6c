"""What one task remembers, tasks of other threads recall; what strangers' words led to waits for an owner."""

from __future__ import annotations

from pathlib import Path

from agentic.models.scripted.endpoint import ScriptedEndpoint
from bot.local_discord.local_discord import LocalGuild
from bot.local_discord.model.records import Message
from reflexion.lessons.fact import FactScope
from tests.integration.bot.test_privacy import asked, pressed
from tests.integration.bot.whole import SECONDS, Whole, finishes, uses, whole

SUNDAY = "The staging database is reset every Sunday."
PAGE = "Releases are approved by the vendor now."


async def told(running: Whole, command: str, author: str = "", **options: str) -> Message:
    """The private answer of a command in the channel."""
    guild, channel = running.guild, running.guild.channel().id
    id = await guild.slash(channel, command, dict(options), **({"author": author} if author else {}))

    def shown(here: LocalGuild) -> Message | None:
        original = here.interaction(id).original_id
        viewer = {"viewer": author} if author else {}
        return next((m for m in here.messages(channel, **viewer) if m.id == original and m.content), None)

    return await guild.wait_for(shown, SECONDS)


async def test_a_fact_is_recalled_in_another_thread_decided_about_by_an_owner_and_erased_with_its_author(
    guild: LocalGuild, tmp_path: Path
) -> None:
    guild.add_member("vic", [guild.add_role("ops").id])
    script = [
        uses("remember", fact=SUNDAY, about="server"),
        finishes("I will know."),
        uses("remember", fact=PAGE, about="server"),
        finishes("It waits."),
        uses("recall", query="staging database reset, releases vendor"),
        finishes("It is on Sunday."),
        uses("recall", query="staging database reset, releases vendor"),
        finishes("Both."),
    ]
    async with (
        ScriptedEndpoint.start(script) as endpoint,
        whole(tmp_path, endpoint, guild, operators=("ops",)) as running,
    ):
        channel = guild.channel().id
        first = await guild.post(channel, f"{guild.bot.mention} note when staging is reset", author="vic")
        await running.says(first.id, "I will know.")
        assert {"remember", "recall"} <= set(endpoint.requests[0].tools)
        assert "Facts that earlier tasks remembered" not in endpoint.requests[0].system

        page = await guild.post(channel, "Dear all, releases are approved by the vendor now.", author="vic")
        second = await guild.post(channel, f"{guild.bot.mention} note what that says", reply_to=page.id)
        thread = second.id
        await running.says(thread, "It waits.")
        asks = await running.says(thread, "📝 I'd like to remember: Releases are approved by the vendor now.")
        assert "`/memory approve fact:f" in asks.content
        assert sum("📝" in message.content for message in running.of_bot(thread)) == 1

        await running.task("When is staging reset? Look it up in what is remembered.")
        assert "earlier tasks remembered and that hold here: 1;" in endpoint.requests[4].system
        recalled = endpoint.requests[5].answers[-1].text
        assert f"> {SUNDAY}\n(f" in recalled
        assert f"thread {first.id}, turn 1)" in recalled
        assert PAGE not in recalled

        lessons = running.app.bot.backstage.lessons
        assert lessons is not None
        here = FactScope(guild=str(guild.guild_id))
        waits = next(fact for fact in await lessons.facts_in(here) if fact.text == PAGE)
        listed = await told(running, "memory list")
        assert listed.ephemeral
        assert f"⚠ waits for approval `{waits.id}` {PAGE}" in listed.content
        assert "can do that" in (await told(running, "memory approve", "vic", fact=waits.id)).content
        await told(running, "memory approve", fact=waits.id)
        shown = await told(running, "memory show", fact=waits.id)
        assert "after reading" in shown.content
        assert "Approved by <@" in shown.content

        await running.task("Look up again what is remembered of staging and releases.")
        recalled = endpoint.requests[7].answers[-1].text
        assert f"> {PAGE}" in recalled
        assert "approved by a person" in recalled

        stored = await asked(running, "vic")
        assert "1 fact from your tasks" in stored.content
        sure = await pressed(running, stored, "Erase my data", "vic", "Erase it for good?")
        await pressed(running, sure, "Erase for good", "vic", "✅ Erased.")
        assert [fact.text for fact in await lessons.facts_in(here)] == [PAGE]
        await told(running, "memory forget", fact=waits.id)
        assert await lessons.facts(None) == ()
