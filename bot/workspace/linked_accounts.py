"""Accounts at hosts of repositories that people linked: a token of each, so that pull requests are opened as them.

Each link is a file of its own that only the bot's user can read, beside the database and not in it: so it is in no backup and
no export, and deleting the file deletes it. A token goes nowhere but into a request to its host.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import secrets
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_serializer

from agentic.forges.hosts import Forges
from agentic.ports.errors import ForgeRejected, RemoteError, RepositoryGone, RightMissing, TokenRefused
from agentic.ports.forge import Forge, ForgeHost, Remote
from agentic.stores.private_file import write_private
from agentic.stores.shared_files import SharedHome, changed

TOKEN = re.compile(r"[\x21-\x7e]{8,300}")
LARGEST = 10_000
"""Bytes of a link's file."""
NO_TOKEN = "That is no token: copy all of it, without blanks, from the host's page."  # noqa: S105
NOT_TAKEN = "{host} doesn't accept this token: it is wrong, was revoked or has expired. Make a new one and try again."
MAY_NOT = (
    "This token may not open pull requests in {repository}. Give it *Pull requests: Read and write* (at Forgejo *repository* "
    "and *issue*: *Read and write*), and access to that repository, then try again."
)
SEES_NOT = "This token doesn't see {repository}. Give it access to that repository, then try again."
PROBE = "Not opened: this only asks whether it could be"

log = logging.getLogger(__name__)


class NotLinked(RemoteError):
    """An account was not linked; the message says why and what to do."""


class LinkedAccount(BaseModel):
    """A person's account at a host."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    host: str
    login: str
    token: SecretStr
    id: str = Field(default_factory=lambda: secrets.token_hex(6))
    """Another one each time that something is linked."""

    @field_serializer("token", when_used="json")
    def _whole(self, token: SecretStr) -> str:
        return token.get_secret_value()


class LinkedAccounts:
    """All links, in a folder; a person is their id in Discord."""

    def __init__(self, folder: Path, shared: SharedHome | None = None) -> None:
        self._folder, self._shared = folder, shared

    @property
    def on_aws(self) -> bool:
        """Tokens are kept in the owner's AWS account too."""
        return self._shared is not None

    def of(self, person: str, host: str) -> LinkedAccount | None:
        """A person's account at a host; None where there is none that can be read."""
        return self._read(self._file(person, host)) if person.isdecimal() else None

    def all_of(self, person: str) -> tuple[LinkedAccount, ...]:
        """A person's accounts at all hosts."""
        return tuple(found for file in self._files(person) if (found := self._read(file)) is not None)

    async def keep(self, person: str, account: LinkedAccount) -> None:
        """Store a link, in place of an earlier one.  Raises ``OSError``."""
        await self._changed(partial(write_private, self._file(person, account.host), account.model_dump_json()))

    async def unlink(self, person: str, host: str) -> None:
        """Delete a link.  Raises ``OSError``."""
        await self._changed(partial(self._file(person, host).unlink, missing_ok=True))

    async def erase(self, person: str) -> None:
        """Delete all links of a person, also what a crash left of one.  Raises ``OSError``."""

        def erase() -> None:
            for file in (*self._files(person), *self._folder.glob(f".{person}@*")):
                file.unlink(missing_ok=True)

        await self._changed(erase)

    async def _changed(self, work: Callable[[], None]) -> None:
        await changed(self._shared, self._folder.name, work)

    def _files(self, person: str) -> Iterator[Path]:
        yield from self._folder.glob(f"{person}@*.json") if person.isdecimal() else ()

    def _file(self, person: str, host: str) -> Path:
        return self._folder / f"{person}@{host.replace(':', '_')}.json"

    def _read(self, file: Path) -> LinkedAccount | None:
        try:
            with os.fdopen(os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as kept:
                return LinkedAccount.model_validate_json(kept.read(LARGEST))
        except FileNotFoundError:
            return None
        except (OSError, ValidationError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is damaged"
            log.warning("the linked account in %s cannot be used: %s", file, why)
            return None


async def checked(forges: Forges, host: ForgeHost, token: str, remote: Remote | None) -> LinkedAccount:
    """The account that a token belongs to, if it may open pull requests in a repository (None: which is not asked yet).

    Raises ``NotLinked``, and what else stands below ``RemoteError``.
    """
    if not TOKEN.fullmatch(token):
        raise NotLinked(NO_TOKEN)
    forge = forges.forge_with(host, token)
    try:
        login = await forge.account()
        if not login:
            raise NotLinked(NOT_TAKEN.format(host=host.name))
        if remote is not None:
            await _may_open(forge, remote)
        return LinkedAccount(host=host.name, login=login, token=SecretStr(token))
    except TokenRefused:
        raise NotLinked(NOT_TAKEN.format(host=host.name)) from None
    except RightMissing:
        raise NotLinked(MAY_NOT.format(repository=remote or "repositories")) from None
    except RepositoryGone:
        raise NotLinked(SEES_NOT.format(repository=remote or "its own account")) from None
    finally:
        await forge.close()


async def _may_open(forge: Forge, remote: Remote) -> None:
    """Ask for a pull request from a branch to itself, which no host opens: whoever lacks the right is refused for that."""
    hosted = await forge.repository(remote)
    branch = hosted.default_branch
    with contextlib.suppress(ForgeRejected):
        await forge.open(hosted.remote, branch, branch, PROBE, "", draft=False)
