"""Sessions, facts and blobs."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from agentic.ports.runtime import SessionRow, Store
from tests.integration.stores.samples import NOW

SESSION = SessionRow("t1", "c1", "g1", "a title", NOW, NOW, 64, {"tier": 2, "tools": ["a", "b"]})


async def test_a_session_comes_back_as_it_was_saved(store: Store) -> None:
    await store.save_session(SESSION)
    assert await store.session("t1") == SESSION
    assert await store.session("unknown") is None


async def test_saving_again_replaces(store: Store) -> None:
    await store.save_session(SESSION)
    changed = replace(SESSION, title="another", confidence=10, settings={}, created=None)
    await store.save_session(changed)
    assert [row async for row in store.sessions()] == [changed]


async def test_sessions_come_last_accessed_first_page_by_page(store: Store) -> None:
    for minute, thread, guild in ((1, "b", "g1"), (3, "a", "g2"), (2, "c", "g1"), (2, "d", "g1")):
        await store.save_session(replace(SESSION, thread=thread, guild=guild, accessed=NOW + timedelta(minutes=minute)))
    await store.save_session(replace(SESSION, thread="never", accessed=None))
    first = await store.recent_sessions(2)
    assert [row.thread for row in first] == ["a", "c"]
    assert [row.thread for row in await store.recent_sessions(9, before=first[-1])] == ["d", "b", "never"]
    assert [row.thread for row in await store.recent_sessions(9, guild="g1")] == ["c", "d", "b", "never"]
    assert [row.thread for row in await store.recent_sessions(1, guild="g1", before=first[-1])] == ["d"]
    assert await store.recent_sessions(9, before=replace(SESSION, thread="never", accessed=None)) == []


async def test_sessions_are_told_by_thread_and_by_channel(store: Store) -> None:
    for number in range(450):  # more than a page
        await store.save_session(replace(SESSION, thread=f"{number:03}", channel=f"c{number % 150}"))
    assert [row.thread async for row in store.sessions()] == [f"{number:03}" for number in range(450)]
    assert [row.thread async for row in store.sessions("447")] == ["448", "449"]
    assert [row.thread for row in await store.sessions_in("c7")] == ["007", "157", "307"]
    assert await store.sessions_in("c") == []


async def test_a_fact_is_kept_until_it_is_replaced(store: Store) -> None:
    assert await store.fact("watermark") is None
    await store.set_fact("watermark", "1")
    await store.set_fact("watermark", "2")
    await store.set_fact("empty", "")
    assert await store.fact("watermark") == "2"
    assert await store.fact("empty") == ""
    assert await store.facts(["empty", "unknown", "watermark"]) == {"empty": "", "watermark": "2"}
    assert await store.facts([]) == {}


async def test_of_several_who_swap_a_fact_at_once_one_succeeds(store: Store) -> None:
    assert not await store.swap_fact("budget", "5", "4")
    first = await asyncio.gather(*(store.swap_fact("budget", None, str(number)) for number in range(9)))
    assert sum(first) == 1
    before = await store.fact("budget")
    swapped = await asyncio.gather(*(store.swap_fact("budget", before, f"after {number}") for number in range(9)))
    assert sum(swapped) == 1
    assert await store.fact("budget") == f"after {swapped.index(True)}"
    await store.set_fact("budget", "set")
    assert not await store.swap_fact("budget", before, "too late")
    assert not await store.swap_fact("budget", None, "there is one")
    assert await store.swap_fact("budget", "set", "set")


@pytest.mark.parametrize("size", [0, 1, 5_000, 1_000_001])
async def test_a_blob_comes_back_by_its_hash(store: Store, size: int) -> None:
    content = bytes(number % 251 for number in range(size))
    ref = await store.put_blob(content, "image/png")
    assert (ref.size, ref.media) == (size, "image/png")
    assert await store.put_blob(content) == ref.model_copy(update={"media": "text/plain"})
    assert await store.get_blob(ref.sha) == content


async def test_an_unknown_blob_is_none(store: Store) -> None:
    assert await store.get_blob("00" * 32) is None
    assert await store.get_blob("no hash") is None
