"""How the table is made, and the keys of what stands in it; the local AWS and the template take it from here too.

What waits for somebody stands under a prefix of its own and carries ``waits`` and ``waits_at``; the transaction that
settles it takes it away from there.  So a thread's queue is one query, and nothing is looked for among what is done.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass

from agentic.aws.items import PARTITION, SORT, Key

ALONE = "-"
"""The sort key of an item that is the only one of its partition."""
TTL = "ttl"
"""Epoch seconds after which DynamoDB may delete an item; on readable rows and on what is buried alone."""

_ROOT = re.compile(r"[^./]*")
"""Of a key the part that names its execution."""

SHARDS = 2
"""Partitions that each sort of what waits is spread over: one takes 1,000 writes a second, and each costs a request a look.
They can become more, never fewer."""


@dataclass(frozen=True, slots=True)
class Index:
    """A sparse index: only items with its attributes are in it, and of these their keys alone."""

    name: str
    partition: str
    sort: str


WAITING = Index("gsi1", "waits", "waits_at")
"""What somebody has to look after, over all threads."""
LISTED = Index("gsi2", "listed", "listed_at")
"""What people page through."""
INDEXES = (WAITING, LISTED)


def definition(table: str) -> dict[str, object]:
    """The arguments of CreateTable, paid by request; ``TTL`` and recovery to a point in time are switched on besides."""
    attributes = [PARTITION, SORT, *(name for index in INDEXES for name in (index.partition, index.sort))]
    return {
        "TableName": table,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in attributes],
        "KeySchema": _schema(PARTITION, SORT),
        "GlobalSecondaryIndexes": [
            {
                "IndexName": index.name,
                "KeySchema": _schema(index.partition, index.sort),
                # An index with more than the keys would be written again with every step of an execution.
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            }
            for index in INDEXES
        ],
    }


def _schema(partition: str, sort: str) -> list[dict[str, str]]:
    return [{"AttributeName": partition, "KeyType": "HASH"}, {"AttributeName": sort, "KeyType": "RANGE"}]


def padded(number: int) -> str:
    """A number as it sorts in a key."""
    return f"{number:020d}"


def waiting(sort: str, thread: str, at: str) -> dict[str, str]:
    """The attributes of an item of a thread that waits, since ``at`` in the order of its sort."""
    return {WAITING.partition: f"{sort}#{zlib.crc32(thread.encode()) % SHARDS}", WAITING.sort: at}


def shards(sort: str) -> list[str]:
    """The partitions of the index in which what waits of this sort stands."""
    return [f"{sort}#{shard}" for shard in range(SHARDS)]


def listed(name: str, at: str) -> dict[str, str]:
    """The attributes of an item that stands in a list that people page through."""
    return {LISTED.partition: name, LISTED.sort: at}


# --- keys ---


def session(thread: str) -> Key:
    """A thread's row."""
    return thread, "SESSION"


def lease(thread: str) -> Key:
    """Who may write for a thread; never deleted, or the fence would begin again and a late writer would match."""
    return thread, "LEASE"


def execution(thread: str, name: str) -> Key:
    """Where an execution's log ends; advanced by each append."""
    return thread, f"EXEC#{name}"


def execution_place(name: str) -> Key:
    """Which thread an execution belongs to, and its task; never changed by a step."""
    return f"EXEC#{name}", ALONE


def open_execution(thread: str, name: str) -> Key:
    """That an execution has not ended."""
    return thread, f"OPEN#{name}"


def events(thread: str, name: str, last: int) -> Key:
    """The events of one append, under the number of the last."""
    return thread, f"EV#{name}#{padded(last)}"


def outcome(thread: str, name: str, last: int) -> Key:
    """The same of the outcome stream."""
    return thread, f"OC#{name}#{padded(last)}"


def turn(thread: str, number: int, at: str) -> Key:
    """The row of a turn that people read; the time tells executions apart."""
    return thread, f"TURN#{number:04d}#{at}"


def inbox(thread: str, at: int, order: int, id: str) -> Key:
    """Something a person did, by when they did it and then by when it came."""
    return thread, f"INBOX#{padded(at)}#{padded(order)}#{id}"


def seen(id: str) -> Key:
    """That an inbox item of this id was ever kept, and where; never deleted."""
    return f"SEEN#{id}", ALONE


def outbox(thread: str, order: int, key: str) -> Key:
    """Something that is to be delivered."""
    return thread, f"OUT#{padded(order)}#{key}"


def sent(thread: str, order: int, key: str) -> Key:
    """Something that was delivered, with its receipts."""
    return thread, f"SENT#{padded(order)}#{key}"


def outbox_place(key: str) -> Key:
    """Where the outbox item of this key stands."""
    return f"OUT#{key}", ALONE


def message(id: str) -> Key:
    """Which outbox item became this message."""
    return f"MSG#{id}", ALONE


def fact(key: str) -> Key:
    """A small fact, its text under ``value``."""
    return f"FACT#{key}", ALONE


def blob(sha: str) -> Key:
    """Small content by its hash."""
    return f"BLOB#{sha}", ALONE


def reference(sha: str, execution: str) -> Key:
    """That the log of an execution names a content."""
    return f"BLOB#{sha}", f"REF#{execution}"


UNNAMED = "UNNAMED"


def unnamed(sha: str) -> Key:
    """That a log which named a content is gone: perhaps no other names it."""
    return UNNAMED, sha


def burial(thread: str, order: int, name: str) -> Key:
    """An execution whose log was deleted; waits until what was in it is cleared away."""
    return thread, f"GONE#{padded(order)}#{name}"


CHANGED = "CHANGED"


def changed(order: int, execution: str) -> Key:
    """That a log began, is gone or was rewritten, for whoever keeps words of it elsewhere."""
    return CHANGED, f"{padded(order)}#{execution}"


TARGETS = "TARGETS"


def target(name: str) -> Key:
    """Somewhere outside that is told what happens in executions."""
    return TARGETS, name


HOME = "HOME"


def home() -> Key:
    """Which version of a home's files is shared, and which files changed lately."""
    return HOME, ALONE


def home_file(key: str) -> Key:
    """One of them, by the hash of its path: a path may name a person."""
    return HOME, f"FILE#{key}"


OUTBOX_AGES = "OUTBOX-AGES"


def outbox_age(at: int) -> Key:
    """How far the outbox was at a moment."""
    return OUTBOX_AGES, padded(at)


def label(thread: str, execution: str) -> Key:
    """How an execution turned out; stays when the thread goes."""
    return thread, f"LABEL#{execution}"


SCHEDULES = "SCHEDULES"


def schedule(id: str) -> Key:
    """What is to happen at a set time."""
    return SCHEDULES, id


def scope(name: str) -> Key:
    """What is taken of a cap."""
    return f"SCOPE#{name}", ALONE


def reservation(key: str) -> Key:
    """Money that is set aside, or was, beside what else its execution set aside."""
    root = _ROOT.match(key)
    return f"RESERVED#{root.group() if root else ''}", key


def raised(key: str) -> Key:
    """That people added to a cap under this key."""
    return f"RAISED#{key}", ALONE


def prefix(sort: str) -> str:
    """What sort keys of a kind begin with: ``INBOX`` for what waits in an inbox."""
    return f"{sort}#"
