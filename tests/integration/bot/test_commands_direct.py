"""Commands in a direct message: of that conversation, and of nothing else."""

from __future__ import annotations

from bot.local_discord.local_discord import LocalGuild
from reflexion.lessons.lesson import Scope, Verdict
from reflexion.lessons.lifecycle import Showing
from tests.integration.bot.commanding import desk, lesson, words
from tests.unit.reflexion.logs import EPOCH


async def test_in_a_direct_message_commands_speak_of_that_conversation_alone(guild: LocalGuild) -> None:
    guild.add_member("eve")
    async with desk(guild) as one:
        elsewhere = await one.worked("in the server")
        direct = await guild.open_dm("eve")
        await guild.post(direct.id, "tell me a joke", author="eve")
        await one.scenery.until(lambda: str(direct.id) in one.scenery.talk.threads)
        await one.scenery.talk.finish(one.scenery.talk.newest(direct.id), "Ha.")
        assert "tell me a joke" in words(await one.slash(direct.id, "status", author="eve"))
        assert "done: Ha." in words(await one.slash(direct.id, "logs", author="eve"))
        assert "no thread" in words(await one.slash(direct.id, "logs", {"thread": str(elsewhere)}, author="eve"))
        assert str(elsewhere) not in words(await one.slash(direct.id, "sessions", author="eve"))
        assert await one.proposes(direct.id, "cost", "thread", author="eve") == [str(direct.id)]
        option = {"name": "verbosity", "value": "quiet", "scope": "thread"}
        assert "for this conversation" in words(await one.slash(direct.id, "settings set", option, author="eve"))
        assert (await one.scenery.bot.preferences.of(thread=str(direct.id))).verbosity == "quiet"
        option = {"name": "verbosity", "value": "quiet", "scope": "server"}
        assert "Choose `thread`" in words(await one.slash(direct.id, "settings set", option, author="eve"))
        here, other = (Scope(kind="thread", thread=thread) for thread in (str(direct.id), "12345"))
        for id, scope in (("lserver", None), ("lmine", here), ("lother", other)):
            kept = lesson(str(guild.guild_id), id=id, status="active")
            await one.lessons.amend(kept if scope is None else kept.model_copy(update={"scope": scope}))
        everywhere = {"scope": Scope(kind="global"), "author_trust": "operator"}
        await one.lessons.amend(lesson(str(guild.guild_id), id="lall", status="active").model_copy(update=everywhere))
        for number in range(12):  # of another conversation: told with success, held back without
            arm, execution = ("held_back" if number % 2 else "shown"), f"xother{number}"
            lived = [
                Showing(lesson=id, execution=execution, guild="", arm=arm, ok=arm == "shown", at=EPOCH)
                for id in ("lother", "lall")
            ]
            await one.lessons.record(Verdict(execution=execution, guild="", thread="12345", ok=True, at=EPOCH), lived)
        listed = words(await one.slash(direct.id, "lessons list", author="eve"))
        assert "Lessons of this conversation" in listed
        assert [id for id in ("lserver", "lmine", "lother") if id in listed] == ["lmine"]
        assert "All lessons together" not in listed, "what happened elsewhere is no figure of this conversation"
        shown = words(await one.slash(direct.id, "lessons show", {"lesson": "lall"}, author="eve"))
        assert "cannot see" not in shown, "nor is how often it was used there told"
        assert "no lesson" in words(await one.slash(direct.id, "lessons show", {"lesson": "lserver"}, author="eve"))
