"""Several questions in one, in the whole product: each answered in its own way, also across a restart."""

from __future__ import annotations

from pathlib import Path

from agentic.core.events.execution_events import Decided
from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from bot.local_discord.local_discord import LocalGuild
from tests.integration.bot.whole import SECONDS, finishes, uses, whole

QUESTIONS = [
    {"text": "Which database?", "options": ["SQLite", "Postgres"]},
    {"text": "Which system?", "options": ["Debian", "Alpine"]},
    {"text": "Why at all?"},
]


def asks(request: CapturedRequest) -> Reply:
    return (
        finishes("Thank you.") if request.answers else uses("ask_user", question="Before I begin:", questions=QUESTIONS)
    )  # type: ignore[arg-type]


async def test_a_press_a_restart_and_words_answer_all_of_them(guild: LocalGuild, tmp_path: Path) -> None:
    async with ScriptedEndpoint.start(asks) as endpoint:
        async with whole(tmp_path, endpoint, guild) as before:
            posted = await guild.post(guild.channel().id, f"{guild.bot.mention} set up the service")
            thread = posted.id
            question = await before.says(thread, "Which database?")
            await before.app.delivered(str(thread), SECONDS)
            await guild.click(question.id, question.custom_ids()[1])
            await guild.wait_for(lambda g: "✔ **Postgres**" in g.state.find_message(question.id).content, SECONDS)
        async with whole(tmp_path, endpoint, guild) as bot:
            await guild.post(thread, "2: the second one, 3: because we must")
            await bot.says(thread, "Thank you.")
            log = await bot.log((await bot.executions(thread))[-1])
            decided = next(event for event in log if isinstance(event, Decided))
            assert list(decided.answers.values()) == ["Postgres", "Alpine", "because we must"]
            end = await guild.wait_for(
                lambda g: (m := g.state.find_message(question.id)) and "Answered by" in m.content and m, SECONDS
            )
            assert "✔ **Alpine**" in end.content
            assert all(control.get("disabled") for control in end.interactive())
    told = endpoint.requests[-1].answers[0].text
    for words in ("Which database?", "Postgres", "Alpine", "because we must"):
        assert words in told
