"""Addresses of attachments, signed and valid for a while.

https://discord.com/developers/docs/reference#signed-attachment-cdn-urls
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from urllib.parse import quote

from bot.local_discord.model.clock import Clock

LIFE_SECONDS = 24 * 3600


class Signer:
    """Signs addresses with a key of this process; all of them can be expired at once."""

    def __init__(self, clock: Clock, key: bytes | None = None) -> None:
        self._clock = clock
        self._key = key or secrets.token_bytes(32)
        self._generation = 0

    def path(self, channel_id: int, attachment_id: int, filename: str) -> str:
        """Return the path of an attachment, with its times of issue and expiry, and its signature."""
        at = int(self._clock.time())
        until, since = f"{at + LIFE_SECONDS:x}", f"{at:x}"
        mark = self._mark(channel_id, attachment_id, until, since)
        name = quote(filename, safe="")
        return f"/attachments/{channel_id}/{attachment_id}/{name}?ex={until}&is={since}&hm={mark}&"

    def holds(self, channel_id: int, attachment_id: int, query: Mapping[str, str]) -> bool:
        """Whether an address was signed here and has not expired."""
        until, since = query.get("ex", ""), query.get("is", "")
        expected = self._mark(channel_id, attachment_id, until, since)
        if not hmac.compare_digest(expected.encode(), query.get("hm", "").encode()):
            return False
        return self._clock.time() < int(until, 16)

    def expire(self) -> None:
        """Expire every address; a message that is read anew has fresh ones."""
        self._generation += 1

    def _mark(self, *parts: int | str) -> str:
        text = "/".join(str(p) for p in (*parts, self._generation))
        return hmac.new(self._key, text.encode(), hashlib.sha256).hexdigest()
