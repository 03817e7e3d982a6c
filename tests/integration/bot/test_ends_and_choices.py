"""What a person meets around a task, in the whole product: limits, waiting, how much is told, a copy that is gone."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agentic.core.events.execution_events import Policy
from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from agentic.sandbox.pool import Sandboxes
from bot.app import app
from bot.local_discord.local_discord import LocalGuild
from bot.local_discord.messages.message_params import Upload
from bot.sessions.start import policy_from
from tests.integration.bot.whole import SECONDS, Whole, finishes, uses, whole

LOOK = uses("shell", command="ls")
TURNS = {"max_turns_simple": 2, "max_turns_medium": 2, "max_turns_complex": 2}


async def mention(running: Whole, text: str) -> int:
    """Give a task; its thread."""
    posted = await running.guild.post(running.guild.channel().id, f"{running.guild.bot.mention} {text}")
    return posted.id


async def test_at_its_limit_of_turns_it_asks_and_goes_on_with_more(guild: LocalGuild, tmp_path: Path) -> None:
    script = [LOOK, LOOK, LOOK, finishes("Seen all.")]
    async with (
        ScriptedEndpoint.start(script) as endpoint,
        whole(tmp_path / "home", endpoint, guild, **TURNS) as running,
    ):
        thread = await mention(running, "look around in the files")
        asked = await running.says(thread, "I've used my 2 turns and I'm not done")
        assert not asked.silent
        assert [button["label"] for button in asked.interactive()][:2] == ["10 more turns", "20 more turns"]
        await guild.click(asked.id, asked.custom_ids()[0])
        await running.says(thread, "Seen all.")


async def test_a_task_that_waits_for_a_place_is_told_so_and_begins_by_itself(guild: LocalGuild, tmp_path: Path) -> None:
    go = asyncio.Event()

    async def holds(_: CapturedRequest) -> Reply:
        await go.wait()
        return finishes("Counted.")

    async with (
        ScriptedEndpoint.start(holds) as endpoint,
        whole(tmp_path / "home", endpoint, guild, max_executions=1) as running,
    ):
        first = await mention(running, "count the files")
        await running.says(first, "Thinking")
        second = await mention(running, "count the folders")
        waiting = await running.says(second, "Waiting for a free slot")
        assert "the running tasks are ahead of this one" in waiting.content
        go.set()
        await running.says(first, "Counted.")
        await running.says(second, "Counted.")


async def test_an_approval_that_nobody_gives_in_time_counts_as_denied(
    guild: LocalGuild, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hurried(*arguments: object, **named: object) -> Policy:
        return policy_from(*arguments, **named).model_copy(update={"approval_minutes": 0.02})  # type: ignore[arg-type]

    monkeypatch.setattr("bot.app.app.policy_from", hurried)
    script = [uses("shell", command="rm -rf notes"), finishes("Then I leave them.")]
    async with ScriptedEndpoint.start(script) as endpoint, whole(tmp_path / "home", endpoint, guild) as running:
        thread = await mention(running, "throw the notes away")
        asked = await running.says(thread, "Approval needed")
        await running.says(thread, "Then I leave them.")
        await guild.wait_for(lambda g: "Nobody decided in time" in g.state.find_message(asked.id).content, SECONDS)
        assert "nobody approved it in time" in endpoint.requests[-1].text()


async def test_files_of_a_task_are_in_its_workspace_and_what_was_not_taken_is_said(
    guild: LocalGuild, tmp_path: Path
) -> None:
    files = [
        ("notes.txt", b"one"), ("notes.txt", b"two"), ("..%2f..%2fpasswd", b"three"),
        Upload("huge.bin", b"x", "application/octet-stream", stated_size=500 * 1024 * 1024),
        Upload("lie.bin", b"x" * 5_000, "application/octet-stream", stated_size=10),
    ]  # fmt: skip
    async with (
        ScriptedEndpoint.start([LOOK, finishes("Read.")]) as endpoint,
        whole(tmp_path / "home", endpoint, guild) as running,
    ):
        posted = await guild.post(guild.channel().id, f"{guild.bot.mention} read the notes", files=files)
        told = await running.says(posted.id, "These files were not taken into the workspace")
        assert "- `huge.bin`: it has 500 MB" in told.content
        await running.says(posted.id, "Read.")
        folder = running.workspace(posted.id).resolve()
        taken = [path for path in folder.rglob("*") if path.is_file()]
        assert sorted(path.read_bytes() for path in taken) == [b"one", b"three", b"two", b"x" * 5_000]
        assert all(path.parent == folder / "attachments" for path in taken)
        assert "notes.txt" in endpoint.requests[0].text()


async def test_idle_sandboxes_are_looked_for_again_after_a_look_that_failed(
    guild: LocalGuild, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it failed of: else all of them would stay for the life of the process."""
    looks, again = 0, asyncio.Event()

    async def fails_first(_: Sandboxes) -> int:
        nonlocal looks
        looks += 1
        if looks == 1:
            raise ZeroDivisionError("a fault of ours")
        again.set()
        return 0

    monkeypatch.setattr(app, "EVICT_EVERY", 0.01)
    monkeypatch.setattr(Sandboxes, "evict_idle", fails_first)
    async with ScriptedEndpoint.start([finishes()]) as endpoint, whole(tmp_path / "home", endpoint, guild):
        async with asyncio.timeout(SECONDS):
            await again.wait()


async def test_attached_is_what_the_model_names_and_else_a_diff_shows_what_changed(
    guild: LocalGuild, tmp_path: Path
) -> None:
    write = uses("shell", command="mkdir -p out && echo 1 > out/a-name-that-is-long.txt")
    named = uses("finish", answer="Here it is.", files=["out/a-name-that-is-long.txt"])
    async with (
        ScriptedEndpoint.start([write, finishes("Written."), LOOK, named]) as endpoint,
        whole(tmp_path / "home", endpoint, guild) as running,
    ):
        thread = await running.task("write a file")
        answer = await running.says(thread, "Written.")
        assert not answer.attachments
        assert "```diff\n+1\n```" in answer.content
        assert "`out/a-name-that-is-long.txt`" in answer.content
        await running.task("give me that file", thread)
        answer = await running.says(thread, "Here it is.")
        assert [file.filename for file in answer.attachments] == ["a-name-that-is-long.txt"]


async def test_a_thread_is_titled_by_the_first_answer_and_no_later_task_is_asked_for_a_title(
    guild: LocalGuild, tmp_path: Path
) -> None:
    first = Reply(text="title: List the workspace files\nI look.", calls=(("shell", {"command": "ls"}),))
    async with (
        ScriptedEndpoint.start([first, finishes("Seen."), finishes("Again.")]) as endpoint,
        whole(tmp_path / "home", endpoint, guild) as running,
    ):
        thread = await running.task("please have a look around in the files for me")
        await guild.wait_for(lambda g: g.state.channel(thread).name == "List the workspace files")
        assert not any("title:" in message.content for message in running.of_bot(thread))
        await running.task("look around in the files again", thread)
        asked = ["no good title" in request.text() for request in endpoint.requests]
        assert asked == [True, True, False]


async def test_a_model_that_is_not_known_is_said_with_the_setting_to_change(guild: LocalGuild, tmp_path: Path) -> None:
    async with (
        ScriptedEndpoint.start([Reply.error(404)] * 5) as endpoint,
        whole(tmp_path / "home", endpoint, guild) as running,
    ):
        thread = await mention(running, "look around in the files")
        told = await running.says(thread, "doesn't know the model")
        assert "`THREADWRIGHT_TIER_" in told.content
        assert (
            not any("Try again" in str(button.get("label")) for button in told.interactive())
            or "restart me" in told.content
        )


async def test_a_dot_where_nothing_runs_is_a_task_at_once(guild: LocalGuild, tmp_path: Path) -> None:
    script = [finishes("One."), finishes("Two."), finishes("Three.")]
    async with ScriptedEndpoint.start(script) as endpoint, whole(tmp_path / "home", endpoint, guild) as running:
        thread = await running.task("say one")
        for text, answer in ((". say two", "Two."), (". btw say three", "Three.")):
            await guild.post(thread, text)
            await running.says(thread, answer)
        tasks = [row.task for row in await running.app.store.executions(str(thread))]
        assert tasks == ["say one", "say two", "say three"]
