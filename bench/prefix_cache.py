"""A provider's prefix cache, simulated by Anthropic's rules over the bodies of real requests.

A request is a row of blocks: tools, system text, contents of messages.  What stands up to a breakpoint is kept; a later
request reads the longest kept beginning that ends at one of its breakpoints or at most 20 blocks before one.  Writing costs
1.25 times, reading 0.1 times a token of input, and what is shorter than 1,024 tokens is not kept.  Nothing runs out.
Tokens are a quarter of the characters of a block's JSON, the same for every strategy.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import cast

import orjson
from pydantic import JsonValue

WRITE, READ, OUTPUT = 1.25, 0.1, 5.0
LOOKED_BACK = 20
SHORTEST = 1_024
BREAKPOINTS = 4

Row = dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Billed:
    """Tokens of one request."""

    read: float
    written: float
    plain: float

    @property
    def cost(self) -> float:
        """In tokens of uncached input."""
        return READ * self.read + WRITE * self.written + self.plain

    @property
    def whole(self) -> float:
        """What it would cost without a cache."""
        return self.read + self.written + self.plain


@dataclass
class PrefixCache:
    """What is kept; each request that is billed adds to it."""

    kept: set[bytes] = field(default_factory=set[bytes])

    def bill(self, body: Row) -> Billed:
        """The request's tokens, as the provider would count them."""
        prefix, sizes, breakpoints = b"", list[float](), list[int]()
        prefixes: list[bytes] = []
        for block, marked in blocks_of(body):
            prefix = hashlib.blake2b(prefix + block, digest_size=16).digest()
            prefixes.append(prefix)
            sizes.append((sizes[-1] if sizes else 0.0) + len(block) / 4)
            if marked:
                breakpoints.append(len(prefixes) - 1)
        assert len(breakpoints) <= BREAKPOINTS, "a provider takes four breakpoints"
        hit = max((place for mark in breakpoints for place in self._hits(prefixes, mark)), default=-1)
        read = sizes[hit] if hit >= 0 else 0.0
        keepable = [mark for mark in breakpoints if sizes[mark] >= SHORTEST]
        through = max(sizes[keepable[-1]] if keepable else 0.0, read)
        self.kept.update(prefixes[mark] for mark in keepable)
        return Billed(read, through - read, sizes[-1] - through)

    def _hits(self, prefixes: list[bytes], mark: int) -> Iterator[int]:
        for place in range(mark, max(-1, mark - LOOKED_BACK - 1), -1):
            if prefixes[place] in self.kept:
                yield place
                return


def blocks_of(body: Row) -> Iterator[tuple[bytes, bool]]:
    """The blocks in the order in which they are read, each with whether a breakpoint stands in it."""
    for tool in cast("list[Row]", body.get("tools") or []):
        yield _block("tool", tool)
    for part in cast("list[Row]", body.get("system") or []):
        yield _block("system", part)
    for message in cast("list[Row]", body["messages"]):
        for part in cast("list[Row]", message["content"]):
            yield _block(str(message["role"]), part)


def _block(where: str, part: Row) -> tuple[bytes, bool]:
    bare = {name: value for name, value in part.items() if name != "cache_control"}
    return where.encode() + orjson.dumps(bare), "cache_control" in part
