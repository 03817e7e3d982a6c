"""Browsers that somebody signed in with. They outlive a restart of the console; only hashes are kept.

A session's hash is made with the console's token too, so whoever changes the token signs everybody out.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from time import time

from pydantic import TypeAdapter, ValidationError

from agentic.core.events.values import Frozen, Person

LIFE_SECONDS = 14 * 24 * 3600
SESSIONS, OF_ONE = 2_000, 12
"""Sessions at most: of everybody together, and of one person, whose oldest one ends for a new one."""
CHARACTERS = 100
"""A longer secret is none of ours."""

log = logging.getLogger(__name__)


class BrowserSession(Frozen):
    """Who uses a browser. ``until`` is when the session ends, in seconds since 1970."""

    person: Person
    everything: bool
    until: float


_KEPT = TypeAdapter(dict[str, BrowserSession])


class BrowserSessions:
    """Sessions by the hash of their secret, in the order in which they began."""

    def __init__(self, file: Path, token: str, clock: Callable[[], float] = time) -> None:
        self._file, self._token, self._clock = file, token, clock
        self._kept = _read(file)
        self.ended: Callable[[str], None] = lambda key: None
        """Told the key of each session that is ended before its time."""

    def begin(self, person: Person, *, everything: bool) -> str:
        """Sign somebody in; returns the secret for the browser."""
        self._drop_ended()
        theirs = [key for key, one in self._kept.items() if one.person.id == person.id and one.everything == everything]
        for key in theirs[: max(len(theirs) - OF_ONE + 1, 0)]:
            self._drop(key)
        while len(self._kept) >= SESSIONS:
            self._drop(next(iter(self._kept)))
        secret = secrets.token_urlsafe(32)
        until = self._clock() + LIFE_SECONDS
        self._kept[self.key(secret)] = BrowserSession(person=person, everything=everything, until=until)
        self._write()
        return secret

    def find(self, secret: str) -> BrowserSession | None:
        """The session of a browser; None once it has ended."""
        return self._present(self.key(secret)) if 0 < len(secret) <= CHARACTERS else None

    def lasts(self, key: str) -> bool:
        """Whether a session has not ended."""
        return self._present(key) is not None

    def end(self, secret: str) -> None:
        """Sign a browser out."""
        if (key := self.key(secret)) in self._kept:
            self._drop(key)
            self._write()

    def key(self, secret: str) -> str:
        """What a session is known by here, which does not open it."""
        return hashlib.sha256(f"{self._token}\n{secret}".encode("utf-8", "replace")).hexdigest()

    def _present(self, key: str) -> BrowserSession | None:
        found = self._kept.get(key)
        return found if found is not None and self._clock() < found.until else None

    def _drop(self, key: str) -> None:
        del self._kept[key]
        self.ended(key)

    def _drop_ended(self) -> None:
        now = self._clock()
        self._kept = {key: one for key, one in self._kept.items() if now < one.until}

    def _write(self) -> None:
        """Keep the sessions; where that fails they last until the console is started anew."""
        new = self._file.with_name(self._file.name + ".new")
        try:
            new.unlink(missing_ok=True)
            with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as opened:
                opened.write(_KEPT.dump_json(self._kept))
            new.replace(self._file)
        except OSError as error:
            log.warning("%s cannot be written, sign-ins end with the console: %s", self._file, error)


def _read(file: Path) -> dict[str, BrowserSession]:
    try:
        return _KEPT.validate_json(file.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValidationError, json.JSONDecodeError) as error:
        log.warning("%s cannot be read, everybody signs in anew: %s", file, error)
        return {}
