"""A collector, and variables that have things sent to it at once."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from bot.local_discord.local_discord import LocalGuild
from tests.integration.telemetry.collector import Collector, collecting


@pytest.fixture
async def guild() -> AsyncIterator[LocalGuild]:
    async with await LocalGuild.start() as guild:
        yield guild


@pytest.fixture
async def collector(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Collector]:
    async with collecting() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
        monkeypatch.setenv("OTEL_METRIC_EXPORT_INTERVAL", "300")
        yield collector
