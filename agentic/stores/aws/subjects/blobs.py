"""Content by hash: small ones in the table, all others in the bucket, where they are cheaper to write."""

from __future__ import annotations

import hashlib
import time
import zlib
from collections.abc import Sequence
from typing import cast

from agentic.core.events.execution_events import BlobRef
from agentic.ports.errors import StoreCorrupt
from agentic.stores.aws import layout
from agentic.stores.aws.items import Item, keyed
from agentic.stores.aws.part import Aws, Part
from agentic.stores.checks import blob_ref

IN_TABLE_BYTES = 16_000
"""Packed; a larger one is an object, whose write costs as much as eight kilobytes in the table."""
FOLDER = "blobs/"


class Blobs(Part):
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


async def keep(aws: Aws, blobs: Sequence[tuple[BlobRef, bytes]]) -> None:
    """Make contents durable.

    What was there is written again: it is needed again, and nobody takes it for a leftover.
    """
    small: dict[str, Item] = {}
    for ref, content in blobs:
        packed = zlib.compress(content, 1) if len(content) <= 8 * IN_TABLE_BYTES else content
        if len(packed) <= IN_TABLE_BYTES:
            small[ref.sha] = keyed(layout.blob(ref.sha), {"packed": packed, "written": int(time.time())})
        else:
            await aws.bucket.put(object_name(ref.sha), content)
    await aws.table.put_all(list(small.values()))


def object_name(sha: str) -> str:
    """Where larger content lies in the bucket."""
    return f"{FOLDER}{sha[:2]}/{sha[2:]}"


def _unpacked(item: Item) -> bytes:
    try:
        return zlib.decompress(cast(bytes, item["packed"]))
    except zlib.error as error:
        raise StoreCorrupt("a blob in the table cannot be unpacked: restore the table from a backup") from error
