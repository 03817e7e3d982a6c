"""Who has a thread; taking, renewing and giving back is drawn in test_lease_machine."""

from __future__ import annotations

from agentic.ports.runtime import Store
from tests.integration.stores.samples import Seconds, take


async def test_who_has_a_thread_is_told_while_nobody_else_can_take_it(store: Store, seconds: Seconds) -> None:
    assert await store.holder("thread") == ""
    lease = await take(store, owner="me")
    assert await store.holder("thread") == "me"
    seconds.advance(3_600)
    assert await store.holder("thread") == "", "it ran out"
    assert await store.renew(lease)
    assert await store.holder("thread") == "me"
    await store.release(lease)
    assert await store.holder("thread") == ""
