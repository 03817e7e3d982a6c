"""One order out of two measures: how well chunks fit by their words, and how like they are in meaning; pure.

Each measure is taken as its share of the best one, so that neither unit counts.  Ranks, which lessons are fused by, lose how
far the first is ahead of the second, and that says much here: a function that is asked for by name stands far ahead.
"""

from __future__ import annotations

from collections.abc import Mapping

CANDIDATES = 100
"""Of each measure; what only the other one found beyond them has no chance."""
MEANING_COUNTS = 0.4
"""Of both together."""


def fused(fits: Mapping[int, float], likeness: Mapping[int, float]) -> list[int]:
    """What has one of the best measures of either kind, best first; ``likeness`` is known of all chunks that have one."""
    near = sorted(likeness, key=lambda chunk: -likeness[chunk])[:CANDIDATES]
    best_fit, best_likeness = max(fits.values(), default=0.0), max((likeness[near[0]], 0.01)) if near else 1.0

    def share(chunk: int) -> float:
        by_words = fits.get(chunk, 0.0) / best_fit if best_fit else 0.0
        return (1 - MEANING_COUNTS) * by_words + MEANING_COUNTS * likeness.get(chunk, 0.0) / best_likeness

    return sorted(dict.fromkeys((*fits, *near)), key=lambda chunk: -share(chunk))
