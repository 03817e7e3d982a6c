"""Tokens for MCP servers: a file for each server and issuer, which only the bot's user can read.

They lie beside the database and not in it, so they are in no backup and no export; deleting a file signs out.  What is new
is on the disk before what was there is gone.  Whoever changes a server's tokens holds its lock, also against other
processes, because most issuers take a token for renewal once and withdraw all where it comes twice.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import logging
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from pydantic import BaseModel, ConfigDict, SecretStr, ValidationError, field_serializer

from agentic.stores.private_file import write_private
from agentic.stores.shared_files import NotShared, SharedHome

LARGEST = 200_000
"""Bytes of a file."""
LOCK_SECONDS = 45.0
"""So long another process may take: longer than a request of its."""
AGAIN_SECONDS = 0.05
NOTHING = SecretStr("")

log = logging.getLogger(__name__)


class TokenTrouble(Exception):
    """There is no token that could be sent, so nothing was; the message says why and what to do."""


class Grant(BaseModel):
    """What somebody's sign-in to a server came to."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    server: str
    """The address that the token is sent to, and no other."""
    resource: str
    """What it was issued for, as the server calls itself (RFC 8707)."""
    issuer: str
    """Who issued it, as was agreed to: nobody else is sent what is in here."""
    token_endpoint: str
    client_id: str
    client_secret: SecretStr = NOTHING
    """Of a client that was registered; one of the file stays there."""
    auth_method: str = "none"
    access_token: SecretStr
    refresh_token: SecretStr = NOTHING
    expires_at: float | None = None
    """Seconds since 1970; None where nobody said."""
    scope: str = ""
    refused: str = ""
    """Why the issuer renews it no more, '' while it may."""

    @field_serializer("client_secret", "access_token", "refresh_token", when_used="json")
    def _whole(self, secret: SecretStr) -> str:
        return secret.get_secret_value()


class KeptTokens:
    """All of them, in a folder.

    ``issuer`` is the one that the file of servers names, '' where it leaves that to whoever signs in: what one issuer gave
    is not used where another is named.
    """

    def __init__(self, folder: Path, shared: SharedHome | None = None) -> None:
        self._folder, self._shared = folder, shared

    def of(self, server: str, issuer: str) -> Grant | None:
        """What is kept of a server; None where there is none that can be read."""
        file = self._file(server, issuer)
        try:
            with os.fdopen(os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as kept:
                grant = Grant.model_validate_json(kept.read(LARGEST))
        except FileNotFoundError:
            return None
        except (OSError, ValidationError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is damaged"
            log.warning("the tokens in %s cannot be used: %s", file, why)
            return None
        return grant if grant.server == server and issuer in ("", grant.issuer) else None

    def keep(self, grant: Grant, issuer: str) -> None:
        """Store it in place of what was kept.  Raises ``OSError``, and then all is as it was."""
        write_private(self._file(grant.server, issuer), grant.model_dump_json())

    def forget(self, server: str, issuer: str) -> bool:
        """Sign out; False where nobody was signed in.  Raises ``OSError``."""
        file = self._file(server, issuer)
        known = file.exists()
        file.unlink(missing_ok=True)
        return known

    @asynccontextmanager
    async def alone(self, server: str, issuer: str) -> AsyncGenerator[None]:
        """Nobody else changes a server's tokens meanwhile, in no process and on no machine.  Raises ``TokenTrouble``."""
        lock = self._file(server, issuer).with_suffix(".lock")
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise TokenTrouble(f"its tokens cannot be kept in {self._folder}: {error.strerror}") from error
        try:
            await _locked(descriptor)
            if self._shared is None:
                yield
                return
            try:
                async with self._shared.alone(f"sign-in {lock.stem}"):
                    yield
            except NotShared as error:
                raise TokenTrouble(f"its tokens are shared by all machines, and now cannot be: {error}") from error
        finally:
            os.close(descriptor)  # which lets go of the lock

    def _file(self, server: str, issuer: str) -> Path:
        key = hashlib.sha256(f"{server}\n{issuer}".encode()).hexdigest()
        return self._folder / f"{key[:32]}.json"


async def _locked(descriptor: int) -> None:
    try:
        async with asyncio.timeout(LOCK_SECONDS):
            while True:
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    await asyncio.sleep(AGAIN_SECONDS)
                else:
                    return
    except TimeoutError as error:
        raise TokenTrouble("another process has been renewing its tokens for too long; try again later") from error
    except OSError as error:
        raise TokenTrouble(f"its tokens cannot be kept: {error.strerror}") from error
