"""How much of a content is left in another: pure, and in a time that grows with what is read.

Left is what a person would still find: a text by most of its lines, or by most of its words in their order; what is no text
by its blocks, or as a file of the same format from its first bytes to its last.  Packed files count as what is in them.
"""

from __future__ import annotations

import bz2
import contextlib
import lzma
import math
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

KEPT = 0.5
"""So much must be left for the rest to be an edit."""
_ORDERED = 0.6
"""So many of the words that are left must stand beside the same neighbour as before."""
_REPORT_WORDS, _WORD_LENGTH, _LETTERS, _SAME_LETTERS = 0.25, 15, 200, 0.75
"""What was written anew has so much of the number of words and of different ones, words no longer than that on average,
and, from so many letters on, about the same letters.
"""
_UNCUT, _FRESH = 0.8, 0.02
"""A text of which no more is left, and to which no more was added, was cut."""
MOST_UNPACKED = 1 << 20
_LONG = 1 << 20
"""Texts from this size on are compared by lines alone."""
_BLOCK = 64
_WORDS = re.compile(rb"[A-Za-z0-9_\x80-\xff]+")
_SIGNS = re.compile(rb"\S")
_ENDS = {
    b"\x89PNG": b"IEND\xaeB`\x82", b"\xff\xd8\xff": b"\xff\xd9", b"GIF8": b";", b"%PDF": b"%%EOF",
    b"PK\x03\x04": b"PK\x05\x06",
    b"PAR1": b"PAR1", b"\x7fELF": b"", b"\x93NUMPY": b"", b"\x80\x04\x95": b".", b"\x80\x05\x95": b".", b"RIFF": b"",
}  # fmt: skip
"""Formats whose files share few bytes when they are made anew, by what they begin with; and what stands near their end."""
_NEAR = 1024


def is_text(content: bytes) -> bool:
    """Whether it is read as text."""
    return b"\0" not in content


def is_left(before: bytes, now: bytes, near: int = 1) -> bool:
    """Whether enough of a content is there; words may stand so far apart as ``near`` that were neighbours."""
    before, now = unpacked(before), unpacked(now)
    if before == now:
        return True
    if not is_text(before):
        return _is_same_kind(before, now)
    if not is_text(now):
        return False
    lines = _lines(before)
    if (lines & _lines(now)).total() >= KEPT * lines.total():
        return True
    if len(before) > _LONG:
        return False
    was, there = _words(before), _words(now)
    common = Counter(was) & Counter(there)
    if common.total() < KEPT * len(was):
        return False
    old, new = [word for word in was if word in common], [word for word in there if word in common]
    return _in_order(old, new, near) >= _ORDERED


def is_merely_cut(before: bytes, now: bytes) -> bool:
    """Whether a text only became shorter, by more than a passage: nothing new stands in it."""
    if not (is_text(before) and is_text(now)) or len(now) > _UNCUT * len(before):
        return False
    was, there = Counter(_words(before)), Counter(_words(now))
    return (there - was).total() <= _FRESH * there.total() and (was & there).total() <= _UNCUT * was.total()


def is_written_anew(before: bytes, now: bytes) -> bool:
    """Whether what stands in the place of a content is another of its sort, as a report or a list is that is made again."""
    if not is_text(before):
        return before[:4] == now[:4] and len(now) >= KEPT * len(before) and not _is_empty(now)
    was, there = _words(before), _words(now)
    if not (is_text(now) and there and len(now) >= KEPT * len(before)):
        return False
    if (Counter(was) & Counter(there)).total() >= KEPT * len(was) > 2:
        return False  # the same words in another order
    many = len(there) >= _REPORT_WORDS * len(was) and len(set(there)) >= _REPORT_WORDS * len(set(was))
    return many and len(b"".join(there)) <= _WORD_LENGTH * len(there) and _same_letters(before, now)


def carried(
    gone: Mapping[str, bytes], fresh: Mapping[str, bytes], alike: Mapping[str, Sequence[str]]
) -> dict[str, list[str]]:
    """Contents that other files hold, with which: each word of a file vouches for one content, and what is no text for one.

    ``alike``: the new files that may hold a content, by its path; one of them, or several together.
    """
    texts = {path: unpacked(content) for path, content in fresh.items()}
    words = {path: Counter(_words(text)) for path, text in texts.items() if is_text(text)}
    spent, held = set[str](), dict[str, list[str]]()
    for path, before in ((path, unpacked(content)) for path, content in gone.items()):
        own = Counter(_words(before)) if is_text(before) else Counter[bytes]()
        for others in _choices(alike.get(path, ()), texts, own):
            if (
                is_text(before)
                and sum(((own & words[each]) for each in others), Counter[bytes]()).total() < KEPT * own.total()
            ):
                continue
            if spent.isdisjoint(others) and is_left(before, b"\n".join(texts[each] for each in others), 3):
                held[path] = others
                _spend(own, others, words, spent)
                break
    return held


def _choices(alike: Sequence[str], texts: Mapping[str, bytes], own: Counter[bytes]) -> Iterator[list[str]]:
    there = [path for path in alike if path in texts and (not own or is_text(texts[path]))]
    yield from ([path] for path in there)
    if own and len(there) > 1:
        yield sorted(there)


def _spend(own: Counter[bytes], others: Sequence[str], words: dict[str, Counter[bytes]], spent: set[str]) -> None:
    for path in others:
        if own:
            taken = own & words[path]
            words[path] = words[path] - taken
            own = own - taken
        else:
            spent.add(path)


def unpacked(content: bytes) -> bytes:
    """What a file that is packed by gzip, bzip2 or xz, or written in UTF-16, begins with; any other as it is."""
    unpackers = {
        b"\x1f\x8b": lambda: zlib.decompressobj(31),
        b"BZh": bz2.BZ2Decompressor,
        b"\xfd7zXZ": lzma.LZMADecompressor,
    }
    for begins, unpacker in unpackers.items():
        if content.startswith(begins):
            with contextlib.suppress(zlib.error, OSError, lzma.LZMAError):
                return unpacker().decompress(content, MOST_UNPACKED)
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        with contextlib.suppress(UnicodeDecodeError):
            return content.decode("utf-16").encode()
    return content


def _lines(content: bytes) -> Counter[bytes]:
    return Counter(line for line in map(bytes.strip, content.splitlines()) if line)


def _words(content: bytes) -> list[bytes]:
    return _WORDS.findall(content) or _SIGNS.findall(content)


def _in_order(old: list[bytes], new: list[bytes], near: int) -> float:
    """The part of neighbours that still are."""
    if len(old) < 2:
        return 1.0
    pairs, there = Counter(pairwise(old)), Counter[tuple[bytes, bytes]]()
    for apart in range(1, near + 1):
        there.update(zip(new, new[apart:], strict=False))
    return (pairs & there).total() / (len(old) - 1)


def _is_same_kind(before: bytes, now: bytes) -> bool:
    blocks = _blocks(before)
    if not blocks:
        return len(now) >= KEPT * len(before)
    if (blocks & _blocks(now)).total() >= KEPT * blocks.total():
        return True
    return any(
        before.startswith(begin) and now.startswith(begin) and end in now[-_NEAR:] and not _is_empty(now)
        for begin, end in _ENDS.items()
    )


def _blocks(content: bytes) -> Counter[bytes]:
    """Its blocks, without those of one byte alone."""
    found = (content[at : at + _BLOCK] for at in range(0, len(content), _BLOCK))
    return Counter(block for block in found if block.count(block[:1]) < len(block))


def _is_empty(content: bytes) -> bool:
    """Whether most of it says nothing."""
    sample = content[len(content) // 8 :][:_LONG]
    return len(zlib.compress(sample, 1)) * 20 < len(sample)


def _same_letters(before: bytes, now: bytes) -> bool:
    was, there = (Counter(letter for letter in text.lower() if 97 <= letter < 123) for text in (before, now))
    if min(was.total(), there.total()) < _LETTERS:
        return True
    product = sum(was[letter] * there[letter] for letter in was)
    return product >= _SAME_LETTERS * math.hypot(*was.values()) * math.hypot(*there.values())
