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
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
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
MOST_READ = 4 << 20
"""Of so much in new files is kept what was compared of it, and so much in several is compared as one."""
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


class _Content:
    """One content, and what is compared of it, made when it is first asked for."""

    def __init__(self, content: bytes) -> None:
        self.plain = unpacked(content)
        self.is_text = is_text(self.plain)

    @cached_property
    def lines(self) -> Counter[bytes]:
        return Counter(line for line in map(bytes.strip, self.plain.splitlines()) if line)

    @cached_property
    def words(self) -> list[bytes]:
        return _words(self.plain)

    @cached_property
    def counted(self) -> Counter[bytes]:
        return Counter(self.words)


class _Contents:
    """Files by their paths; what was compared of them is kept of as many as are ``MOST_READ`` together."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = files
        self._read = dict[str, _Content]()
        self._size = 0

    def __getitem__(self, path: str) -> _Content:
        if path not in self._read:
            if self._size > MOST_READ:
                self._read, self._size = {}, 0
            self._read[path] = _Content(self.files[path])
            self._size += len(self._read[path].plain)
        return self._read[path]

    def joined(self, paths: Sequence[str]) -> _Content:
        """Several as one."""
        return self[paths[0]] if len(paths) == 1 else _Content(b"\n".join(self[path].plain for path in paths))


def is_left(before: bytes, now: bytes, near: int = 1) -> bool:
    """Whether enough of a content is there; words may stand so far apart as ``near`` that were neighbours."""
    return _is_left(_Content(before), _Content(now), near)


def _is_left(before: _Content, now: _Content, near: int) -> bool:
    if before.plain == now.plain:
        return True
    if not before.is_text:
        return _is_same_kind(before.plain, now.plain)
    if not now.is_text:
        return False
    if (before.lines & now.lines).total() >= KEPT * before.lines.total():
        return True
    if len(before.plain) > _LONG:
        return False
    common = before.counted & now.counted
    if common.total() < KEPT * len(before.words):
        return False
    old, new = ([word for word in each.words if word in common] for each in (before, now))
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
    gone: Mapping[str, bytes],
    fresh: Mapping[str, bytes],
    alike: Mapping[str, Sequence[str]],
    is_over: Callable[[], bool] = lambda: False,
) -> dict[str, list[str]]:
    """Contents that other files hold, with which: each word of a file vouches for one content, and what is no text for one.

    ``alike``: the new files that may hold a content, by its path; one of them, or several together.  Once the time
    ``is_over`` no more are compared.
    """
    there, held, used = _Contents(fresh), dict[str, list[str]](), set[str]()
    spent = defaultdict[str, Counter[bytes]](Counter)
    for path, before in ((path, _Content(content)) for path, content in gone.items()):
        own = before.counted if before.is_text else Counter[bytes]()
        for others in _choices(alike.get(path, ()), there, own):
            if is_over():
                return held
            taken = sum(_free(own, there[each], spent[each]).total() for each in others)
            if taken >= KEPT * own.total() and used.isdisjoint(others) and _is_left(before, there.joined(others), 3):
                held[path] = others
                used.update(() if own else others)
                for each in others:
                    words = _free(own, there[each], spent[each])
                    spent[each].update(words)
                    own = own - words
                break
    return held


def _choices(alike: Sequence[str], there: _Contents, own: Counter[bytes]) -> Iterator[list[str]]:
    texts = list[str]()
    for path in alike:
        if path in there.files and (not own or there[path].is_text):
            yield [path]
            texts.append(path)
    if own and len(texts) > 1 and sum(len(there.files[path]) for path in texts) <= MOST_READ:
        yield sorted(texts)


def _free(own: Counter[bytes], there: _Content, spent: Counter[bytes]) -> Counter[bytes]:
    """The words of a content that another has and has vouched for no other with."""
    return Counter({word: most for word, n in own.items() if (most := min(n, there.counted[word] - spent[word])) > 0})


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
