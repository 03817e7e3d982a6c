"""Reads kind, width and height of a picture from its bytes; nothing is decoded, whatever size a small file claims."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PictureFacts:
    """What the bytes of a picture say of it; a damaged one has no size."""

    media: str
    sha: str
    width: int
    height: int


Size = tuple[int, int]

SEGMENTS = 2_000
"""Parts of a JPEG that are looked through for its size, at most."""
_NO_SIZE = frozenset((0xC4, 0xC8, 0xCC))
"""JPEG markers among those of frames that are none."""


def facts_of(content: bytes) -> PictureFacts | None:
    """A picture's facts, by its bytes and not by its name; None where it is none.  A damaged one has no size."""
    for begins, media, size_in in _KINDS:
        if content.startswith(begins) and (media != "image/webp" or content[8:12] == b"WEBP"):
            try:
                width, height = size_in(content)
            except (struct.error, IndexError):
                width, height = 0, 0
            sha = hashlib.sha256(content).hexdigest()
            whole = width > 0 and height > 0
            return PictureFacts(media, sha, width, height) if whole else PictureFacts(media, sha, 0, 0)
    return None


def _png(content: bytes) -> Size:
    width, height = struct.unpack_from(">II", content, 16)
    return (width, height) if content[12:16] == b"IHDR" and content.rfind(b"IEND\xaeB`\x82") > 0 else (0, 0)


def _gif(content: bytes) -> Size:
    width, height = struct.unpack_from("<HH", content, 6)
    return (width, height) if content.rstrip(b"\0").endswith(b";") else (0, 0)


def _jpeg(content: bytes) -> Size:
    place = 2
    for _ in range(SEGMENTS):
        if content[place] == 0xFF and content[place + 1] == 0xFF:
            place += 1  # filling
            continue
        begins, marker, length = struct.unpack_from(">BBH", content, place)
        if begins != 0xFF or length < 2:
            break
        if 0xC0 <= marker <= 0xCF and marker not in _NO_SIZE:
            height, width = struct.unpack_from(">HH", content, place + 5)
            return (width, height) if content.rfind(b"\xff\xd9") > place else (0, 0)
        place += 2 + length
    return 0, 0


def _webp(content: bytes) -> Size:
    (length,) = struct.unpack_from("<I", content, 4)
    if length + 8 > len(content):
        return 0, 0
    kind = content[12:16]
    if kind == b"VP8X":
        return int.from_bytes(content[24:27], "little") + 1, int.from_bytes(content[27:30], "little") + 1
    if kind == b"VP8L":
        (bits,) = struct.unpack_from("<I", content, 21)
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    width, height = struct.unpack_from("<HH", content, 26)
    return (width & 0x3FFF, height & 0x3FFF) if kind == b"VP8 " else (0, 0)


_KINDS: tuple[tuple[bytes, str, Callable[[bytes], Size]], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image/png", _png),
    (b"\xff\xd8\xff", "image/jpeg", _jpeg),
    (b"GIF87a", "image/gif", _gif),
    (b"GIF89a", "image/gif", _gif),
    (b"RIFF", "image/webp", _webp),
)
