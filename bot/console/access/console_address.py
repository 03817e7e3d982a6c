"""Where the console is reached, and what follows from it: names of hosts, origins, cookies, whether others reach it."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

USUAL_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class ConsoleAddress:
    """The address that is listened at, and the one that people use where that is another (``console_url``, or '')."""

    host: str
    port: int
    url: str = ""

    @property
    def local(self) -> bool:
        """Whether it is meant for this machine alone: nobody else can connect, and no other address leads here."""
        return is_loopback(self.host) and (not self.url or is_loopback(urlsplit(self.url).hostname or ""))

    @property
    def secure(self) -> bool:
        """Whether people reach it over https."""
        return self.url.startswith("https://")

    @property
    def public(self) -> str:
        """The origin that people use; '' for whichever they came by."""
        parts = urlsplit(self.url)
        return _origin(parts.scheme, (parts.hostname or "").lower(), parts.port) if self.url else ""

    @property
    def origins(self) -> frozenset[str]:
        """The origins that pages of the console have."""
        names = {self.host, "localhost", "127.0.0.1"} if is_loopback(self.host) else {self.host}
        here = {_origin("http", name, self.port) for name in names}
        return frozenset({*here, self.public} - {""})

    @property
    def hosts(self) -> frozenset[str]:
        """What the header Host may be."""
        return frozenset(origin.partition("://")[2] for origin in self.origins)

    def cookie(self, name: str) -> str:
        """A cookie's name: one that only this host can set, or else, since cookies know no ports, with the port."""
        return f"__Host-threadwright-{name}" if self.secure else f"threadwright-{name}-{self.port}"


def is_loopback(host: str) -> bool:
    """Whether a host is this machine as only it is reached by itself."""
    try:
        return host.lower() == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _origin(scheme: str, host: str, port: int | None) -> str:
    name = f"[{host}]" if ":" in host else host
    return f"{scheme}://{name}" if port in (None, USUAL_PORTS.get(scheme)) else f"{scheme}://{name}:{port}"
