"""A client of the anthropic SDK takes a bounded number of requests at once."""

from __future__ import annotations

import ssl
from collections import Counter
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from agentic.models.anthropic.client import EACH, Clients

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic


def connect() -> tuple[AsyncAnthropic, ssl.SSLContext]:
    from anthropic import AsyncAnthropic  # takes a second: not while tests are collected

    first = AsyncAnthropic(api_key="x", base_url="http://127.0.0.1:1", max_retries=0, timeout=None)
    return first, ssl.create_default_context()


async def test_no_pool_serves_more_than_its_share_and_what_ended_makes_room() -> None:
    clients = Clients(connect)
    async with AsyncExitStack() as stack:
        lent = Counter([id(await stack.enter_async_context(clients.lent())) for _ in range(2 * EACH + 1)])
        assert sorted(lent.values()) == [1, EACH, EACH]
    async with AsyncExitStack() as stack:
        again = {id(await stack.enter_async_context(clients.lent())) for _ in range(EACH)}
        assert len(again) == 1
        assert again <= set(lent)
    await clients.close()


async def test_every_client_asks_at_the_same_address_with_the_same_key() -> None:
    clients = Clients(connect)
    async with AsyncExitStack() as stack:
        lent = {await stack.enter_async_context(clients.lent()) for _ in range(EACH + 1)}
        assert len(lent) == 2
        assert {(str(one.base_url), one.api_key, one.max_retries, one.timeout) for one in lent} == {
            ("http://127.0.0.1:1", "x", 0, None)
        }
    await clients.close()
