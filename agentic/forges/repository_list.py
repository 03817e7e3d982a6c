"""Which servers may use which repositories: rights in Discord are each server's own, the token is the same for all."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from agentic.ports.errors import RemoteError
from agentic.ports.forge import Remote

WRITE_IT = "write owner/name or owner/*, with 'SERVER_ID:' before it where only that server may use it"
_PATTERN = re.compile(r"(?:(\d{5,20}):)?(?:([A-Za-z0-9.-]+(?::\d+)?)/)?([\w.*-]{1,64}/[\w.*-]{1,100})", re.ASCII)


class NotAllowed(RemoteError):
    """A repository that this server may not use."""


@dataclass(frozen=True, slots=True)
class RepositoryPattern:
    """``server`` '' means every server, ``host`` '' the first host."""

    server: str
    host: str
    path: str

    def allows(self, server: str, remote: Remote, first: str) -> bool:
        """Whether it names this repository for this server."""
        return (
            self.server in ("", server)
            and remote.host == (self.host or first)
            and fnmatchcase(str(remote).lower(), self.path)
        )


def pattern_from(written: str) -> RepositoryPattern:
    """Raises ``ValueError``."""
    found = _PATTERN.fullmatch(written.strip())
    if found is None:
        raise ValueError(f"{written[:80]!r} names no repositories; {WRITE_IT}")
    return RepositoryPattern(found[1] or "", (found[2] or "").lower(), found[3].lower())


class RepositoryList:
    """What whoever runs the bot has allowed; without a list, everything while the bot is in one server."""

    def __init__(self, written: Iterable[str], first_host: str, servers: Callable[[], int]) -> None:
        self._patterns = tuple(pattern_from(each) for each in written)
        self._first = first_host
        self._servers = servers

    def anywhere(self, remote: Remote) -> bool:
        """Whether any server may use the repository."""
        named = any(pattern.allows(pattern.server, remote, self._first) for pattern in self._patterns)
        return named or (not self._patterns and self._servers() <= 1)

    def require(self, server: str, remote: Remote) -> None:
        """Raises ``NotAllowed`` where the server ('' for a direct message) may not use the repository."""
        if any(pattern.allows(server, remote, self._first) for pattern in self._patterns):
            return
        if not self._patterns and self._servers() <= 1:
            return
        here = f"{server}:" if server else ""
        place = "" if remote.host == self._first else f"{remote.host}/"
        pattern = f"{here}{place}{remote}"
        raise NotAllowed(
            f"{remote} may not be used here. Whoever runs the bot can allow it: THREADWRIGHT_REPOSITORIES={pattern}"
        )
