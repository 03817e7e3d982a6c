"""A local AWS with one queue, as a process of its own: MiniStack on a free port of this machine."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import aiohttp
import pytest

if TYPE_CHECKING:
    from types_aiobotocore_sqs import SQSClient

MINISTACK = Path(__file__).parents[3] / ".venv-aws" / "bin" / "ministack"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "eu-central-1"}
needs_ministack = pytest.mark.skipif(not MINISTACK.exists(), reason="the local AWS is not installed: make aws")


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
async def local_queue(name: str) -> AsyncGenerator[LocalQueue]:
    """Start it, make the queue, and end it."""
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        port = opened.getsockname()[1]
    place = f"http://127.0.0.1:{port}"
    process = await asyncio.create_subprocess_exec(
        str(MINISTACK), env={**os.environ, "BIND_HOST": "127.0.0.1", "GATEWAY_PORT": str(port)},
        stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        async with asyncio.timeout(30):
            await _answers(place)
        with mock.patch.dict(os.environ, CREDENTIALS):
            import aioboto3

            async with aioboto3.Session().client("sqs", endpoint_url=place, region_name="eu-central-1") as client:
                attributes: Any = {"FifoQueue": "true"} if name.endswith(".fifo") else {}
                made = await client.create_queue(QueueName=name, Attributes=attributes)
                yield LocalQueue(made["QueueUrl"], client)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


async def _answers(place: str) -> None:
    async with aiohttp.ClientSession() as session:
        while True:
            try:
                async with session.get(place) as answer:
                    await answer.read()
                    return
            except aiohttp.ClientError:
                await asyncio.sleep(0.02)  # it tells nobody that it listens
