"""Quick benches still run: the real command, with so little to measure that its figures say nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SECONDS = 300
QUICK = (
    "aws_task", "calibration", "code_search", "ladder", "lessons", "masking", "prompt_cost", "savepoints", "shell_command",
    "store", "tool_descriptions", "tracing", "triage", "watcher_cost",
)  # fmt: skip
"""The others start bots, or keep a processor busy for five seconds and more however little they measure."""


@pytest.mark.parametrize("name", QUICK)
def test_a_bench_runs_to_its_end_and_prints_figures(name: str) -> None:
    command = [sys.executable, "-m", "bench", "--small", name]
    root = Path(__file__).parents[2]
    run = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert [line for line in run.stdout.splitlines() if line.startswith("figure ")]
