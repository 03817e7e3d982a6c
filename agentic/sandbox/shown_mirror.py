"""A mirror of a repository as a sandbox sees it: read-only, under the repository's usual address.

Inside, ``git clone https://host/owner/name`` reads the mirror, because a configuration that comes with it says so
(``insteadOf``).  It needs no way to the host, and no credential comes with it.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

MIRRORS = "/opt/threadwright/repositories"
CONFIGURATION = "sandbox.config"


def place_of(mirror: Path) -> str:
    """Where a sandbox sees a mirror."""
    return f"{MIRRORS}/{mirror.name}"


def environment_of(place: str) -> dict[str, str]:
    """What commands of a sandbox are given, so that git reads the mirror at this place."""
    return {"GIT_CONFIG_SYSTEM": f"{place}/{CONFIGURATION}"}


def configuration(place: str, addresses: Iterable[str]) -> str:
    """What git reads in a sandbox."""
    forms = "\n".join(f"\tinsteadOf = {address}" for address in addresses)
    return (
        f'[url "{place}"]\n{forms}\n'
        f"[safe]\n\tdirectory = {place}\n"
        "[user]\n\tname = Threadwright\n\temail = threadwright@users.noreply.invalid\n"
        '[advice]\n\tdetachedHead = false\n[protocol "file"]\n\tallow = always\n'
    )
