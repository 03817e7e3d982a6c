"""The hosts that are known, and the token of each.

A token is read from the environment at the moment it is used, and goes nowhere but into a request to its host or the
environment of one git process.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from ipaddress import ip_address
from urllib.parse import urlsplit

from agentic.forges.forgejo import Forgejo
from agentic.forges.github import GitHub
from agentic.ports.errors import RemoteError
from agentic.ports.forge import Forge, ForgeHost, ForgeKind, Remote, remote_at

PUBLIC = (ForgeHost("github.com", "github"), ForgeHost("codeberg.org", "forgejo"))
"""Hosts whose public repositories can be read without a token."""
_HOST = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,200}[a-z0-9])?(?::[0-9]{1,5})?")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,80}")
_SSH = re.compile(r"(?:ssh://)?git@([a-z0-9.-]{1,200})(?::([0-9]{1,5})(?=/))?[:/](.{3,200})")
_KINDS: dict[str, ForgeKind] = {"github": "github", "forgejo": "forgejo", "gitea": "forgejo"}
WRITE_IT = "Write `owner/name`, or the address of the repository, such as https://github.com/owner/name"


def host_from(written: str) -> ForgeHost:
    """A host as settings have it: ``github.com=GITHUB_TOKEN`` or ``git.example.org=FORGE_TOKEN:forgejo``.

    Raises ``ValueError`` with what is wrong.
    """
    place, _, rest = written.strip().partition("=")
    variable, _, kind = rest.partition(":")
    plain = place.startswith("http://")
    name = place.removeprefix("http://").removeprefix("https://").rstrip("/").lower()
    if not _HOST.fullmatch(name):
        raise ValueError(f"{place!r} is no host; write github.com=GITHUB_TOKEN, or git.example.org=NAME:forgejo")
    if plain and not _is_here(name):
        raise ValueError(f"{place!r} is not encrypted, which only an address of this machine may be; write https")
    if not _VARIABLE.fullmatch(variable):
        raise ValueError(f"after {name}= comes the name of the variable that holds its token, not the token")
    known: dict[str, ForgeKind] = {host.name: host.kind for host in PUBLIC}
    chosen = _KINDS.get(kind.strip().lower()) if kind else known.get(name, "forgejo")
    if chosen is None:
        raise ValueError(f"{kind!r} is no kind of host that I know; write github or forgejo")
    return ForgeHost(name, chosen, variable, plain)


def _is_here(name: str) -> bool:
    host = name.partition(":")[0]
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


class Forges:
    """All hosts; each is connected to when it is first needed."""

    def __init__(self, hosts: Iterable[ForgeHost], environment: Mapping[str, str]) -> None:
        self._environment = environment
        given = tuple(hosts)
        self.hosts = (*given, *(host for host in PUBLIC if host.name not in {each.name for each in given}))
        self._forges: dict[str, Forge] = {}

    def read(self, written: str) -> Remote:
        """The repository that a person names.  Raises ``RemoteError`` where it is none, or at a host that is not set."""
        text = written.strip().strip("<>")
        if found := _SSH.fullmatch(text):
            host, path = (f"{found[1]}:{found[2]}" if found[2] else found[1]), found[3]
        elif text.lower().startswith(("https://", "http://")):
            parts = urlsplit(text)
            if parts.username or parts.password:
                raise RemoteError("Leave the name and the password out of the address; the bot has a token of its own.")
            host, path = parts.netloc.lower(), parts.path
        else:
            host, path = self.hosts[0].name, text
        if not any(each.name == host for each in self.hosts):
            raise RemoteError(
                f"I don't know the host {host}. Whoever runs the bot can add it: THREADWRIGHT_FORGES={host}=NAME_OF_THE_"
                "VARIABLE_WITH_ITS_TOKEN:forgejo"
            )
        remote = remote_at(host, path)
        if remote is None:
            raise RemoteError(f"{text[:80]!r} names no repository. {WRITE_IT}.")
        return remote

    def host(self, name: str) -> ForgeHost:
        """A host by its name.  Raises ``RemoteError`` where it is not set any more."""
        found = next((each for each in self.hosts if each.name == name), None)
        if found is None:
            raise RemoteError(f"The host {name} is not set any more. Whoever runs the bot can add it again.")
        return found

    def token(self, host: ForgeHost) -> str:
        """Its token, '' where there is none."""
        return self._environment.get(host.variable, "").strip() if host.variable else ""

    def forge(self, remote: Remote) -> Forge:
        """The host of a repository."""
        if remote.host not in self._forges:
            host = self.host(remote.host)
            self._forges[remote.host] = self.forge_with(host, self.token(host))
        return self._forges[remote.host]

    def forge_with(self, host: ForgeHost, token: str) -> Forge:
        """The host with another token than the bot's; the caller closes it."""
        return (GitHub if host.kind == "github" else Forgejo)(host, token)

    async def close(self) -> None:
        """Let go of all connections."""
        for forge in self._forges.values():
            await forge.close()
        self._forges.clear()
