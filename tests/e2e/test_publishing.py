"""A process that dies anywhere on the way from a commit to a pull request: nothing is doubled, nothing is lost."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
from pathlib import Path

import pytest
from pydantic import SecretStr

from agentic.core.events.execution_events import Started
from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from agentic.ports.failpoints import POINTS
from agentic.stores.factory import open_store
from bot.config.home import ACCOUNTS, DATABASE
from bot.local_forge import Account, LocalForge
from bot.workspace.linked_accounts import LinkedAccount, LinkedAccounts
from tests.e2e.living import living

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")

FIX = "test -e fixed || { touch fixed; git add -A; git commit -qm Fix; }"
STEPS = (
    Reply(calls=(("shell", {"command": FIX}),)),
    Reply(calls=(("publish", {"title": "Fix it", "body": "It was broken."}),)),
    Reply(calls=(("comment", {"text": "Here it is."}),)),
    Reply(calls=(("finish", {"answer": "It is done."}),)),
)


def script(request: CapturedRequest) -> Reply:
    """The next step, by how many calls have their results."""
    return STEPS[min(len(request.answers), len(STEPS) - 1)]


@pytest.mark.parametrize("point", [point for point in POINTS if point.startswith("publish.")])
async def test_a_process_that_dies_while_it_publishes_goes_on_with_one_push_one_pull_request_and_one_comment(
    tmp_path: Path, point: str
) -> None:
    async with (
        asyncio.timeout(120),
        LocalForge(tmp_path / "forge") as forge,
        ScriptedEndpoint.start(script) as endpoint,
    ):
        shop = forge.create("ada/shop", {"a.txt": "a\n"})
        settings = {"THREADWRIGHT_FORGES": f"{forge.web}=FORGE_TOKEN:github", "FORGE_TOKEN": forge.token}
        home = tmp_path / "home"
        async with living(home, endpoint, **settings, THREADWRIGHT_FAILPOINT=point) as bot:
            thread = await bot.person.mention("fix it and open a pull request repo:ada/shop")
            assert await bot.running.ended() != 0
        async with living(home, endpoint, **settings) as bot:
            await bot.person.sees(thread, r"It is done\.")
            await bot.person.sees(thread, r"Pull request \d+: Fix it")
            assert await bot.running.end() == 0
        (pull,) = shop.pulls
        assert [name for name, _, _ in shop.pushes] == [pull.head]
        assert len(pull.notes) == 1


async def test_an_account_that_is_linked_between_a_kill_and_the_next_start_opens_no_second_pull_request(
    tmp_path: Path,
) -> None:
    """It was opened as the bot; the retry finds it, and only what follows is the person's."""
    async with (
        asyncio.timeout(120),
        LocalForge(tmp_path / "forge") as forge,
        ScriptedEndpoint.start(script) as endpoint,
    ):
        shop = forge.create("ada/shop", {"a.txt": "a\n"})
        forge.accounts["a-token-of-ada"] = Account("ada")
        settings = {"THREADWRIGHT_FORGES": f"{forge.web}=FORGE_TOKEN:github", "FORGE_TOKEN": forge.token}
        home = tmp_path / "home"
        async with living(home, endpoint, **settings, THREADWRIGHT_FAILPOINT="publish.pull.after") as bot:
            thread = await bot.person.mention("fix it and open a pull request repo:ada/shop")
            assert await bot.running.ended() != 0
        store = open_store(home / DATABASE)
        (row,) = await store.open_executions(thread)
        (started,) = [e.event async for e in store.read(row.execution) if isinstance(e.event, Started)]
        await store.close()
        linked = LinkedAccount(host=forge.host, login="ada", token=SecretStr("a-token-of-ada"))
        LinkedAccounts(home / ACCOUNTS).keep(started.requester.id, linked)
        async with living(home, endpoint, **settings) as bot:
            await bot.person.sees(thread, r"It is done\.")
            assert await bot.running.end() == 0
        (pull,) = shop.pulls
        assert (pull.author, [note.author for note in pull.notes]) == ("threadwright-bot", ["ada"])
        assert len(shop.pushes) == 1


KILLS = int(os.environ.get("THREADWRIGHT_TEST_KILLS", "6"))
PER_TASK = 4
EVERYTHING = "rm -f .git/index.lock; echo x > fixed; git add -A; git diff --cached --quiet || git commit -qm Fix"


def stubborn(request: CapturedRequest) -> Reply:
    """What an agent does that is told of each step that was cut off: it looks, and tries again."""
    told = [answer.text for answer in request.answers]
    if any("Commented on pull request" in text for text in told):
        return STEPS[-1]
    if any("is open: http" in text for text in told):
        return STEPS[2]
    return STEPS[1] if told and len(told) % 2 else Reply(calls=(("shell", {"command": EVERYTHING}),))


async def test_killed_at_random_moments_nothing_is_doubled_and_nothing_lost(tmp_path: Path) -> None:
    """``THREADWRIGHT_TEST_KILLS=100`` for 100 kills in 25 tasks."""
    luck, threads = random.Random(16), list[str]()
    async with LocalForge(tmp_path / "forge") as forge, ScriptedEndpoint.start(stubborn) as endpoint:
        shop = forge.create("ada/shop", {"a.txt": "a\n"})
        forge.set_check("tests", ("/usr/bin/true",))
        settings = {"THREADWRIGHT_FORGES": f"{forge.web}=FORGE_TOKEN:github", "FORGE_TOKEN": forge.token}
        killed = 0
        while killed < KILLS:
            thread = ""
            for _ in range(PER_TASK):
                async with living(tmp_path / "home", endpoint, **settings) as bot:
                    if not thread:
                        thread = await bot.person.mention("fix it and open a pull request repo:ada/shop")
                        threads.append(thread)
                    await asyncio.sleep(luck.uniform(0.05, 2.0))
                    await bot.running.kill()
                killed += 1
        async with living(tmp_path / "home", endpoint, **settings) as bot:
            for thread in threads:
                async with asyncio.timeout(90):
                    await bot.person.sees(thread, r"It is done\.|I leave it alone now")
                    if not any("It is done." in message.text for message in await bot.person.reads(thread)):
                        await bot.person.say(thread, "go on")  # it was killed too often, and asks
                    await bot.person.sees(thread, r"It is done\.")
                    await bot.person.sees(thread, r"Pull request \d+: Fix it")
            for thread in threads:
                said = [message.text for message in await bot.person.reads(thread)]
                assert sum("Pull request" in text and "Fix it" in text for text in said) == 1, said
            assert await bot.running.end() == 0
        heads = [pull.head for pull in shop.pulls]
        assert len(heads) == len(set(heads)) == len(threads)
        assert sorted(name for name, _, _ in shop.pushes) == sorted(heads)
        assert [len(pull.notes) for pull in shop.pulls] == [1] * len(threads)
        print(f"{killed} kills, {len(threads)} tasks: {len(heads)} pull requests, {len(shop.pushes)} pushes")
