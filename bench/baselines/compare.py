"""``python -m bench.baselines.compare [TURNS]``: the bare loops and our own adapters, side by side."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import orjson

from bench.baselines.bare import Baseline

LOOPS = ("bare-anthropic", "anthropic/claude-sonnet-4-5", "bare-litellm", "hosted_vllm/bench", "openai/gpt-4o")


@contextmanager
def endpoint() -> Iterator[str]:
    """The address of an endpoint in another process."""
    served = subprocess.Popen([sys.executable, "-m", "bench.baselines.serve"], stdout=subprocess.PIPE, text=True)
    try:
        assert served.stdout is not None
        yield served.stdout.readline().strip()
    finally:
        served.terminate()
        served.wait()


def measure(loop: str, url: str, turns: int, way: str) -> Baseline:
    """One loop in a process of its own."""
    command = [sys.executable, "-m", "bench.baselines.one", loop, url, str(turns), way]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=600)
    return Baseline(**orjson.loads(done.stdout))


def main() -> None:
    """Print a table."""
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    with endpoint() as url:
        for way in ("whole", "streaming"):
            for loop in LOOPS:
                row = measure(loop, url, turns, way)
                gaps = f"gap {row.gap(first=True):5.2f} -> {row.gap(first=False):5.2f} ms"
                print(f"{row.name:55} {row.cpu_ms_per_turn:6.2f} ms CPU a turn   {gaps}")


if __name__ == "__main__":
    main()
