"""How fast secrets are looked for in an observation: megabytes a second of the processor, in pieces of 50,000 characters.

python -m bench masking
"""

from __future__ import annotations

import time
from pathlib import Path

from agentic.tools.base.secret_placeholders import mask
from bench.figures import Figure, Figures

PIECE = 50_000
SLOW = ("token=a7", "sk-", "SK", "://a:b", "a.", "eyJ", "password:a1b2c3d4e5 ", "-----BEGIN PRIVATE KEY-----\n")
"""What makes the search begin again most often."""


def figures() -> Figures:
    """This project's own code, and the worst of texts made to be slow."""
    root = Path(__file__).parent.parent
    code = "".join(path.read_text(encoding="utf-8") for path in sorted((root / "agentic").rglob("*.py")))
    yield Figure("masking of ordinary code", _speed(code), "MB/s", ">=", 5.0)
    worst = min(_speed(unit * (4 * PIECE // len(unit))) for unit in SLOW)
    yield Figure("masking of the slowest text", worst, "MB/s", ">=", 0.5)


def _speed(text: str) -> float:
    pieces = [text[at : at + PIECE] for at in range(0, len(text), PIECE)]
    mask(pieces[0])
    began = time.process_time()
    for piece in pieces:
        mask(piece)
    return len(text) / 1e6 / (time.process_time() - began)
