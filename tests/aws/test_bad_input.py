"""What is wrong with an account, wherever it is met: the store, lessons, files, the doorbell and the queue of events.

Each is a line that says what to do. What is looked at before a start stands in ``test_inspection``.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from aiohttp import web

from agentic.aws.aws_place import AwsPlace, events_place
from agentic.aws.bucket import WorkspaceObjects
from agentic.aws.clients import Clients
from agentic.doorbells.queue_doorbell import QueueDoorbell
from agentic.event_targets.event_queue import EventQueue
from agentic.event_targets.event_target import NotDelivered
from agentic.ports.errors import AgenticError
from agentic.stores.aws.aws_inspection import inspect
from agentic.stores.aws.store import AwsStore
from reflexion.errors import ReflexionError
from reflexion.stores.aws import AwsLessonStore
from tests.aws.wire_faults import operation_of
from tests.unit.event_targets.test_event_targets import turn

NAMED = r"there is no (\S+) .* set ([A-Z_0-9]+) and AWS_REGION"
USES = ("store", "lessons", "files", "doorbell", "events")


async def told(place: AwsPlace) -> dict[str, str]:
    """What each says that uses a place."""
    store, lessons = AwsStore.open(place, patience=0), AwsLessonStore(Clients(place, patience=0))
    files, bell = WorkspaceObjects(Clients(place, patience=0)), QueueDoorbell(place)
    queue = EventQueue(events_place(place.events, place.region, place.endpoint))

    async def deliver() -> None:
        async for _ in queue.deliver([turn("x1", 1)]):
            pass

    asked = (store.fact("a"), lessons.guilds_with("active"), files.put("a", b"b"), bell.ring("t", "g"), deliver())
    answers = await asyncio.gather(*asked, return_exceptions=True)
    for each in (store, lessons, files, bell, queue):
        await each.close()
    said: dict[str, str] = {}
    for use, error in zip(USES, answers, strict=True):
        assert not isinstance(error, Exception) or isinstance(error, AgenticError | ReflexionError | NotDelivered), (
            error
        )
        said[use] = str(error) if isinstance(error, Exception) else ""
    return said


Refusal = Mapping[str, tuple[int, str, str]]
"""By service: status, AWS's word, and what it says."""
SKEWED = "Signature expired: 20261126T040000Z is now earlier than 20261126T045500Z"
REFUSALS: tuple[tuple[Refusal, str], ...] = (
    ({"dynamodb": (400, "UnrecognizedClientException", "The security token is invalid"),
      "s3": (403, "InvalidAccessKeyId", "no such key"), "sqs": (403, "InvalidClientTokenId", "invalid")},
     "AWS does not accept the credentials .*: check AWS_ACCESS_KEY_ID"),
    ({"dynamodb": (400, "ExpiredTokenException", "expired"), "s3": (400, "ExpiredToken", "expired"),
      "sqs": (403, "ExpiredToken", "expired")}, "the AWS credentials have expired: sign in again"),
    ({"dynamodb": (400, "InvalidSignatureException", SKEWED), "s3": (403, "RequestTimeTooSkewed", "too large"),
      "sqs": (403, "SignatureDoesNotMatch", SKEWED)}, "this machine's clock is wrong: set it"),
    ({"dynamodb": (400, "AccessDeniedException", "no"), "s3": (403, "AccessDenied", "no"), "sqs": (403, "AccessDenied", "no")},
     "may not do this .*: give their role the rights that the template in deploy/ lists for (table|bucket|queue) [a-z]+$"),
    ({"dynamodb": (400, "ResourceNotFoundException", "no"), "s3": (301, "PermanentRedirect", "elsewhere"),
      "sqs": (400, "AWS.SimpleQueueService.NonExistentQueue", "no")},
     "there is no (table threads|queue [a-z]+) in region eu-west-1 .* AWS_REGION to|bucket artifacts is in another region"),
)  # fmt: skip


@asynccontextmanager
async def refusing(refusals: Refusal) -> AsyncIterator[str]:
    """An AWS that refuses everything; MiniStack looks at no signature."""

    async def refuse(request: web.Request) -> web.Response:
        service = operation_of(request.method, request.raw_path, request.headers).partition(".")[0]
        status, code, said = refusals[service]
        if service == "s3":
            text = f"<Error><Code>{code}</Code><Message>{said}</Message></Error>"
            return web.Response(status=status, text=text, headers={"x-amz-bucket-region": "eu-central-1"})
        return web.json_response({"__type": code, "message": said}, status=status)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", refuse)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def at(endpoint: str, region: str = "eu-west-1") -> AwsPlace:
    """A place there."""
    return AwsPlace("threads", "artifacts", region, endpoint, f"{endpoint}/1/doorbell", f"{endpoint}/1/events")


@pytest.mark.parametrize(("refusals", "words"), REFUSALS)
async def test_what_aws_refuses_is_told_alike_by_all_who_ask_and_before_a_start(
    refusals: Refusal, words: str, aws_credentials: None
) -> None:
    async with refusing(refusals) as endpoint:
        said, found = await told(at(endpoint)), await inspect(at(endpoint))
    assert [use for use, line in said.items() if re.search(words, line) is None] == [], said
    assert all(re.search(words, each.said) for each in found if each.verdict == "wrong" and each.part != "clock"), found


async def test_what_is_not_there_is_named_with_its_setting(aws_place: AwsPlace) -> None:
    gone = replace(
        aws_place, table="no-table", bucket="no-bucket", queue=f"{aws_place.queue}-no", events=f"{aws_place.events}-no"
    )
    said = await told(gone)
    assert {use: re.findall(NAMED, words) for use, words in said.items()} == {
        "store": [("table", "DYNAMODB_EXECUTIONS_TABLE")], "lessons": [("table", "DYNAMODB_EXECUTIONS_TABLE")],
        "files": [("bucket", "S3_ARTIFACT_BUCKET")], "doorbell": [("queue", "AGENTIC_DOORBELL_QUEUE_URL")],
        "events": [("queue", "AGENTIC_EVENTS_QUEUE_URL")],
    }  # fmt: skip
    assert set((await told(aws_place)).values()) == {""}, "and nothing is said where all is well"


async def test_what_is_missing_on_this_machine_is_told_by_all_who_ask(
    no_credentials: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    nowhere = at("http://127.0.0.1:9")
    lines = {"no AWS credentials that can be used .*: set AWS_ACCESS_KEY_ID": await told(nowhere)}
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    lines |= {
        "AWS does not answer in .*: check that http://127.0.0.1:9 runs": await told(nowhere),
        "no AWS region is called eu west: set AWS_REGION": await told(at("http://127.0.0.1:9", "eu west")),
        "AWS cannot be asked .*: correct AWS_ENDPOINT_URL": await told(at("http://local host")),
    }
    without = await told(at("http://127.0.0.1:9", ""))
    assert {
        words: said for words, said in lines.items() if not all(re.search(words, each) for each in said.values())
    } == {}
    assert [use for use, words in without.items() if "no AWS region is set" in words] == [
        "store",
        "lessons",
        "doorbell",
    ]
