"""The head of a request to a proxy (RFC 9112): CONNECT, or a request with an absolute ``http://`` target.

``read`` takes it apart and refuses what could be read in more than one way; ``ProxyRequest.forwarded`` is what the host gets.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MOST_HEADERS = 100
_LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}) ([\x21-\x7e]{1,8192}) HTTP/(\d\.\d)")
_HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}):[ \t]*([\x20-\x7e\x80-\xff\t]*)")
_TARGET = re.compile(r"http://([^/?#]*)((?:[/?][^#]*)?)", re.IGNORECASE)
_HOP_BY_HOP = frozenset(
    ("connection", "proxy-connection", "keep-alive", "proxy-authorization", "proxy-authenticate", "te", "trailer", "upgrade",
     "http2-settings", "alt-used")
)  # fmt: skip
_NEVER_DROPPED = frozenset(("host", "content-length", "transfer-encoding"))


class BadRequest(ValueError):
    """It cannot be forwarded; ``status`` and what is wrong with it."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


@dataclass(frozen=True, slots=True)
class ProxyRequest:
    """A request's head."""

    method: str
    authority: str
    """As it is written in the target."""
    path: str
    """'' for CONNECT."""
    headers: tuple[tuple[str, str], ...]
    length: int = 0
    """Bytes of its body."""

    @property
    def connects(self) -> bool:
        """It asks for a tunnel."""
        return self.method == "CONNECT"

    def values(self, name: str) -> list[str]:
        """All values of a header."""
        return [value for known, value in self.headers if known.lower() == name]

    def forwarded(self, host: str, *, single: bool = True) -> bytes:
        """The head as the host gets it: for this connection only, and with nothing that was meant for the proxy."""
        named = {name.strip().lower() for value in self.values("connection") for name in value.split(",")}
        dropped = (_HOP_BY_HOP | (named - _NEVER_DROPPED) if single else frozenset[str]()) | {"host"}
        kept = [(name, value) for name, value in self.headers if name.lower() not in dropped]
        closing = [("Connection", "close")] if single else []
        lines = [f"{self.method} {self.path} HTTP/1.1", *(f"{k}: {v}" for k, v in [("Host", host), *kept, *closing])]
        return "\r\n".join([*lines, "", ""]).encode("latin-1")


def read(head: bytes, *, strict: bool = True) -> ProxyRequest:
    """The request of a head that ends in an empty line.  Raises ``BadRequest``.

    Without ``strict`` it is read as leniently as some servers do.
    """
    lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n" if strict else b"\n")
    line = _LINE.fullmatch(lines[0] if strict else lines[0].strip())
    if line is None:
        raise BadRequest(400, "the first line of the request cannot be read")
    method, target, version = (part.decode("latin-1") for part in line.groups())
    if version != "1.1" and not (version == "1.0" and method == "CONNECT"):
        raise BadRequest(505, "only HTTP/1.1 is spoken here")
    headers = _headers(lines[1:], strict=strict)
    if method == "CONNECT":
        return ProxyRequest(method, target, "", headers)
    absolute = _TARGET.fullmatch(target)
    if absolute is None:
        raise BadRequest(400, "only http:// addresses are fetched here; for https:// a tunnel is opened (CONNECT)")
    path = absolute[2] if absolute[2].startswith("/") else f"/{absolute[2]}"
    return ProxyRequest(method, absolute[1], path, headers, _length(headers, strict=strict))


def _headers(lines: list[bytes], *, strict: bool) -> tuple[tuple[str, str], ...]:
    if len(lines) > MOST_HEADERS and strict:
        raise BadRequest(431, f"it has more than {MOST_HEADERS} headers")
    headers: list[tuple[str, str]] = []
    for line in lines:
        found = _HEADER.fullmatch(line)
        if found is None and strict:
            raise BadRequest(400, "one of its headers cannot be read in one way only")
        if found is not None:
            headers.append((found[1].decode("latin-1"), found[2].decode("latin-1").rstrip(" \t")))
        elif b":" in line:
            name, _, value = line.strip().decode("latin-1").partition(":")
            headers.append((name, value.strip()))
    return tuple(headers)


def _length(headers: tuple[tuple[str, str], ...], *, strict: bool) -> int:
    named = [(name.lower(), value) for name, value in headers]
    lengths = [value for name, value in named if name == "content-length"]
    if strict and any(name == "transfer-encoding" for name, _ in named):
        raise BadRequest(411, "its body must have a Content-Length; nothing in pieces (Transfer-Encoding) is passed on")
    if strict and any(name.replace("_", "-") in _NEVER_DROPPED and "_" in name for name, _ in named):
        raise BadRequest(400, "one of its headers cannot be read in one way only")
    if strict and (len(lengths) > 1 or not all(_is_length(value) for value in lengths)):
        raise BadRequest(400, "its Content-Length cannot be read in one way only")
    return max((int(value) for value in lengths if _is_length(value)), default=0)


def _is_length(value: str) -> bool:
    return value.isascii() and value.isdigit() and len(value) <= 15
