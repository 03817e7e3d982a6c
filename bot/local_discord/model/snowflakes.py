"""Ids as Discord makes them: milliseconds since 2015, then a counter.

https://discord.com/developers/docs/reference#snowflakes
"""

from __future__ import annotations

import base64
import secrets
from datetime import UTC, datetime

from bot.local_discord.model.clock import Clock

EPOCH_MS = 1_420_070_400_000


class Snowflakes:
    """Ids that are unique, ascend, and carry the time they were made."""

    __slots__ = ("_last", "clock")

    def __init__(self, after: int = 0) -> None:
        self._last = after
        self.clock = Clock()

    def next(self) -> int:
        """A new id, above every id handed out before."""
        fresh = (int(self.clock.time() * 1000) - EPOCH_MS) << 22
        self._last = max(fresh, self._last + 1)
        return self._last


def made_at(snowflake: int) -> datetime:
    """The moment an id carries."""
    return datetime.fromtimestamp(((snowflake >> 22) + EPOCH_MS) / 1000, UTC)


def iso(moment: datetime) -> str:
    """A time as Discord writes it."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def bot_token(user_id: int) -> str:
    """A new token in the shape of Discord's: the id in base64, and two random parts. Some clients read the id off it."""
    number = base64.urlsafe_b64encode(str(user_id).encode()).decode().rstrip("=")
    return f"{number}.{secrets.token_urlsafe(4)}.{secrets.token_urlsafe(28)}"
