"""Undo: a click puts back what a task changed, in the whole product over the local guild."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentic.core.events.execution_events import WorkspaceRestored
from agentic.models.scripted.endpoint import ScriptedEndpoint
from bot.local_discord.local_discord import LocalGuild
from bot.local_discord.model.records import Message
from tests.integration.bot.whole import SECONDS, Whole, engine_for, finishes, uses, whole
from tests.integration.world.rungs import docker_url, rung_name

__all__ = ["docker_url", "rung_name"]


def undo_button(message: Message) -> str:
    """The custom id of a card's undo button."""
    (found,) = [str(b["custom_id"]) for b in message.interactive() if str(b["custom_id"]).startswith("tw:undo:")]
    return found


async def click_undo(running: Whole, thread: int, words: str = "It is done") -> None:
    card = await running.says(thread, words)
    await running.guild.click(card.id, undo_button(card))


FIRST = [uses("shell", command="printf old > kept.txt; printf old > gone.txt"), finishes("Made.")]
SECOND = [
    uses("shell", command="printf new > kept.txt; rm gone.txt; mkdir -p made/deep; printf x > made/deep/x.txt"),
    finishes(),
]


async def test_a_click_puts_back_exactly_what_the_task_changed(
    guild: LocalGuild, tmp_path: Path, rung_name: str, request: pytest.FixtureRequest
) -> None:
    """Modified and deleted files are as before, added ones and their folders gone; the next task is told."""
    async with (
        ScriptedEndpoint.start([*FIRST, *SECOND, uses("shell", command="ls"), finishes("Seen.")]) as endpoint,
        whole(tmp_path / "home", endpoint, guild, sandbox=rung_name, engine=engine_for(rung_name, request)) as running,
    ):
        thread = await running.task("make the files")
        await running.task("change them", thread)
        folder = running.workspace(thread)
        assert (folder / "made/deep/x.txt").exists()
        await click_undo(running, thread)
        told = (
            "Undone: restored 2 files (`gone.txt`, `kept.txt`), removed 1 (`made/deep/x.txt`). Redo brings the changes "
        )
        told += "back."
        assert (await running.says(thread, "Undone: ")).content == told
        assert sorted(path.name for path in folder.iterdir()) == ["gone.txt", "kept.txt"]
        assert [(folder / name).read_text() for name in ("gone.txt", "kept.txt")] == ["old", "old"]
        second = (await running.executions(thread))[1]
        (restored,) = [e for e in await running.outcome(second) if isinstance(e, WorkspaceRestored)]
        assert restored.files == ("gone.txt", "kept.txt", "made/deep/x.txt")
        assert restored.removed == ("made/deep/x.txt",)
        assert restored.by is not None
        assert restored.kept
        await running.task("look", thread)
        assert "undid it: its files are as they were before it" in endpoint.requests[-1].text()


async def test_what_somebody_else_changed_since_stays_and_is_named(guild: LocalGuild, tmp_path: Path) -> None:
    """In a person's own folder, after a restart of the bot."""
    folder = tmp_path / "own"
    folder.mkdir()
    for name in ("a.txt", "b.txt"):
        (folder / name).write_text("mine\n")
    script = [uses("shell", command="echo agent > a.txt; echo agent > b.txt"), finishes()]
    async with ScriptedEndpoint.start(script) as endpoint:
        async with whole(tmp_path / "home", endpoint, guild, bound=folder) as running:
            thread = await running.task("change both")
        (folder / "a.txt").write_text("mine again\n")
        async with whole(tmp_path / "home", endpoint, guild, bound=folder) as running:
            await click_undo(running, thread)
            receipt = await running.says(thread, "Undone: restored 1 file: `b.txt`")
    assert "Left as is: `a.txt` (it was changed since)" in receipt.content
    assert (folder / "a.txt").read_text() == "mine again\n"
    assert (folder / "b.txt").read_text() == "mine\n"
    assert not any("checkpoint" in path.name for path in folder.rglob("*"))


async def test_a_newer_task_on_the_same_files_has_to_be_undone_first(guild: LocalGuild, tmp_path: Path) -> None:
    """Told which; then both can be undone, the newer one first."""
    script = [
        uses("shell", command="printf one > f.txt"), finishes("First done."),
        uses("shell", command="printf two > f.txt"), finishes("Second done."),
    ]  # fmt: skip
    async with ScriptedEndpoint.start(script) as endpoint, whole(tmp_path / "home", endpoint, guild) as running:
        thread = await running.task("write one")
        await running.task("write two", thread)
        await click_undo(running, thread, "First done")
        await running.says(thread, "A later task changed the same files (`f.txt`): “write two”. Undo that one first")
        folder = running.workspace(thread)
        assert (folder / "f.txt").read_text() == "two"
        await click_undo(running, thread, "Second done")
        await running.says(thread, "Undone: restored 1 file")
        assert (folder / "f.txt").read_text() == "one"
        await click_undo(running, thread, "First done")
        await running.guild.wait_for(lambda _: not (folder / "f.txt").exists() or None, SECONDS)


async def test_what_is_hidden_is_in_no_checkpoint_even_if_it_was_renamed(guild: LocalGuild, tmp_path: Path) -> None:
    """A secret lies in one place only, and an undo does not bring it to light."""
    script = [
        *FIRST,
        uses("shell", command="printf new > kept.txt; mv .env renamed 2>/dev/null; true"),
        finishes(),
        uses("shell", command="cat renamed .env; true"),
        finishes("Looked."),
    ]
    async with ScriptedEndpoint.start(script) as endpoint, whole(tmp_path / "home", endpoint, guild) as running:
        thread = await running.task("make the files")
        folder = running.workspace(thread)
        (folder / ".env").write_text("canary-4711")
        (folder / ".aiignore").write_text(".env\n")
        await running.task("change them", thread)
        await click_undo(running, thread)
        await running.says(thread, "Undone: ")
        assert (folder / "kept.txt").read_text() == "old"
        await running.task("look", thread)
        assert not any("canary-4711" in request.text() for request in endpoint.requests)
    kept = [path for path in (tmp_path / "home/checkpoints").rglob("*") if path.is_file()]
    assert kept
    assert not any(b"canary-4711" in path.read_bytes() for path in kept)
