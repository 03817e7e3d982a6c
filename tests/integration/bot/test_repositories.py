"""A repository in, a pull request out, watched to green: from a mention, over a forge on loopback."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from unittest import mock

import pytest

from agentic.core.events.execution_events import PullRequestOpened, Started
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from bot.local_discord.local_discord import LocalGuild
from bot.local_forge import LocalForge
from bot.local_forge.forge_records import HostedRepository
from bot.local_forge.git_endpoint import commit, tip
from tests.integration.bot.whole import Whole, finishes, uses, whole

BROKEN = {
    "price.py": "def total(cents):\n    return sum(cents) + 1\n",
    "test_price.py": "from price import total\n\nassert total([1, 2]) == 3, total([1, 2])\nprint('1 passed')\n",
}
TEST = ("/usr/bin/python3", "test_price.py")


@pytest.fixture
async def forge(tmp_path: Path) -> AsyncIterator[LocalForge]:
    """A forge that runs the test of whatever is pushed."""
    async with LocalForge(tmp_path / "forge") as opened:
        opened.set_check("tests", TEST)
        with mock.patch.dict(os.environ, {"FORGE_TOKEN": opened.token}):
            yield opened


@pytest.fixture
def shop(forge: LocalForge) -> HostedRepository:
    """A repository with a failing test."""
    return forge.create("ada/shop", BROKEN)


def changes(old: str, new: str) -> Reply:
    """A fix that is committed."""
    return uses("shell", command=f"sed -i 's/{old}/{new}/' price.py && git commit -qam 'Fix the total'")


def publishes(title: str = "Fix the total", **more: str) -> Reply:
    return uses("publish", title=title, body="The total was wrong.", **more)


async def attached(running: Whole, repository: str = "ada/shop") -> None:
    """Attach it to the channel, as its owner does."""
    assert running.app.workshop.repositories is not None
    held = running.app.workshop.repositories
    await held.attach("channel", str(running.guild.channel().id), held.publisher.forges.read(repository), "")


async def events(running: Whole, thread: int) -> list[PullRequestOpened]:
    logs = [await running.log(execution) for execution in await running.executions(thread)]
    return [event for log in logs for event in log if isinstance(event, PullRequestOpened)]


async def until(running: Whole, thread: int, count: int) -> None:
    """Wait until so many executions of the thread have ended."""
    async with asyncio.timeout(40):
        while True:
            rows = [row for row in await running.app.store.executions(str(thread)) if row.finished]
            if len(rows) >= count:
                return
            await asyncio.sleep(0.02)  # a store tells nobody, so it is asked


async def test_from_a_mention_to_a_red_check_that_is_mended_and_turns_green(
    guild: LocalGuild, tmp_path: Path, forge: LocalForge, shop: HostedRepository
) -> None:
    """Mention, checkout, wrong fix, pull request, red check, its log as data, right fix, the same pull request, green."""
    script = [
        changes("+ 1", "+ 2"), publishes(), finishes("Opened."),
        changes(" + 2", ""), uses("shell", command="python3 test_price.py"), publishes(), finishes("Mended."),
    ]  # fmt: skip
    async with (
        ScriptedEndpoint.start(script) as endpoint,
        whole(tmp_path / "home", endpoint, guild, forges=(f"{forge.web}=FORGE_TOKEN:github",)) as running,
    ):
        assert running.app.watch is not None
        running.app.watch.pace = 0.02
        await attached(running)
        thread = await running.task("fix the failing test")
        card = await running.says(thread, "Pull request")
        await running.says(thread, "failed on pull request")
        await until(running, thread, 2)
        await running.says(thread, "is green")
        (pull,) = shop.pulls
        first, second = await events(running, thread)
        assert (first.number, first.branch) == (second.number, second.branch)
        assert second.commit == tip(shop.folder, pull.head)
        assert [name for name, _, _ in shop.pushes] == [pull.head, pull.head]
        started = [
            event for event in await running.log((await running.executions(thread))[1]) if isinstance(event, Started)
        ]
        assert any("AssertionError" in quote.text for quote in started[0].quoted)
        assert "AssertionError" not in started[0].task
        assert any("ada/shop" in line for line in started[0].environment)
        await running.guild.wait_for(
            lambda _: next(
                (m for m in running.of_bot(thread) if m.id == card.id and "All checks passed" in m.content), None
            ),
            20,
        )
        requests = endpoint.requests if hasattr(endpoint, "requests") else []
        pull.state, pull.merged = "closed", True
        await running.says(thread, "was merged")
        assert forge.token not in "".join(message.content for message in running.of_bot(thread)) + str(requests)
