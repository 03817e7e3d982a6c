"""Items of the table: plain dictionaries here, typed attributes on the wire; and what can be done to one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, TypeAlias, cast

Value: TypeAlias = "bool | int | float | str | bytes | Sequence[Value] | Mapping[str, Value] | None"
Item: TypeAlias = dict[str, Value]
Wire: TypeAlias = dict[str, dict[str, Any]]

PARTITION = "pk"
SORT = "sk"
Key: TypeAlias = tuple[str, str]
"""The values of ``PARTITION`` and ``SORT``, by which an item is found."""

_NAME = re.compile(r"#(\w+)")


@dataclass(frozen=True, slots=True)
class Put:
    """Write an item whole.  ``#name`` in a condition is an attribute, ``:name`` one of the values."""

    item: Item
    condition: str = ""
    values: Mapping[str, Value] = field(default_factory=dict[str, Value])


@dataclass(frozen=True, slots=True)
class Update:
    """Change some attributes of an item."""

    key: Key
    change: str
    condition: str = ""
    values: Mapping[str, Value] = field(default_factory=dict[str, Value])


@dataclass(frozen=True, slots=True)
class Delete:
    """Take an item away, if it is there."""

    key: Key
    condition: str = ""
    values: Mapping[str, Value] = field(default_factory=dict[str, Value])


@dataclass(frozen=True, slots=True)
class ConditionCheck:
    """Only look whether a condition holds."""

    key: Key
    condition: str
    values: Mapping[str, Value] = field(default_factory=dict[str, Value])


Write = Put | Update | Delete | ConditionCheck

ABSENT = f"attribute_not_exists(#{PARTITION})"
"""The condition that there is no such item."""
PRESENT = f"attribute_exists(#{PARTITION})"


def keyed(key: Key, attributes: Mapping[str, Value]) -> Item:
    """An item at its place."""
    return {PARTITION: key[0], SORT: key[1], **attributes}


def key_of(item: Item) -> Key:
    """The place of an item."""
    return text(item, PARTITION), text(item, SORT)


def text(item: Item, name: str) -> str:
    """A text of an item, '' where it has none."""
    return cast(str, item.get(name, ""))


def number(item: Item, name: str) -> int:
    """A whole number of an item, 0 where it has none."""
    return cast(int, item.get(name, 0))


def wire_key(key: Key) -> Wire:
    """A key as DynamoDB takes it."""
    return {PARTITION: {"S": key[0]}, SORT: {"S": key[1]}}


def to_wire(item: Mapping[str, Value]) -> Wire:
    """An item as DynamoDB takes it."""
    return {name: _typed(value) for name, value in item.items()}


def from_wire(item: Wire) -> Item:
    """An item as it is worked with."""
    return {name: _plain(value) for name, value in item.items()}


def request(write: Write, table: str) -> dict[str, Any]:
    """The arguments of the single request, which in a transaction are the same; what stood there comes with a refusal."""
    made: dict[str, Any] = {"TableName": table}
    expressions = [write.condition]
    if isinstance(write, Put):
        made["Item"] = to_wire(write.item)
    else:
        made["Key"] = wire_key(write.key)
    if isinstance(write, Update):
        made["UpdateExpression"] = write.change
        expressions.append(write.change)
    if write.condition:
        made["ConditionExpression"] = write.condition
        made["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
    return made | expression_values(" ".join(expressions), write.values)


def expression_values(expression: str, values: Mapping[str, Value]) -> dict[str, Any]:
    """The names and values that an expression speaks of; each name is written with ``#``, for many words are reserved."""
    made: dict[str, Any] = {}
    if names := {f"#{name}": name for name in _NAME.findall(expression)}:
        made["ExpressionAttributeNames"] = names
    if values:
        made["ExpressionAttributeValues"] = {f":{name}": _typed(value) for name, value in values.items()}
    return made


def _typed(value: Value) -> dict[str, Any]:
    match value:
        case None:
            return {"NULL": True}
        case bool():
            return {"BOOL": value}
        case str():
            return {"S": value}
        case int():
            return {"N": repr(value)}
        case float():  # as DynamoDB gives it back: some compare by the letter what is sent again under the same token
            return {"N": format(Decimal(repr(value)).normalize(), "f")}
        case bytes():
            return {"B": value}
        case Mapping():
            return {"M": to_wire(value)}
        case _:
            return {"L": [_typed(each) for each in value]}


def _plain(value: dict[str, Any]) -> Value:
    ((kind, content),) = value.items()
    match kind:
        case "NULL":
            return None
        case "N":
            return _numeric(content)
        case "B":
            return bytes(content)
        case "M":
            return from_wire(content)
        case "L":
            return [_plain(each) for each in content]
        case _:
            return content


def _numeric(content: str) -> int | float:
    try:
        return int(content)
    except ValueError:
        return float(content)
