"""A queue of a local AWS, and who reads it."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

if TYPE_CHECKING:
    from types_aiobotocore_sqs import SQSClient


REGION = "eu-central-1"


@dataclass
class LocalQueue:
    """A queue, and the client of whoever reads it."""

    url: str
    client: SQSClient

    async def received(self, count: int) -> list[dict[str, Any]]:
        """So many messages, each taken out of the queue, in the order in which they came."""
        found: list[dict[str, Any]] = []
        while len(found) < count:
            answer = await self.client.receive_message(
                QueueUrl=self.url, MaxNumberOfMessages=10, WaitTimeSeconds=1,
                MessageSystemAttributeNames=["MessageGroupId", "MessageDeduplicationId"],
            )  # fmt: skip
            for message in answer.get("Messages", ()):
                found.append({**json.loads(message["Body"]), "attributes": message.get("Attributes", {})})
                await self.client.delete_message(QueueUrl=self.url, ReceiptHandle=message["ReceiptHandle"])
        return found


@asynccontextmanager
async def local_queue(endpoint: str, name: str) -> AsyncGenerator[LocalQueue]:
    """A new queue of a local AWS."""
    import aioboto3

    async with aioboto3.Session().client("sqs", endpoint_url=endpoint, region_name=REGION) as client:
        attributes: Any = {"FifoQueue": "true"} if name.endswith(".fifo") else {}
        made = await client.create_queue(QueueName=f"{uuid4().hex}-{name}", Attributes=attributes)
        yield LocalQueue(made["QueueUrl"], client)
