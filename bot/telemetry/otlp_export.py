"""Sends spans and metrics over OTLP/HTTP, by OpenTelemetry's SDK; imported only where an endpoint is set.

Nothing here is waited for by the bot: spans lie in a queue of fixed length and threads of the SDK send them. What finds
no room is dropped and counted, a collector that does not take them is told of once.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import requests
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.metrics import CallbackOptions, Counter, Histogram, Observation
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricExportResult, MetricsData, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)

from bot.telemetry import names
from bot.telemetry.execution_spans import EndedSpan, Value
from bot.telemetry.names import Metric
from bot.telemetry.span_measures import measures_of

QUEUE_SPANS = 2_048
"""So many spans wait to be sent at most; a span takes about two kilobytes, without content."""
SCOPE = "threadwright"
SDK_LOG = "opentelemetry"
Observed = Callable[[], Sequence[tuple[float, Mapping[str, Value]]]]
"""The values of a metric now, with their attributes; asked in a thread."""

log = logging.getLogger(__name__)


class Reception:
    """Whether a collector takes what is sent: told once when it does not, and once when it does again."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.lost = 0
        """How many were not taken since the beginning."""
        self.taken = 0
        self._refused = False
        self._since = 0
        self._lock = threading.Lock()

    def came_to(self, count: int, problem: str) -> None:
        """So many were taken, or not, for the ``problem``."""
        with self._lock:
            if not problem:
                self.taken += count
                if self._refused:
                    log.warning("%s are taken again; %d were lost", self.what, self._since)
                self._refused, self._since = False, 0
                return
            self.lost += count
            self._since += count
            if not self._refused:
                log.warning(
                    "%s are not taken (%s). Tasks go on; check OTEL_EXPORTER_OTLP_ENDPOINT and the collector there",
                    self.what, problem,
                )  # fmt: skip
            self._refused = True


class _Session(requests.Session):
    """Reads no body of an answer, which may be of any length, and says how the last request failed."""

    problem = ""

    def send(self, request: requests.PreparedRequest, **kwargs: Any) -> requests.Response:
        try:
            kwargs["stream"] = True
            answer = super().send(request, **kwargs)
        except requests.RequestException as error:
            self.problem = type(error).__name__
            raise
        answer.close()
        self.problem = "" if answer.ok else f"it answers {answer.status_code}"
        return answer


class _Spans(OTLPSpanExporter):
    def __init__(self, reception: Reception) -> None:
        self.http, self._reception = _Session(), reception
        super().__init__(session=self.http)

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = SpanExportResult.FAILURE
        try:
            result = super().export(spans)
        finally:  # each is accounted for, or the room it took would never be free
            problem = "" if result is SpanExportResult.SUCCESS else self.http.problem or "they cannot be sent"
            self._reception.came_to(len(spans), problem)
        return result


class _Metrics(OTLPMetricExporter):
    def __init__(self, reception: Reception) -> None:
        self.http, self._reception = _Session(), reception
        super().__init__(session=self.http)

    def export(
        self, metrics_data: MetricsData, timeout_millis: float | None = 10_000, **kwargs: Any
    ) -> MetricExportResult:
        result = super().export(metrics_data, timeout_millis)  # pyright: ignore[reportUnknownMemberType]
        problem = "" if result is MetricExportResult.SUCCESS else self.http.problem or "they cannot be sent"
        self._reception.came_to(1, problem)
        return result


class _GivenIds(IdGenerator):
    """Gives the next span the ids that it has by its place in a log."""

    trace = span = 0

    def generate_trace_id(self) -> int:
        return self.trace

    def generate_span_id(self) -> int:
        return self.span


class OtlpExport:
    """An open way to a collector; ``observed`` is asked whenever metrics are sent."""

    def __init__(self, build: str, signals: frozenset[str], observed: Mapping[Metric, Observed]) -> None:
        logging.getLogger(SDK_LOG).setLevel(logging.CRITICAL)  # it tells of each batch; a reception is told of once
        resource = Resource.create({"service.version": build})
        if str(resource.attributes.get("service.name", "")).startswith("unknown_service"):
            resource = resource.merge(Resource({"service.name": "threadwright"}))
        self.traces, self.metrics = Reception("traces"), Reception("metrics")
        self.dropped = 0
        """Spans for which there was no room."""
        self._given = 0
        self._ids = _GivenIds()
        self._meters = MeterProvider(
            [PeriodicExportingMetricReader(_Metrics(self.metrics))] if "metrics" in signals else [],
            resource=resource, shutdown_on_exit=False,
        )  # fmt: skip
        self._tracers = TracerProvider(resource=resource, id_generator=self._ids, shutdown_on_exit=False)
        if "traces" in signals:
            queue = BatchSpanProcessor(
                _Spans(self.traces), max_queue_size=QUEUE_SPANS, max_export_batch_size=QUEUE_SPANS // 4
            )
            self._tracers.add_span_processor(queue)
        self._tracer = self._tracers.get_tracer(SCOPE, build)
        meter = self._meters.get_meter(SCOPE, build)
        self._counters: dict[Metric, Counter] = {}
        self._histograms: dict[Metric, Histogram] = {}
        for metric in names.METRICS:
            about = {"unit": metric.unit, "description": metric.meaning}
            if (values := observed.get(metric)) is not None and metric.instrument == "counter":
                meter.create_observable_counter(metric.name, [_observed(values)], **about)
            elif values is not None:
                meter.create_observable_gauge(metric.name, [_observed(values)], **about)
            elif metric.instrument == "counter":
                self._counters[metric] = meter.create_counter(metric.name, **about)
            elif metric.instrument == "histogram":
                self._histograms[metric] = meter.create_histogram(
                    metric.name, **about, explicit_bucket_boundaries_advisory=metric.buckets
                )

    def tell(self, span: EndedSpan) -> None:
        """Queue a span, or drop it where the queue is full, and count what it stands for."""
        for metric, value, attributes in measures_of(span):
            self.count(metric, value, attributes)
        waiting = self._given - self.traces.taken - self.traces.lost
        if waiting >= QUEUE_SPANS:
            if not self.dropped:
                log.warning("traces come faster than they are taken: what finds no room is dropped and counted")
            self.dropped += 1
            self.count(names.DROPPED, 1, {names.SIGNAL: "traces"})
            return
        if self._record(span):
            self._given += 1

    def count(self, metric: Metric, value: float, attributes: Mapping[str, Value]) -> None:
        """Add a value to a counter or histogram."""
        if metric.instrument == "counter":
            self._counters[metric].add(value, dict(attributes))
        else:
            self._histograms[metric].record(value, dict(attributes))

    def _record(self, span: EndedSpan) -> bool:
        """Whether it is sampled, which only its trace decides."""
        trace = int(span.trace, 16)
        if not self._tracers.sampler.should_sample(None, trace, span.name).decision.is_sampled():
            return False
        self._ids.trace, self._ids.span = trace, int(span.id, 16)
        above = _context(span.trace, span.parent) if span.parent else None
        recorded = self._tracer.start_span(
            span.name,
            set_span_in_context(NonRecordingSpan(above)) if above is not None else set_span_in_context(_NOBODY),
            SpanKind.CLIENT if span.kind == "inference" else SpanKind.INTERNAL,
            dict(span.attributes),
            [Link(_context(*link)) for link in span.links],
            int(span.begun.timestamp() * 1e9),
        )
        if span.error:
            recorded.set_status(Status(StatusCode.ERROR))
        recorded.end(int(span.ended.timestamp() * 1e9))
        return True

    def close(self) -> None:
        """Send what waits, and end; blocks as long as the collector takes."""
        metrics = threading.Thread(target=self._meters.shutdown, name="last metrics", daemon=True)
        metrics.start()
        self._tracers.shutdown()
        metrics.join()


_NOBODY = NonRecordingSpan(SpanContext(0, 0, is_remote=False))


def _context(trace: str, span: str) -> SpanContext:
    return SpanContext(int(trace, 16), int(span, 16), is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))


def _observed(values: Observed) -> Callable[[CallbackOptions], Sequence[Observation]]:
    def observe(_: CallbackOptions) -> Sequence[Observation]:
        return [Observation(value, dict(attributes)) for value, attributes in values()]

    return observe
