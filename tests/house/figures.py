"""What is measured of the house, and how it is held against what was written down."""

from __future__ import annotations

import ast
import json
from dataclasses import dataclass
from pathlib import Path

from tests.house.collaborators import bags
from tests.house.mention_path import MentionPath
from tests.house.raw_events import readers
from tests.house.shipped import Module, shipped

WRITTEN_DOWN = Path(__file__).parent / "figures.json"
FIELDS = 12
"""Of a bag of collaborators that nobody minds."""

Figures = dict[str, int]


def measured(root: Path, path: MentionPath) -> Figures:
    """Every figure by its name."""
    modules = shipped(root)
    house = [module for module in modules if module.is_of_the_house]
    collected = bags(modules)
    return {
        "lines of all shipped Python": sum(module.lines for module in modules),
        "lines of the house": sum(module.lines for module in house),
        "modules": len(_without_markers(modules)),
        "modules of the house": len(_without_markers(house)),
        "rooms": len({module.room for module in _without_markers(modules)}),
        "longest function": max(_function_lines(module) for module in modules),
        "modules that a mention passes": len(path.modules),
        "changes of package on its way": path.changes,
        "crossings of bot, agentic and reflexion": path.crossings,
        "modules that name an event": len(readers(modules)),
        "modules that name ToolFinished": len(readers(modules, "ToolFinished")),
        "fields of the largest bag of collaborators": max((bag.fields for bag in collected), default=0),
        f"fields of bags beyond {FIELDS}": sum(max(0, bag.fields - FIELDS) for bag in collected),
    }


@dataclass(frozen=True, slots=True)
class Verdict:
    """A figure beside the one that was written down; None for one that was not."""

    name: str
    now: int
    allowed: int | None

    @property
    def holds(self) -> bool:
        return self.allowed is not None and self.now <= self.allowed

    def __str__(self) -> str:
        allowed = "not written down" if self.allowed is None else f"at most {self.allowed:>7,}"
        sign = "GREW" if not self.holds else "fell" if self.now < (self.allowed or 0) else ""
        return f"house {self.name:44} {self.now:>7,}   {allowed} {sign}".rstrip()


def judged(now: Figures, written: Figures) -> list[Verdict]:
    """One verdict a figure, in the order in which they are measured."""
    return [Verdict(name, value, written.get(name)) for name, value in now.items()]


def read() -> Figures:
    """What was written down."""
    return json.loads(WRITTEN_DOWN.read_text("utf-8"))


def lower(now: Figures, written: Figures) -> Figures:
    """What is to be written down: figures that fell, and those that are new; never one that grew."""
    return {name: min(value, written.get(name, value)) for name, value in now.items()}


def write(figures: Figures) -> None:
    """Write them down, one a line, so that a commit shows which changed."""
    WRITTEN_DOWN.write_text(json.dumps(figures, indent=2) + "\n", "utf-8")


def _without_markers(modules: list[Module]) -> list[Module]:
    return [module for module in modules if not module.is_marker]


def _function_lines(module: Module) -> int:
    functions = (node for node in ast.walk(module.tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return max(((node.end_lineno or node.lineno) - node.lineno + 1 for node in functions), default=0)
