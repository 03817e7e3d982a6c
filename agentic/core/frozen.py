"""A changed copy of a frozen value, made quickly.

``dataclasses.replace`` runs the whole ``__init__`` again, which for the state of an execution costs most of the fold
(300 turns: 58 ms against 15).  Values changed here keep their fields in ``__dict__`` (no slots) and need no
``__post_init__``; a test holds that no field is ever misspelt.
"""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")


def changed(value: T, **changes: object) -> T:
    """A copy of a frozen dataclass value with some fields replaced."""
    made = object.__new__(type(value))
    object.__setattr__(made, "__dict__", value.__dict__ | changes)
    return made
