"""Patterns are compiled when they are first used, so a wrong one is looked for here."""

from __future__ import annotations

import pkgutil
import re
import sys
from collections.abc import Iterator
from importlib import import_module

import agentic
import bot
import reflexion
from agentic.core.patterns import Later


def test_every_pattern_of_the_product_can_be_compiled() -> None:
    """A wrong one would be noticed when somebody needs it."""
    for package in (agentic, bot, reflexion):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith("__main__"):
                import_module(module.name)
    found = [pattern for value in _globals() for pattern in _patterns(value)]
    assert len(found) > 100
    for pattern in found:
        pattern.search("x")


def _globals() -> Iterator[object]:
    for name, module in [*sys.modules.items()]:
        if name.partition(".")[0] in ("agentic", "bot", "reflexion"):
            yield from vars(module).values()


def _patterns(value: object) -> Iterator[re.Pattern[str]]:
    if isinstance(value, Later):
        yield value  # pyright: ignore[reportReturnType] - it stands for one
    elif isinstance(value, tuple | list | frozenset | set):
        for each in value:  # pyright: ignore[reportUnknownVariableType]
            yield from _patterns(each)  # pyright: ignore[reportUnknownArgumentType]
    elif isinstance(value, dict):
        for each in value.values():  # pyright: ignore[reportUnknownVariableType]
            yield from _patterns(each)  # pyright: ignore[reportUnknownArgumentType]
