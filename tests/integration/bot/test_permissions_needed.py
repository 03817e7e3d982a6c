"""The invite link asks for exactly the permissions that are used: with these alone everything works."""

from __future__ import annotations

from dataclasses import replace

from bot.cli.checks import discord_token
from bot.local_discord import Permission
from bot.local_discord.local_discord import LocalGuild
from bot.outbound.live.task_signs import WORKS
from tests.integration.bot.talking import running_bot


def only(guild: LocalGuild, permissions: int) -> None:
    """The bot has these permissions and no others; people may do what they always may."""
    everyone = guild.state.roles[guild.state.identity.everyone_id]
    crowd = guild.add_role("crowd")
    guild.state.put_role(replace(crowd, permissions=everyone.permissions))
    for role in tuple(guild.state.roles.values()):
        if role.id == everyone.id or role.id in guild.bot.roles:
            guild.state.put_role(replace(role, permissions=permissions))


async def test_with_the_permissions_of_the_invite_link_a_task_is_done_from_mention_to_file(guild: LocalGuild) -> None:
    only(guild, sum(each.bit for each in discord_token.NEEDED.values()))
    assert discord_token.missing(sum(each.bit for each in discord_token.NEEDED.values())) == ()
    async with running_bot(guild) as scenery:
        scenery.files["out.txt"] = b"hello"
        thread = await scenery.mention("make a file")
        await guild.wait_for(lambda g: any(r.emoji == WORKS for r in g.state.find_message(thread).reactions))
        await scenery.talk.finish(scenery.talk.newest(thread), "Here it is.", files=("out.txt",))
        answer = await scenery.says(thread, "Here it is.")
        assert [file.filename for file in answer.attachments] == ["out.txt"]
        await guild.post(thread, "!status")
        await guild.wait_for(lambda g: any(m.embeds for m in g.messages(thread) if m.author_id == g.bot_user_id))


def test_each_permission_of_the_link_is_one_that_discord_has() -> None:
    assert all(Permission(each.bit) in Permission for each in discord_token.NEEDED.values())
    assert discord_token.missing(discord_token.ADMINISTRATOR) == ()
    assert discord_token.missing(0) == tuple(discord_token.NEEDED)
