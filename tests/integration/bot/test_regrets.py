"""A 👎: the person is asked once what was wrong, and what they say reaches the reflection and the next attempt.

The whole bot over the local guild; what the model is asked is read at its endpoint.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest

from agentic.core.events.execution_events import (
    Asked,
    DeadlinePassed,
    Evaluated,
    FeedbackGiven,
    InboxItem,
    Person,
    Reflected,
    Started,
)
from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from agentic.ports.errors import StoreUnavailable
from agentic.stores.sqlite.store import SQLiteStore
from bot.cli.replay.invariants import broken_promises
from bot.local_discord.local_discord import LocalGuild
from bot.local_discord.model.records import Message
from bot.sessions import learning, waiting_notices
from bot.sessions.learning import Opinions
from reflexion.reflection import feedback_question
from reflexion.stores.sqlite import SQLiteLessonStore
from tests.integration.bot.talking import Scenery, running_bot
from tests.integration.bot.whole import SECONDS, Whole, finishes, whole
from tests.stores import fresh_store
from tests.waiting import eventually

INSIGHT = {
    "what_worked": "It answered.", "what_failed": "The list was short.", "root_cause": "It looked at one folder.",
    "strategy_change": "Look into all folders.", "key_insight": "There are two folders.", "touches": "none",
}  # fmt: skip
OTHER = "It is not what was asked for."


@dataclass
class Mind:
    """Answers at once; keeps what it was asked."""

    turns: list[CapturedRequest] = field(default_factory=list)
    reflections: list[CapturedRequest] = field(default_factory=list)
    goes_on: asyncio.Event = field(default_factory=asyncio.Event)
    """Reflections are written once it is set."""

    def __post_init__(self) -> None:
        self.goes_on.set()

    async def __call__(self, request: CapturedRequest) -> Reply:
        if not request.tools:
            self.reflections.append(request)
            await self.goes_on.wait()
            return Reply(json.dumps(INSIGHT))
        self.turns.append(request)
        return finishes(f"Answer {len(self.turns)}.")


@asynccontextmanager
async def alive(mind: Mind, guild: LocalGuild, home: Path) -> AsyncGenerator[Whole]:
    async with ScriptedEndpoint.start(mind) as endpoint, whole(home, endpoint, guild, triage="rules") as running:
        yield running


async def regretted(running: Whole, thread: int, answer: str) -> Message:
    """The result is voted down; the question about it, which offers four buttons."""
    card = await running.says(thread, answer)
    await running.guild.react(card.id, "👎")
    question = await running.says(thread, "**What was wrong?**")
    labels = [button["label"] for button in question.interactive()]
    assert labels == ["Wrong result", "Not what I asked", "Too slow or too expensive", "In my own words…"]
    return question


async def private(guild: LocalGuild, thread: int, words: str, who: str) -> Message:
    """What somebody alone is told."""
    return await guild.wait_for(
        lambda g: next((m for m in g.messages(thread, viewer=who) if words in m.content and m.ephemeral), None), SECONDS
    )


def pressed(message: Message, what: str) -> str:
    return next(id for id in message.custom_ids() if id.startswith(f"tw:{what}:"))


async def test_what_was_wrong_reaches_the_reflection_and_the_next_attempt(guild: LocalGuild, tmp_path: Path) -> None:
    mind = Mind()
    guild.add_member("eve")
    async with alive(mind, guild, tmp_path) as running:
        thread = await running.task("list the folders")
        (execution,) = await running.executions(thread)
        question = await regretted(running, thread, "Answer 1.")
        assert not mind.reflections, "it waits for what the person says"
        await guild.click(question.id, pressed(question, "why:0"), author="eve")
        await private(guild, thread, "That's someone else's task.", "eve")
        await guild.click(question.id, pressed(question, "why:1"))

        thanks = await running.says(thread, "Thanks. The next attempt here will know it.")
        assert thanks.content == "Thanks. The next attempt here will know it."
        assert [button["label"] for button in thanks.interactive()] == ["Try again (2 of 3)"]
        closed = await running.says(thread, f"✔ You said: “{OTHER}”")
        assert closed.id == question.id
        await guild.wait_for(
            lambda g: all(b.get("disabled") for b in g.state.find_message(question.id).interactive()) or None, SECONDS
        )
        assert "A PERSON SAID\nIt is not what was asked for." in mind.reflections[0].text()
        (given,) = [e for e in await running.outcome(execution) if isinstance(e, FeedbackGiven) and e.why]
        assert (given.vote, given.why) == ("down", OTHER)
        await running.app.delivered(str(thread), SECONDS)

        await guild.click(thanks.id, pressed(thanks, "again"))
        await running.says(thread, "Answer 2.")
        await guild.wait_for(
            lambda g: all(b.get("disabled") for b in g.state.find_message(thanks.id).interactive()) or None, SECONDS
        )
        assert f"A person said: {OTHER}" in mind.turns[1].text()
        assert "Next time: Look into all folders." in mind.turns[1].text()
        log = await running.log((await running.executions(thread))[1])
        assert isinstance(log[0], Started)
        assert (log[0].attempt, log[0].trial_of) == (2, execution)
        assert "-# That took 2 attempts." in (await running.says(thread, "Answer 2.")).content
        envelopes = [envelope async for envelope in running.app.store.read(execution)]
        assert broken_promises(envelopes, await running.app.store.read_outcome(execution)) == ()


async def test_the_question_survives_a_restart_and_is_put_once_and_takes_words_of_ones_own(
    guild: LocalGuild, tmp_path: Path
) -> None:
    mind = Mind()
    async with alive(mind, guild, tmp_path) as running:
        thread = await running.task("list the folders")
        (execution,) = await running.executions(thread)
        question = await regretted(running, thread, "Answer 1.")
    async with alive(mind, guild, tmp_path) as running:
        id = await guild.click(question.id, pressed(question, "why:own"))
        shown = await guild.wait_for(lambda g: g.interaction(id).modal, SECONDS)
        assert shown["title"] == "What was wrong?"
        await guild.submit(id, {"why": "The hidden ones are missing."})
        await running.says(thread, "You said: “The hidden ones are missing.”")
        outcome = await running.became(execution, Reflected)
        assert sum(isinstance(event, Asked) for event in outcome) == 1
        assert sum("What was wrong?" in message.content for message in running.of_bot(thread)) == 1
        assert len(mind.reflections) == 1
    store = SQLiteLessonStore(tmp_path / "lessons.sqlite")
    (kept,) = await store.reflections(str(guild.guild_id), str(thread), 3)
    await store.close()
    assert kept.said == ("The hidden ones are missing.",)


async def test_the_next_task_waits_for_what_is_learned_from_a_correction_says_so_and_a_stop_ends_the_wait(
    guild: LocalGuild, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mind, waits = Mind(), "⏳ I'm still working out what to learn from the last task."
    monkeypatch.setattr(waiting_notices, "AFTER", 0.05)
    async with alive(mind, guild, tmp_path) as running:
        thread = await running.task("list the folders")
        question = await regretted(running, thread, "Answer 1.")
        mind.goes_on.clear()
        await guild.click(question.id, pressed(question, "why:1"))
        await eventually(lambda: mind.reflections, "it is reflected on")
        await guild.post(thread, "and sort them")
        await running.says(thread, waits)
        await guild.post(thread, "stop")
        await running.says(
            thread, "Stopped before it started; nothing was done. Send it again if you want it:\n- and sort"
        )
        assert len(mind.turns) == 1

        await guild.post(thread, "and count them")
        await guild.wait_for(lambda _: sum(waits in m.content for m in running.of_bot(thread)) == 2 or None, SECONDS)
        assert len(mind.turns) == 1
        mind.goes_on.set()
        await running.says(thread, "Answer 2.")
        assert f"A person said: {OTHER}" in mind.turns[1].text()
        assert "Next time: Look into all folders." in mind.turns[1].text()
        assert len(mind.reflections) == 1


async def test_nobody_has_to_answer_and_a_late_answer_still_counts(
    guild: LocalGuild, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mind = Mind()
    async with alive(mind, guild, tmp_path) as running:
        thread = await running.task("list the folders")
        (first,) = await running.executions(thread)
        question = await regretted(running, thread, "Answer 1.")
        await running.task("and sort them", thread)
        assert any(isinstance(event, DeadlinePassed) for event in await running.outcome(first)), "the next task began"
        assert "Next time: Look into all folders." in mind.turns[1].text()
        assert "A person said" not in mind.turns[1].text()

        monkeypatch.setattr(feedback_question, "PATIENCE", timedelta(seconds=0.2))
        second = (await running.executions(thread))[1]
        card = await running.says(thread, "Answer 2.")
        await guild.react(card.id, "👎")
        await running.became(second, Reflected)
        assert len(mind.reflections) == 2, "its time was over"

        await guild.click(question.id, pressed(question, "why:0"))
        await running.says(thread, "You said: “The result is wrong or does not work.”")
        await running.task("and count them", thread)
        assert "A person said: The result is wrong or does not work." in mind.turns[2].text()
        assert len(mind.reflections) == 2, "the words are kept; nobody is paid to say them again"


async def test_after_a_restart_it_waits_for_the_rest_of_the_time_and_learns_from_what_is_known(
    guild: LocalGuild, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mind = Mind()
    monkeypatch.setattr(feedback_question, "PATIENCE", timedelta(seconds=2.5))
    async with alive(mind, guild, tmp_path) as running:
        thread = await running.task("list the folders")
        (execution,) = await running.executions(thread)
        await regretted(running, thread, "Answer 1.")
    async with alive(mind, guild, tmp_path) as running:
        outcome = await running.became(execution, Reflected)
        assert [type(event) for event in outcome].count(DeadlinePassed) == 1
        assert len(mind.reflections) == 1


class Reluctant:
    """Takes a vote in at the second try."""

    def __init__(self) -> None:
        self.tries = 0

    async def feedback(
        self, execution: str, person: Person, vote: str, target: str = "", why: str = ""
    ) -> Evaluated:  # fmt: skip
        self.tries += 1
        if self.tries == 1:
            raise StoreUnavailable("the disk is full")
        return Evaluated(score=20, parts={})


async def test_a_vote_that_cannot_be_taken_in_yet_is_told_to_whoever_gave_it_and_taken_in_later(
    guild: LocalGuild, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learning, "AGAIN_SECONDS", (0.1,))
    store = fresh_store()
    async with running_bot(guild, store) as scenery:
        thread = await scenery.mention("go")
        await scenery.talk.finish(scenery.talk.newest(thread))
        await _takes_a_vote(scenery, store, str(thread))


async def _takes_a_vote(scenery: Scenery, store: SQLiteStore, thread: str) -> None:
    ann = Person(id="100", name="Ann")
    target = f"{scenery.talk.newest(thread)}/result"
    at = (await store.executions(thread))[0].started_at
    assert at is not None
    item = InboxItem(id="v1", thread=thread, sort="feedback", author=ann, at=at, text="down", target=target)
    await store.put(item)

    async def tell(note: object) -> None:
        await store.put_outbox([note])  # type: ignore[list-item]
        scenery.bot.outbox.poke()

    reluctant = Reluctant()
    opinions = Opinions(store, reluctant, tell)
    assert await opinions.take(item)
    told: Message = await scenery.says(int(thread), "couldn't process")
    assert told.content.startswith("⚠️ I couldn't process the vote of Ann yet (the disk is full). I've kept it")
    await scenery.until(lambda: not opinions.tasks)
    assert reluctant.tries == 2
    assert all(one.id != "v1" for one in await store.pending(thread)), "taken in, it is kept no longer"
