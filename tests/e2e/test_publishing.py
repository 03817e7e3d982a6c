"""A process that dies anywhere on the way from a clone to a green pull request: nothing is doubled, nothing is lost."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import random
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
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
from bot.local_forge import Account, HostedRepository, LocalForge, Pull
from bot.local_forge.ssh_server import SshServer, usable
from bot.workspace.linked_accounts import LinkedAccount, LinkedAccounts
from tests.e2e.living import Living, living
from tests.stores import kept_store
from tests.waiting import eventually

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


WORST = ("publish.taken", "publish.push.after", "publish.comment.after")
"""Where a process that knew less would do it twice; with ``THREADWRIGHT_ALL_KILLS=1`` it dies at the others too."""


@pytest.mark.parametrize(
    "point",
    [
        point if point in WORST else pytest.param(point, marks=pytest.mark.long("THREADWRIGHT_ALL_KILLS"))
        for point in POINTS
        if point.startswith("publish.")
    ],
)
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
        await LinkedAccounts(home / ACCOUNTS).keep(started.requester.id, linked)
        async with living(home, endpoint, **settings) as bot:
            await bot.person.sees(thread, r"It is done\.")
            assert await bot.running.end() == 0
        (pull,) = shop.pulls
        assert (pull.author, [note.author for note in pull.notes]) == ("threadwright-bot", ["ada"])
        assert len(shop.pushes) == 1


KILLS = int(os.environ.get("THREADWRIGHT_TEST_KILLS", "4"))
PER_TASK = 4
A_LIFE, QUIET, A_MOMENT = 40, 60.0, 2_000
"""Requests that a process makes for each open task before it is killed, at the most; and seconds, if it has no more to ask."""
SHOP = {
    "price.py": "def total(cents):\n    return sum(cents) + 1\n",
    "test_price.py": "from price import total\n\nassert total([1, 2]) == 3, total([1, 2])\n",
}
EVERYTHING = (
    "rm -f .git/index.lock; printf 'def total(cents):\\n    return sum(cents)%s\\n' '{}' > price.py; git add -A; "
    "{{ git diff --cached --quiet || git commit -qm '{}'; }} && echo It is committed"
)
"""Half-hearted at first, so that the check is red; right for whom the check has woken."""
WOKEN = "of the checks of pull request"


def stubborn(request: CapturedRequest) -> Reply:
    """What an agent does that is told of each step that was cut off: it takes it again."""
    if not request.tools:
        return Reply("")
    woken = any(WOKEN in said.text for said in request.messages if said.role == "user")
    assert not woken or "AssertionError" in request.text(), "it was woken without the log"
    told = "\n".join(answer.text for answer in request.answers)
    if "It is committed" not in told:
        command = EVERYTHING.format("", "Mend it") if woken else EVERYTHING.format(" + 2", "Fix it")
        return Reply(calls=(("shell", {"command": command}),))
    if "is open: http" not in told:
        return STEPS[1]
    if woken:
        return Reply(calls=(("finish", {"answer": "It is mended."}),))
    return STEPS[2] if "Commented on pull request" not in told else STEPS[3]


@dataclass
class Way:
    """Tasks from a clone to green in one home, whose process is killed so often."""

    home: Path
    forge: LocalForge
    shop: HostedRepository
    settings: Mapping[str, str]
    luck: random.Random
    kills: int
    tasks: int
    threads: list[str] = field(default_factory=list[str])
    moments: Counter[str] = field(default_factory=Counter[str])

    async def go(self) -> None:
        """Kill, begin tasks evenly between the kills, and see all of them end as they should."""
        async with ScriptedEndpoint.start(stubborn) as endpoint:
            for killed in range(self.kills):
                async with living(self.home, endpoint, **self.settings) as bot:
                    if killed * self.tasks >= len(self.threads) * self.kills:
                        task = f"fix it and open a pull request repo:{self.shop.full}"
                        self.threads.append(await bot.person.mention(task))
                    await self.encourage(bot)
                    unfinished = sum(not self.is_green(thread) for thread in self.threads)
                    await self.happen(endpoint, self.luck.randint(0, A_LIFE * unfinished))
                    for _ in range(self.luck.randint(0, A_MOMENT)):
                        await asyncio.sleep(0)
                    await bot.running.kill()
                    self.moments.update(map(self.stage, self.threads))
            async with living(self.home, endpoint, **self.settings) as bot:

                async def mended() -> bool:
                    await self.encourage(bot)
                    return all([await self.is_mended(bot, thread) for thread in self.threads])

                await eventually(mended, seconds=120 + 60 * self.tasks)
                for thread in self.threads:
                    await self.told_once(bot, thread)
                asked, looks = len(endpoint.requests), self.looks()
                await eventually(
                    lambda: all(count >= looks[path] + 3 for path, count in self.looks().items()), seconds=120
                )
                assert len(endpoint.requests) == asked, "tokens were spent where nothing changed"
                assert await bot.running.end() == 0
        await self.once_at_the_host()

    async def happen(self, endpoint: ScriptedEndpoint, more: int) -> None:
        """Wait until the process has asked its host and its model so many times, however fast this machine is."""
        asked = self.asked(endpoint)
        with contextlib.suppress(AssertionError):
            await eventually(
                lambda: self.asked(endpoint) >= asked + more or all(map(self.is_green, self.threads)), seconds=QUIET
            )

    def asked(self, endpoint: ScriptedEndpoint) -> int:
        """How often the process has asked its host about its repository, and its model."""
        return len(endpoint.requests) + sum(f"/{self.shop.full}" in request for request in self.forge.requests)

    def pull(self, thread: str) -> Pull | None:
        """The thread's pull request; its branch bears the thread's mark."""
        mark = hashlib.sha256(thread.encode()).hexdigest()[:6]
        return next((pull for pull in self.shop.pulls if pull.head.endswith(f"-{mark}")), None)

    def stage(self, thread: str) -> str:
        """How far a thread has come, as the host sees it."""
        pull = self.pull(thread)
        pushes = [after for name, _, after in self.shop.pushes if pull is not None and name == pull.head]
        if len(pushes) < 2:
            return "1 opened" if pushes else "0 begun"
        return "3 green" if [run.state for run in self.shop.checks.get(pushes[-1], [])] == ["success"] else "2 mended"

    def is_green(self, thread: str) -> bool:
        """Whether its check has passed after the second push."""
        return self.stage(thread) == "3 green"

    async def is_mended(self, bot: Living, thread: str) -> bool:
        """Whether it is green, and its task has said its last word: one may be set aside after its last push."""
        return self.is_green(thread) and any("It is mended." in m.text for m in await bot.person.reads(thread))

    async def encourage(self, bot: Living) -> None:
        """What was killed so often that it was set aside asks a person, who wants it to go on."""
        for thread in self.threads:
            words = [message.text for message in await bot.person.reads(thread)]
            asked = [at for at, text in enumerate(words) if "so I've stopped trying" in text]
            if asked and "go on" not in words[asked[-1] :]:
                await bot.person.say(thread, "go on")

    async def told_once(self, bot: Living, thread: str) -> None:
        """Both answers, red and green stand in the thread once, and the pull request's message once for each answer."""
        times = {"It is done.": 1, "It is mended.": 1, "failed on pull request": 1, "is green": 1, ": Fix it": 2}
        for words in times:
            await bot.person.sees(thread, re.escape(words), 90)
        said = [message.text for message in await bot.person.reads(thread)]
        assert {words: len([text for text in said if words in text]) for words in times} == times, said

    def looks(self) -> Counter[str]:
        """How often each pull request was looked at."""
        paths = [f"/repos/{self.shop.full}/pulls/{pull.number}" for pull in self.shop.pulls]
        asked = Counter(request.partition("/api/v3")[2] for request in self.forge.requests)
        return Counter({path: asked[path] for path in paths})

    async def once_at_the_host(self) -> None:
        """Of each task one pull request with one comment and two pushes, and two executions in its thread."""
        pulls = [self.pull(thread) for thread in self.threads]
        assert sorted(pull.number for pull in pulls if pull) == [pull.number for pull in self.shop.pulls]
        assert [len(pull.notes) for pull in self.shop.pulls] == [1] * self.tasks
        heads = [(name, after) for name, _, after in self.shop.pushes]
        assert len(heads) == len(set(heads)) == 2 * self.tasks, heads
        async with kept_store(self.home / "threadwright.sqlite") as store:
            assert [len(await store.executions(thread)) for thread in self.threads] == [2] * self.tasks


async def test_killed_at_random_moments_from_clone_to_green_nothing_is_doubled_and_nothing_lost(tmp_path: Path) -> None:
    """Half of the tasks with git over HTTP, half over SSH.  ``THREADWRIGHT_TEST_KILLS=100`` for 100 kills in 25 tasks."""
    if not usable():
        pytest.skip("no OpenSSH server is installed")
    async with LocalForge(tmp_path / "forge") as forge, SshServer(forge, tmp_path / "ssh") as ssh:
        forge.set_check("tests", ("/usr/bin/python3", "test_price.py"))
        settings = {
            "THREADWRIGHT_FORGES": f"{forge.web}=FORGE_TOKEN:github", "FORGE_TOKEN": forge.token,
            "THREADWRIGHT_PULL_REQUEST_SECONDS": "0.2", "THREADWRIGHT_JUDGE": "off",
        }  # fmt: skip
        over_ssh = {"THREADWRIGHT_FORGE_SSH_KEY": str(ssh.key), "PATH": f"{ssh.programs}:{os.environ['PATH']}"}
        tasks = max(KILLS // PER_TASK, 2)
        ways = [
            Way(
                tmp_path / name, forge, forge.create(f"ada/{name}", SHOP), settings | more, random.Random(f"16 {name}"),
                KILLS // 2 + KILLS % 2 * odd, tasks // 2 + tasks % 2 * odd,
            )
            for odd, name, more in ((1, "http", {}), (0, "ssh", over_ssh))
        ]  # fmt: skip
        await asyncio.gather(*(way.go() for way in ways))
        over_http = [request for request in forge.requests if "/ada/ssh.git/" in request]
        assert over_http == []
        moments = sum((way.moments for way in ways), Counter[str]())
        print(
            f"{sum(way.kills for way in ways)} kills, which struck tasks {moments['0 begun']} times before their first push, "
            f"{moments['1 opened']} before their second, {moments['2 mended']} before green; "
            f"{[way.tasks for way in ways]} tasks over HTTP and SSH: "
            f"{sum(len(way.shop.pulls) for way in ways)} pull requests, {sum(len(way.shop.pushes) for way in ways)} pushes, "
            f"{sum(len(pull.notes) for way in ways for pull in way.shop.pulls)} comments, all green and told once"
        )
