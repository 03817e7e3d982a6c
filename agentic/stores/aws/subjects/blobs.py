"""Content by hash: small ones in the table, all others in the bucket, where they are cheaper to write."""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import cast

from agentic.aws.aws_errors import ConditionFailed
from agentic.aws.items import Delete, Item, key_of, keyed
from agentic.core.events.execution_events import BlobRef
from agentic.ports.errors import StoreCorrupt
from agentic.ports.maintenance import EventRow
from agentic.stores.aws import layout
from agentic.stores.aws.store_subject import Aws, StoreSubject
from agentic.stores.checks import blob_ref

IN_TABLE_BYTES = 16_000
"""Packed; a larger one is an object, whose write costs as much as eight kilobytes in the table."""
FOLDER = "blobs/"
_HASH = re.compile(r'(?<!_sha":")(?<!"sha_before":")(?<!"sha_after":")(?<![0-9a-f])[0-9a-f]{64}')
"""Of arguments, histories and the workspace's files nothing is kept here, and each would cost a write."""


class Blobs(StoreSubject):
    """Kept once; what nothing names is swept."""

    async def put_blob(self, content: bytes, media: str = "text/plain") -> BlobRef:
        """Store content once."""
        ref = blob_ref(content, media)
        await keep(self._aws, [(ref, content)])
        return ref

    async def get_blob(self, sha: str) -> bytes | None:
        """The content, checked against its hash, or None."""
        if len(sha) != 64:
            return None
        item = await self._table.get(layout.blob(sha))
        content = await self._aws.bucket.get(object_name(sha)) if item is None else _unpacked(item)
        if content is not None and hashlib.sha256(content).hexdigest() != sha:
            raise StoreCorrupt(f"blob {sha} does not match its hash: restore it from an earlier version or a backup")
        return content


def hashes(rows: Iterable[EventRow]) -> set[str]:
    """Whatever looks like a hash in events: at worst something stays too long."""
    return {sha for row in rows for sha in _HASH.findall(row[-1])}


def references(execution: str, rows: Iterable[EventRow]) -> list[Item]:
    """What says that these events of an execution name contents."""
    return [keyed(layout.reference(sha, execution), {}) for sha in hashes(rows)]


async def keep_named(
    aws: Aws, blobs: Sequence[tuple[BlobRef, bytes]], execution: str, rows: Iterable[EventRow]
) -> None:
    """Make contents durable that events of an open execution name; its log keeps what it named before."""
    new = [each for each in references(execution, rows) if not aws.named.get(key_of(each))]
    await keep(aws, blobs, new)
    for each in new:
        aws.named.put(key_of(each), True)


async def keep(aws: Aws, blobs: Sequence[tuple[BlobRef, bytes]], named: Sequence[Item] = ()) -> None:
    """Make contents durable, and before the events that do so, that they are named.

    What was there is written again: it is needed again, and nobody takes it for a leftover.
    """
    small: dict[str, Item] = {}
    for ref, content in blobs:
        packed = zlib.compress(content, 1) if len(content) <= 8 * IN_TABLE_BYTES else content
        if len(packed) <= IN_TABLE_BYTES:
            small[ref.sha] = keyed(layout.blob(ref.sha), {"packed": packed, "written": aws.order.next()})
        else:
            await aws.bucket.put(object_name(ref.sha), content)
    await aws.table.put_all([*small.values(), *named])


async def sweep(aws: Aws, sha: str) -> None:
    """Delete a content that no log names; one that somebody puts again meanwhile stays."""
    item, versions = await aws.table.get(layout.blob(sha)), await aws.bucket.versions([object_name(sha)])
    async for _ in aws.table.query(layout.blob(sha)[0], layout.prefix("REF"), most=1):
        return
    if item is not None:
        with suppress(ConditionFailed):
            await aws.table.write(Delete(layout.blob(sha), "#written = :written", {"written": item["written"]}))
    await aws.bucket.erase(versions)


def object_name(sha: str) -> str:
    """Where larger content lies in the bucket."""
    return f"{FOLDER}{sha[:2]}/{sha[2:]}"


def _unpacked(item: Item) -> bytes:
    try:
        return zlib.decompress(cast(bytes, item["packed"]))
    except zlib.error as error:
        raise StoreCorrupt("a blob in the table cannot be unpacked: restore the table from a backup") from error
