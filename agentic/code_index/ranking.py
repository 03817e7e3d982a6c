"""One order out of two: of the chunks found by words and of those found by meaning; pure.

The measures of both cannot be compared, their ranks can: each gives a chunk the reciprocal of its rank.
"""

from __future__ import annotations

from collections.abc import Sequence

RANKS_TOGETHER = 10.0
"""Added to each rank before it is inverted: the higher, the less the first places stand out."""


def fused(*orders: Sequence[int]) -> list[int]:
    """What stands in any of the orders, best first."""
    scores: dict[int, float] = {}
    for order in orders:
        for place, chunk in enumerate(order, 1):
            scores[chunk] = scores.get(chunk, 0.0) + 1 / (RANKS_TOGETHER + place)
    return sorted(scores, key=lambda chunk: -scores[chunk])
