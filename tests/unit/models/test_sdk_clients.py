"""A client of a provider's SDK takes a bounded number of requests at once."""

from __future__ import annotations

from collections import Counter
from contextlib import AsyncExitStack

from agentic.models.providers.sdk_clients import EACH, SdkClients


class Client:
    def __init__(self) -> None:
        self.closed = False

    async def close(self) -> None:
        self.closed = True


async def test_no_pool_serves_more_than_its_share_and_what_ended_makes_room() -> None:
    clients = SdkClients(Client)
    async with AsyncExitStack() as stack:
        lent = Counter([await stack.enter_async_context(clients.lent()) for _ in range(2 * EACH + 1)])
        assert sorted(lent.values()) == [1, EACH, EACH]
    async with AsyncExitStack() as stack:
        again = {await stack.enter_async_context(clients.lent()) for _ in range(EACH)}
        assert len(again) == 1
        assert again <= set(lent)
    await clients.close()
    assert all(client.closed for client in lent)
