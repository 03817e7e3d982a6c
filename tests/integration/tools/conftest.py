"""An agent's toolbox in a real sandbox."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from .bench import Bench, open_bench


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    """A bench of its own for each test."""
    async with open_bench() as opened:
        yield opened
