"""What is kept of how executions came out: one row each, from which a calibrator is fitted."""

from __future__ import annotations

from dataclasses import field
from typing import Literal, Protocol

from agentic.core.lazy_dataclass import dataclass

__all__ = ["LabelRow", "LabelSource", "Labels", "Look"]

LabelSource = Literal["person", "verifier", "merge", "tests", "reason", ""]
"""Who says how it came out, from the most to the least trusted; '' where nobody does.

'reason', the way it ended, is no evidence: it stands only in rows of earlier versions, and counts nothing."""


@dataclass(frozen=True, slots=True)
class Look:
    """An execution at the end of a turn; scores 0-100."""

    turn: int
    features: dict[str, float]
    self_report: float
    heuristic: int
    shown: int
    role: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True)
class LabelRow:
    """How an execution came out, and what could be seen of it: numbers and names, no text of anyone."""

    execution: str
    thread: str
    guild: str
    role: str
    model: str
    tier: int
    label: bool | None
    """Whether it was right; None where nobody knows."""
    source: LabelSource
    weight: float
    """0-1: how far the source is trusted."""
    final: int
    """The confidence it ended with."""
    up: int = 0
    down: int = 0
    """Votes that stand."""
    talk: bool = False
    """It was answered without tools: of no use for fitting."""
    looks: tuple[Look, ...] = field(default=())
    """Half-way and at its end."""

    @property
    def known(self) -> bool:
        """Whether evidence says how it came out; the way it ended is none."""
        return self.label is not None and self.source != "reason"


class Labels(Protocol):
    """Labels of executions."""

    async def put_label(self, row: LabelRow) -> None:
        """Keep the row of an execution, in place of what was known of it."""
        ...

    async def labels(self, thread: str | None = None, *, newest: int = -1) -> list[LabelRow]:
        """All of them or a thread's, or the newest so many, in the order in which executions were first labelled."""
        ...

    async def labelled(self) -> int:
        """How many executions have a label."""
        ...
