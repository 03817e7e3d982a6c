"""A mark in the store that is another one after each erasure, so that whoever keeps what was said lets go of it."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentic.ports.runtime import Facts

ERASURE = "erasure"
"""The fact that holds the mark."""


async def mark_erasure(facts: Facts) -> None:
    """Set another mark, once what is erased is gone from the store. Raises ``StoreError``."""
    await facts.set_fact(ERASURE, secrets.token_hex(8))


async def erasure_mark(facts: Facts) -> str:
    """The mark as it is, '' before the first erasure. Raises ``StoreError``."""
    return await facts.fact(ERASURE) or ""
