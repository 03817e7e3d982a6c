"""Which hosts may be reached: names, patterns, presets.  A name is judged by how it is written, before it is resolved."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from agentic.egress.package_hosts import PACKAGE_HOSTS

NONE, PACKAGES = "none", "packages"
WEB = "@web"
"""No host can be called so, as one could be called `web`: no list that names one opens more by that."""
ADDS = "+"
"""What a list begins with that is added to the wider place's."""
HTTP, HTTPS = 80, 443
PORTS = frozenset((HTTP, HTTPS))
MOST_HOSTS = 50
_LONGEST = 253
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_BETWEEN = re.compile(r"[\s,]+")


class NoHost(ValueError):
    """It is not the name of a host; the message says why."""


@dataclass(frozen=True, slots=True)
class Authority:
    """A host and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return self.host if self.port in PORTS else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class HostList:
    """Hosts by name, and parents whose subdomains are all meant."""

    exact: frozenset[str] = frozenset()
    parents: frozenset[str] = frozenset()
    web: bool = False
    """The tools that read the web may read all of it; no command reaches more by that."""

    def allows(self, host: str) -> bool:
        """Whether a name, as ``host_name`` returns it, is on the list."""
        if host in self.exact:
            return True
        above = host.partition(".")[2]
        while above:
            if above in self.parents:
                return True
            above = above.partition(".")[2]
        return False

    @property
    def reaches(self) -> bool:
        """Whether commands reach anything."""
        return bool(self.exact or self.parents)

    @property
    def beyond_packages(self) -> tuple[str, ...]:
        """What of it reaches more than package indexes, as it is written."""
        return (*sorted(self.exact.difference(PACKAGE_HOSTS)), *(f"*.{parent}" for parent in sorted(self.parents)))

    def __or__(self, other: HostList) -> HostList:
        return HostList(self.exact | other.exact, self.parents | other.parents, self.web or other.web)


def host_name(written: str) -> str:
    """The one spelling of a host's name: lower case, no dot at its end.

    An address is none, in whatever notation: what a resolver would read as a number is refused.  Raises ``NoHost``.
    """
    name = written.lower().removesuffix(".")
    labels = name.split(".")
    if not name or len(name) > _LONGEST or not all(_LABEL.fullmatch(label) for label in labels):
        raise NoHost(f"{_shown(written)} is not the name of a host")
    if _NUMBER.fullmatch(labels[-1]):
        raise NoHost(f"{_shown(written)} is an address; hosts are named")
    return name


def authority(written: str, default: int | None = None) -> Authority:
    """``host:port``, or ``host`` where there is a default.  Raises ``NoHost``."""
    host, colon, port = written.rpartition(":") if ":" in written else (written, "", "")
    if not colon:
        if default is None:
            raise NoHost(f"{_shown(written)} has no port")
        return Authority(host_name(host), default)
    if not (port.isascii() and port.isdigit() and 1 <= len(port) <= 5 and 0 < int(port) < 65536):
        raise NoHost(f"{_shown(written)} has no port that can be read")
    return Authority(host_name(host), int(port))


def stored(setting: str) -> str:
    """A setting as it is kept for one place, with ``ADDS`` before what only adds.  Raises ``NoHost``."""
    adds = setting.strip().startswith(ADDS)
    named = " ".join(patterns(setting.strip().removeprefix(ADDS)))
    if adds and named == NONE:
        raise NoHost("after + come the hosts to be added")
    return f"{ADDS}{named}" if adds else named


def joined(wider: str, setting: str) -> str:
    """What counts in a place with this setting, of what counts in the wider one around it."""
    if not setting.startswith(ADDS):
        return setting
    words = dict.fromkeys((*wider.split(), *setting.removeprefix(ADDS).split()))
    return " ".join(word for word in words if word != NONE)


def patterns(setting: str) -> tuple[str, ...]:
    """A setting as it is stored: presets and hosts in order, each once.  Raises ``NoHost``."""
    words = tuple(dict.fromkeys(_pattern(word) for word in _BETWEEN.split(setting.strip()) if word))
    if len(words) > MOST_HOSTS:
        raise NoHost(f"these are {len(words)} hosts, more than {MOST_HOSTS}")
    named = tuple(word for word in words if word != NONE)
    return named or (NONE,)


def read(words: Iterable[str]) -> HostList:
    """The policy of patterns that ``patterns`` returned."""
    exact: set[str] = set()
    parents: set[str] = set()
    web = False
    for word in words:
        if word == WEB:
            web = True
        elif word == PACKAGES:
            exact |= set(PACKAGE_HOSTS)
        elif word.startswith("*."):
            parents.add(word[2:])
        elif word != NONE:
            exact.add(word)
    return HostList(frozenset(exact), frozenset(parents), web)


def private_places(setting: str) -> frozenset[Authority]:
    """What the operator lists of the own network: ``host`` (ports 80 and 443) or ``host:port``.  Raises ``NoHost``."""
    places: set[Authority] = set()
    for word in filter(None, _BETWEEN.split(setting.strip())):
        ports = PORTS if ":" not in word else (authority(word).port,)
        places |= {Authority(host_name(word.partition(":")[0]), port) for port in ports}
    return frozenset(places)


def _pattern(word: str) -> str:
    low = word.lower()
    if low in (NONE, PACKAGES, WEB):
        return low
    if not word.isascii():
        raise NoHost(f"{_shown(word)} must be written in its ASCII form (xn--…)")
    if not low.startswith("*."):
        return host_name(low)
    below = host_name(low[2:])
    if "." not in below:
        raise NoHost(f"{_shown(word)} would open a whole top-level domain")
    return f"*.{below}"


def _shown(written: str) -> str:
    text = written if len(written) <= 80 else f"{written[:79]}…"
    return repr(text)
