"""Gateway sessions: which events a session receives, in numbered order, and which it can receive again.

A session outlives its connection: on RESUME everything after the last number the client saw is sent again.
https://discord.com/developers/docs/events/gateway#resuming
"""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Callable
from enum import IntFlag

from bot.local_discord.model.event_bus import Event
from bot.local_discord.model.json_fields import Json, JsonObject
from bot.local_discord.model.permission_flags import Permission
from bot.local_discord.model.state import GuildState
from bot.local_discord.payloads.content_intent import for_viewer

REPLAYABLE = 5_000


class Intent(IntFlag):
    """https://discord.com/developers/docs/events/gateway#list-of-intents"""

    GUILDS = 1 << 0
    GUILD_MEMBERS = 1 << 1
    GUILD_PRESENCES = 1 << 8
    GUILD_MESSAGES = 1 << 9
    GUILD_MESSAGE_REACTIONS = 1 << 10
    GUILD_MESSAGE_TYPING = 1 << 11
    DIRECT_MESSAGES = 1 << 12
    DIRECT_MESSAGE_REACTIONS = 1 << 13
    DIRECT_MESSAGE_TYPING = 1 << 14
    MESSAGE_CONTENT = 1 << 15
    GUILD_MESSAGE_POLLS = 1 << 24
    DIRECT_MESSAGE_POLLS = 1 << 25


VALID_INTENTS = sum(1 << bit for bit in (*range(17), 20, 21, 24, 25))

_BY_PREFIX: tuple[tuple[str, Intent | None], ...] = (
    ("MESSAGE_REACTION_", Intent.GUILD_MESSAGE_REACTIONS),
    ("MESSAGE_POLL_", Intent.GUILD_MESSAGE_POLLS),
    ("MESSAGE_", Intent.GUILD_MESSAGES),
    ("TYPING_", Intent.GUILD_MESSAGE_TYPING),
    ("GUILD_MEMBER_", Intent.GUILD_MEMBERS),
    ("THREAD_", Intent.GUILDS),
    ("CHANNEL_", Intent.GUILDS),
    ("GUILD_", Intent.GUILDS),
    ("INTERACTION_CREATE", None),
)
_DIRECT = {
    Intent.GUILD_MESSAGE_REACTIONS: Intent.DIRECT_MESSAGE_REACTIONS,
    Intent.GUILD_MESSAGE_POLLS: Intent.DIRECT_MESSAGE_POLLS,
    Intent.GUILD_MESSAGES: Intent.DIRECT_MESSAGES,
    Intent.GUILD_MESSAGE_TYPING: Intent.DIRECT_MESSAGE_TYPING,
}


def intent_of(event: str, *, direct: bool = False) -> Intent | None:
    """Return the intent that an event needs, in the guild or in a direct message; None if it is always sent."""
    found = next((intent for prefix, intent in _BY_PREFIX if event.startswith(prefix)), None)
    return _DIRECT.get(found, found) if direct and found is not None else found


class Session:
    """The events of one client that identified itself."""

    def __init__(self, state: GuildState, intents: int, *, has_guild: bool = True, has_direct: bool = True) -> None:
        self.id = secrets.token_hex(16)
        self.intents = intents
        self.has_guild = has_guild
        self.has_direct = has_direct
        self.sequence = 0
        self.deliver: Callable[[JsonObject], None] | None = None
        self.left_at: float | None = None
        self._state = state
        self._sent: deque[JsonObject] = deque(maxlen=REPLAYABLE)

    @property
    def connected(self) -> bool:
        """Whether a client is connected now."""
        return self.deliver is not None

    def hear(self, event: Event) -> None:
        """Dispatch an event if this session is to receive it."""
        if (self.has_direct if self._is_direct(event) else self.has_guild) and self._wants(event):
            self.dispatch(event.name, self._as_seen(event))

    def dispatch(self, name: str, data: Json) -> None:
        """Number an event, remember it, and send it if a client is connected."""
        self.sequence += 1
        frame: JsonObject = {"t": name, "s": self.sequence, "op": 0, "d": data}
        self._sent.append(frame)
        if self.deliver is not None:
            self.deliver(frame)

    def missed_since(self, sequence: int) -> list[JsonObject]:
        """Return what a client that last saw `sequence` has missed."""
        return [f for f in self._sent if isinstance(f["s"], int) and f["s"] > sequence]

    def remembers(self, sequence: int) -> bool:
        """Whether everything after `sequence` can still be sent again."""
        return sequence >= self.sequence - len(self._sent)

    def _is_direct(self, event: Event) -> bool:
        channel = self._state.channels.get(event.channel_id or 0)
        return channel is not None and channel.is_direct

    def _wants(self, event: Event) -> bool:
        if event.only_for is not None and event.only_for != self._state.identity.bot_id:
            return False
        intent = intent_of(event.name, direct=self._is_direct(event))
        if intent is not None and not self.intents & intent:
            return False
        channel = self._state.channels.get(event.channel_id or 0)
        if channel is None:
            return True
        return bool(self._state.rights(self._state.identity.bot_id, channel) & Permission.VIEW_CHANNEL)

    def _as_seen(self, event: Event) -> JsonObject:
        if event.name not in ("MESSAGE_CREATE", "MESSAGE_UPDATE"):
            return event.data
        sees = self._is_direct(event) or bool(self.intents & Intent.MESSAGE_CONTENT)
        return for_viewer(event.data, self._state.identity.bot_id, sees_content=sees)
