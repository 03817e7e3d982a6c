"""Judges what executions did, and keeps what they teach for the next ones.

trajectory -> evaluator -> decision -> reflector -> lessons -> retrieval; ``Reflexion`` ties them together.
"""

from __future__ import annotations

from reflexion.cycle import Reflexion

__all__ = ["Reflexion"]
