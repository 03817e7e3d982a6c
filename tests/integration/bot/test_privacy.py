"""What is stored of a person: told to them alone, and erased, also out of other people's tasks and out of lessons."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from agentic.core.audit.erasure import ERASED
from agentic.core.audit.verification import verify
from agentic.core.events.execution_events import FeedbackGiven, InputReceived
from agentic.models.scripted.endpoint import ScriptedEndpoint
from bot.cli.replay.invariants import broken_promises
from bot.cogs.commands.privacy import result
from bot.config.home import DATABASE, LESSONS
from bot.local_discord.local_discord import LocalGuild
from bot.local_discord.model.records import Message
from reflexion.lessons.lesson import (
    Change,
    Insight,
    Lesson,
    Reflection,
    Scope,
)
from tests.integration.bot.whole import SECONDS, Whole, finishes, uses, whole
from tests.waiting import eventually

PLAN = "the launch is called project tangerine"


async def asked(running: Whole, author: str) -> Message:
    """What `/privacy` says to somebody."""
    guild, channel = running.guild, running.guild.channel().id
    id = await guild.slash(channel, "privacy", author=author)

    def shown(here: LocalGuild) -> Message | None:
        original = here.interaction(id).original_id
        return next((m for m in here.messages(channel, viewer=author) if m.id == original and m.content), None)

    return await guild.wait_for(shown, SECONDS)


async def pressed(running: Whole, message: Message, label: str, author: str, says: str) -> Message:
    """Press a button of it; what it says then."""
    guild = running.guild
    button = next(each for each in message.interactive() if each["label"] == label)
    await guild.click(message.id, str(button["custom_id"]), author=author)
    channel = guild.channel().id
    return await guild.wait_for(
        lambda here: next(
            (m for m in here.messages(channel, viewer=author) if m.id == message.id and says in m.content), None
        ),
        SECONDS,
    )


def lesson(guild: str, execution: str, id: str, **more: object) -> Lesson:
    made = {
        "id": id, "scope": Scope(kind="guild", guild=guild), "kind": "fact", "trigger": "naming",
        "action": PLAN, "executions": (execution,), "author_trust": "person", "status": "active",
        "created": datetime.now(UTC), **more,
    }  # fmt: skip
    return Lesson.model_validate(made)


async def test_anyone_is_told_what_is_stored_of_them_and_has_it_erased(guild: LocalGuild, tmp_path: Path) -> None:
    vic = str(guild.add_member("vic", [guild.add_role("ops").id]).id)
    script = [
        finishes("Noted."),
        uses("ask_user", question="What is it called?"),
        finishes(f"It has a name now. {PLAN}!"),
    ]
    async with (
        ScriptedEndpoint.start(script) as endpoint,
        whole(tmp_path, endpoint, guild, operators=("ops",)) as running,
    ):
        store, channel = running.app.store, guild.channel().id
        nothing = await asked(running, "vic")
        assert "I store nothing about you" in nothing.content
        assert nothing.ephemeral
        posted = await guild.post(channel, f"{guild.bot.mention} {PLAN}, note it", author="vic")
        await running.says(posted.id, "Noted.")
        other = await guild.post(channel, f"{guild.bot.mention} name it")
        await running.says(other.id, "What is it called?")
        await guild.post(other.id, PLAN, author="vic")
        answer = await running.says(other.id, "It has a name now.")
        await guild.react(answer.id, "👎", author="vic")
        for thread in (posted.id, other.id):
            await running.app.threads.idle(str(thread))
        (own,), (others,) = await running.executions(posted.id), await running.executions(other.id)
        await running.became(others, FeedbackGiven)
        assert "tangerine" in "".join(each.model_dump_json() for each in await running.log(others))

        lessons, here = running.app.bot.backstage.lessons, str(guild.guild_id)
        assert lessons is not None
        insight = Insight(what_worked="", what_failed="", root_cause="", strategy_change="", key_insight="")
        for execution in (own, others):
            await lessons.keep_reflection(Reflection(
                id=f"r{execution}", thread="1", guild=here, execution=execution, task="", cause="", insight=insight,
                said=(PLAN, "too slow"), created=datetime.now(UTC),
            ))  # fmt: skip
        await lessons.amend(lesson(here, own, "said"))
        line = Change(at=datetime.now(UTC), by="vic", what="Approved by vic.")
        await lessons.amend(
            lesson(here, others, "approved", action="Look twice.", author_trust="model", history=(line,))
        )

        shown = await asked(running, "vic")
        assert shown.ephemeral
        assert "1 task you asked for" in shown.content
        assert "1 message you wrote in a task" in shown.content
        assert "1 vote" in shown.content
        assert "2 lessons in your words or with your name" in shown.content
        assert "goes to Anthropic, which has its own rules" in shown.content
        assert "30 days" in shown.content
        sure = await pressed(running, shown, "Erase my data", "vic", "Erase it for good?")
        assert "messages here in Discord" in sure.content
        await pressed(running, sure, "Erase for good", "vic", "✅ Erased.")

        assert await store.execution(own) is None
        log = [envelope async for envelope in store.read(others)]
        outcome = await store.read_outcome(others)
        said = [each.event for each in log if isinstance(each.event, InputReceived)]
        assert {each.text for each in said} == {ERASED}
        text = "".join(each.model_dump_json() for each in (*log, *outcome))
        assert "tangerine" not in text
        assert vic not in text
        assert sum(isinstance(each.event, FeedbackGiven) for each in outcome) > 0, "the vote counts, and is nobody's"
        assert verify(log).divergence is None
        assert broken_promises(log, outcome) == ()
        kept = await store.said_in(str(other.id))
        assert "It has a name now." in "".join(each.text for each in kept)
        assert "tangerine" not in "".join(each.model_dump_json() for each in kept), "what was posted is kept too"
        session = await store.session(str(posted.id))
        assert session is not None
        assert session.title == ERASED
        (left,) = await lessons.reflections(here, "1", 5)
        assert (left.execution, left.said) == (others, ("too slow",))
        known = {each.executions[0]: each for each in await lessons.lessons(here) if each.executions}
        assert (known[own].action, known[own].status) == (ERASED, "retired")
        assert (known[others].action, known[others].history[0].what) == ("Look twice.", "Approved by somebody.")
        assert "I store nothing about you" in (await asked(running, "vic")).content
        await eventually(  # the last of it goes beside other work
            lambda: not any(b"tangerine" in each.read_bytes() for each in tmp_path.glob(f"{DATABASE}*")),
            "nothing of it is in the files",
        )
    for name in (DATABASE, LESSONS):
        assert b"tangerine" not in (tmp_path / name).read_bytes()


async def test_what_is_open_is_not_erased_and_is_named(guild: LocalGuild, tmp_path: Path) -> None:
    script = [uses("ask_user", question="Which one?"), finishes("Blue.")]
    async with ScriptedEndpoint.start(script) as endpoint, whole(tmp_path, endpoint, guild) as running:
        posted = await guild.post(guild.channel().id, f"{guild.bot.mention} {PLAN}")
        await running.says(posted.id, "Which one?")
        left = await running.app.bot.privacy.erase(str(guild.state.identity.owner_id), "")
        assert left.opened == (str(posted.id),)
        assert f"<#{posted.id}>" in result(left)
        await guild.post(posted.id, "the blue one")
        await running.says(posted.id, "Blue.")
        await running.app.threads.idle(str(posted.id))
        left = await running.app.bot.privacy.erase(str(guild.state.identity.owner_id), "")
        assert not left.any
        assert await running.executions(posted.id) == []
