"""Mends taken out, one at a time: what is struck at each await must then show a violation, or it would see nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from unittest.mock import patch

from agentic.ports import Lease
from agentic.store_ports import Leases
from bot import forking, serving


@dataclass(frozen=True, slots=True)
class Mend:
    """What is put in its place, and where and by which words the harness sees that it is missing."""

    out: Callable[[], contextlib.AbstractContextManager[object]]
    play: str
    ways: tuple[str, ...]
    words: str


def _released() -> contextlib.AbstractContextManager[object]:
    """Who is cancelled while giving the lease back keeps it."""

    async def careless(store: Leases, lease: Lease) -> None:
        await store.release(lease)

    stack = contextlib.ExitStack()
    for module in (serving, forking):
        stack.enter_context(patch.object(module, "give_back", careless))
    return stack


MENDS: dict[str, Mend] = {
    "leases": Mend(_released, "kinds", ("ended",), "is still held by"),
}


@contextlib.contextmanager
def applied(name: str) -> Iterator[None]:
    """Without this mend, for a while; '' for with all of them."""
    with MENDS[name].out() if name else contextlib.nullcontext():
        yield
