"""A picture's kind and size are read from its bytes; nothing is decoded, and what is cut off is damaged."""

from __future__ import annotations

import hashlib
import struct
from io import BytesIO

import pytest
from PIL import Image

from agentic.workspace.picture_header import PictureFacts, facts_of

KINDS = ("png", "jpeg", "gif", "webp")


def drawn(kind: str, width: int = 30, height: int = 20, **options: object) -> bytes:
    """A picture as a library writes it."""
    file = BytesIO()
    Image.new("RGB", (width, height), (200, 30, 40)).save(file, kind, **options)
    return file.getvalue()


@pytest.mark.parametrize("kind", KINDS)
def test_kind_and_size_are_those_of_the_bytes(kind: str) -> None:
    content = drawn(kind)
    assert facts_of(content) == PictureFacts(f"image/{kind}", hashlib.sha256(content).hexdigest(), 30, 20)


@pytest.mark.parametrize("options", [{"lossless": True}, {"exif": b"Exif\0\0"}], ids=["lossless", "extended"])
def test_each_form_of_webp(options: dict[str, object]) -> None:
    facts = facts_of(drawn("webp", **options))
    assert facts is not None
    assert (facts.width, facts.height) == (30, 20)


def test_a_progressive_jpeg_with_filling_before_its_parts() -> None:
    content = drawn("jpeg", progressive=True)
    facts = facts_of(content[:2] + b"\xff\xff" + content[2:])
    assert facts is not None
    assert (facts.width, facts.height) == (30, 20)


@pytest.mark.parametrize("kind", KINDS)
def test_a_picture_that_is_cut_off_anywhere_is_damaged_or_none(kind: str) -> None:
    content = drawn(kind)
    for length in range(len(content) - 1):
        facts = facts_of(content[:length])
        assert facts is None or (facts.width, facts.height) == (0, 0), length


@pytest.mark.parametrize("content", [b"", b"just words", b"RIFF\x10\0\0\0WAVEfmt ", b"<svg/>", b"%PDF-1.7", b"MZ" * 40])
def test_other_files_are_no_pictures(content: bytes) -> None:
    assert facts_of(content) is None


def test_a_bomb_costs_no_more_than_its_bytes() -> None:
    content = drawn("png", 1, 1)
    bomb = content[:16] + struct.pack(">II", 60_000, 60_000) + content[24:]
    facts = facts_of(bomb)
    assert facts is not None
    assert (facts.width, facts.height) == (60_000, 60_000)


@pytest.mark.parametrize(
    "rest", [b"\xff" * 1_000_000, b"\xff\xe0\x00\x02" * 250_000, b"\xff\xe0\x00\x00" * 9, b"\x00" * 99]
)
def test_a_jpeg_without_a_size_is_damaged(rest: bytes) -> None:
    facts = facts_of(b"\xff\xd8\xff" + rest)
    assert facts is not None
    assert (facts.width, facts.height) == (0, 0)
