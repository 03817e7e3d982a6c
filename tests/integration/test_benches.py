"""Each bench still runs: its real command, with so little to measure that it takes seconds and its figures say nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bench.__main__ import benches

SECONDS = 300
LONG = (
    "aws_bot", "gateway", "noisy_guild", "hostile", "stuck", "stored_threads", "stops", "fold", "protocols", "engine",
)  # fmt: skip
"""Those that keep a processor busy for ten seconds and more however little they measure: `make bench` runs them."""


@pytest.mark.parametrize("name", [name for name in benches() if name not in LONG])
def test_a_bench_runs_to_its_end_and_prints_figures(name: str) -> None:
    command = [sys.executable, "-m", "bench", "--small", name]
    root = Path(__file__).parents[2]
    run = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert [line for line in run.stdout.splitlines() if line.startswith("figure ")]
