"""Events as messages in a queue of SQS.

A FIFO queue keeps the order within an execution and drops repeated keys for five minutes; a standard one keeps neither, and
its receivers go by ``seq`` and ``key``.  Credentials are found by the SDK and are never held here.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from agentic.aws.aws_errors import in_words
from agentic.aws.aws_place import AwsPlace, queue_name
from agentic.aws.clients import BRIEF, Clients
from agentic.core.outside.outside_events import AnyOutsideEvent, as_json
from agentic.event_targets.event_target import EventTarget, NotDelivered, waves
from agentic.ports.errors import StoreError

TOGETHER = 10
"""Messages of one request."""


class EventQueue(EventTarget):
    """Sends to the queue of events of a place."""

    name = "queue"

    def __init__(self, place: AwsPlace) -> None:
        self.place = queue_name(place.events)
        self._aws, self._clients = place, Clients(place, BRIEF)
        self._fifo = place.events.endswith(".fifo")

    async def deliver(self, events: Sequence[AnyOutsideEvent]) -> AsyncIterator[str]:
        """Send them, of an execution one after the other; the first that is not taken ends it."""
        for wave in waves(events, TOGETHER):
            request = {"QueueUrl": self._aws.events, "Entries": self._messages(wave)}
            try:
                answer = await self._clients.call("sqs", "send_message_batch", request)
            except StoreError as error:
                raise NotDelivered(str(error)) from error
            for sent in answer.get("Successful", ()):
                yield wave[int(sent["Id"])].key
            for failed in answer.get("Failed", ()):
                about = self._aws.resource("sqs", request)
                raise NotDelivered(str(in_words(failed["Code"], failed.get("Message", ""), self._aws, about)))

    async def close(self) -> None:
        """End the connections."""
        await self._clients.close()

    def _messages(self, wave: Sequence[AnyOutsideEvent]) -> list[dict[str, Any]]:
        """The messages of one request; their group keeps order in a FIFO queue, and fairness in a standard one."""
        return [
            {
                "Id": str(number), "MessageBody": as_json(event).decode(), "MessageGroupId": event.execution,
                **({"MessageDeduplicationId": event.key} if self._fifo else {}),
            }
            for number, event in enumerate(wave)
        ]  # fmt: skip
