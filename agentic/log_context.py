"""The ids that log entries carry: of the thread, the execution, the request or call that they are about.

They go with the asyncio tasks that whatever is worked on begins; a formatter reads them when it writes an entry.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import Context, ContextVar, copy_context
from types import MappingProxyType

from agentic.core.events.ids import trace_id

_ABOUT: ContextVar[Mapping[str, str]] = ContextVar("about", default=MappingProxyType({}))


def about() -> Mapping[str, str]:
    """The ids that count here, by what they are of: ``thread``, ``execution``, ``trace_id``, ``request``, ``call``."""
    return _ABOUT.get()


@contextmanager
def of_thread(thread: str) -> Generator[None]:
    """Have entries in this context name the thread."""
    before = _ABOUT.set({"thread": thread})
    try:
        yield
    finally:
        _ABOUT.reset(before)


@contextmanager
def of_execution(thread: str, execution: str) -> Generator[None]:
    """Have entries in this context name the execution; one that is begun from another's work belongs to its trace."""
    before = _ABOUT.set(
        {"thread": thread, "execution": execution, "trace_id": _ABOUT.get().get("trace_id") or trace_id(execution)}
    )
    try:
        yield
    finally:
        _ABOUT.reset(before)


def of_effect(ref: str) -> Context:
    """The present context for a task that asks a model, or uses a tool: ``ref`` is the request's id or the call's."""
    request, of_call, _ = ref.partition(".")
    ids = {"request": request, "call": ref} if of_call else {"request": request}
    context = copy_context()
    context.run(_ABOUT.set, {**_ABOUT.get(), **ids})
    return context
