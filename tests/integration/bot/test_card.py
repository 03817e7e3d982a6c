"""The final card over real sockets: what changed, how it is known, undo, what was learned; and how much progress tells."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Literal

from agentic.core.events.execution_events import (
    CheckpointSaved,
    Envelope,
    Evaluated,
    FileChange,
    Finished,
    ModelAnswered,
    ModelRequested,
    Person,
    Reflected,
    TextBlock,
    ToolFinished,
    ToolStarted,
    Triaged,
)
from agentic.stores.sqlite.store import SQLiteStore
from bot.after_run.announce_lessons import AnnounceLessons
from bot.after_run.pipeline import JudgedRun
from bot.local_discord.faults.rules import ErrorAnswer, Rule
from bot.local_discord.local_discord import LocalGuild
from bot.messages.final_card import DIFF_FILE
from bot.rendering.discord_text import LIMIT
from reflexion.lessons.lesson import Insight, Lesson, Reflection
from reflexion.stores.sqlite import SQLiteLessonStore
from tests.integration.bot.talking import Scenery, running_bot
from tests.stores import fresh_lessons, fresh_store

REQUESTED = ModelRequested(request="r1", turn=1, tier=2, model="scripted/plain")
SAVED = CheckpointSaved(manifest="000001-abc", through_seq=2)
ANN = Person(id="7", name="Ann")


def edited(*changes: FileChange) -> tuple[ToolStarted, ToolFinished]:
    started = ToolStarted(
        call="c1", provider_id="p", tool="edit", effect="unkeyed", arguments={"path": "a.py"}, args_sha="0"
    )
    return started, ToolFinished(call="c1", outcome="ok", preview="edited", changes=changes)


def change(path: str, kind: Literal["added", "modified", "deleted"] = "modified") -> FileChange:
    return FileChange(path=path, kind=kind, sha_before="1" if kind != "added" else "", sha_after="2")


async def test_a_card_shows_a_short_change_and_offers_to_undo_it(guild: LocalGuild) -> None:
    async with running_bot(guild) as scenery:
        scenery.files["a.py"], scenery.befores["a.py"] = b"one\nTWO\n", b"one\ntwo\n"
        thread = await scenery.mention("go")
        execution = scenery.talk.newest(thread)
        await scenery.talk.add(execution, SAVED, *edited(change("a.py")))
        await scenery.talk.finish(execution, "Shouted.")
        card = await scenery.says(thread, "Shouted.")
        assert "**What I changed**\n- `a.py` +1 −1\n```diff\n one\n-two\n+TWO\n```" in card.content
        assert not card.attachments
        assert card.custom_ids()[-1].startswith(f"tw:undo:{execution}:")


async def test_a_card_is_whole_though_the_answer_is_delivered_before_the_feed_saw_the_end(guild: LocalGuild) -> None:
    async with running_bot(guild) as scenery:
        scenery.files["a.py"], scenery.befores["a.py"] = b"TWO\n", b"two\n"
        thread = await scenery.mention("go")
        execution = scenery.talk.newest(thread)
        await scenery.talk.add(execution, SAVED, *edited(change("a.py")))
        await scenery.talk.add(execution, Finished(reason="failed", answer="It is too loud."), unseen=True)
        scenery.bot.outbox.poke()
        card = await scenery.says(thread, "It is too loud.")
        assert card.content.startswith("❌ **Failed**")
        assert "**What I changed**" in card.content
        assert "attempt" not in card.content
        assert card.interactive()[-1]["label"] == "Try again (2 of 3)"
        assert [name.split(":")[1] for name in card.custom_ids()] == ["vote", "vote", "undo", "again"]


async def test_a_long_change_is_a_file_that_can_be_applied(guild: LocalGuild) -> None:
    async with running_bot(guild) as scenery:
        before = "".join(f"line {number}\n" for number in range(60))
        scenery.befores["a.py"] = before.encode()
        scenery.files["a.py"] = before.replace("line", "LINE").encode()
        thread = await scenery.mention("go")
        execution = scenery.talk.newest(thread)
        await scenery.talk.add(execution, SAVED, *edited(change("a.py"), change("gone.py")))
        await scenery.talk.finish(execution, "Shouted.")
        card = await scenery.says(thread, "Shouted.")
        assert "- `a.py` +60 −60\n- `gone.py` changed" in card.content
        assert [file.filename for file in card.attachments] == [DIFF_FILE]
        diff = scenery.guild.file(card.attachments[0].id).decode()
        assert diff.startswith("--- a/a.py\n+++ b/a.py\n@@ -1,60 +1,60 @@\n-line 0\n")


async def test_the_sections_stay_when_the_answer_becomes_a_file(scenery: Scenery) -> None:
    thread = await scenery.mention("go")
    execution = scenery.talk.newest(thread)
    await scenery.talk.add(execution, SAVED, *edited(change("a.py")))
    text = "\n".join(f"finding {number}" for number in range(2_000))
    claims = [{"text": "it works", "command": "make", "exit_code": 0, "verdict": "proven"}]
    await scenery.talk.finish(execution, text, claims=claims)
    card = await scenery.says(thread, "finding 0")
    assert len(card.content) <= LIMIT
    for words in ("the whole is in `answer.md`", "- `a.py` changed", "✔ it works — `make` → exit 0"):
        assert words in card.content
    assert card.content.splitlines()[-1].startswith("-# ")
    assert [file.filename for file in card.attachments] == ["answer.md"]
    assert text in scenery.guild.file(card.attachments[0].id).decode()


async def test_talk_is_answered_without_a_card(scenery: Scenery) -> None:
    thread = await scenery.greet("hello")
    execution = scenery.talk.newest(thread)
    await scenery.talk.add(execution, REQUESTED, ModelAnswered(request="r1", blocks=(TextBlock(text="Hello!"),)))
    await scenery.talk.finish(execution, "Hello!")
    await scenery.says(thread, "Hello!")
    await scenery.until_delivered()
    assert [message.content for message in scenery.of_bot(thread)] == ["Hello!"]
    assert scenery.bot.feed.progress(execution) is None


async def test_talk_that_turns_out_to_be_work_has_a_card_from_then_on(scenery: Scenery) -> None:
    thread = await scenery.greet("hello")
    execution = scenery.talk.newest(thread)
    await scenery.talk.add(execution, Triaged(talk=False), Triaged(talk=False, role="shell"))
    await scenery.says(thread, "Starting")
    await scenery.talk.finish(execution, "Done.")
    await scenery.says(thread, "Done.")
    await scenery.until_delivered()
    progress, answer = scenery.of_bot(thread)
    assert progress.content.startswith("✅ **Done**")
    assert answer.content.startswith("Done.")


async def not_asked(lesson: Lesson, thread: str, execution: str) -> bool:
    """Nobody is asked about lessons."""
    return False


async def reflected(store: SQLiteStore, lessons: SQLiteLessonStore, execution: str) -> JudgedRun:
    """Keep a reflection, and note it in the outcome stream as ``Reflexion`` does."""
    row = await store.execution(execution)
    session = await store.session(row.thread) if row is not None else None
    assert row is not None
    assert session is not None
    insight = Insight(
        what_worked="-",
        what_failed="-",
        root_cause="-",
        strategy_change="-",
        key_insight="Ranges exclude their end",
    )
    reflection = Reflection(
        id="r1", thread=row.thread, guild=session.guild, execution=execution, task="t", cause="failed",
        insight=insight, created=datetime.now(UTC),
    )  # fmt: skip
    await lessons.keep_reflection(reflection)
    event = Reflected(reflection="r1")
    await store.append_outcome(
        execution, [Envelope(execution=execution, seq=1, at=datetime.now(UTC), fence=0, event=event)]
    )
    return JudgedRun(execution, Evaluated(score=20, parts={}), nothing_more)


async def nothing_more() -> None:
    """Nothing is gone over again."""


async def test_what_was_learned_is_added_to_the_card_once_and_silently(guild: LocalGuild) -> None:
    store, lessons = fresh_store(), fresh_lessons()
    async with running_bot(guild, store) as scenery:
        thread = await scenery.mention("go")
        execution = scenery.talk.newest(thread)
        announce = AnnounceLessons(store, lessons, scenery.bot.desk, not_asked, lambda: None)
        judged = await reflected(store, lessons, execution)
        await scenery.talk.finish(execution, "I could not do it.", reason="failed")
        await announce.after(judged)  # it waits for the answer, which is posted meanwhile
        card = await scenery.says(thread, "I could not do it.")
        await scenery.says(thread, "-# 💡 learned: Ranges exclude their end")
        shown = next(m for m in scenery.of_bot(thread) if m.id == card.id)
        assert shown.content.splitlines()[-2] == "-# 💡 learned: Ranges exclude their end"
        await announce.after(replace(judged, by=ANN))
        assert shown.content.count("learned: ") == 1
        assert len(scenery.of_bot(thread)) == 2


async def test_a_change_of_verbosity_takes_hold_while_it_runs(scenery: Scenery) -> None:
    thread = await scenery.mention("go")
    execution = scenery.talk.newest(thread)
    await scenery.talk.add(execution, REQUESTED, *edited())
    await scenery.says(thread, "-# ✔ Edited `a.py`")
    await scenery.bot.preferences.put("channel", str(scenery.general), "verbosity", "quiet")
    quiet = await scenery.says(thread, "⏳ **Working**")
    assert "Edited" not in quiet.content
    await scenery.bot.preferences.put("thread", str(thread), "verbosity", "detailed")
    await scenery.says(thread, "-# ↳ `edited`")
    assert len(scenery.of_bot(thread)) == 1


async def test_a_quiet_channel_is_quiet_from_the_first_word_to_the_last(scenery: Scenery) -> None:
    await scenery.bot.preferences.put("channel", str(scenery.general), "verbosity", "quiet")
    posted = await scenery.guild.post(scenery.general, f"{scenery.guild.bot.mention} go")
    await scenery.says(posted.id, "⏳ **Working**")
    execution = scenery.talk.newest(posted.id)
    await scenery.talk.add(execution, REQUESTED, *edited())
    await scenery.talk.finish(execution)
    await scenery.says(posted.id, "All done.")
    assert [m.content.splitlines()[0][:10] for m in scenery.of_bot(posted.id)] == ["✅ **Done**", "All done."]
    assert len(scenery.of_bot(posted.id)[0].content.splitlines()) == 1


async def test_what_could_not_be_shown_is_shown_when_it_can_be(scenery: Scenery) -> None:
    thread = await scenery.mention("go")
    scenery.guild.misbehave(Rule("PATCH */messages/*", ErrorAnswer(403, 50013, "Missing Permissions")))
    scenery.bot.board.now = lambda: datetime.now(UTC) + timedelta(minutes=1)
    await scenery.talk.add(scenery.talk.newest(thread), REQUESTED, Finished(reason="done", answer="The end."))
    await scenery.says(thread, "The end.")
    scenery.bot.board.retry_now()
    await scenery.says(thread, "✅ **Done**")


async def test_without_a_checkpoint_the_card_says_why_there_is_no_undo(scenery: Scenery) -> None:
    thread = await scenery.mention("go")
    execution = scenery.talk.newest(thread)
    problem = SAVED.model_copy(update={"problem": "120,000 files, too many to keep a copy", "manifest": ""})
    await scenery.talk.add(execution, problem, *edited(change("a.py")))
    await scenery.talk.finish(execution, "Done it.")
    card = await scenery.says(thread, "Done it.")
    assert "-# Can't be undone: 120,000 files, too many to keep a copy" in card.content
    assert not any("undo" in name for name in card.custom_ids())
