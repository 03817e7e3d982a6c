"""Each contract test runs against both stores."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agentic.ports.runtime import Store
from tests.integration.stores.samples import STORES, Seconds


@pytest.fixture
def seconds() -> Seconds:
    """The clock that leases run by."""
    return Seconds()


@pytest.fixture(autouse=True)
def credentials(aws_credentials: None) -> None:
    """Every test may open a store on AWS."""


@pytest.fixture(params=sorted(STORES))
async def store(request: pytest.FixtureRequest, tmp_path: Path, seconds: Seconds) -> AsyncIterator[Store]:
    """An empty store."""
    made = STORES[str(request.param)](tmp_path, seconds)
    yield made
    await made.close()
