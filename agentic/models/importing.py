"""A library that cannot be loaded is a fault of the installation, not of a task, and is told as one."""

from __future__ import annotations

from agentic.errors import ModelLibraryBroken


def broken(library: str, error: Exception) -> ModelLibraryBroken:
    """What is told where importing a library failed, in whatever way it did."""
    said = str(error).strip().partition("\n")[0][:200]
    return ModelLibraryBroken(
        f"The library {library} cannot be loaded ({type(error).__name__}: {said}), so its models cannot be asked. "
        "Delete .venv and run `make setup`; `threadwright doctor` shows whether that helped."
    )
