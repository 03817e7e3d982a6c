"""The failpoints: each that is named stands in the sources and each in the sources is named; what they do is real."""

from __future__ import annotations

import ast
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from agentic.ports.failpoints import POINTS, VARIABLE

ROOT = Path(__file__).parent.parent.parent

REACHES = f"""
from agentic.ports.failpoints import reach
for _ in range(1000):
    print("on", flush=True)
    reach("{next(iter(POINTS))}")
"""


def reached(path: Path) -> list[str]:
    """The names in all calls of ``reach`` in a file; '' where the name is not written out."""
    text = path.read_text(encoding="utf-8")
    return [
        str(node.args[0].value) if isinstance(node.args[0], ast.Constant) else ""
        for node in (ast.walk(ast.parse(text)) if "reach(" in text else ())
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "reach"
    ]


def test_the_table_of_failpoints_names_all_that_stand_in_the_sources_once_each() -> None:
    files = [path for package in ("agentic", "bot", "reflexion") for path in (ROOT / package).rglob("*.py")]
    on_aws = [path for path in files if "aws" in path.parts or path.stem == "aws"]
    calls = Counter(name for path in set(files) - set(on_aws) for name in reached(path))
    assert calls == Counter(POINTS.keys())
    again = Counter(name for path in on_aws for name in reached(path))
    assert not again - Counter(POINTS.keys()), "a store on AWS has those of the others, at the same places"
    assert again["store.append.before"] == again["lease.acquire.after"] == 1
    assert [sentence for sentence in POINTS.values() if not sentence.endswith(".")] == []


def process(order: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", REACHES], env={VARIABLE: order, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(("order", "times"), [("loop.commit.before", 1), ("loop.*:2", 2)])
def test_a_process_is_killed_at_the_point_and_time_that_its_environment_names(order: str, times: int) -> None:
    ended = process(order)
    assert ended.returncode == -signal.SIGKILL
    assert ended.stdout.count("on") == times
    assert ended.stderr == "failpoint loop.commit.before\n"


def test_a_share_of_passages_is_drawn_from_its_seed() -> None:
    first, again, other = (process(f"*:p0.05:{seed}").stdout.count("on") for seed in (1, 1, 2))
    assert first == again != other
    assert 0 < first < 1000


def test_without_an_order_for_it_a_point_does_nothing() -> None:
    for order in ("", "model.request.before"):
        ended = process(order)
        assert (ended.returncode, ended.stdout.count("on"), ended.stderr) == (0, 1000, "")


@pytest.mark.parametrize(
    ("order", "says"), [("loop.comit", "there is no failpoint"), ("loop.commit.before:x", "none of")]
)
def test_an_order_that_cannot_be_obeyed_is_told(order: str, says: str) -> None:
    ended = process(order)
    assert ended.returncode == 1
    assert says in ended.stderr


BLOB = """
import asyncio, sys
from agentic.stores.sqlite.store import SQLiteStore
async def main():
    store = SQLiteStore.open(sys.argv[1])
    print((await store.put_blob(b"x" * 2_000_000)).sha, flush=True)
    await store.close()
asyncio.run(main())
"""


def test_a_kill_between_a_file_of_content_and_its_row_leaves_nothing_in_the_way(tmp_path: Path) -> None:
    path = tmp_path / "threadwright.sqlite"
    for order, code in (("store.blob.renamed", -signal.SIGKILL), ("", 0)):
        ended = subprocess.run(
            [sys.executable, "-c", BLOB, str(path)], env={VARIABLE: order, "PYTHONPATH": str(ROOT)},
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert ended.returncode == code, ended.stderr
    files = [kept for kept in (tmp_path / "blobs").rglob("*") if kept.is_file()]
    assert [kept.parent.name + kept.name for kept in files] == [ended.stdout.strip()]
