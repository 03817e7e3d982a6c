"""Events as messages in a queue of SQS.

A FIFO queue keeps the order within an execution and drops repeated keys for five minutes; a standard one keeps neither, and
its receivers go by ``seq`` and ``key``.  Credentials are found by the SDK and are never held here.
"""

from __future__ import annotations

import asyncio
import importlib
import re
from collections.abc import AsyncIterator, Generator, Sequence
from contextlib import AsyncExitStack, contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from agentic.core.outside.outside_events import AnyOutsideEvent, as_json
from agentic.event_targets.event_target import EventTarget, NotDelivered, waves

if TYPE_CHECKING:
    from types_aiobotocore_sqs import SQSClient
    from types_aiobotocore_sqs.type_defs import SendMessageBatchRequestEntryTypeDef, SendMessageBatchResultTypeDef

TOGETHER = 10
"""Messages of one request."""
_AMAZON = re.compile(r"(?:sqs\.(?P<region>[a-z0-9-]{1,40})|(?P<old>[a-z0-9-]{1,40})\.queue)\.amazonaws\.com(?:\.cn)?")
_TODO = {
    "QueueDoesNotExist": "there is no such queue: correct AGENTIC_EVENTS_QUEUE_URL, or AWS_REGION",
    "NonExistentQueue": "there is no such queue: correct AGENTIC_EVENTS_QUEUE_URL, or AWS_REGION",
    "AccessDenied": "the credentials may not send to it: allow sqs:SendMessage on that queue",
    "InvalidClientTokenId": "AWS does not know the credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a role",
    "SignatureDoesNotMatch": "the secret key is wrong, or this machine's clock is: check both",
    "ExpiredToken": "the credentials have expired: renew them",
    "RequestExpired": "this machine's clock is wrong: set it",
}
_UNSENT = {
    "NoCredentialsError": "no AWS credentials were found: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give the "
    "machine a role",
    "EndpointConnectionError": "it cannot be reached: check AGENTIC_EVENTS_QUEUE_URL, AWS_ENDPOINT_URL and the network",
}


def check_queue(url: str) -> None:
    """Raise ``ValueError`` for what is no address of a queue."""
    at = urlsplit(url)
    if at.scheme not in ("https", "http") or not at.hostname or at.path.count("/") < 2 or at.query:
        raise ValueError("it is a queue's URL, such as https://sqs.eu-central-1.amazonaws.com/123456789012/events.fifo")


def region_of(url: str) -> str | None:
    """The region that a queue's address names; None where that is for the environment to say."""
    found = _AMAZON.fullmatch(urlsplit(url).hostname or "")
    return (found["region"] or found["old"]) if found is not None else None


class EventQueue(EventTarget):
    """Sends to one queue; ``region`` and ``endpoint`` count where its address does not say them."""

    name = "queue"

    def __init__(self, url: str, region: str = "", endpoint: str = "") -> None:
        self._url, self._region, self._endpoint = url, region, endpoint
        self.place = urlsplit(url).path.rpartition("/")[2]
        self._fifo = url.endswith(".fifo")
        self._stack = AsyncExitStack()
        self._client: SQSClient | None = None

    async def deliver(self, events: Sequence[AnyOutsideEvent]) -> AsyncIterator[str]:
        """Send them, of an execution one after the other; the first that is not taken ends it."""
        for wave in waves(events, TOGETHER):
            answer = await self._send(wave)
            for sent in answer.get("Successful", ()):
                yield wave[int(sent["Id"])].key
            for failed in answer.get("Failed", ()):
                raise self._problem(failed["Code"], failed.get("Message", ""))

    async def trouble(self) -> str:
        """Why nothing could be sent there, as far as can be told without sending anything; '' for nothing."""
        try:
            client = await self._connected()
            with self._plainly():
                await client.get_queue_attributes(QueueUrl=self._url, AttributeNames=["QueueArn"])
        except NotDelivered as why:
            return "" if _TODO["AccessDenied"] in str(why) else str(why)  # who may send need not be let look
        return ""

    async def _send(self, wave: Sequence[AnyOutsideEvent]) -> SendMessageBatchResultTypeDef:
        client = await self._connected()
        with self._plainly():
            return await client.send_message_batch(QueueUrl=self._url, Entries=self._messages(wave))

    @contextmanager
    def _plainly(self) -> Generator[None]:
        """Raise what the SDK raises as ours."""
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            yield
        except ClientError as error:
            told = error.response.get("Error", {})
            raise self._problem(told.get("Code", ""), told.get("Message", "")) from error
        except (BotoCoreError, OSError) as error:
            why = _UNSENT.get(type(error).__name__, f"it does not answer ({type(error).__name__}): check the network")
            raise NotDelivered(f"the queue {self.place}: {why}") from error

    async def close(self) -> None:
        """End the connections."""
        await self._stack.aclose()

    def _messages(self, wave: Sequence[AnyOutsideEvent]) -> list[SendMessageBatchRequestEntryTypeDef]:
        """The messages of one request; their group keeps order in a FIFO queue, and fairness in a standard one."""
        messages: list[SendMessageBatchRequestEntryTypeDef] = []
        for number, event in enumerate(wave):
            message: SendMessageBatchRequestEntryTypeDef = {
                "Id": str(number), "MessageBody": as_json(event).decode(), "MessageGroupId": event.execution,
            }  # fmt: skip
            if self._fifo:
                message["MessageDeduplicationId"] = event.key
            messages.append(message)
        return messages

    def _problem(self, code: str, message: str) -> NotDelivered:
        short = code.rpartition(".")[2].removesuffix("Exception")
        return NotDelivered(f"the queue {self.place}: {_TODO.get(short, f'{code}: {message[:200]}')}")

    async def _connected(self) -> SQSClient:
        if self._client is None:
            await asyncio.to_thread(importlib.import_module, "aioboto3")
            import aioboto3
            from aiobotocore.config import AioConfig

            amazon, at = region_of(self._url), urlsplit(self._url)
            own = f"{at.scheme}://{at.netloc}" if amazon is None else None
            endpoint = self._endpoint or own
            region = amazon or self._region or ("us-east-1" if own else None)
            limits = AioConfig(
                connect_timeout=5, read_timeout=10, retries={"mode": "standard", "total_max_attempts": 2}
            )
            with self._plainly():
                made = aioboto3.Session().client(  # pyright: ignore[reportUnknownMemberType]  # of other services nothing is known
                    "sqs", region_name=region, config=limits, endpoint_url=endpoint
                )
                self._client = await self._stack.enter_async_context(made)
        return self._client
