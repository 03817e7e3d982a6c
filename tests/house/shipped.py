"""The modules that the wheel carries, read once: what the figures of the house are counted over."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

APART = (
    "bot/local_discord/", "bot/local_forge/", "bot/console/", "local_discord/", "local_forge/", "console/", "aws/",
    "agentic/aws/", "agentic/stores/aws/",
)  # fmt: skip
"""Stand-ins, the console and AWS, before and after they stand beside the house; other modules of AWS go by their names."""


@dataclass(frozen=True, slots=True)
class Module:
    """A Python file that is shipped."""

    place: str
    """Its path below the root."""
    text: str
    tree: ast.Module

    @property
    def lines(self) -> int:
        return len(self.text.splitlines())

    @property
    def room(self) -> str:
        """Its folder."""
        return self.place.rpartition("/")[0]

    @property
    def is_marker(self) -> bool:
        """An ``__init__``, which only says what its folder is."""
        return self.place.endswith("__init__.py")

    @property
    def is_of_the_house(self) -> bool:
        """Neither a stand-in nor the console nor of AWS."""
        return not self.place.startswith(APART) and "aws" not in self.place.rpartition("/")[2].split(".")[0].split("_")


def shipped(root: Path) -> list[Module]:
    """All of them, wherever they stand: whatever ``pyproject.toml`` puts into the wheel.  Asks no git."""
    return list(_modules(root))


def packages(root: Path) -> tuple[str, ...]:
    """The folders at the top that the wheel carries."""
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    patterns = project["tool"]["setuptools"]["packages"]["find"]["include"]
    tops = (path.name for path in root.iterdir() if (path / "__init__.py").is_file())
    return tuple(sorted(name for name in tops if any(fnmatch(name, pattern) for pattern in patterns)))


def _modules(root: Path) -> Iterator[Module]:
    for top in packages(root):
        for path in sorted((root / top).rglob("*.py")):
            text = path.read_text("utf-8")
            yield Module(path.relative_to(root).as_posix(), text, ast.parse(text))
