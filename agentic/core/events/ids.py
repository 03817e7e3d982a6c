"""Ids are derived, never drawn: the same log gives the same ids, so a repeated effect carries the same key."""

from __future__ import annotations

import hashlib


def digest(*parts: str | int, length: int) -> str:
    """A short name for the parts: ``length`` hexadecimal digits (4 bits each)."""
    return hashlib.sha256("\x1f".join(map(str, parts)).encode()).hexdigest()[:length]


def execution_id(thread: str, inbox: str) -> str:
    """The execution that an inbox item of a thread causes."""
    return "x" + digest("execution", thread, inbox, length=15)


def trial_item(execution: str) -> str:
    """The inbox item that begins the trial after an attempt."""
    return f"trial.{execution}"


def trace_id(root: str) -> str:
    """The trace of an execution that is nobody's child, and of all its children: 32 hexadecimal digits."""
    return digest("trace", root, length=32)


def span_id(execution: str, seq: int) -> str:
    """The span that begins with the event at ``seq`` of a log: 16 hexadecimal digits."""
    return digest("span", execution, seq, length=16)


def request_id(execution: str, seq: int) -> str:
    """The model request that stands at ``seq`` in the log: 8 characters."""
    return digest("request", execution, seq, length=8)


def call_id(request: str, index: int) -> str:
    """The ``index``-th tool call of the answer to a request."""
    return f"{request}.{index}"


def child_id(call: str, index: int) -> str:
    """The ``index``-th child execution of a call; whoever begins the call again has the same ones."""
    return "c" + digest("child", call, index, length=15)


def is_child(execution: str) -> bool:
    """Whether an execution is a child of another, by its id."""
    return len(execution) == 16 and execution.startswith("c")


def place_id(thread: str, child: str) -> str:
    """The workspace of its own that a child of a thread's execution has."""
    return f"{thread}w{child}"


def thread_of(place: str) -> str:
    """The thread that a workspace belongs to: it is called by that, or is one of a child's own."""
    thread, mark, child = place.rpartition("w")
    return thread if mark and thread and is_child(child) else place


def child_of(place: str) -> str:
    """The child that has a workspace of its own."""
    return place.rpartition("w")[2]


def batch_id(execution: str, seq: int) -> str:
    """Calls that were started together; ``seq`` is where their first intent stands."""
    return digest("batch", execution, seq, length=8)


def question_id(execution: str, seq: int) -> str:
    """The question that stands at ``seq`` in the log."""
    return "q" + digest("question", execution, seq, length=11)


def side_target(execution: str) -> str:
    """The target of an item that concerns only this execution, which answers a side question or is a child."""
    return f"side/{execution}"
