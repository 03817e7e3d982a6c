"""A collector for tests: takes OTLP over HTTP on loopback, decodes it, or behaves badly."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Literal

from aiohttp import web
from aiohttp.test_utils import TestServer
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
from opentelemetry.proto.trace.v1.trace_pb2 import Span as Wire

Manner = Literal["takes", "refuses", "hangs", "endless"]
SECONDS = 60.0
BLOCK = b"x" * 65_536


@dataclass(frozen=True)
class Received:
    """A span as it came."""

    trace: str
    id: str
    parent: str
    name: str
    kind: int
    begun: int
    ended: int
    attributes: dict[str, object]
    links: tuple[tuple[str, str], ...]
    failed: bool


@dataclass
class Collector:
    """What it took so far; ``manner`` can be changed at any time."""

    url: str = ""
    manner: Manner = "takes"
    spans: list[Received] = field(default_factory=list)
    metrics: list[Metric] = field(default_factory=list)
    resource: dict[str, object] = field(default_factory=dict)
    headers: list[str] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    asked: int = 0
    sent: int = 0
    """Bytes of endless answers."""
    came: asyncio.Event = field(default_factory=asyncio.Event)
    let_go: asyncio.Event = field(default_factory=asyncio.Event)

    async def until(self, holds: Callable[[], object]) -> None:
        """Wait until it holds; looked at whenever something came."""
        async with asyncio.timeout(SECONDS):
            while not holds():
                self.came.clear()
                await self.came.wait()

    def names(self) -> set[str]:
        """Of all metrics that came."""
        return {metric.name for metric in self.metrics}

    def newest(self, name: str) -> Metric:
        """The metric as it came last."""
        return next(metric for metric in reversed(self.metrics) if metric.name == name)

    async def take(self, request: web.Request) -> web.StreamResponse:
        self.asked += 1
        body = await request.read()
        self.came.set()
        if self.manner == "refuses":
            return web.Response(status=400, text="no")
        if self.manner == "hangs":
            await self.let_go.wait()
            return web.Response()
        if self.manner == "endless":
            answer = web.StreamResponse(status=500)
            await answer.prepare(request)
            while not self.let_go.is_set():
                await answer.write(BLOCK)
                self.sent += len(BLOCK)
            return answer
        self.bodies.append(body)
        self.headers += request.headers.getall("authorization", [])
        if request.path.endswith("traces"):
            self._spans(ExportTraceServiceRequest.FromString(body))
        else:
            came = ExportMetricsServiceRequest.FromString(body)
            self.metrics += [one for r in came.resource_metrics for scope in r.scope_metrics for one in scope.metrics]
        self.came.set()
        return web.Response(body=b"\xff garbage, which nobody reads")

    def _spans(self, came: ExportTraceServiceRequest) -> None:
        for each in came.resource_spans:
            self.resource = values(each.resource.attributes)
            self.spans += [received(span) for scope in each.scope_spans for span in scope.spans]


def received(span: Wire) -> Received:
    links = tuple((link.trace_id.hex(), link.span_id.hex()) for link in span.links)
    return Received(
        span.trace_id.hex(), span.span_id.hex(), span.parent_span_id.hex(), span.name, span.kind,
        span.start_time_unix_nano, span.end_time_unix_nano, values(span.attributes), links, span.status.code == 2,
    )  # fmt: skip


def values(attributes: list[KeyValue] | object) -> dict[str, object]:
    """Attributes as a mapping."""
    return {each.key: _value(each.value) for each in attributes}  # type: ignore[attr-defined]


def _value(value: AnyValue) -> object:
    which = value.WhichOneof("value")
    if which == "array_value":
        return [_value(each) for each in value.array_value.values]
    return getattr(value, which) if which else None


@asynccontextmanager
async def collecting() -> AsyncGenerator[Collector]:
    """A collector that listens."""
    collector = Collector()
    app = web.Application()
    app.router.add_post("/v1/{signal}", collector.take)
    server = TestServer(app, host="127.0.0.1")
    await server.start_server()
    collector.url = f"http://127.0.0.1:{server.port}"
    try:
        yield collector
    finally:
        collector.let_go.set()
        await server.close()
