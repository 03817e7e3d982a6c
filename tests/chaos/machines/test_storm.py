"""A short storm over a fleet: three kills, one zombie, broken requests; nothing is doubled, lost or run twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from deploy.aws_local.emulator import PYTHON
from tests.chaos.machines.storm import Plan, storm

pytestmark = [
    pytest.mark.skipif(not PYTHON.exists(), reason="MiniStack is not installed; set it up with: make aws"),
    pytest.mark.long("THREADWRIGHT_ALL_KILLS"),  # it freezes a process for 20 s
]


async def test_a_short_storm_breaks_no_promise(aws_credentials: None, tmp_path: Path) -> None:
    outcome = await storm(7, Plan(turns=40, kills=3, freezes=1), tmp_path)
    assert outcome.counts.problems == []
    assert outcome.turns >= 40
    assert outcome.kills >= 3
    assert outcome.broken > 0
