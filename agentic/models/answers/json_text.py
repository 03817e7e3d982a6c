"""Text that every encoder takes: halves of characters are joined or replaced.

Some endpoints cut an escaped character into its two halves, one in each piece of a stream; a model can also write a half
alone, and a tool can print one.  No encoder of bytes takes such text, and neither does any provider.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import cast

import orjson
from pydantic import JsonValue

DEPTH = 100
"""So deep lists and objects may stand in each other."""


def whole(text: str) -> str:
    """The text with pairs of halves joined and single halves replaced; the same object where nothing is wrong."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def whole_json(value: JsonValue) -> JsonValue:
    """The same for every text within a JSON value."""
    try:
        orjson.dumps(value)
    except TypeError:
        return cast("JsonValue", json.loads(whole(json.dumps(value, ensure_ascii=False))))
    return value


def dumps(value: JsonValue) -> bytes:
    """Encode any JSON value; halves in it are joined or replaced."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return orjson.dumps(whole_json(value))


def loads(data: bytes | str) -> JsonValue:
    """Read JSON that may hold halves; raises ``ValueError`` where it is no JSON."""
    try:
        return cast("JsonValue", orjson.loads(data))
    except orjson.JSONDecodeError:
        try:
            return cast("JsonValue", json.loads(data, parse_constant=_no_constant))
        except RecursionError:
            raise ValueError("it is nested too deeply") from None


def too_deep(value: JsonValue) -> bool:
    """Whether lists and objects stand in each other deeper than ``DEPTH``: nobody means that, and no store takes it."""
    level = [value]
    for _ in range(DEPTH):
        level = [inner for each in level for inner in _held(each)]
        if not level:
            return False
    return True


def _held(value: JsonValue) -> Iterable[JsonValue]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _no_constant(name: str) -> JsonValue:
    raise ValueError(f"{name} is no JSON")
