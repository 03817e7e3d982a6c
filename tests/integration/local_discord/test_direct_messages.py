"""Direct messages: no guild in anything, intents of their own, and only two who see them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import discord
import pytest

from bot.local_discord import ApiError, LocalGuild, Message
from tests.integration.local_discord.harness import Client, Raw, logged_in
from tests.integration.local_discord.shapes import keeps_to
from tests.integration.local_discord.wires import ALL_INTENTS, Wires

Said = Callable[[str], Awaitable[Message]]
DIRECT = 1 << 12 | 1 << 13 | 1 << 14


async def test_the_bot_opens_the_conversation(guild: LocalGuild, client: Client) -> None:
    ana = guild.add_member("ana")
    person = await client.fetch_user(ana.id)
    await person.send("hello ana")
    dm = await guild.open_dm(ana)
    assert [m.content for m in guild.messages(dm.id, viewer=ana)] == ["hello ana"]
    guild.refuse_direct(ana)
    with pytest.raises(discord.Forbidden) as closed:
        await person.send("and again")
    assert closed.value.code == 50007
    guild.refuse_direct(ana, refused=False)
    await person.send("and again")


async def test_nothing_in_it_names_a_guild(guild: LocalGuild, wires: Wires) -> None:
    wire = await wires.open()
    await wire.identify(ALL_INTENTS | DIRECT)
    dm = await guild.open_dm()
    message = await guild.post(dm.id, "hi")
    made = await wire.event("MESSAGE_CREATE")
    assert keeps_to(made, "message_create")
    assert made["channel_type"] == 1
    await guild.react(message.id, "🛑")
    reacted = await wire.event("MESSAGE_REACTION_ADD")
    assert keeps_to(reacted, "reaction_add")
    await guild.typing(dm.id)
    typed = await wire.event("TYPING_START")
    assert keeps_to(typed, "typing_start")
    await guild.unreact(message.id, "🛑")
    unreacted = await wire.event("MESSAGE_REACTION_REMOVE")
    await guild.edit(message.id, "ho")
    edited = await wire.event("MESSAGE_UPDATE")
    await guild.delete(message.id)
    deleted = await wire.event("MESSAGE_DELETE")
    for body in (made, reacted, typed, unreacted, edited, deleted):
        assert "guild_id" not in body
        assert "member" not in body


@pytest.mark.parametrize(("intents", "heard"), [(ALL_INTENTS, False), (ALL_INTENTS | 1 << 12, True)])
async def test_they_need_an_intent_of_their_own_and_no_right_to_content(
    guild: LocalGuild, wires: Wires, intents: int, heard: bool
) -> None:
    wire = await wires.open()
    await wire.identify(intents & ~(1 << 15))
    await guild.post((await guild.open_dm()).id, "in private")
    await guild.post(guild.channel().id, "in public")
    body = await wire.event("MESSAGE_CREATE")
    assert body["content"] == ("in private" if heard else "")
    assert ("guild_id" in body) is not heard


async def test_a_third_person_sees_nothing_of_it(guild: LocalGuild, raw: Raw) -> None:
    ana, ben = guild.add_member("ana"), guild.add_member("ben")
    dm = await guild.open_dm(ana)
    message = await guild.post(dm.id, "a secret")
    with pytest.raises(ApiError) as refused:
        await guild.post(dm.id, "what?", author=ben)
    assert refused.value.code == 50001
    with pytest.raises(ApiError):
        await guild.react(message.id, "👀", author=ben)
    _, channels, _ = await raw("GET", f"/guilds/{guild.guild_id}/channels")
    assert str(dm.id) not in [c["id"] for c in channels]
    assert (await raw("GET", "/users/@me/channels"))[1] == []


async def test_what_it_has_not_is_refused(guild: LocalGuild, raw: Raw) -> None:
    dm = await guild.open_dm()
    mine = await guild.post(dm.id, "hi")
    path = f"/channels/{dm.id}"
    code: Any = (await raw("POST", f"{path}/messages/{mine.id}/threads", {"name": "x"}))[1]["code"]
    assert code == 50024, "no threads"
    assert (await raw("DELETE", f"{path}/messages/{mine.id}"))[1]["code"] == 50013, "nobody manages messages"
    assert (await raw("PATCH", path, {"name": "x"}))[1]["code"] == 50003
    status, body, _ = await raw("POST", "/users/@me/channels", {"recipient_id": str(guild.you.id)})
    assert (status, body["id"]) == (200, str(dm.id))
    assert keeps_to(body, "channel")
    assert (await raw("POST", "/users/@me/channels", {"recipient_id": str(guild.bot_user_id)}))[1]["code"] == 50033
    assert (await raw("POST", "/users/@me/channels", {"recipient_id": "1"}))[1]["code"] == 10013
    assert (await raw("POST", "/users/@me/channels", {}))[1]["code"] == 50035


async def test_buttons_and_commands_work_in_it(guild: LocalGuild, client: Client, said: Said) -> None:
    where: list[object] = []

    class One(discord.ui.View):
        @discord.ui.button(label="Yes", custom_id="dm:yes")
        async def yes(self, interaction: discord.Interaction, button: discord.ui.Button[One]) -> None:
            where.append((interaction.guild_id, interaction.user.name, interaction.context.dm_channel))
            await interaction.response.edit_message(content="clicked", view=None)

    @client.tree.command(description="What runs here")
    async def status(interaction: discord.Interaction) -> None:
        where.append((interaction.guild_id, interaction.user.name, interaction.context.dm_channel))
        await interaction.response.send_message("idle", ephemeral=True)

    await client.tree.sync()
    sent = await (await client.fetch_user(guild.you.id)).send("sure?", view=One())
    await guild.click(sent.id, "dm:yes")
    assert (await guild.wait_for(lambda g: _with(g, sent.channel.id, "clicked"))).id == sent.id
    await guild.slash(sent.channel.id, "status")
    await guild.wait_for(lambda g: _with(g, sent.channel.id, "idle"))
    assert where == [(None, "you", True), (None, "you", True)]


def _with(guild: LocalGuild, channel: int, text: str) -> Message | None:
    return next((m for m in guild.messages(channel) if m.content == text), None)


async def test_they_outlive_a_restart_and_the_bots_leaving(tmp_path: Path) -> None:
    async with await LocalGuild.start(state=tmp_path) as before:
        dm = await before.open_dm()
        await before.post(dm.id, "remember me")
    async with await LocalGuild.start(state=tmp_path) as guild:
        assert (await guild.open_dm()).id == dm.id
        guild.attach()
        async with logged_in(guild) as client:
            guild.remove_bot()
            (heard,) = [m async for m in (await client.fetch_channel(dm.id)).history()]  # type: ignore[union-attr]
            assert heard.content == "remember me"
