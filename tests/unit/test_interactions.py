"""The table of interactions is whole: each with a test that exists, each command, sign and word, nothing twice; pictures."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

from bot.inbound.emoji import SIGNS, WORDS

ROOT = Path(__file__).parent.parent.parent
TABLE = ROOT / "docs" / "interactions.md"
COMMANDS = ROOT / "tests" / "integration" / "bot" / "test_commands_all.py"
"""Tries every registered command, which a test there holds."""
PICTURES = re.compile(r"(?:!\[[^\]]*\]\(|<img src=\"|<source [^>]*srcset=\")([^)\"]+)")
HEAVIEST = {".png": 300_000, ".webp": 1_500_000}
"""Bytes of a picture, and of a moving one."""
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
    assert folders <= {"integration", "e2e", "faults", "aws"}


def test_no_interaction_stands_there_twice() -> None:
    interactions = [row.split(" | ")[0] + row.split(" | ")[1] for row in rows()]
    assert sorted({each for each in interactions if interactions.count(each) > 1}) == []


def test_every_command_sign_and_word_stands_in_the_table() -> None:
    asked = "\n".join(row.split(" | ")[0] for row in rows()).replace("’", "'")
    commands = set(re.findall(r'Use\("([a-z ]+)"', COMMANDS.read_text(encoding="utf-8")))
    assert len(commands) > 20
    wanted = [f"/{command}" for command in commands] + [*SIGNS, *WORDS]
    assert [each for each in wanted if each not in asked] == []


def test_every_picture_in_the_documents_exists_is_small_and_is_made_by_a_test() -> None:
    documents = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    shown = [
        (document.parent / name).resolve()
        for document in documents
        for name in PICTURES.findall(document.read_text(encoding="utf-8"))
    ]
    made = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "tests" / "e2e").glob("test_*.py"))
    kept = set((ROOT / "docs" / "images").iterdir())
    assert set(shown) == kept
    assert [picture.name for picture in kept if f'"{picture.name}"' not in made] == []
    assert [picture.name for picture in kept if picture.stat().st_size > HEAVIEST[picture.suffix]] == []
