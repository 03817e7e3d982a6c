"""Counts of the product's modules, packages and lines."""

from __future__ import annotations

import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

PRODUCT = ("agentic", "bot", "reflexion")


@dataclass(frozen=True, slots=True)
class Sizes:
    """Modules without ``__init__``; packages that hold at least one; lines of all Python files of the product."""

    modules: int
    packages: int
    largest: int
    """Modules in the package that has the most."""
    lines: int


def sizes(root: Path) -> Sizes:
    """Count what git knows, and what it does not know yet."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *PRODUCT],
        cwd=root, capture_output=True, text=True, timeout=30, check=True,
    )  # fmt: skip
    files = [root / name for name in listed.stdout.splitlines() if name.endswith(".py")]
    files = [path for path in files if path.is_file()]
    packages = Counter(path.parent for path in files if path.name != "__init__.py")
    lines = sum(len(path.read_text("utf-8").splitlines()) for path in files)
    return Sizes(packages.total(), len(packages), max(packages.values()), lines)
