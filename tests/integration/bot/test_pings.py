"""Whom the bot calls: the person who gave the task, or the role that decides, and never anyone that a text names."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.config.preferences import Scope
from bot.local_discord.model.permission_flags import ALL
from bot.local_discord.model.records import Message, Pings
from tests.integration.bot.seeking import seeking
from tests.integration.bot.talking import Scenery
from tests.integration.bot.test_questions import asking, decided


async def choose(scenery: Scenery, name: str, value: str, scope: Scope = "guild") -> None:
    id = scenery.guild.guild_id if scope == "guild" else scenery.general
    await scenery.bot.preferences.put(scope, str(id), name, value)


async def ended(scenery: Scenery, words: str, author: str = "bob", **how: object) -> Message:
    """The answer of a task that this member gave."""
    thread = await scenery.mention("go", author=author)
    await scenery.talk.finish(scenery.talk.newest(thread), words, **how)
    return await scenery.says(thread, words)


@pytest.fixture(autouse=True)
def bob(scenery: Scenery) -> int:
    return scenery.guild.add_member("bob").id


@pytest.mark.parametrize(("reason", "called"), [("done", True), ("failed", True), ("stopped", False)])
async def test_an_answer_calls_whoever_gave_the_task(scenery: Scenery, bob: int, reason: str, called: bool) -> None:
    answer = await ended(scenery, "So it is.", reason=reason)
    assert answer.pings.users == ((bob,) if called else ())


async def test_a_question_calls_them_and_its_later_edits_do_not(scenery: Scenery) -> None:
    thread, question = await asking(scenery)
    asker = scenery.guild.state.find_message(thread).author_id
    assert question.pings.users == (asker,)
    await scenery.talk.add(scenery.talk.newest(thread), decided("2", "Postgres"))
    edited = await scenery.guild.wait_for(
        lambda g: (m := g.state.find_message(question.id)) and "chosen by" in m.content and m
    )
    assert not edited.pings


@pytest.mark.parametrize(("value", "answers", "questions"), [("questions", 0, 1), ("never", 0, 0)])
async def test_people_choose_when_they_are_called(scenery: Scenery, value: str, answers: int, questions: int) -> None:
    await choose(scenery, "ping", value, "channel")
    assert len((await ended(scenery, "So it is.")).pings.users) == answers
    _, question = await asking(scenery)
    assert len(question.pings.users) == questions


async def test_an_approval_calls_the_role_that_the_server_chose(scenery: Scenery) -> None:
    role = scenery.guild.add_role("reviewers", mentionable=True)
    await choose(scenery, "approvers", f"<@&{role.id}>")
    await choose(scenery, "ping", "never")
    _, approval = await seeking(scenery)
    assert (approval.pings.roles, approval.pings.users) == ((role.id,), ())


async def test_nobody_is_called_by_what_a_model_writes(scenery: Scenery, bob: int) -> None:
    """Also where the bot itself may mention everyone."""
    guild = scenery.guild
    for role in [one for one in guild.state.roles.values() if one.id in guild.bot.roles]:
        guild.state.put_role(replace(role, permissions=ALL))
    other, crowd = guild.add_member("eve").id, guild.add_role("crowd", mentionable=True).id
    answer = await ended(scenery, f"Ask <@{other}>, <@&{crowd}> and @everyone.")
    assert answer.pings == Pings(users=(bob,))


async def test_small_talk_calls_nobody(scenery: Scenery) -> None:
    thread = await scenery.greet("hi")
    await scenery.talk.finish(scenery.talk.newest(thread), "Hello!")
    assert not (await scenery.says(thread, "Hello!")).pings
