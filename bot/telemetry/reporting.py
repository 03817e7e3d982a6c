"""Traces and metrics of a process: whether they are wanted, their beginning, and their end within a fixed time.

OpenTelemetry's own variables say where to: without an endpoint nothing of it is imported, and nothing is noted.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable, Mapping

from agentic.extras import missing
from bot.telemetry.names import Metric
from bot.telemetry.process_state import Values
from bot.telemetry.trace_sink import Export, TraceSink

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
SIGNALS = ("traces", "metrics")
FLUSH_SECONDS = 2.0
"""So long the end of the process waits for what is still to be sent."""

log = logging.getLogger(__name__)


def wanted(env: Mapping[str, str]) -> frozenset[str]:
    """The signals that are to be sent, by the standard variables; what cannot be meant is told, and not sent."""
    if env.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return frozenset()
    return frozenset(signal for signal in SIGNALS if _is_sent(signal, env))


def _is_sent(signal: str, env: Mapping[str, str]) -> bool:
    own = f"OTEL_EXPORTER_OTLP_{signal.upper()}_ENDPOINT"
    name = own if env.get(own) else ENDPOINT
    address = env.get(name, "").strip()
    exporter = env.get(f"OTEL_{signal.upper()}_EXPORTER", "").strip() or "otlp"
    if not address or exporter == "none":
        return False
    protocol = env.get(f"OTEL_EXPORTER_OTLP_{signal.upper()}_PROTOCOL") or env.get("OTEL_EXPORTER_OTLP_PROTOCOL", "")
    problem = ""
    if not address.startswith(("http://", "https://")):
        problem = f"{name} is no address that begins with http:// or https://"
    elif protocol.strip() not in ("", "http/protobuf"):
        problem = (
            "only OTLP over HTTP is spoken: leave OTEL_EXPORTER_OTLP_PROTOCOL out, and name the collector's port for it"
        )
    elif exporter != "otlp":
        problem = f"only otlp and none are known as OTEL_{signal.upper()}_EXPORTER"
    if problem:
        log.warning("no %s are sent: %s", signal, problem)
    return not problem


class Reporting:
    """Has traces and metrics sent, from ``run`` to ``close``."""

    def __init__(
        self, sink: TraceSink, signals: frozenset[str], build: str, observed: Mapping[Metric, Callable[[], Values]]
    ) -> None:
        self.sink = sink
        self._signals, self._build, self._observed = signals, build, observed
        self.export: Export | None = None
        """None until the SDK is there."""
        self._running: asyncio.Task[None] | None = None
        self._opened = asyncio.Event()

    def begin(self) -> None:
        """Begin in the background: the SDK takes a moment to import."""
        self._running = asyncio.create_task(self._run(), name="traces")

    async def _run(self) -> None:
        try:
            self.export = await asyncio.to_thread(self._open)
        except Exception as error:  # whatever is wrong with it, tasks do not need it
            log.warning("no traces and metrics are sent: %s", error, exc_info=log.isEnabledFor(logging.DEBUG))
            self.sink.end()
        finally:
            self._opened.set()
        if self.export is not None:
            await self.sink.run(self.export)

    def _open(self) -> Export:
        if (lacks := missing("otel")) is not None:
            raise LookupError(str(lacks))
        from bot.telemetry.otlp_export import OtlpExport

        return OtlpExport(self._build, self._signals, self._observed)

    async def close(self) -> None:
        """Send what waits, for no longer than ``FLUSH_SECONDS``; what was not sent by then is lost."""
        self.sink.shut = True
        if self._running is None:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FLUSH_SECONDS):
                await self._opened.wait()
                await self._end_reading()
                if self.export is not None:
                    await self.sink.rest(self.export)
                    await _closed(self.export)
        await self._end_reading()

    async def _end_reading(self) -> None:
        assert self._running is not None
        self._running.cancel()
        await asyncio.gather(self._running, return_exceptions=True)


async def _closed(export: Export) -> None:
    """Close it in a thread that nothing waits for at the end of the process."""
    loop, closed = asyncio.get_running_loop(), asyncio.Event()

    def close() -> None:
        export.close()
        with contextlib.suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(closed.set)

    threading.Thread(target=close, name="last traces", daemon=True).start()
    await closed.wait()
