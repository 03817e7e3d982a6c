"""The first message of TLS: for which server it asks.

A ClientHello may be spread over several records, and a record over several segments: whoever reads feeds what has come
until it is whole, and no more than ``MOST`` bytes of it.  It is read strictly: lengths must fit exactly.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from agentic.egress.host_list import NoHost, host_name

MOST = 64 * 1024
"""Bytes of records that a ClientHello may take."""
_HANDSHAKE, _CLIENT_HELLO = 22, 1
_SERVER_NAME, _ENCRYPTED_HELLO = 0, 0xFE0D
_LARGEST_RECORD = 16 * 1024
UNRECOGNISED_NAME = b"\x15\x03\x03\x00\x02\x02\x70"
"""The alert that refuses a name."""


class NoHello(ValueError):
    """What was sent is no ClientHello; the message says why."""


class NotThatServer(ValueError):
    """It asks for another server than it may, or for none; the message says why."""


@dataclass(slots=True)
class HelloReader:
    """Bytes in, a server's name out."""

    _waiting: bytearray = field(default_factory=bytearray)
    _message: bytearray = field(default_factory=bytearray)
    _seen: int = 0

    def feed(self, data: bytes) -> bytes | None:
        """The body of the ClientHello once it is whole, None before.  Raises ``NoHello``."""
        self._seen += len(data)
        self._waiting += data
        if self._seen > MOST and not self._whole():
            raise NoHello("its first message of TLS is too long")
        while self._take_record():
            if (body := self._whole()) is not None:
                return body
        return None

    def _take_record(self) -> bool:
        """Move one record's content into the message; False where none is whole."""
        waiting = self._waiting
        if waiting and (waiting[0] != _HANDSHAKE or (len(waiting) > 1 and waiting[1] != 3)):
            raise NoHello("it does not speak TLS")
        if len(waiting) < 5:
            return False
        size = int.from_bytes(waiting[3:5], "big")
        if not 0 < size <= _LARGEST_RECORD:
            raise NoHello("it does not speak TLS")
        if len(waiting) < 5 + size:
            return False
        self._message += waiting[5 : 5 + size]
        del waiting[: 5 + size]
        return True

    def _whole(self) -> bytes | None:
        message = self._message
        if message and message[0] != _CLIENT_HELLO:
            raise NoHello("its first message of TLS is another one")
        if len(message) < 4 or len(message) < (end := 4 + int.from_bytes(message[1:4], "big")):
            return None
        if len(message) > end:
            raise NoHello("more follows its first message of TLS")
        return bytes(message[4:end])


def require(hello: bytes, host: str) -> None:
    """Raise ``NotThatServer`` unless a ClientHello asks for this host, openly and only."""
    named: list[str] = []
    for kind, content in _extensions(hello):
        if kind == _ENCRYPTED_HELLO:
            raise NotThatServer("it hides the server that it asks for (ECH)")
        if kind == _SERVER_NAME:
            named += _names(content)
    if not named:
        raise NotThatServer("its TLS names no server")
    if len(named) > 1 or named[0] != host:
        raise NotThatServer(f"its TLS asks for {named[0]!r} instead")


def _extensions(hello: bytes) -> list[tuple[int, bytes]]:
    try:
        reader = _Reader(hello)
        reader.take(2 + 32)
        for length_bytes in (1, 2, 1):  # session id, cipher suites, compression methods
            reader.vector(length_bytes)
        if reader.at_end:
            return []
        extensions = _Reader(reader.vector(2))
        reader.end()
        found: list[tuple[int, bytes]] = []
        while not extensions.at_end:
            found.append((extensions.number(2), extensions.vector(2)))
    except IndexError:
        raise NotThatServer("its first message of TLS cannot be read") from None
    if len({kind for kind, _ in found}) < len(found):
        raise NotThatServer("its first message of TLS cannot be read in one way only")
    return found


def _names(content: bytes) -> list[str]:
    try:
        reader = _Reader(content)
        names = _Reader(reader.vector(2))
        reader.end()
        found: list[str] = []
        while not names.at_end:
            if names.number(1) != 0:
                raise NotThatServer("its TLS names no server")
            written = names.vector(2).decode("ascii")
            if written.endswith("."):
                raise NotThatServer("its TLS names no server in the usual way")
            found.append(host_name(written))
    except (IndexError, UnicodeDecodeError, NoHost):
        raise NotThatServer("the server's name in its TLS cannot be read") from None
    return found


class _Reader:
    """Bytes, taken from the front; ``IndexError`` where there are too few or too many."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def at_end(self) -> bool:
        return self._at == len(self._data)

    def take(self, count: int) -> bytes:
        if self._at + count > len(self._data):
            raise IndexError
        self._at += count
        return self._data[self._at - count : self._at]

    def number(self, count: int) -> int:
        return int.from_bytes(self.take(count), "big")

    def vector(self, length_bytes: int) -> bytes:
        return self.take(self.number(length_bytes))

    def end(self) -> None:
        if not self.at_end:
            raise IndexError
