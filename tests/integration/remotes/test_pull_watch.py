"""The watch over pull requests at hosts that answer, that do not, and that change their mind; over real sockets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from agentic.core.events.execution_events import InboxItem, OutboxItem, Person, PullRequestOpened
from agentic.forges.hosts import Forges, host_from
from agentic.ports.errors import StoreUnavailable
from agentic.ports.runtime import SessionRow
from bot.after_run.pull_watch import GROWTH, SHORTEST, SILENT, Around, PullWatch
from bot.local_forge import LocalForge
from bot.local_forge.forge_records import HostedRepository, Pull, State
from bot.local_forge.git_endpoint import tip
from bot.ports.conversation import Receipt, ThreadState
from bot.workspace.pull_requests import ATTEMPTS
from tests.stores import fresh_store
from tests.waiting import eventually

THREAD = "100"


@pytest.fixture
def kind() -> str:
    """One kind of host."""
    return "github"


@dataclass
class Bench:
    """A watch, and what it told and began."""

    forges: Forges
    notices: list[str] = field(default_factory=list[str])
    begun: list[InboxItem] = field(default_factory=list[InboxItem])

    def __post_init__(self) -> None:
        self.store = fresh_store()
        around = Around(self._changed, self._tell, self._deliver, self._state, self._present)
        self.watch = PullWatch(self.store, self.forges, around)

    async def watched(self, host: str, number: int, repository: str = "ada/shop") -> str:
        """Watch a pull request; returns its key."""
        await self.store.save_session(SessionRow(THREAD, "9", "1", "t"))
        event = PullRequestOpened(
            host=host, repository=repository, number=number, url="u", title="t", branch="b", base="main", commit="c"
        )
        await self.watch.rows.opened(event, THREAD, "7")
        return event.key

    async def _changed(self, key: str) -> None:
        """No messages are kept here."""

    async def _tell(self, item: OutboxItem) -> None:
        if await self.store.outbox_row(item.key) is None:
            self.notices.append(item.text)
        await self.store.put_outbox([item])

    async def _deliver(self, item: InboxItem, *, guild: str) -> Receipt:
        new = await self.store.put(item)
        self.begun += [item] if new else []
        return Receipt(new, "idle", again=not new)

    async def _state(self, thread: str) -> ThreadState:
        return "idle"

    async def _present(self, person: str, guild: str) -> Person | None:
        return Person(id=person, name="Ann", level="operator")


@dataclass
class Silent:
    """A host that takes connections and never answers; ``asked`` counts them."""

    host: str = ""
    asked: int = 0


@asynccontextmanager
async def silent_host() -> AsyncGenerator[Silent]:
    made, over = Silent(), asyncio.Event()

    async def hold(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        made.asked += 1
        await over.wait()
        writer.close()

    server = await asyncio.start_server(hold, "127.0.0.1", 0)
    made.host = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield made
    finally:
        over.set()
        server.close()
        await server.wait_closed()


def pulls(shop: HostedRepository, count: int) -> list[Pull]:
    shop.pulls = [Pull(number, "t", "", "main", "main") for number in range(1, count + 1)]
    return shop.pulls


async def test_a_host_that_never_answers_keeps_no_other_waiting(forge: LocalForge, shop: HostedRepository) -> None:
    pulls(shop, 1)
    async with silent_host() as dead:
        forges = Forges([host_from(f"{web}=FORGE_TOKEN:github") for web in (f"http://{dead.host}", forge.web)],
                        {"FORGE_TOKEN": forge.token})  # fmt: skip
        bench = Bench(forges)
        for number in range(40):
            await bench.watched(dead.host, number)
        await bench.watched(forge.host, 1)
        bench.watch.pace = 0.001
        watching = asyncio.create_task(bench.watch.run())
        try:
            looks = "GET /api/v3/repos/ada/shop/pulls/1"
            await eventually(lambda: forge.requests.count(looks) >= 5, "the healthy host was asked again and again")
            assert dead.asked == 1  # the first one still waits for its answer
        finally:
            watching.cancel()
            await asyncio.wait([watching])
            await forges.close()


async def test_a_host_that_fails_is_tried_by_one_request_at_a_time_and_taken_up_again_when_it_answers(
    forge: LocalForge, forges: Forges, shop: HostedRepository
) -> None:
    pulls(shop, 12)
    bench = Bench(forges)
    keys = [await bench.watched(forge.host, number) for number in range(1, 13)]
    forge.fault("fails", "GET */pulls/*", 1_000)

    async def asked() -> int:
        before = len(forge.requests)
        for key in keys:
            await bench.watch._look(key)  # pyright: ignore[reportPrivateUsage]
        return len(forge.requests) - before

    bench.watch.pace = 1_000.0
    assert await asked() == SILENT
    assert await asked() == 0
    bench.watch.pace = 0.0
    bench.watch._rests.clear()  # pyright: ignore[reportPrivateUsage]
    forge.faults.clear()
    assert await asked() >= len(keys)


async def test_one_pull_request_that_cannot_be_read_says_nothing_about_its_host(
    forge: LocalForge, forges: Forges, shop: HostedRepository
) -> None:
    pulls(shop, 3)
    bench = Bench(forges)
    keys = [await bench.watched(forge.host, number) for number in (1, 2, 3)]
    forge.fault("fails", "GET */pulls/1", 1_000)
    for _ in range(2 * SILENT):
        await bench.watch._look(keys[0])  # pyright: ignore[reportPrivateUsage]
    before = len(forge.requests)
    await bench.watch._look(keys[1])  # pyright: ignore[reportPrivateUsage]
    assert len(forge.requests) > before


async def test_a_check_that_turns_red_again_on_the_same_commit_begins_a_task_until_the_attempts_are_used_up(
    forge: LocalForge, forges: Forges, shop: HostedRepository
) -> None:
    pulls(shop, 1)
    bench = Bench(forges)
    key, sha = await bench.watched(forge.host, 1), tip(shop.folder, "main")
    states: tuple[State, ...] = ("failure", "success") * (ATTEMPTS + 1)
    for state in states:
        shop.set_check(sha, "tests", state, "E")
        for _ in range(2):  # the second look finds nothing new
            await bench.watch._look(key)  # pyright: ignore[reportPrivateUsage]
    assert len({item.id for item in bench.begun}) == ATTEMPTS
    red = [text for text in bench.notices if "I'll fix it" in text]
    assert [f"(attempt {n} of {ATTEMPTS})" in text for n, text in enumerate(red, 1)] == [True] * ATTEMPTS
    assert sum("is green" in text for text in bench.notices) == ATTEMPTS + 1
    assert sum("still fails" in text for text in bench.notices) == 1


async def test_the_same_trouble_is_told_once_however_often_it_comes_back(
    forge: LocalForge, forges: Forges, shop: HostedRepository
) -> None:
    pulls(shop, 1)
    bench = Bench(forges)
    key = await bench.watched(forge.host, 1)
    for _ in range(3):
        forge.fault("lacks_right", "GET */pulls/1")
        await bench.watch._look(key)  # pyright: ignore[reportPrivateUsage]
        await bench.watch._look(key)  # pyright: ignore[reportPrivateUsage]
    assert sum("I can't look at" in text for text in bench.notices) == 1


async def test_a_hiccup_of_the_store_makes_a_pause_a_little_longer_and_not_the_longest(
    forges: Forges, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(forges)
    key = await bench.watched("h", 1)

    async def silent(key: str) -> None:
        raise StoreUnavailable("the store is silent")

    monkeypatch.setattr(bench.watch.rows, "of", silent)
    await bench.watch._look(key)  # pyright: ignore[reportPrivateUsage]
    assert bench.watch._pauses[key] == SHORTEST * GROWTH  # pyright: ignore[reportPrivateUsage]
