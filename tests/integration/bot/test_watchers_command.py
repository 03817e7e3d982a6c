"""Watchers over the local guild: turned on by a setting, seen in the list, in the progress message and in the log."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agentic.core.events.execution_events import Started, Watched
from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from bot.cli.doctor import watchers
from bot.config.settings import Settings
from bot.local_discord.local_discord import LocalGuild
from bot.messages.log_text import told
from tests.integration.bot.commanding import Desk, words
from tests.integration.bot.test_commands_rights import people
from tests.integration.bot.whole import SECONDS, finishes, uses, whole

OWN = "---\nwhen: before model\nevery: 1\n---\nDoes it bake?\n"
BAD = "---\nwhen: before tea\n---\nText."


@pytest.fixture
async def guild() -> AsyncIterator[LocalGuild]:
    async with await LocalGuild.start() as one:
        one.attach()
        people(one)
        yield one


async def test_they_are_off_until_somebody_who_may_turns_them_on_and_then_look_on(
    guild: LocalGuild, tmp_path: Path
) -> None:
    (tmp_path / "watchers").mkdir(parents=True)
    (tmp_path / "watchers" / "baking.md").write_text(OWN)
    (tmp_path / "watchers" / "bad.md").write_text(BAD)
    shown = asyncio.Event()

    async def script(request: CapturedRequest) -> Reply:
        if "You look on" in request.system:
            return Reply(text='{"verdict": "note", "why": "It bakes, and the task is about prices."}')
        if "It bakes, and the task" not in request.text():
            return uses("shell", command="echo flour")
        await shown.wait()  # what people see meanwhile is looked at below
        return finishes("Priced.")

    async with ScriptedEndpoint.start(script) as endpoint, whole(tmp_path, endpoint, guild) as running:
        bot = running.app.bot
        await asyncio.wait_for(bot.registration.done.wait(), SECONDS)
        channel, desk = guild.channel().id, Desk(running, None, tmp_path)  # type: ignore[arg-type]  # it uses the guild alone
        listed = words(await desk.slash(channel, "watchers"))
        assert "**baking** (off here, own file): looks on every turn, notes what is off" in listed
        assert "**safety** (off here): looks on before calls of `shell`" in listed
        assert "⚠️ bad.md, line 2: when is one of: before model, before action" in listed
        assert "off until somebody turns them on" in listed
        choice = {"name": "watchers", "value": "Baking, gone", "scope": "server"}
        assert "can do that" in words(await desk.slash(channel, "settings set", choice, "ops"))
        assert "`baking` and `gone` look on, from the next task on" in words(
            await desk.slash(channel, "settings set", choice)
        )
        listed = words(await desk.slash(channel, "watchers"))
        assert "**baking** (✅ on here" in listed
        assert "`gone` is chosen here, and there is no such watcher" in listed
        posted = await guild.post(channel, f"{guild.bot.mention} fix the prices")
        await running.says(posted.id, "👁 Baking watcher: It bakes, and the task is about prices.")
        shown.set()
        await running.says(posted.id, "Priced.")
        (execution,) = await running.executions(posted.id)
        log = await running.log(execution)
        assert isinstance(log[0], Started)
        assert [one.name for one in log[0].watchers] == ["baking"]
        assert [each.text for each in log if isinstance(each, Watched)] == ["It bakes, and the task is about prices."]
        assert "Baking watcher: It bakes" in "\n".join(told(each) for each in log)


def test_the_doctor_shows_them_and_mistakes_in_their_files(tmp_path: Path) -> None:
    assert watchers(Settings(_env_file=None, home=tmp_path)) == ()  # type: ignore[call-arg]
    (tmp_path / "watchers").mkdir()
    (tmp_path / "watchers" / "baking.md").write_text(OWN)
    (tmp_path / "watchers" / "bad.md").write_text(BAD)
    good, bad = watchers(Settings(_env_file=None, home=tmp_path))  # type: ignore[call-arg]
    assert (good.state, good.adapter) == ("ok", "baking (own file), drift, safety")
    assert (bad.state, bad.why) == ("limited", "bad.md, line 2: when is one of: before model, before action")
