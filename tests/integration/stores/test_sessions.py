"""Sessions, facts and blobs."""

from __future__ import annotations

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
    assert await store.sessions() == [changed]


async def test_sessions_come_last_accessed_first(store: Store) -> None:
    for minute, thread in ((1, "b"), (3, "a"), (2, "c")):
        await store.save_session(replace(SESSION, thread=thread, accessed=NOW + timedelta(minutes=minute)))
    await store.save_session(replace(SESSION, thread="never", accessed=None))
    assert [row.thread for row in await store.sessions()] == ["a", "c", "b", "never"]


async def test_a_fact_is_kept_until_it_is_replaced(store: Store) -> None:
    assert await store.fact("watermark") is None
    await store.set_fact("watermark", "1")
    await store.set_fact("watermark", "2")
    await store.set_fact("empty", "")
    assert await store.fact("watermark") == "2"
    assert await store.fact("empty") == ""


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
