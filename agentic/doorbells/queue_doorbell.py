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
from collections.abc import Sequence
from typing import Any

from agentic.aws.aws_place import AwsPlace
from agentic.aws.clients import BRIEF, Answer, Clients
from agentic.doorbells.doorbell import Ring
from agentic.ports.errors import DoorbellSilent, StoreError

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
    """Rings and hears over the queue of a place, in which it makes its clients when it first needs them."""

    def __init__(self, place: AwsPlace) -> None:
        self._clients = Clients(place, BRIEF)
        self._held: dict[str, float] = {}
        """Receipts of what was heard and not acknowledged, with when that was."""
        self._beating: asyncio.Task[None] | None = None

    @property
    def keeps_line(self) -> bool:
        """The queue does, by guild."""
        return True

    async def ring(self, thread: str, guild: str) -> None:
        """Put it into the queue, in the group of its guild; direct messages are a group each."""
        try:
            await self._call("send_message", MessageBody=thread, MessageGroupId=guild or thread)
        except StoreError as error:
            raise DoorbellSilent(f"the doorbell cannot be rung: {error}") from error

    async def heard(self, most: int) -> list[Ring]:
        """Wait by a long poll."""
        try:
            answer = await self._call(
                "receive_message", MaxNumberOfMessages=min(most, AT_ONCE), WaitTimeSeconds=WAIT_SECONDS,
                VisibilityTimeout=HIDDEN_SECONDS,
            )  # fmt: skip
        except StoreError as error:
            raise DoorbellSilent(f"the doorbell cannot be heard: {error}") from error
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
            await self._call("delete_message", ReceiptHandle=ring.receipt)
        except StoreError as error:
            log.info("a ring for thread %s comes again: %s", ring.thread, error)

    async def close(self) -> None:
        """Show the others what is left."""
        if self._beating is not None:
            self._beating.cancel()
            await asyncio.gather(self._beating, return_exceptions=True)
        await self._hidden([*self._held], 0)
        self._held.clear()
        await self._clients.close()

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            since = asyncio.get_running_loop().time() - HELD_SECONDS
            self._held = {receipt: heard for receipt, heard in self._held.items() if heard > since}
            await self._hidden([*self._held], HIDDEN_SECONDS)

    async def _hidden(self, receipts: Sequence[str], seconds: int) -> None:
        """Hide them from others for so long; what fails shows itself again, and is found to be in good hands."""
        for first in range(0, len(receipts), AT_ONCE):
            entries = [
                {"Id": str(number), "ReceiptHandle": receipt, "VisibilityTimeout": seconds}
                for number, receipt in enumerate(receipts[first : first + AT_ONCE])
            ]
            try:
                answer = await self._call("change_message_visibility_batch", Entries=entries)
                if failed := answer.get("Failed", []):
                    log.info("%d rings may come again: %s", len(failed), failed[0].get("Message", ""))
            except StoreError as error:
                log.info("rings may come again: %s", error)

    async def _call(self, operation: str, **arguments: Any) -> Answer:
        return await self._clients.call("sqs", operation, {"QueueUrl": self._clients.place.queue, **arguments})
