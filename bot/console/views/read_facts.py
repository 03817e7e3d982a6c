"""What a rule reads of a state: the rule is run on a state that writes down each value that is read of it.

The recorded state is of a class made from the state's own, with the same values; so ``isinstance``, ``match``, equality
and changed copies work as ever, and the rule decides the same. The parts of the state, and the events in it, are
recorded likewise as they are read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from datetime import datetime
from functools import cache
from typing import TypeVar, cast

from pydantic import BaseModel

from agentic.core.state.execution import Execution

T = TypeVar("T")
MOST_PARTS = 200
"""The parts of a longer tuple are not recorded one by one."""
LONGEST = 90
"""Characters of a value."""
_HIDDEN = ("__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__")


@dataclass(frozen=True, slots=True)
class ReadFact:
    """A value that was read: its name as the code has it, and the value in short.

    ``through``: the derived value for which it was read, which is a fact of its own.
    """

    name: str
    value: str
    through: str = ""

    @property
    def words(self) -> str:
        """The fact as a sentence's part."""
        return f"{self.name} is {self.value}"


class Reads:
    """The reads of one state, in their order."""

    def __init__(self, execution: Execution) -> None:
        self._found: dict[str, tuple[object, str]] = {}
        self._opened: set[str] = set()
        """Parts of which a value was read: that says more than the part itself."""
        self._names: dict[str, set[str]] = {}
        """Derived values that are a part of the state, by the part's path."""
        self._parts: dict[str, object] = {}
        self._through: list[str] = []
        self.state = self._part(execution, "")

    @property
    def facts(self) -> tuple[ReadFact, ...]:
        """What was read last of each name, in the order of the first reads."""
        return tuple(
            ReadFact(name, in_short(value), through)
            for name, (value, through) in self._found.items()
            if name not in self._opened
        )

    def read(self, owner: str, base: type, name: str, get: Callable[[], object]) -> object:
        """Note that ``name`` was read of the part ``owner``; the value, recorded in turn."""
        path = f"{owner}.{name}" if owner else name
        derived = isinstance(getattr(base, name, None), property)
        if not derived:
            value = get()
            if callable(value):
                return value
            self._note(owner, path, value)
            return self._recorded(value, path)
        if path in self._parts:
            return self._parts[path]
        self._through.append(path)
        try:
            value = get()
        finally:
            self._through.pop()
        self._note(owner, path, value)
        if (part := _path_of(value)) is not None:
            self._names.setdefault(part, set()).add(path)
        return self._parts.setdefault(path, self._recorded(value, path))

    def _note(self, owner: str, path: str, value: object) -> None:
        if owner:
            self._opened |= {owner, *self._names.get(owner, ())}
        through = self._through[0] if self._through else ""
        known = self._found.get(path)
        if known is None or (known[1] and not through):
            self._found[path] = value, through

    def _recorded(self, value: object, path: str) -> object:
        if isinstance(value, tuple):
            items = cast("tuple[object, ...]", value)
            if not items or len(items) > MOST_PARTS or not _has_parts(items[0]):
                return items
            if path not in self._parts:
                self._parts[path] = tuple(self._part(item, f"{path}[{n}]") for n, item in enumerate(items))
            return self._parts[path]
        return self._part(value, path) if _has_parts(value) else value

    def _part(self, value: T, path: str) -> T:
        if path not in self._parts:
            plain = not _has_parts(value) or _path_of(value) is not None
            self._parts[path] = value if plain else _copy(value, self, path)
        return cast("T", self._parts[path])


def in_short(value: object) -> str:
    """A value as people read it."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return f"“{_clipped(value)}”" if value else "empty"
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, tuple | frozenset | list | dict | set):
        return _several(cast("Sequence[object] | Mapping[object, object]", value))
    if isinstance(value, int):
        return f"{value:,}"
    return _whole(value)


def _several(value: Sequence[object] | Mapping[object, object]) -> str:
    if not value:
        return "none"
    if len(value) > 3 or any(not isinstance(each, str | int | float) for each in value):
        return f"a list of {len(value):,}"
    if isinstance(value, Mapping):
        return _clipped(", ".join(f"{name}: {in_short(each)}" for name, each in value.items()))
    return _clipped(", ".join(in_short(each) for each in value))


def _whole(value: object) -> str:
    """A part of the state, or an event in it, by its name and what tells it apart."""
    name = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in value.__class__.__name__).strip()
    about = next((text for each in ("tool", "name", "reason", "text") if (text := getattr(value, each, ""))), "")
    return f"set ({name}{f': {_clipped(about)}' if isinstance(about, str) and about else ''})"


def _clipped(text: str) -> str:
    flat = " ".join(text[: LONGEST * 4].split())
    return flat if len(flat) <= LONGEST else f"{flat[: LONGEST - 1]}…"


def _has_parts(value: object) -> bool:
    """Whether reads of it can be recorded: a part of the state, or an event or a value of one."""
    if isinstance(value, BaseModel):
        return True
    return is_dataclass(value) and not isinstance(value, type) and hasattr(value, "__dict__")


def _path_of(value: object) -> str | None:
    """The path of a part that is recorded already."""
    if not hasattr(type(value), "_reads"):
        return None
    try:
        return cast("str", object.__getattribute__(value, "_path"))
    except AttributeError:
        return None


def _copy(value: T, reads: Reads, path: str) -> T:
    made = cast("T", object.__new__(_recording(type(value))))
    object.__setattr__(made, "__dict__", vars(value))
    if isinstance(value, BaseModel):
        for hidden in _HIDDEN:
            object.__setattr__(made, hidden, getattr(value, hidden))
    object.__setattr__(made, "_reads", reads)
    object.__setattr__(made, "_path", path)
    return made


@cache
def _recording(base: type) -> type:
    """A class like ``base`` whose values say what is read of them; a changed copy of one says nothing."""

    def read(self: object, name: str) -> object:
        def get() -> object:
            return object.__getattribute__(self, name)

        if name.startswith("_"):
            return get()
        try:
            reads = cast("Reads", object.__getattribute__(self, "_reads"))
        except AttributeError:
            return get()
        return reads.read(cast("str", object.__getattribute__(self, "_path")), base, name, get)

    def own(self: object) -> type:
        return base

    content = {"__slots__": ("_reads", "_path"), "__getattribute__": read, "__class__": property(own)}
    kind: type[type] = type(base)
    return type.__new__(kind, base.__name__, (base,), content)
