"""JSON encoding, and typed access to what a client sent.

Discord answers a field of the wrong type with 50035 and the path of the field, so reading and refusing are one thing
here: `Fields` returns values of the expected type or raises that error.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TypeAlias, cast

from pydantic import JsonValue

from bot.local_discord.model.errors import ApiError, JsonObject, invalid, out_of_range, required

Json: TypeAlias = JsonValue


def encode(value: Json) -> bytes:
    """The bytes of a JSON value; pure ASCII, so that lone surrogates survive."""
    return json.dumps(value, separators=(",", ":")).encode("ascii")


def decode(raw: str | bytes) -> Json:
    """The JSON value in `raw`; malformed text is Discord's 50109."""
    try:
        return cast(Json, json.loads(raw, parse_constant=_no_constant))
    except (ValueError, RecursionError) as error:
        raise ApiError(400, 50109, "The request body contains invalid JSON.") from error


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def is_snowflake(text: str) -> bool:
    """Whether a text is an id: digits that fit into 64 bits."""
    return text.isascii() and text.isdecimal() and len(text) <= 20


class Fields:
    """A JSON object that a client sent, read field by field."""

    __slots__ = ("data", "path")

    def __init__(self, data: JsonObject, path: tuple[str, ...] = ()) -> None:
        self.data = data
        self.path = path

    @classmethod
    def of(cls, value: Json, path: tuple[str, ...] = ()) -> Fields:
        """The fields of `value`; anything but an object is refused with 50035."""
        if not isinstance(value, dict):
            raise invalid(path, "DICT_TYPE_CONVERT", "Only dictionaries may be used in a DictType")
        return cls(value, path)

    def has(self, name: str) -> bool:
        """Whether the client sent the field at all (null counts as sent)."""
        return name in self.data

    def at(self, name: str) -> tuple[str, ...]:
        """The path of a field, as errors name it."""
        return (*self.path, name)

    def text(self, name: str) -> str | None:
        """A string; null and absent are None."""
        value = self.data.get(name)
        if value is None or isinstance(value, str):
            return value
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise invalid(self.at(name), "STRING_TYPE_CONVERT", "Could not interpret value as string.")
        return str(value)

    def stripped(self, name: str) -> Fields:
        """Return the same fields with one string stripped of surrounding space, as Discord does."""
        value = self.text(name)
        return self if value is None else Fields({name: value.strip()}, self.path)

    def sized(self, name: str, low: int, high: int) -> str:
        """Return a required string whose length is within bounds."""
        value = self.text(name)
        if value is None:
            raise required(self.at(name))
        if not low <= len(value) <= high:
            raise out_of_range(self.at(name), low, high)
        return value

    def choice(self, name: str, choices: Iterable[int]) -> int:
        """Return a required integer that is one of ``choices``."""
        value, known = self.integer(name), tuple(int(c) for c in choices)
        if value not in known:
            raise invalid(self.at(name), "BASE_TYPE_CHOICES", f"Value must be one of {known}.")
        return value

    def integer(self, name: str) -> int | None:
        """An integer; digits in a string are accepted, as Discord does for ids."""
        value = self.data.get(name)
        if value is None:
            return None
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        if isinstance(value, str) and is_snowflake(value.removeprefix("-")):
            return int(value)
        raise invalid(self.at(name), "NUMBER_TYPE_COERCE", f'Value "{value}" is not int.')

    def number(self, name: str) -> float | None:
        """A number, whole or not."""
        value = self.data.get(name)
        if value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)):
            return value
        raise invalid(self.at(name), "NUMBER_TYPE_COERCE", f'Value "{value}" is not float.')

    def snowflake(self, name: str) -> int | None:
        """An id; Discord names the type in its error."""
        value = self.data.get(name)
        if value is None:
            return None
        if isinstance(value, (str, int)) and is_snowflake(str(value)):
            return int(value)
        raise invalid(self.at(name), "NUMBER_TYPE_COERCE", f'Value "{value}" is not snowflake.')

    def snowflakes(self, name: str) -> list[int]:
        """A list of ids; absent is empty."""
        ids: list[int] = []
        for n, value in enumerate(self.array(name) or []):
            if not isinstance(value, (str, int)) or not is_snowflake(str(value)):
                message = f'Value "{value}" is not snowflake.'
                raise invalid((*self.at(name), str(n)), "NUMBER_TYPE_COERCE", message)
            ids.append(int(value))
        return ids

    def flag(self, name: str) -> bool | None:
        """A boolean."""
        value = self.data.get(name)
        if value is None or isinstance(value, bool):
            return value
        raise invalid(self.at(name), "BOOLEAN_TYPE_CONVERT", "Must be either true or false.")

    def array(self, name: str) -> list[Json] | None:
        """A list of anything."""
        value = self.data.get(name)
        if value is None or isinstance(value, list):
            return value
        raise invalid(self.at(name), "LIST_TYPE_CONVERT", "Only iterables may be used in a ListType")

    def object(self, name: str) -> Fields | None:
        """A nested object."""
        value = self.data.get(name)
        return None if value is None else Fields.of(value, self.at(name))

    def objects(self, name: str) -> list[Fields] | None:
        """A list of objects, each knowing its own path."""
        values = self.array(name)
        if values is None:
            return None
        return [Fields.of(value, (*self.at(name), str(i))) for i, value in enumerate(values)]
