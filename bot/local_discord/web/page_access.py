"""Access to the page: only for those who opened a link that the bot printed.

A link carries a key that works once, in its fragment: no server, log or Referer ever sees it there. The page exchanges
the key for a session, which it keeps itself and sends in a header. A cookie would go to every other port of this
machine. Only hashes are stored; a session is valid at one port alone, since a free port may be taken by another
program.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections import deque
from dataclasses import dataclass

from bot.local_discord.model.clock import Clock
from bot.local_discord.model.errors import ApiError
from bot.local_discord.model.store import Store

SESSIONS = 20
"""Maximum number of browsers; the oldest one has to open a new link."""
KEYS = 20
"""Maximum number of unopened links."""
LIFE_SECONDS = 90 * 24 * 3600
TRIES, WITHIN_SECONDS = 10, 60.0
"""Number of wrong keys in a minute that get an explanation."""
CHARACTERS = 100
"""Maximum length of a key or session."""
_KEY, _SESSION = "key", "session"


@dataclass(frozen=True, slots=True)
class _Kept:
    """A key or a session as it is stored: its hash, its port, and its creation time (seconds since 1970)."""

    hash: str
    port: int
    at: float


class Access:
    """The keys and sessions of one guild at one port."""

    def __init__(self, store: Store, clock: Clock, port: int) -> None:
        self._store, self._clock, self._port = store, clock, port
        self._kept = {_KEY: _loaded(store, _KEY), _SESSION: _loaded(store, _SESSION)}
        self._spent: deque[int] = deque(maxlen=2 * KEYS)
        self._wrong: deque[float] = deque(maxlen=TRIES)

    def key(self) -> str:
        """Return a new key, which opens the page once."""
        return self._made(_KEY, KEYS)

    def exchange(self, key: str) -> str:
        """Return a session for a key; raises ``ApiError`` (429, 401) if the key is not valid."""
        found = self._found(_KEY, key)
        if found is None:
            self._take_up()
            found = self._found(_KEY, key)
        if found is None:
            self._refuse()
            raise ApiError(401, 0, "This link does not work: each link opens the page once.")
        self._spent.append(found)
        self._forget(_KEY, found)
        return self._made(_SESSION, SESSIONS)

    def _take_up(self) -> None:
        """Load keys that `threadwright page` stored; a used key stays used, also while its removal cannot be written."""
        new = _loaded(self._store, _KEY)
        self._kept[_KEY] |= {number: one for number, one in new.items() if number not in self._spent}

    def _refuse(self) -> None:
        """Count a wrong key. A right one is never refused because of somebody else's wrong ones."""
        now = self._clock.monotonic()
        if len(self._wrong) == TRIES and now - self._wrong[0] < WITHIN_SECONDS:
            raise ApiError(
                429, 0, "Too many wrong links were tried. Open a new one: ↗ on an open page, or `threadwright page`."
            )
        self._wrong.append(now)

    def knows(self, session: str) -> bool:
        """Whether it is a session of this page."""
        return self._found(_SESSION, session) is not None

    def _found(self, kind: str, secret: str) -> int | None:
        wanted, found = _hash(secret), None
        for number, one in self._kept[kind].items():
            here = one.port == self._port and self._clock.time() - one.at < LIFE_SECONDS
            if secrets.compare_digest(one.hash, wanted) and here:
                found = number
        return found

    def _made(self, kind: str, at_most: int) -> str:
        secret = secrets.token_urlsafe(32)
        number = keep(self._store, kind, secret, self._port, self._clock.time())
        self._kept[kind][number] = _Kept(_hash(secret), self._port, self._clock.time())
        for old in sorted(self._kept[kind], key=lambda n: self._kept[kind][n].at)[:-at_most]:
            self._forget(kind, old)
        return secret

    def _forget(self, kind: str, number: int) -> None:
        del self._kept[kind][number]
        self._store.remove_text(kind, number)


def keep(store: Store, kind: str, secret: str, port: int, at: float) -> int:
    """Store the hash of a secret; returns its number."""
    number = secrets.randbits(62)
    store.save_text(kind, number, json.dumps([_hash(secret), port, at]))
    return number


def link(address: str, key: str) -> str:
    """Return the link that opens the page; the part after the # stays in the browser."""
    return f"{address}/#key={key}"


def _loaded(store: Store, kind: str) -> dict[int, _Kept]:
    return {number: _Kept(*json.loads(body)) for number, body in store.texts(kind).items()}


def _hash(secret: str) -> str:
    return hashlib.sha256(secret[:CHARACTERS].encode("utf-8", "replace")).hexdigest()
