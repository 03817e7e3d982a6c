"""Faults on the wire between us and AWS: a proxy that breaks chosen requests, by a plan that a seed decides.

microburst, which `make aws-local FAULTS=yes` puts before the local AWS, breaks requests by hand. Tests need what it
lacks: the same requests broken by the same seed, a reason for each write of a cancelled transaction, and a request that
is passed on twice.
"""

from __future__ import annotations

import io
import json
import random
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from types import TracebackType
from typing import Literal, Self

from aiohttp import ClientConnectionError, ClientSession, ClientTimeout, TCPConnector, web
from yarl import URL

from tests.waiting import eventually

Fault = Literal["conflict", "throttled", "broken", "denied", "cut", "silent", "lost", "half", "doubled"]
"""How a request breaks:

conflict   refused, because another transaction is at work on the same item
throttled  refused, because there were too many
broken     refused by a server that stumbled (500)
denied     refused, because the credentials lack the right
cut        the connection ends before the request is passed on
silent     never passed on, and never answered: the client's time-out ends it
lost       passed on and done, but the connection ends instead of an answer
half       passed on and done, but the connection ends in the middle of the answer
doubled    passed on twice; the second answer comes back
"""
CONFLICTING = ("TransactWriteItems", "PutItem", "UpdateItem", "DeleteItem")
"""Operations that another transaction can be in the way of."""
_DROPPED = {"transfer-encoding", "content-length", "connection", "keep-alive", "date", "server"}
"""Headers of one connection, which are not passed on."""
_CODES: Mapping[str, Mapping[str, tuple[int, str]]] = {
    "dynamodb": {
        "throttled": (400, "ProvisionedThroughputExceededException"),
        "broken": (500, "InternalServerError"),
        "denied": (400, "AccessDeniedException"),
    },
    "sqs": {
        "throttled": (400, "ThrottlingException"),
        "broken": (500, "InternalError"),
        "denied": (403, "AccessDenied"),
    },
    "s3": {"throttled": (503, "SlowDown"), "broken": (500, "InternalError"), "denied": (403, "AccessDenied")},
}


@dataclass(frozen=True, slots=True)
class FaultPlan:
    """Which requests break: each of ``operations`` (such as ``dynamodb.*``) with the chances of ``rates``.

    What happens to the n-th request of an operation depends on the seed alone, however requests of others fall between.
    """

    seed: int
    rates: Mapping[Fault, float]
    operations: tuple[str, ...] = ("*",)

    def fault(self, operation: str, number: int) -> Fault | None:
        """What happens to the ``number``-th request of an operation."""
        if not any(fnmatchcase(operation, pattern) for pattern in self.operations):
            return None
        drawn = random.Random(f"{self.seed}/{operation}/{number}").random()
        for fault, rate in self.rates.items():
            if drawn < rate:
                return fault if fault != "conflict" or operation.partition(".")[2] in CONFLICTING else None
            drawn -= rate
        return None


@dataclass(frozen=True, slots=True)
class Broken:
    """A request that was broken."""

    operation: str
    number: int
    """The how many-th of its operation it was, from 1."""
    fault: Fault


@dataclass(slots=True)
class WireFaults:
    """A proxy on loopback before ``upstream``; its own ``address`` stands in for that of AWS."""

    upstream: str
    plan: FaultPlan | None = None
    address: str = ""
    seen: Counter[str] = field(default_factory=Counter[str])
    """Requests by operation, such as ``dynamodb.PutItem``."""
    broken: list[Broken] = field(default_factory=list[Broken])
    """What was broken, in order."""
    heard: Callable[[str, bytes, int, bytes], None] | None = None
    """Is told of each request that reached AWS: operation, body, status, answer."""
    _next: dict[str, deque[Fault | None]] = field(default_factory=dict[str, "deque[Fault | None]"])
    _session: ClientSession | None = None
    _runner: web.AppRunner | None = None

    def break_next(self, operation: str, *faults: Fault | None) -> None:
        """Break the next requests of an operation so, one after the other; None lets one pass."""
        self._next.setdefault(operation, deque()).extend(faults)

    def counted(self) -> Counter[Fault]:
        """How often each fault came."""
        return Counter(each.fault for each in self.broken)

    async def __aenter__(self) -> Self:
        connector = TCPConnector(limit=0, keepalive_timeout=30)
        self._session = ClientSession(connector=connector, auto_decompress=False, timeout=ClientTimeout(total=60))
        app = web.Application(client_max_size=0)
        app.router.add_route("*", "/{path:.*}", self._serve)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.address = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._session is not None
        assert self._runner is not None
        await self._runner.cleanup()
        await self._session.close()

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        try:
            return await self._answered(request)
        except ClientConnectionError:  # whoever is before us or behind us has hung up
            return _hung_up(request)

    async def _answered(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        operation = operation_of(request.method, request.raw_path, request.headers)
        self.seen[operation] += 1
        fault = self._fault(operation)
        if fault is not None:
            self.broken.append(Broken(operation, self.seen[operation], fault))
        if fault in ("conflict", "throttled", "broken", "denied"):
            return _refusal(operation, fault, body)
        if fault == "cut":
            return _hung_up(request)
        if fault == "silent":
            transport = request.transport
            await eventually(lambda: transport is None or transport.is_closing(), "it hangs up", seconds=600)
            return web.Response()
        if fault == "doubled":
            await self._passed_on(request, body)
        answer, content = await self._passed_on(request, body)
        if fault == "lost":
            return _hung_up(request)
        if fault == "half":
            answer.content_length = len(content)
            await answer.prepare(request)
            await answer.write(content[: len(content) // 2])
            return _hung_up(request, answer)
        await answer.prepare(request)
        if request.method != "HEAD":
            await answer.write(content)
        await answer.write_eof()
        return answer

    def _fault(self, operation: str) -> Fault | None:
        if chosen := self._next.get(operation):
            return chosen.popleft()
        return self.plan.fault(operation, self.seen[operation]) if self.plan is not None else None

    async def _passed_on(self, request: web.Request, body: bytes) -> tuple[web.StreamResponse, bytes]:
        """Send the request as it came; the answer with its headers, and its content."""
        assert self._session is not None
        headers = {name: value for name, value in request.headers.items() if name.lower() not in _DROPPED | {"expect"}}
        url = URL(self.upstream + request.raw_path, encoded=True)
        async with self._session.request(
            request.method, url, headers=headers, data=io.BytesIO(body), allow_redirects=False
        ) as got:
            content = await got.read()
            if self.heard is not None:
                self.heard(operation_of(request.method, request.raw_path, request.headers), body, got.status, content)
            kept = {name: value for name, value in got.headers.items() if name.lower() not in _DROPPED}
            answer = web.StreamResponse(status=got.status, headers=kept)
            if "Content-Length" in got.headers:  # of a HEAD, it is that of the content it does not bring
                answer.content_length = int(got.headers["Content-Length"])
            return answer, content


def operation_of(method: str, path: str, headers: Mapping[str, str]) -> str:
    """The operation that a request is for: ``dynamodb.PutItem``, ``sqs.SendMessage``, ``s3.GetObject``."""
    if target := headers.get("X-Amz-Target"):
        version, _, name = target.partition(".")
        return f"{'dynamodb' if version.startswith('DynamoDB') else 'sqs'}.{name}"
    url = URL(path, encoded=True)
    key = url.path.strip("/").partition("/")[2]
    asked = set(url.query)
    names: tuple[tuple[bool, str], ...] = (
        ("versioning" in asked, f"{method.title()}BucketVersioning"),
        ("versions" in asked, "ListObjectVersions"),
        ("delete" in asked, "DeleteObjects"),
        ("partNumber" in asked, "UploadPart"),
        ("uploads" in asked, "CreateMultipartUpload"),
        ("uploadId" in asked, "CompleteMultipartUpload"),
        (not key and method == "GET", "ListObjectsV2"),
        (not key, f"{method.title()}Bucket"),
        ("x-amz-copy-source" in {name.lower() for name in headers}, "CopyObject"),
    )
    return "s3." + next((name for holds, name in names if holds), f"{method.title()}Object")


def _refusal(operation: str, fault: Fault, body: bytes) -> web.Response:
    """An error as the service words it."""
    service, _, name = operation.partition(".")
    said = f"not authorized to perform: {service}:{name}" if fault == "denied" else f"{fault}, by a test"
    if fault == "conflict":
        return _conflict(name, said, body)
    status, code = _CODES[service][fault]
    if service == "s3":
        text = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>{said}</Message></Error>"
        return web.Response(status=status, text=text, content_type="application/xml")
    return _as_json(status, f"com.amazonaws.{service}#{code}", {"message": said})


def _conflict(name: str, said: str, body: bytes) -> web.Response:
    """A transaction is told which of its writes met another: one, while nothing is wrong with the rest."""
    if name != "TransactWriteItems":
        return _as_json(400, "com.amazonaws.dynamodb#TransactionConflictException", {"message": said})
    count = len(json.loads(body)["TransactItems"])
    reasons = [{"Code": "TransactionConflict", "Message": said}, *({"Code": "None"} for _ in range(count - 1))]
    told = {"Message": said, "CancellationReasons": reasons}
    return _as_json(400, "com.amazonaws.dynamodb#TransactionCanceledException", told)


def _as_json(status: int, code: str, told: Mapping[str, object]) -> web.Response:
    return web.json_response({"__type": code, **told}, status=status, content_type="application/x-amz-json-1.0")


def _hung_up(request: web.Request, answer: web.StreamResponse | None = None) -> web.StreamResponse:
    """End the connection without another byte."""
    if request.transport is not None:
        request.transport.abort()
    return answer or web.Response()
