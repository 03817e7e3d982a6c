"""Check the hosts of repositories: whether the token is there, is taken, and whose it is; and whether git is installed."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from agentic.forges.hosts import Forges
from agentic.ports.errors import ForgeUnclear, RemoteError
from agentic.ports.forge import ForgeHost, Remote

TODO = "docs/repositories.md says click by click how to make a token"


@dataclass(frozen=True, slots=True)
class ForgeFinding:
    """How one host stands."""

    host: str
    verdict: Literal["ok", "wrong", "unknown"]
    said: str
    todo: str = ""


async def check(hosts: Iterable[ForgeHost], environment: Mapping[str, str]) -> tuple[ForgeFinding, ...]:
    """Ask each host; nothing where none is set."""
    forges = Forges(hosts, environment)
    given = [host for host in forges.hosts if host.variable]
    try:
        found = [await _of(forges, host) for host in given]
    finally:
        await forges.close()
    if given and shutil.which("git") is None:
        found.append(ForgeFinding("git", "wrong", "git is not installed, and fetches repositories", "install git"))
    return tuple(found)


async def _of(forges: Forges, host: ForgeHost) -> ForgeFinding:
    if not forges.token(host):
        return ForgeFinding(host.name, "wrong", f"{host.variable} is not set, so nothing can be published there", TODO)
    try:
        login = await forges.forge(Remote(host.name, "", "")).account()
    except ForgeUnclear as unclear:
        return ForgeFinding(host.name, "unknown", str(unclear), "is the host reachable from here?")
    except RemoteError as error:
        return ForgeFinding(host.name, "wrong", str(error), TODO)
    return ForgeFinding(host.name, "ok", f"the token is {login}'s; `/repo attach` says what it may do in a repository")
