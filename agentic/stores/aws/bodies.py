"""The larger part of an item: as it is while that is small, else packed, and over 100 KB in the bucket."""

from __future__ import annotations

import asyncio
import hashlib
import zlib
from typing import cast

from agentic.aws.bucket import Bucket
from agentic.aws.items import Item
from agentic.ports.errors import StoreCorrupt

READABLE_BYTES = 700
"""So much is left readable; what is longer is packed, for a write costs by the kilobyte."""
IN_ITEM_BYTES = 100_000
"""More than this, packed, lies in the bucket; an item takes 400 KB, and a transaction 4 MB."""
_ON_THE_LOOP = 200_000
"""What is larger is packed beside the event loop."""

READABLE, PACKED, OBJECT = BODY = "body", "packed", "object"
"""The attributes of which an item has one."""


class Bodies:
    """Packs and unpacks."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket

    async def pack(self, text: bytes, folder: str, *, readable: bool = True) -> Item:
        """The attributes that hold it; an object of its own, in ``folder``, is durable when this returns.

        ``readable``: it is text that may be read in the table where it is short.
        """
        if readable and len(text) <= READABLE_BYTES:
            return {READABLE: text.decode()}
        packed = zlib.compress(text, 1) if len(text) < _ON_THE_LOOP else await asyncio.to_thread(zlib.compress, text, 1)
        if len(packed) <= IN_ITEM_BYTES:
            return {PACKED: packed}
        # By its content: a late writer that is refused afterwards has put nothing in the place of another's.
        name = f"{folder}/{hashlib.sha256(packed).hexdigest()[:32]}"
        await self._bucket.put(name, packed)
        return {OBJECT: name}

    async def unpack(self, item: Item) -> bytes:
        """What was packed."""
        if READABLE in item:
            return cast(str, item[READABLE]).encode()
        packed = cast(bytes, item[PACKED]) if PACKED in item else await self._object(cast(str, item[OBJECT]))
        try:
            if len(packed) < _ON_THE_LOOP:
                return zlib.decompress(packed)
            return await asyncio.to_thread(zlib.decompress, packed)
        except zlib.error as error:
            raise StoreCorrupt(
                f"an item of {item.get('pk')} cannot be unpacked: restore the table from a backup"
            ) from error

    async def _object(self, name: str) -> bytes:
        found = await self._bucket.get(name)
        if found is None:
            raise StoreCorrupt(f"{name} is missing from the bucket: restore it from an earlier version")
        return found
