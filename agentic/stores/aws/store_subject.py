"""What each part of the store works with."""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from typing import Generic, TypeVar

from agentic.aws.bucket import Bucket
from agentic.aws.clients import Clients
from agentic.aws.items import Item
from agentic.core.events.upcasting import ReaderVersion
from agentic.stores.aws.bodies import Bodies
from agentic.stores.aws.layout import Key
from agentic.stores.aws.subjects.turn_rows import TurnSoFar
from agentic.stores.aws.table import Table
from agentic.stores.aws.words_copy import Log, WordsCopy

K = TypeVar("K")
V = TypeVar("V")


class Known(Generic[K, V]):
    """What was last read or written and never changes, so that it need not be read again; the oldest goes."""

    def __init__(self, most: int = 10_000) -> None:
        self._most = most
        self._kept = OrderedDict[K, V]()

    def get(self, key: K) -> V | None:
        """What is known, None where nothing is."""
        return self._kept.get(key)

    def put(self, key: K, value: V) -> None:
        """Know it from now on."""
        self._kept[key] = value
        self._kept.move_to_end(key)
        if len(self._kept) > self._most:
            self._kept.popitem(last=False)

    def drop(self, key: K) -> None:
        """Know it no more."""
        self._kept.pop(key, None)


class Numbering:
    """Numbers that grow, also over processes that take a thread from each other: microseconds since 1970, or one more
    than the last where the clock has not gone on."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self.last = 0

    def next(self) -> int:
        """A number greater than all before."""
        self.last = max(self.last + 1, int(self._now() * 1_000_000))
        return self.last

    def heard(self, other: int) -> None:
        """Another process has come this far."""
        self.last = max(self.last, other)


@dataclass(slots=True)
class Following:
    """What is known of the targets outside that are told of executions."""

    targets: dict[str, int] = field(default_factory=dict[str, int])
    """Since when each is told, in the order of what is written."""
    looked_at: float = -inf
    """When they were last read, in seconds that never run backwards."""
    fresh: dict[Key, None] = field(default_factory=dict[Key, None])
    """Heads of executions that were marked here, which the index may not show yet."""


@dataclass(frozen=True, slots=True)
class Aws:
    """The table, the bucket, and what this process knows of them."""

    clients: Clients
    table: Table
    bucket: Bucket
    bodies: Bodies
    words: WordsCopy
    seconds: Callable[[], float]
    """The clock that leases run by: that of the wall, which machines agree on."""
    reading: ReaderVersion
    process: str
    """Who holds what is taken."""
    order: Numbering = field(default_factory=Numbering)
    threads: Known[str, str] = field(default_factory=Known[str, str])
    """The threads of executions."""
    waiting: Known[str, Key] = field(default_factory=Known[str, Key])
    """Where inbox items stand, by their ids."""
    outbox: Known[str, tuple[str, int]] = field(default_factory=Known[str, tuple[str, int]])
    """The threads and numbers of outbox items, by their keys."""
    reserved: Known[str, Item] = field(default_factory=Known[str, Item])
    """Reservations that this process made, by their keys; whether one still stands, a condition says."""
    due: deque[Log] = field(default_factory=deque[Log])
    """Logs whose words are to be taken in."""
    named: Known[Key, bool] = field(default_factory=Known[Key, bool])
    """The items by which logs of open executions name contents, those that are written."""
    following: Following = field(default_factory=Following)
    turns: Known[str, tuple[int, TurnSoFar]] = field(default_factory=lambda: Known[str, tuple[int, TurnSoFar]](1_000))
    """The turns that go on, by their executions, and where the log ended when that was known."""


class StoreSubject:
    """A subject of the store, which is made of all of them: their private names are told apart by the subject."""

    def __init__(self, aws: Aws) -> None:
        self._aws = aws
        self._table = aws.table
