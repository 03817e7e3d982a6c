"""The calibrator: what turns features of a trajectory into the confidence that people are shown."""

from __future__ import annotations

from agentic.core.values import Frozen

__all__ = ["Calibrator"]


class Calibrator(Frozen):
    """Fitted on stored outcomes and recorded whole in ``Started``, so that replay needs no labels."""

    id: str
    labels: int = 0
