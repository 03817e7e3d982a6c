"""The checks of the proxy, by name."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Checks:
    """Which checks are made: all.  Tests leave one out, to show that what it keeps out would come through without it."""

    listed: bool = True
    """The host is on the list, before anything of it is resolved."""
    names: bool = True
    """A host is named in one plain spelling, and is no address."""
    ports: bool = True
    addresses: bool = True
    """Every address of the name is public."""
    pinned: bool = True
    """The connection goes to the address that was looked at; the name is not resolved again."""
    tunnel: bool = True
    """What is sent through a tunnel begins as TLS does."""
    server_name: bool = True
    """TLS asks for the host that the tunnel was opened to."""
    host_header: bool = True
    """The header ``Host`` names the host of the request."""
    framing: bool = True
    """A request can be read in one way only."""
    single: bool = True
    """A connection carries one request, and is switched to nothing else."""
    bounds: bool = True
    """Sizes, times and counts."""


ALL = Checks()
