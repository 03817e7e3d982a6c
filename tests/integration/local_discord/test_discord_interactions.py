"""discord.py's buttons, slash commands and forms over real sockets."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import discord
import pytest
from discord import app_commands

from bot.local_discord import LocalGuild, Message
from tests.integration.local_discord.harness import Client

Said = Callable[[str], Awaitable[Message]]


class Choice(discord.ui.View):
    """Two buttons that survive a restart."""

    def __init__(self) -> None:
        super().__init__(timeout=None)
        self.clicked: list[str] = []

    @discord.ui.button(label="Now", custom_id="q:now")
    async def now(self, interaction: discord.Interaction, button: discord.ui.Button[Choice]) -> None:
        self.clicked.append("now")
        await interaction.response.edit_message(content="chosen", view=None)

    @discord.ui.button(label="Later", custom_id="q:later")
    async def later(self, interaction: discord.Interaction, button: discord.ui.Button[Choice]) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await interaction.followup.send("later it is", ephemeral=True)
        await interaction.followup.send("for all", ephemeral=False)


async def test_a_click_on_an_old_message_reaches_a_persistent_view(
    guild: LocalGuild, client: Client, channel: discord.TextChannel, said: Said
) -> None:
    sent = await channel.send("when?", view=Choice())
    client._connection._view_store._synced_message_views.clear()  # as after a restart
    client._connection._view_store._views.clear()
    client.add_view(Choice())
    await guild.click(sent.id, "q:now")
    await said("chosen")


async def test_a_deferred_answer_is_filled_by_the_followup_and_seen_by_one_person_only(
    guild: LocalGuild, client: Client, channel: discord.TextChannel, said: Said
) -> None:
    ana = guild.add_member("ana")
    sent = await channel.send("when?", view=Choice())
    interaction = await guild.click(sent.id, "q:later", author=ana)
    await said("for all")
    for_ana = [m.content for m in guild.messages(channel.id, viewer=ana)]
    assert for_ana == ["when?", "later it is", "for all"]
    assert [m.content for m in guild.messages(channel.id)] == ["when?", "for all"]
    assert guild.interaction(interaction).answer == 5
    assert not any(m.edited_at for m in guild.messages(channel.id, viewer=ana)), "filling in is no edit"
    assert [m.content async for m in channel.history()] == ["for all", "when?"], "no history shows the private one"


async def test_a_slash_command_is_registered_used_and_answered(guild: LocalGuild, client: Client, said: Said) -> None:
    got: list[object] = []

    @client.tree.command(description="What runs here")
    async def status(interaction: discord.Interaction, who: discord.Member, turns: int = 5) -> None:
        got.extend([who.name, turns, interaction.channel_id])
        await interaction.response.send_message("idle", ephemeral=True)
        original = await interaction.original_response()
        await interaction.edit_original_response(content=original.content + "!")

    await client.tree.sync()
    await guild.slash(guild.channel().id, "status", {"who": str(guild.you.id), "turns": 9})
    message = await said("idle!")
    assert got == ["you", 9, guild.channel().id]
    assert message.visible_to == guild.you.id
    assert message.source is not None
    assert message.source.name == "status"


async def test_subcommands_of_a_guild_command(guild: LocalGuild, client: Client, said: Said) -> None:
    lessons = app_commands.Group(name="lessons", description="What was learnt")

    @lessons.command(description="All of them")
    async def show(interaction: discord.Interaction, number: int) -> None:
        await interaction.response.send_message(f"lesson {number}")

    client.tree.add_command(lessons, guild=discord.Object(guild.guild_id))
    await client.tree.sync(guild=discord.Object(guild.guild_id))
    await guild.slash(guild.channel().id, "lessons show", {"number": 3})
    assert (await said("lesson 3")).visible_to is None
    with pytest.raises(LookupError, match="nothing"):
        await guild.slash(guild.channel().id, "nothing")


async def test_a_second_answer_is_40060_and_a_late_one_10062(
    guild: LocalGuild, client: Client, channel: discord.TextChannel
) -> None:
    sent = await channel.send("when?", view=discord.ui.View.from_message(await channel.send("x", view=Choice())))
    await guild.click(sent.id, "q:now")
    await guild.click(sent.id, "q:now")
    first, second = await client.hears("interaction", 2)
    assert isinstance(first, discord.Interaction)
    assert isinstance(second, discord.Interaction)
    await first.response.defer()
    first.response._response_type = None  # else discord.py itself refuses
    with pytest.raises(discord.HTTPException) as twice:
        await first.response.defer()
    assert twice.value.code == 40060
    guild.expire_interaction(str(second.id))
    with pytest.raises(discord.NotFound) as late:
        await second.response.defer()
    assert late.value.code == 10062
    guild.expire_interaction(str(first.id))
    with pytest.raises(discord.HTTPException) as expired:
        await first.followup.send("too late")
    assert expired.value.code == 50027
