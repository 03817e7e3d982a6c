"""A thread or a task as a person names it: an id, or a link out of Discord or the console; pure."""

from __future__ import annotations

import re

LEAST = 15
"""Digits of a thread's id in a link; shorter numbers there are ports and turns."""
LONGEST = 500
_ON_THE_CONSOLE = re.compile(r"/t/(\d{1,25})(?:/([\w.:-]{1,120}))?")
_PARTS = re.compile(r"[A-Za-z0-9]+")


def names_in(text: str) -> list[str]:
    """What a person may mean, the most exact first: the task of a link before its threads, the last thread first.

    A link to the message that began a thread ends with the thread's id; one to a message in a thread has the thread before.
    """
    text = text[:LONGEST].strip()
    if "/" not in text:
        return [text.strip("<#> ")]
    if link := _ON_THE_CONSOLE.search(text):
        return [name for name in (link[2], link[1]) if name]
    return [part for part in reversed(_PARTS.findall(text)) if part.isdecimal() and len(part) >= LEAST]
