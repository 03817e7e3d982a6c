"""Nonces: which message already carries one, for the few minutes that Discord remembers them."""

from __future__ import annotations

from bot.local_discord.messages.parse import Draft
from bot.local_discord.model.clock import Clock

MEMORY_SECONDS = 300.0


class Nonces:
    """The nonces of the last minutes, by author and channel."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._seen: dict[tuple[int, int, str], tuple[float, int]] = {}

    def known(self, author_id: int, channel_id: int, draft: Draft) -> int | None:
        """The message that already carries the draft's nonce, if that is to be enforced."""
        if draft.nonce is None or not draft.enforce_nonce:
            return None
        at, message_id = self._seen.get((author_id, channel_id, str(draft.nonce)), (0.0, 0))
        if not message_id or self._clock.monotonic() - at > MEMORY_SECONDS:
            return None
        return message_id

    def remember(self, author_id: int, channel_id: int, draft: Draft, message_id: int) -> None:
        """Notes which message a nonce became."""
        if draft.nonce is None:
            return
        now = self._clock.monotonic()
        while self._seen and now - next(iter(self._seen.values()))[0] > MEMORY_SECONDS:
            del self._seen[next(iter(self._seen))]  # oldest first
        key = (author_id, channel_id, str(draft.nonce))
        self._seen.pop(key, None)
        self._seen[key] = (now, message_id)

    def forget(self) -> None:
        """Behaves as if those minutes had passed."""
        self._seen.clear()
