"""The table of interactions names only tests that exist, and no interaction without one."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
TABLE = ROOT / "docs" / "interactions.md"
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def rows() -> list[str]:
    lines = [line for line in TABLE.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    return [line for line in lines if not line.startswith(("|---", "| Interaction "))]


@cache
def names_in(path: str) -> frozenset[str]:
    file = ROOT / path
    if not file.is_file():
        return frozenset()
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def test_every_interaction_names_a_test_that_exists() -> None:
    assert len(rows()) > 40
    wrong = [row for row in rows() if not NAMED.search(row)]
    wrong += [f"{path}::{name}" for row in rows() for path, name in NAMED.findall(row) if name not in names_in(path)]
    assert wrong == []


def test_the_tests_that_are_named_run_over_real_sockets() -> None:
    folders = {path.split("/")[1] for row in rows() for path, _ in NAMED.findall(row)}
    assert folders <= {"integration", "e2e", "faults"}
