"""What a JSON value is made of, apart from what it says, and how two such shapes differ.

A field that is null on one side and filled on the other is no difference, nor is an empty list beside a filled one:
that depends on what the two guilds contain. A field that is missing, or of another type, is one.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

from tests.integration.local_discord.shapes import SHAPES, fields_of

DOCUMENTED = frozenset(name.removesuffix("?") for shape in SHAPES for name in fields_of(shape))
SNOWFLAKE = re.compile(r"\d{15,20}")
# Free text: what looks like a number or a time in one of the guilds is none.
TEXTS = frozenset({"content", "name", "username", "global_name", "nonce", "topic", "description", "url", "message"})


def kind_of(value: object, name: str = "") -> str:
    """The type of a value, as Discord's documentation names types."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str() if name not in TEXTS and SNOWFLAKE.fullmatch(value):
            return "snowflake"
        case str() if name not in TEXTS and _is_time(value):
            return "time"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def _is_time(text: str) -> bool:
    try:
        return "T" in text and datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def differences(left: Any, right: Any, where: str = "") -> list[str]:
    """Each place where two values are not of one shape."""
    name = where.rpartition(".")[2]
    kinds = kind_of(left, name), kind_of(right, name)
    if "null" in kinds:
        return []
    if kinds[0] != kinds[1]:
        return [f"{where or 'the answer'}: {kinds[0]} / {kinds[1]}"]
    if kinds[0] == "array":
        return _of_items(left, right, where)
    return _of_fields(left, right, where) if kinds[0] == "object" else []


def _of_items(left: list[Any], right: list[Any], where: str) -> list[str]:
    """The first items stand for all: lists of the two guilds have other lengths."""
    return differences(left[0], right[0], f"{where}[]") if left and right else []


def _of_fields(left: dict[str, Any], right: dict[str, Any], where: str) -> list[str]:
    found: list[str] = []
    for name in sorted(left.keys() | right.keys()):
        here = f"{where}.{name}" if where else name
        if name not in left or name not in right:
            found.append(
                f"{here}: {'missing' if name not in left else 'there'} / {'missing' if name not in right else 'there'}"
            )
        else:
            found += differences(left[name], right[name], here)
    return found


def is_undocumented(difference: str) -> bool:
    """Whether it is only a field of Discord's that its documentation does not know, which nobody may rely on."""
    place, _, sides = difference.partition(": ")
    return sides == "there / missing" and place.replace("[]", "").rpartition(".")[2] not in DOCUMENTED
