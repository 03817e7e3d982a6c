"""What people meet once logs have expired: signs, buttons, commands and tasks in an old thread, in the whole product."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path

import pytest

from agentic.core.events.execution_events import CheckpointSaved, Finished
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.stores.sqlite.file.connection import connect
from agentic.stores.sqlite.store import SQLiteStore
from agentic.workspace.snapshots.snapshot_store import Snapshots
from bot.cli import doctor
from bot.cli.backup.export_run import ExportSelection, export
from bot.cli.replay.replay import replay
from bot.config.settings import Settings
from bot.local_discord.local_discord import LocalGuild
from bot.local_discord.model.records import Message
from bot.retention.expiry import Retention
from tests.integration.bot.whole import SECONDS, Whole, finishes, uses, whole
from tests.integration.stores.samples import envelopes, started, take

GONE = "its log was deleted (logs are kept for 30 days)"


async def month_later(running: Whole, days: int = 30) -> None:
    """A round of what is done each hour, as it would be in 31 days."""
    workshop = running.app.workshop
    for manifest in running.home.glob("checkpoints/*/manifests/*"):
        os.utime(manifest, (time.time() - 7_200,) * 2)
    later = Retention(
        running.app.store, days, workshop.snapshots, running.home, lambda: datetime.now(UTC) + timedelta(days=31)
    )
    await later.round()


async def slash(running: Whole, thread: int, command: str) -> Message:
    """What a slash command answers."""
    id = await running.guild.slash(thread, command)

    def answered(here: LocalGuild) -> Message | None:
        original = here.interaction(id).original_id
        return next((m for m in here.messages(thread, viewer=None) if m.id == original and m.content), None)

    return await running.guild.wait_for(answered, SECONDS)


async def told(running: Whole, thread: int, words: str, times: int) -> None:
    """Wait until the words stand in a thread so often."""
    await running.guild.wait_for(
        lambda here: sum(words in m.content for m in here.messages(thread, viewer=None)) >= times or None, SECONDS
    )


async def test_what_an_expired_task_left_in_discord_says_so_and_the_thread_goes_on(
    guild: LocalGuild, tmp_path: Path
) -> None:
    script = [
        uses("write", path="a.txt", content="1"),
        finishes("Written."),
        finishes("Said without the old."),
    ]
    async with ScriptedEndpoint.start(script) as endpoint, whole(tmp_path, endpoint, guild) as running:
        thread = await running.task("write a file")
        (execution,) = await running.executions(thread)
        answer = await running.says(thread, "Written.")
        undo = next(str(each["custom_id"]) for each in answer.interactive() if "undo" in str(each["custom_id"]))
        await running.app.bot.retention.round()
        assert await running.executions(thread) == [execution], "it is young"
        await month_later(running, days=0)
        assert await running.executions(thread) == [execution], "with 0 nothing expires"
        await month_later(running)
        assert await running.executions(thread) == []
        assert (running.workspace(thread) / "a.txt").read_text() == "1", "files of a thread that is there stay"
        assert await running.app.store.session(str(thread)) is not None
        labels = await running.app.store.labels()
        assert [row.execution for row in labels] == [execution], "labels stay"
        assert len(list((tmp_path / "checkpoints" / str(thread) / "manifests").iterdir())) == 1, "the newest stays"

        await guild.click(answer.id, undo)
        await told(running, thread, GONE, 1)
        await guild.react(answer.id, "👎")
        await told(running, thread, GONE, 2)
        await guild.react(thread, "👍")
        await told(running, thread, GONE, 3)
        for command in ("logs", "cost", "checkpoints"):
            assert "1 earlier task is not shown" in (await slash(running, thread, command)).content
        await slash(running, thread, "retry")
        await running.says(thread, "That task's log was deleted, so I can't run it again")

        await running.task("say something", thread)
        (new,) = await running.executions(thread)
        assert new != execution
        assert "write a file" not in endpoint.requests[-1].text()
        await guild.react((await running.says(thread, "Said without the old.")).id, "👍")
        await running.app.threads.idle(str(thread))
        assert await running.app.store.pending(str(thread)) == []


async def test_the_command_line_says_that_a_log_was_deleted_and_how_much_is_kept(
    guild: LocalGuild, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with ScriptedEndpoint.start([finishes("One."), finishes("Two.")]) as endpoint:
        async with whole(tmp_path, endpoint, guild) as running:
            thread = await running.task("say one")
            (execution,) = await running.executions(thread)
            await month_later(running)
            await running.task("say two")
        settings = Settings(_env_file=None, home=tmp_path)  # type: ignore[call-arg]
        assert await replay(settings, execution) == 1
        assert export(settings, ExportSelection(execution=execution), None, "") == 1
        said = capsys.readouterr().err
        assert said.count(f"The log of {execution} was deleted") == 2
        kept = doctor.kept(settings)
        assert kept is not None
        assert kept.why.startswith("1 log with ")
        assert "30 days" in kept.why


class Ahead(datetime):
    """The machine's clock, set 40 days ahead by mistake."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:
        return datetime.now(tz) + timedelta(days=40)


async def test_a_machines_clock_that_is_set_ahead_by_mistake_deletes_nothing(
    guild: LocalGuild, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ScriptedEndpoint.start([finishes("One.")]) as endpoint, whole(tmp_path, endpoint, guild) as running:
        thread = await running.task("say one")
        await running.app.threads.idle(str(thread))
        for module in ("bot.app.client", "bot.retention.expiry", "bot.catch_up.discord_clock"):
            monkeypatch.setattr(f"{module}.datetime", Ahead, raising=False)
        await running.app.bot.retention.round()
        assert len(await running.executions(thread)) == 1


async def test_checkpoints_of_a_thread_with_a_log_that_cannot_be_read_stay(tmp_path: Path) -> None:
    workspace, snapshots, database = tmp_path / "files", Snapshots(tmp_path / "kept"), tmp_path / "store.db"
    workspace.mkdir()
    saved: list[str] = []
    for number in range(3):
        (workspace / "a.txt").write_text(str(number))
        saved.append((await snapshots.save("thread", workspace)).manifest)
    for manifest in (tmp_path / "kept").glob("*/manifests/*"):
        os.utime(manifest, (time.time() - 7_200,) * 2)
    store = SQLiteStore.open(database)
    for execution, manifest in (("x1", saved[0]), ("x2", saved[1])):
        lease = await take(store)
        kept = [started(), CheckpointSaved(manifest=manifest, through_seq=1), Finished(reason="done", answer="")]
        await store.append(execution, 0, lease, envelopes(execution, lease, 0, kept))
        await store.release(lease)
    await store.bury(["x1"])
    damaging = connect(str(database))
    damaging.execute("UPDATE events SET checksum = 0 WHERE seq = 2 AND event LIKE '%checkpoint%' AND execution = 2")
    damaging.close()
    try:
        await Retention(store, 30, snapshots, tmp_path).clear()
        assert await snapshots.listed("thread") == tuple(saved)
    finally:
        await store.close()
