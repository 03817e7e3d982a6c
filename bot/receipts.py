"""What people are told of an opinion that was taken in; pure.  Other receipts are the core's (``agentic/core/visible.py``)."""

from __future__ import annotations

from agentic.core.events import InboxItem

_VOTES = {"up": "👍 Noted for {what}.", "down": "👎 Noted for {what}.", "none": "Your vote on {what} is taken back."}
_WRONG = "❌ Noted: {what} was wrong. The next attempt here knows it; write what should be different to begin one."


def noted(item: InboxItem, *, over: bool) -> str:
    """What a person is told of a vote or correction; '' where the core tells it, or for other items.

    ``over``: the execution that it is about has ended.
    """
    about = item.target.partition("/")[2]
    what = f"turn {about[5:]}" if about.startswith("turn:") else "the result"
    if not item.target and not over:
        what = "what I am doing"
    if item.sort == "feedback":
        return _VOTES[item.text].format(what=what)
    return _WRONG.format(what=what) if item.sort == "correction" and over else ""
