"""No way leads past the list of a channel's hosts; and without the check that holds a way, it leads through."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import pytest

from agentic.egress.host_list import HostList
from agentic.egress.proxy_checks import ALL
from tests.integration.egress.internet import EVIL, INSIDE, PUBLIC, Internet, Opened, hello, opened

HOST = "allowed.test"
LISTED = HostList(
    frozenset((HOST, "secret.test", "mixed.test", "rebound.test", "xn--e1afmkfd.test")), frozenset(("wild.test",))
)
CONNECTED = f"CONNECT {HOST}:443 HTTP/1.1\r\nHost: {HOST}:443\r\n\r\n".encode()
Through = Callable[[Opened], bool]


def left(opened: Opened) -> bool:
    """Something else was asked for or called than what is allowed."""
    internet = opened.internet
    return any(call not in ((PUBLIC, 80), (PUBLIC, 443)) for call in internet.called)


def reached(opened: Opened) -> bool:
    """The allowed host was sent something that it must not be."""
    return bool(opened.internet.allowed.heard)


def resolved(opened: Opened) -> bool:
    """A name went out as a question."""
    return bool(opened.internet.asked)


@dataclass(frozen=True)
class Way:
    """One way that is tried: what is sent, and the checks without which it leads through."""

    name: str
    pieces: tuple[bytes, ...]
    without: tuple[str, ...]
    through: Through = left
    addresses: Sequence[Sequence[str]] = ((EVIL,),)
    """What the name resolves to that is no other."""
    then: tuple[bytes, ...] = ()
    """Sent on a connection of its own, afterwards."""


def tunnel(place: str, server: str | None = None) -> tuple[bytes, ...]:
    host = place.rpartition(":")[0]
    named = host if server is None else server
    return f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n\r\n".encode(), hello(*((named,) if named else ()))


def get(url: str, host: str = HOST, *headers: str, body: bytes = b"", method: str = "GET") -> tuple[bytes, ...]:
    lines = (f"{method} {url} HTTP/1.1", f"Host: {host}", *headers)
    return ("\r\n".join([*lines, "", ""]).encode("latin-1") + body,)


def other(name: str, place: str, *also: str) -> Way:
    """A tunnel to what is no listed name."""
    return Way(name, tunnel(place), ("listed", *also))


def private(name: str, *addresses: str) -> Way:
    """A listed name that leads elsewhere by its addresses."""
    return Way(f"address: {name}", tunnel("secret.test:443"), ("addresses",), addresses=(addresses,))


def number(place: str) -> Way:
    return Way(
        f"CONNECT to {place}",
        tunnel(place, ""),
        ("names", "listed", "addresses", "server_name"),
        addresses=((INSIDE,),),
    )


def told(name: str, sent: bytes, *without: str) -> Way:
    """What is sent through a tunnel to the allowed host."""
    return Way(f"tunnel: {name}", (CONNECTED, sent), without or ("server_name",), reached)


def ambiguous(name: str, head: str, body: bytes = b"") -> Way:
    return Way(f"framing: {name}", (head.encode("latin-1") + body,), ("framing", "host_header"), reached)


URL = f"http://{HOST}/"
LINE = f"POST {URL} HTTP/1.1\r\nHost: {HOST}\r\n"
ENDLESS = (b"\x16\x03\x01\x40\x00" + b"a" * 16384) * 4
WAYS = (
    other("a tunnel to another host", "evil.test:443"),
    other("relayed by a process inside", "evil.test:443"),
    other("a subdomain of a listed host", f"www.{HOST}:443"),
    other("a listed host's name as an ending", f"not{HOST}:443"),
    other("a listed host's name as a beginning", f"{HOST}.evil.test:443"),
    other("the parent of a wildcard", "wild.test:443"),
    other("upper case", "EVIL.test:443"),
    other("a dot at the end", "evil.test.:443", "server_name"),
    other("an IDN that looks alike", "xn--allwed-jxa.test:443"),
    Way("plain HTTP to another host", get("http://evil.test/", "evil.test"), ("listed",)),
    Way("plain HTTP, another host in Host", get(URL, "evil.test"), ("host_header",), reached),
    Way("plain HTTP, no Host", (f"GET {URL} HTTP/1.1\r\n\r\n".encode(),), ("host_header",), reached),
    Way("plain HTTP, two Hosts", get(URL, HOST, "Host: evil.test"), ("host_header",), reached),
    Way("plain HTTP, a Host in one's own words", get(URL, f"evil.test@{HOST}"), ("host_header",), reached),
    Way("a question of DNS before the policy", tunnel("keys-go-here.evil.test:443"), ("listed",), resolved),
    Way("a redirect to another host", get(URL), ("listed",), then=get("http://evil.test/", "evil.test")),
    Way("a redirect to a private address", get(URL), ("addresses",), then=get("http://secret.test/", "secret.test"),
        addresses=((INSIDE,),)),
    *map(number, ("10.0.0.5:443", "167772165:443", "0x0a000005:443", "012.0.0.5:443", "10.5:443", "0xa.0.0.5:443", "[::1]:443",
                  "[::ffff:10.0.0.5]:443", "[fe80::1%25lo]:443", "10.0.0.5.:443")),
    Way("a name in percent signs", tunnel("%65vil.test:443", ""), ("names", "listed", "server_name")),
    Way("a user before the host", tunnel(f"{HOST}@evil.test:443", ""), ("names", "listed", "server_name")),
    Way("a user in an address", get(f"http://{HOST}@evil.test/", "evil.test"), ("names", "listed", "host_header")),
    Way("a backslash in an address", get(f"http://{HOST}\\@evil.test/", "evil.test"), ("names", "listed", "host_header")),
    Way("two ports", tunnel(f"evil.test:443:{443}", ""), ("names", "listed", "server_name", "addresses")),
    Way("no name", tunnel(":443", ""), ("names", "listed", "server_name", "addresses")),
    *(Way(f"port {port}", tunnel(f"{HOST}:{port}"), ("ports",)) for port in (22, 25, 53, 6379, 8443)),
    Way("port 80 through a tunnel", tunnel(f"{HOST}:80"), ("ports",), reached),
    Way("plain HTTP to port 443", get(f"http://{HOST}:443/", f"{HOST}:443"), ("ports",), reached),
    Way("plain HTTP to port 8080", get(f"http://{HOST}:8080/", f"{HOST}:8080"), ("ports",)),
    private("private", INSIDE), private("loopback", "127.0.0.1"), private("metadata", "169.254.169.254"),
    private("carrier's", "100.64.0.1"), private("zero", "0.0.0.0"), private("multicast", "239.1.1.1"),
    private("broadcast", "255.255.255.255"), private("IPv6 loopback", "::1"), private("unique local", "fd12::1"),
    private("link-local", "fe80::1"), private("link-local with a zone", "fe80::1%eth0"), private("mapped", "::ffff:127.0.0.1"),
    private("compatible", "::127.0.0.1"), private("NAT64", "64:ff9b::a00:5"), private("6to4", "2002:a00:5::1"),
    private("Teredo", "2001:0:a00:5::1"), private("IPv6 multicast", "ff02::1"), private("unspecified", "::"),
    Way("address: a private one behind a public one", tunnel("mixed.test:443"), ("addresses",),
        addresses=((EVIL, INSIDE),)),
    Way("a name that is rebound", tunnel("rebound.test:443"), ("pinned",), addresses=((PUBLIC,), (INSIDE,))),
    told("plain HTTP", b"GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n", "tunnel"),
    told("HTTP/2 by prior knowledge", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "tunnel"),
    told("another protocol", b"SSH-2.0-OpenSSH_9.2\r\n", "tunnel"),
    told("an alert of TLS first", b"\x15\x03\x03\x00\x02\x01\x00", "tunnel"),
    told("another message of TLS first", b"\x16\x03\x03\x00\x04\x02\x00\x00\x00", "tunnel"),
    told("an old hello", b"\x80\x2e\x01\x03\x01\x00\x15\x00\x00\x00\x10", "tunnel"),
    told("an empty record", b"\x16\x03\x01\x00\x00" + hello(HOST), "tunnel"),
    told("half a hello", hello(HOST)[:40], "tunnel"),
    told("two messages in one record", b"\x16\x03\x01\x00\x08\x01\x00\x00\x02ab\x00\x00", "tunnel"),
    told("an endless hello", b"\x16\x03\x01\x40\x00\x01\xff\xff\xff" + b"a" * 16380 + ENDLESS, "tunnel"),
    told("no server's name", hello()), told("another server (fronting)", hello("evil.test")),
    told("another server, in pieces", hello("evil.test", record=7)), told("two servers", hello(HOST, "evil.test")),
    told("the name twice", hello(HOST, extra=[(0, b"\x00\x0c\x00\x00\x09evil.test")])),
    told("a hidden hello (ECH)", hello(HOST, extra=[(0xFE0D, b"\0" * 40)])),
    told("a name of another kind", hello(HOST, kind=1)), told("a dot at the end of the name", hello(f"{HOST}.")),
    told("a number as the name", hello("10.0.0.5")), told("a NUL in the name", hello(f"{HOST}\0.evil.test")),
    told("a list of names that is cut", hello(extra=[(0, b"\x00\xff\x00")])), told("a parent's name", hello("test")),
    ambiguous("length and pieces", f"{LINE}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n",
              b"0\r\n\r\nGET / HTTP/1.1\r\n\r\n"),
    ambiguous("pieces", f"{LINE}Transfer-Encoding: chunked\r\n\r\n", b"0\r\n\r\n"),
    ambiguous("pieces in disguise", f"{LINE}Transfer-Encoding : chunked\r\n\r\n", b"0\r\n\r\n"),
    ambiguous("pieces, misspelt", f"{LINE}Transfer_Encoding: chunked\r\nContent-Length: 0\r\n\r\n"),
    ambiguous("two lengths", f"{LINE}Content-Length: 4\r\nContent-Length: 40\r\n\r\n", b"a" * 40),
    ambiguous("a length with a sign", f"{LINE}Content-Length: +4\r\n\r\n", b"abcd"),
    ambiguous("a list of lengths", f"{LINE}Content-Length: 4, 4\r\n\r\n", b"abcd"),
    ambiguous("a folded header", f"{LINE}X-A: b\r\n Transfer-Encoding: chunked\r\n\r\n"),
    ambiguous("a bare line feed", f"GET {URL} HTTP/1.1\r\nHost: {HOST}\r\nX-A: b\nHost: evil.test\r\n\r\n"),
    ambiguous("a carriage return in a value", f"GET {URL} HTTP/1.1\r\nHost: {HOST}\r\nX-A: b\rHost: evil.test\r\n\r\n"),
    ambiguous("a NUL in a value", f"GET {URL} HTTP/1.1\r\nHost: {HOST}\r\nX-A: b\0c: d\r\n\r\n"),
    ambiguous("a header without a name", f"GET {URL} HTTP/1.1\r\nHost: {HOST}\r\n: evil.test\r\n\r\n"),
    ambiguous("a space before the first line", f" GET {URL} HTTP/1.1\r\nHost: {HOST}\r\n\r\n"),
    ambiguous("a hundred headers more", f"GET {URL} HTTP/1.1\r\nHost: {HOST}\r\n" + "A: b\r\n" * 101 + "\r\n"),
    Way("a second request behind the first",
        get(URL, HOST, "Content-Length: 2", body=b"abGET / HTTP/1.1\r\nHost: evil.test\r\n\r\n"), ("single",),
        lambda o: b"evil.test" in o.internet.allowed.heard),
    Way("an upgrade to a websocket", get(URL, HOST, "Connection: Upgrade", "Upgrade: websocket"), ("single",),
        lambda o: b"websocket" in o.internet.allowed.heard),
    Way("an upgrade to HTTP/2", get(URL, HOST, "Connection: Upgrade", "Upgrade: h2c", "HTTP2-Settings: AA"), ("single",),
        lambda o: b"h2c" in o.internet.allowed.heard),
    Way("a password for another proxy", get(URL, HOST, "Proxy-Authorization: Basic eDp5"), ("single",),
        lambda o: b"eDp5" in o.internet.allowed.heard),
)  # fmt: skip


async def tried(way: Way, **checks: bool) -> tuple[bool, Opened]:
    """Whether a way led through."""
    names: dict[str, list[Sequence[str]]] = {HOST: [(PUBLIC,)]}
    for name in ("secret.test", "mixed.test", "rebound.test"):
        names[name] = [tuple(each) for each in way.addresses]
    internet = _Everything(names)
    internet.default = tuple(way.addresses[0])
    async with opened(internet, LISTED, checks=replace(ALL, **checks)) as there:
        await there.send(*way.pieces)
        if way.then:
            await there.send(*way.then)
    return way.through(there), there


class _Everything(Internet):
    """Also what has no name is found."""

    default: Sequence[str] = (EVIL,)

    async def resolve(self, host: str, _port: int) -> Sequence[str]:
        if host not in self.names:
            self.asked.append(host)
            return self.default
        return await super().resolve(host, _port)


@pytest.mark.wall("network")
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
async def test_f67_no_way_leads_past_the_list(way: Way) -> None:
    """And whoever is behind the door is told, unless what was too much is only left out."""
    through, there = await tried(way)
    assert not through
    assert there.refusals or way.without == ("single",) or way.then or "rebound" in way.name


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
async def test_it_leads_through_without_the_checks_that_hold_it(way: Way) -> None:
    """So that the test above can fail."""
    through, _ = await tried(way, **dict.fromkeys(way.without, False))
    assert through
