"""The doorbell of many machines: a standard queue of SQS, in which each guild is a message group.

**Fair.** SQS makes the messages of a group wait that has more than its share *in flight*. So a ring stays in flight while
its thread is worked on, by a heartbeat that keeps it invisible, and is deleted when the thread rests; deleted at once, a
guild that keeps every worker busy would look like one that rings now and then. A worker asks for no more than it has room
for: what waits longer waits in the queue, where the order is SQS's.

**Never the truth.** A worker that dies stops its heartbeat, and the ring comes to another one within ``HIDDEN_SECONDS``.
One that kills each worker goes to the queue's dead letters, where an alarm tells of it; the thread itself is in the store.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import aioboto3
from aiobotocore.config import AioConfig
from botocore.exceptions import BotoCoreError, ClientError

from agentic.doorbells.doorbell import Ring
from agentic.ports.errors import DoorbellSilent

if TYPE_CHECKING:
    from types_aiobotocore_sqs import SQSClient

HIDDEN_SECONDS = 30
"""How long a ring that was heard stays hidden from others without a heartbeat."""
BEAT_SECONDS = 10.0
WAIT_SECONDS = 20
"""The longest wait that SQS knows."""
AT_ONCE = 10
"""Messages of one request."""
HELD_SECONDS = 11 * 3_600.0
"""SQS hides a message for twelve hours in all: after this the lease alone says who has the thread."""

log = logging.getLogger(__name__)


class QueueDoorbell:
    """Rings and hears over one queue, by its address; ``queue_doorbell`` opens one."""

    def __init__(self, client: SQSClient, queue: str) -> None:
        self._client, self._queue = client, queue
        self._held: dict[str, float] = {}
        """Receipts of what was heard and not acknowledged, with when that was."""
        self._beating: asyncio.Task[None] | None = None

    async def ring(self, thread: str, guild: str) -> None:
        """Put it into the queue, in the group of its guild; direct messages are a group each."""
        try:
            await self._client.send_message(QueueUrl=self._queue, MessageBody=thread, MessageGroupId=guild or thread)
        except (ClientError, BotoCoreError, OSError) as error:
            raise DoorbellSilent(_told(self._queue, error)) from error

    async def heard(self, most: int) -> list[Ring]:
        """Wait by a long poll."""
        try:
            answer = await self._client.receive_message(
                QueueUrl=self._queue, MaxNumberOfMessages=min(most, AT_ONCE), WaitTimeSeconds=WAIT_SECONDS,
                VisibilityTimeout=HIDDEN_SECONDS,
            )  # fmt: skip
        except (ClientError, BotoCoreError, OSError) as error:
            raise DoorbellSilent(_told(self._queue, error)) from error
        rings = [
            Ring(str(message.get("Body", "")), str(message.get("ReceiptHandle", "")))
            for message in answer.get("Messages", [])
        ]
        now = asyncio.get_running_loop().time()
        self._held |= {ring.receipt: now for ring in rings}
        if self._beating is None and self._held:
            self._beating = asyncio.create_task(self._beat(), name="heartbeat of the doorbell")
        return rings

    async def acknowledge(self, ring: Ring) -> None:
        """Delete it from the queue; where that fails it comes again, and finds nothing to do."""
        if self._held.pop(ring.receipt, None) is None:
            return
        try:
            await self._client.delete_message(QueueUrl=self._queue, ReceiptHandle=ring.receipt)
        except (ClientError, BotoCoreError, OSError) as error:
            log.info("a ring for thread %s comes again: %s", ring.thread, error)

    async def close(self) -> None:
        """Show the others what is left."""
        if self._beating is not None:
            self._beating.cancel()
            await asyncio.gather(self._beating, return_exceptions=True)
        await self._hidden([*self._held], 0)
        self._held.clear()

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            since = asyncio.get_running_loop().time() - HELD_SECONDS
            self._held = {receipt: heard for receipt, heard in self._held.items() if heard > since}
            await self._hidden([*self._held], HIDDEN_SECONDS)

    async def _hidden(self, receipts: Sequence[str], seconds: int) -> None:
        """Hide them from others for so long; what fails shows itself again, and is found to be in good hands."""
        for first in range(0, len(receipts), AT_ONCE):
            some = receipts[first : first + AT_ONCE]
            try:
                answer = await self._client.change_message_visibility_batch(
                    QueueUrl=self._queue,
                    Entries=[
                        {"Id": str(number), "ReceiptHandle": receipt, "VisibilityTimeout": seconds}
                        for number, receipt in enumerate(some)
                    ],
                )
                if failed := answer.get("Failed", []):
                    log.info("%d rings may come again: %s", len(failed), failed[0].get("Message", ""))
            except (ClientError, BotoCoreError, OSError) as error:
                log.info("rings may come again: %s", error)


@asynccontextmanager
async def queue_doorbell(queue: str, region: str = "", endpoint: str = "") -> AsyncGenerator[QueueDoorbell]:
    """A doorbell over the queue at this address.  Raises ``DoorbellSilent`` where it is of the wrong kind."""
    if queue.endswith(".fifo"):
        raise DoorbellSilent(f"{queue} is a FIFO queue, in which a stop waits behind work: make a standard one")
    waits = AioConfig(
        read_timeout=WAIT_SECONDS + 10, connect_timeout=5, retries={"max_attempts": 3, "mode": "standard"}
    )
    session = aioboto3.Session()
    async with session.client(  # pyright: ignore[reportUnknownMemberType]  # of hundreds of services few are typed
        "sqs", region_name=region or None, endpoint_url=endpoint or None, config=waits
    ) as client:
        bell = QueueDoorbell(client, queue)
        try:
            yield bell
        finally:
            await bell.close()


def _told(queue: str, error: Exception) -> str:
    """What went wrong, with what to do."""
    code = error.response.get("Error", {}).get("Code", "") if isinstance(error, ClientError) else ""
    if "NonExistentQueue" in code or "QueueDoesNotExist" in code:
        return f"there is no queue {queue}: look at the name, the account and the region of the doorbell's queue"
    if code in ("AccessDenied", "AccessDeniedException"):
        return (
            f"the queue {queue} may not be used: grant sqs:SendMessage, ReceiveMessage, DeleteMessage and "
            "ChangeMessageVisibility"
        )
    return f"the queue {queue} does not answer ({error})"
