"""One session and one set of clients a process; each request is tried again where that helps, and ends in time."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import cache
from typing import Any

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from agentic.aws.aws_errors import plainly, refusal, worth_another_try
from agentic.aws.aws_place import AwsPlace, Service
from agentic.ports.errors import StoreUnavailable

Answer = dict[str, Any]
Observer = Callable[[Service, str, dict[str, Any], Answer], None]
"""Is told of each request that was answered well: service, operation, arguments, answer, which then says what it cost."""
_COUNTED = {
    "get_item", "put_item", "update_item", "delete_item", "query", "batch_get_item", "batch_write_item",
    "transact_write_items",
}  # fmt: skip
"""Operations that say what they cost."""

_READ_SECONDS: dict[Service, float] = {"dynamodb": 6, "s3": 30, "sqs": 30}
"""A long poll of a queue takes twenty."""

PATIENCE = 15.0
"""Seconds for which a request is tried again; less than a lease lasts."""
BRIEF = 1.0
"""The same for those who come again soon by themselves."""
_FIRST_PAUSE = 0.02
_LONGEST_PAUSE = 1.0


@cache
def _session() -> Any:
    import aioboto3  # an extra, which the command line looks for before

    # The first client of a session reads its service's description, 80 ms; the others share it.
    return aioboto3.Session()


class Clients:
    """The clients, made when they are first needed and closed at the end."""

    def __init__(self, place: AwsPlace, patience: float = PATIENCE, observer: Observer | None = None) -> None:
        self.place = place
        self.observer = observer
        self._patience = patience
        self._stack = AsyncExitStack()
        self._made: dict[Service, Any] = {}
        self._making = asyncio.Lock()
        self._closed = False

    async def call(self, service: Service, operation: str, arguments: dict[str, Any]) -> Answer:
        """Send a request, the same again where it met another or was one too many.

        Raises ``ConditionFailed`` where a condition did not hold, and ``StoreUnavailable`` or ``StoreError`` with what to do.
        """
        if self.observer is not None and operation in _COUNTED:
            arguments = {**arguments, "ReturnConsumedCapacity": "TOTAL"}
        until = time.monotonic() + self._patience
        tried = 0
        while True:
            try:
                client = await self._client(service)
                answer: Answer = await getattr(client, operation)(**arguments)
            except (ClientError, BotoCoreError) as error:
                if isinstance(error, ClientError) and (refused := refusal(error)) is not None:
                    raise refused from None
                pause = random.uniform(0, min(_LONGEST_PAUSE, _FIRST_PAUSE * 2**tried))
                if not worth_another_try(error) or time.monotonic() + pause > until:
                    raise plainly(error, self.place, self.place.resource(service, arguments)) from error
            else:
                if self.observer is not None:
                    self.observer(service, operation, arguments, answer)
                return answer
            tried += 1
            await asyncio.sleep(pause)

    async def _client(self, service: Service) -> Any:
        if self._closed:
            raise StoreUnavailable("the connections to AWS are closed")
        if (known := self._made.get(service)) is not None:
            return known
        async with self._making:
            if service not in self._made:
                made = _session().client(
                    service,
                    region_name=self.place.region or None,
                    endpoint_url=self.place.endpoint or None,
                    config=_settings(service, self.place),
                )
                try:
                    self._made[service] = await self._stack.enter_async_context(made)
                except ValueError as error:  # of an address or a region that is none
                    raise plainly(error, self.place) from error
        return self._made[service]

    async def close(self) -> None:
        """Let go of all connections; what is asked for afterwards is refused."""
        self._closed = True
        await self._stack.aclose()


def _settings(service: Service, place: AwsPlace) -> Config:
    # The client itself tries once: we try again, and say what came of it.
    return Config(
        connect_timeout=3,
        read_timeout=_READ_SECONDS[service],
        max_pool_connections=50,
        parameter_validation=False,  # a fifth of what a request costs the processor, and AWS checks too
        retries={"total_max_attempts": 1},
        # A name for each bucket is what AWS has; what stands in for it has one name.
        s3={"addressing_style": "path" if place.endpoint else "auto"},
    )
