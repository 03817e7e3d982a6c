"""The message about a lesson stays true: whoever or whatever changed it, in whatever process; over real sockets."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from agentic.ports.runtime import SessionRow
from agentic.stores.sqlite.store import SQLiteStore
from bot.lessons.message_sync import LessonMessages, key_of, words_of
from bot.local_discord.faults.rules import ErrorAnswer, Rule
from bot.local_discord.local_discord import LocalGuild
from reflexion.lessons.changes import approved, changed
from reflexion.lessons.lesson import Verdict
from reflexion.lessons.lifecycle import Showing
from reflexion.ports import LessonStore
from reflexion.stores.factory import open_lessons
from tests.integration.bot.commanding import lesson
from tests.integration.bot.test_approving_lessons import ID, asked_in, becomes, learning, press, stored, waiting
from tests.stores import fresh_lessons, fresh_store
from tests.waiting import eventually


async def _is_retired(lessons: LessonStore, guild: LocalGuild) -> bool:
    return (await stored(lessons, guild)).status == "retired"


async def shows(store: SQLiteStore, lessons: LessonStore, guild: LocalGuild) -> None:
    """It is known that the message says what is so, so no later process writes it anew."""
    kept = await stored(lessons, guild)

    async def known() -> bool:
        return (await LessonMessages(store, lessons).shown())[ID].words == words_of(kept)

    await eventually(known, "what the message says is known")


async def fails(lessons: LessonStore, guild: LocalGuild, thread: int) -> None:
    """Tasks that were told of it fail until it is retired by that, as executions record it."""
    home = str(guild.guild_id)
    for number in range(40):
        at = datetime.now(UTC)
        verdict = Verdict(
            execution=f"w{number}", guild=home, thread=str(thread), ok=False, right=False, verifier="fail",
            lessons_shown=1, at=at,
        )  # fmt: skip
        await lessons.record(verdict, [Showing(lesson=ID, execution=f"w{number}", guild=home, ok=False, at=at)])
        if (await stored(lessons, guild)).status == "retired":
            return
    pytest.fail("it was never retired")


async def test_a_message_says_what_became_of_its_lesson_whoever_or_whatever_changed_it(
    guild: LocalGuild, tmp_path: Path
) -> None:
    """A measurement, another process, a crash before it was shown, a thread that is archived meanwhile; and once."""
    lessons, store = open_lessons(tmp_path / "lessons.sqlite"), fresh_store()
    elsewhere = open_lessons(tmp_path / "lessons.sqlite")
    async with learning(guild, lessons, store) as before:
        thread, message = await asked_in(before, lessons)
        await press(before, message, "approve")
        await becomes(before, message, "✅ **Approved** by own")
        await fails(elsewhere, guild, thread)
        before.bot.approving.messages.look_again()
        retired = await becomes(before, message, "🗑️ **Retired**: no longer used")
        assert "expected without it" in retired.content, "and says why"
        await guild.archive(thread)
        put_aside = changed(await stored(lessons, guild), at=datetime.now(UTC), what="Looks odd.", status="quarantined")
        await elsewhere.amend(put_aside)
        before.bot.approving.messages.look_again()
        await before.until(lambda: before.bot.approving.messages.live.waits(key_of(ID)))
        assert guild.state.find_message(message.id).content == retired.content
        await guild.change_thread(thread, archived=False)
        await becomes(before, message, "A lesson waits for approval", closed=False)
        await shows(store, lessons, guild)
    await elsewhere.amend(approved(await stored(lessons, guild), by="ann", at=datetime.now(UTC)))
    async with learning(guild, lessons, store, before.talk) as after:
        told = await becomes(after, message, "✅ **Approved** by ann")
        await shows(store, lessons, guild)
        edited = told.edited_at
    async with learning(guild, lessons, store, after.talk) as again:
        await again.mention("something else")
        assert guild.state.find_message(message.id).edited_at == edited, "what is shown is not shown again"
    await asyncio.gather(lessons.close(), elsewhere.close())


async def test_what_an_earlier_process_could_not_ask_or_show_is_asked_and_shown_by_the_next(guild: LocalGuild) -> None:
    lessons, store = fresh_lessons(), fresh_store()
    async with learning(guild, lessons, store) as before:
        thread, message = await asked_in(before, lessons)
        execution = before.talk.newest(thread)
        guild.misbehave(
            Rule(f"PATCH */messages/{message.id}", ErrorAnswer(403, 50013, "Missing Permissions"), times=None)
        )
        await press(before, message, "retire")
        await eventually(partial(_is_retired, lessons, guild))
        await before.until(lambda: guild.misbehaviour.applied)
        elsewhere = await before.mention("of another server, once")
        foreign = before.talk.newest(elsewhere)
    guild.misbehaviour.clear()
    await lessons.amend(waiting(guild, id="l2", executions=("xforeign", execution)))
    await store.save_session(SessionRow(str(elsewhere), "1", "777", "foreign"))
    await lessons.amend(waiting(guild, id="l3", executions=("xnowhere", foreign)))
    await lessons.amend(lesson("777", id="l4", executions=(execution,)))
    async with learning(guild, lessons, store, before.talk) as scenery:
        await becomes(scenery, message, "🗑️ **Retired** by own")
        await scenery.says(thread, "waits for approval** `l2`")
        await scenery.until_delivered()
        asked = [
            m for place in (thread, elsewhere) for m in scenery.of_bot(place) if "waits for approval**" in m.content
        ]
        assert len(asked) == 1
        assert [id for id in ("l3", "l4") if await store.outbox_row(key_of(id)) is not None] == []
        await shows(store, lessons, guild)
