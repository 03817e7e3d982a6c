"""Quick benches still run: the real command, with so little to measure that its figures say nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bench.__main__ import ON_AWS, benches

SECONDS = 300
LONG = (
    "aws_bot", "console", "console_bot", "crowd", "engine", "eyes", "fold", "gateway", "hostile", "hostile_resources",
    "install", "latency", "lesson_trials", "mcp_call", "mention", "noisy_guild", "protocols", "recovery", "retrieval", "soak",
    "startup",
    "stops", "stored_threads", "stuck", "subagents",
)  # fmt: skip
"""They start bots, or keep a processor busy for five seconds and more however little they measure."""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name,
            marks=[
                *([pytest.mark.long("THREADWRIGHT_ALL_BENCHES")] if name in LONG else []),
                *([pytest.mark.aws] if name in ON_AWS else []),
            ],
        )
        for name in benches()
    ],
)
def test_a_bench_runs_to_its_end_and_prints_figures(name: str) -> None:
    command = [sys.executable, "-m", "bench", "--small", name]
    root = Path(__file__).parents[2]
    run = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert [line for line in run.stdout.splitlines() if line.startswith("figure ")]


def test_every_bench_can_be_loaded() -> None:
    """Also those that run for too long."""
    code = "import importlib, sys; [importlib.import_module(f'bench.{name}').figures for name in sys.argv[1:]]"
    run = subprocess.run(
        [sys.executable, "-c", code, *benches()], cwd=Path(__file__).parents[2], capture_output=True, text=True,
        timeout=SECONDS, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
