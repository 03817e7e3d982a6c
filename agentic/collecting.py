"""Importing something large: many objects that stay, which the collector of cycles would walk again and again."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Generator[None]:
    """Nothing is collected in this block, and what is there at its end is not looked at again.

    It takes a seventh off the import of the anthropic SDK and a quarter off LiteLLM's, and keeps later collections short.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if collects:
            gc.enable()
