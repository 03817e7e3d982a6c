"""A lesson that says it in other words reaches the prompt through the whole bot, and the log says why."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentic.core.events.execution_events import Started
from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from bot.config.home import LESSONS
from bot.local_discord.local_discord import LocalGuild
from reflexion.lessons.lesson import Scope
from reflexion.retrieval.embedding import embedder
from reflexion.stores.sqlite import SQLiteLessonStore
from tests.integration.bot.whole import finishes, whole
from tests.integration.reflexion.test_finding import SAME_MATTER, STUTTERS
from tests.integration.reflexion.test_lesson_stores import lesson


@pytest.mark.skipif(embedder("auto") is None, reason="the model of meaning is not installed: make embeddings")
async def test_meaning_finds_a_lesson_for_a_task_in_other_words_unless_it_is_off(
    guild: LocalGuild, tmp_path: Path
) -> None:
    prompts: list[str] = []

    async def mind(request: CapturedRequest) -> Reply:
        prompts.append(request.text())
        return finishes()

    store = SQLiteLessonStore(tmp_path / LESSONS)
    await store.amend(lesson("images", STUTTERS, scope=Scope(kind="guild", guild=str(guild.guild_id))))
    await store.close()
    begun: list[Started] = []
    async with ScriptedEndpoint.start(mind) as endpoint:
        for embeddings in ("auto", "off"):
            settings = {"embeddings": embeddings, "lessons_held_back": 0.25, "judge": "off", "triage": "rules"}
            async with whole(tmp_path, endpoint, guild, **settings) as running:  # type: ignore[arg-type]
                for _ in range(
                    9
                ):  # chance may hold it back, and a busy machine may load the model too late for the first
                    (name,) = await running.executions(await running.task(f"{SAME_MATTER} through the gallery"))
                    (first, *_) = await running.log(name)
                    assert isinstance(first, Started)
                    begun.append(first)
                    if first.lessons or embeddings == "off":
                        break
    with_meaning, without = begun[-2:]
    assert [each.id for each in with_meaning.lessons] == ["images"]
    assert "of this server; shares gallery, means " in with_meaning.lessons[0].why
    assert STUTTERS in prompts[-2]
    assert (without.lessons, without.withheld) == ((), ())
    assert STUTTERS not in prompts[-1]
    assert with_meaning.policy.hold_back == 0.25
