"""A ClientHello is read however it comes in, and names exactly one server."""

from __future__ import annotations

import contextlib
import ssl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.egress.client_hello import HelloReader, NoHello, NotThatServer, require
from tests.integration.egress.internet import hello


def real(name: str) -> bytes:
    """What OpenSSL says first."""
    context = ssl.create_default_context()
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(incoming, outgoing, server_hostname=name).do_handshake()
    return outgoing.read()


def fed(data: bytes, size: int) -> bytes | None:
    reader = HelloReader()
    bodies = [reader.feed(data[at : at + size]) for at in range(0, len(data), size)]
    return bodies[-1]


@pytest.mark.parametrize("size", [1, 3, 100, 100_000])
@pytest.mark.parametrize("record", [0, 1, 9, 64])
def test_it_is_read_in_any_pieces(size: int, record: int) -> None:
    body = fed(hello("example.org", record=record), size)
    assert body is not None
    require(body, "example.org")
    with pytest.raises(NotThatServer):
        require(body, "example.com")


def test_a_real_one_is_read() -> None:
    body = fed(real("Example.org"), 50)
    assert body is not None
    require(body, "example.org")


def test_what_a_client_sends_early_is_no_trouble() -> None:
    body = HelloReader().feed(hello("example.org") + b"\x14\x03\x03\x00\x01\x01" + b"\x17\x03\x03\x00\x10" + bytes(16))
    assert body is not None


@given(st.binary(max_size=400))
def test_noise_is_refused_in_words(data: bytes) -> None:
    """And never in another way: it is too short for a hello, and nothing else is raised."""
    with contextlib.suppress(NoHello, NotThatServer):
        body = HelloReader().feed(data)
        if body is not None:
            require(body, "example.org")
            assert b"example.org" in data


@given(st.integers(0, 200), st.integers(0, 255))
def test_a_hello_with_one_byte_changed_never_names_another(place: int, byte: int) -> None:
    data = bytearray(hello("example.org"))
    data[place % len(data)] = byte
    with contextlib.suppress(NoHello, NotThatServer):
        body = HelloReader().feed(bytes(data))
        if body is not None:
            require(body, "example.org")
            assert b"example.org" in body.lower()
