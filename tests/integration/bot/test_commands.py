"""Slash commands over the local guild: private answers, registration only when they changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentic.sandbox.backends.host import Host
from agentic.sandbox.pool import Choice, Sandboxes
from bot.app.command_sync import FINGERPRINT
from bot.app.services import Backstage
from bot.local_discord.faults.rules import Delayed, Rule
from bot.local_discord.local_discord import LocalGuild
from bot.workspace.folders import Workspaces
from bot.workspace.sandboxes import Workshop
from tests.integration.bot.talking import Scenery, running_bot
from tests.stores import fresh_store


async def registered(scenery: Scenery) -> None:
    """Wait until the commands are registered."""
    await scenery.until(lambda: scenery.bot.registration.done.is_set())


async def test_status_and_help_answer_privately(scenery: Scenery) -> None:
    await registered(scenery)
    thread = await scenery.mention("build it")
    await scenery.guild.slash(thread, "status")
    shown = await scenery.guild.wait_for(lambda g: next((m for m in g.messages(thread) if m.embeds), None))
    assert shown.ephemeral
    assert "build it" in str(shown.embeds)
    assert "Bot delay" not in str(shown.embeds), "only a long one is worth telling"
    await scenery.guild.slash(scenery.general, "help")
    await scenery.guild.wait_for(lambda g: any(m.embeds and m.ephemeral for m in g.messages(scenery.general)))


async def test_status_tells_of_what_an_earlier_start_left_and_cannot_be_ended(scenery: Scenery, tmp_path: Path) -> None:
    class Stuck(Host):
        async def reap(self) -> tuple[str, ...]:
            return ("container 1: it did not exit",)

    async def chosen() -> Choice:
        return Choice(Stuck(tmp_path), "the test says so")

    async def nothing(address: str, _most: int) -> bytes:
        raise OSError(address)

    sandboxes = Sandboxes(tmp_path, chosen)
    workshop = Workshop(sandboxes, Workspaces(tmp_path / "workspaces"), nothing)
    scenery.bot.backstage = Backstage(workshop=workshop)
    await workshop.choice()
    await registered(scenery)
    await scenery.guild.slash(scenery.general, "status")
    shown = await scenery.guild.wait_for(
        lambda g: next(
            (m for m in g.messages(scenery.general) if "1 from an earlier start could not be stopped" in str(m.embeds)),
            None,
        )
    )
    assert "'name': 'Sandbox', 'value': 'host'" in str(shown.embeds)


async def test_stop_stops_what_runs_and_says_so_where_nothing_does(scenery: Scenery) -> None:
    await registered(scenery)
    thread = await scenery.mention("go")
    await scenery.guild.slash(thread, "stop")
    await scenery.says(thread, "Stopping")
    assert scenery.talk.got[1].sort == "stop"
    await scenery.talk.finish(scenery.talk.newest(thread))
    await scenery.guild.slash(thread, "stop")
    await scenery.says(thread, "Nothing is running")
    assert len(scenery.talk.got) == 2


async def test_a_viewer_may_look_and_not_stop(guild: LocalGuild) -> None:
    async with running_bot(guild, default_level="viewer") as scenery:
        guild.add_member("vic")
        await registered(scenery)
        thread = await scenery.mention("go")
        await guild.slash(thread, "stop", author="vic")
        await guild.wait_for(lambda g: any("a viewer here" in m.content for m in g.messages(thread, viewer="vic")))
        assert len(scenery.talk.got) == 1


async def test_commands_are_registered_only_when_they_changed(guild: LocalGuild) -> None:
    store = fresh_store()
    guild.misbehave(Rule("PUT /applications/*/commands", Delayed(0.0), times=None))
    async with running_bot(guild, store) as scenery:
        await registered(scenery)
    first = await store.fact(FINGERPRINT)
    async with running_bot(guild, store) as scenery:
        await registered(scenery)
    assert first == await store.fact(FINGERPRINT)
    assert len(guild.misbehaviour.applied) == 1


async def test_a_command_that_fails_says_so_in_plain_words(
    scenery: Scenery, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    await registered(scenery)

    async def broken(thread: str) -> object:
        raise RuntimeError("boom")

    monkeypatch.setattr(scenery.talk, "status", broken)
    await scenery.guild.slash(scenery.general, "status")
    told = await scenery.says(scenery.general, "broke")
    assert "boom" not in told.content
    assert "boom" in caplog.text
