"""A model of meaning: texts that mean the same get vectors that point the same way.

A vector is of unit length and kept as one signed byte a component; the error that makes in a likeness is under a hundredth.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

SCALE = 127


class Embedder(Protocol):
    """A model that runs on this machine."""

    @property
    def name(self) -> str:
        """Which model it is; vectors of two models are never compared."""
        ...

    async def embed(self, texts: Sequence[str]) -> tuple[bytes, ...]:
        """A vector for each text; raises ``EmbeddingUnavailable``."""
        ...


def likenesses(vector: bytes, others: Sequence[bytes]) -> list[float]:
    """Of one vector to each of the others: 1 the same, 0 nothing in common."""
    if not others:
        return []
    import numpy as np

    matrix = np.frombuffer(b"".join(others), dtype=np.int8).reshape(len(others), -1).astype(np.float32)
    products = matrix @ np.frombuffer(vector, dtype=np.int8).astype(np.float32)
    return [float(each) for each in products / SCALE**2]
