"""The meaning of reactions; pure.

The same sign arrives as U+1F6D1, with or without U+FE0F, or with a skin tone: all are one. A custom emoji means
something only if its id was configured; its name proves nothing, since anyone who may upload one can call it "stop".
"""

from __future__ import annotations

from collections.abc import Mapping

from agentic.core.events.execution_events import Sort

Meaning = tuple[Sort, str]
"""(kind, vote): the vote is 'up' or 'down' for feedback, else ''."""

STOP = "🛑"

SIGNS: Mapping[str, Meaning] = {
    STOP: ("stop", ""),
    "⏸": ("pause", ""),
    "▶": ("resume", ""),
    "👍": ("feedback", "up"),
    "👎": ("feedback", "down"),
    "🔄": ("retry", ""),
    "✅": ("continue", ""),
    "❌": ("correction", ""),
    "🚀": ("escalate", ""),
    "💬": ("ask", ""),
}
_OFFER_SIGNS: Mapping[str, Meaning] = {"🔀": ("merge", "")}
"""Signs that mean something on an offered branch only, and nothing as a word."""
WORDS: Mapping[str, Meaning] = {
    "stop": ("stop", ""),
    "abort": ("stop", ""),
    "cancel": ("stop", ""),
    "pause": ("pause", ""),
    "resume": ("resume", ""),
    "retry": ("retry", ""),
    "try again": ("retry", ""),
    "continue": ("continue", ""),
    "go on": ("continue", ""),
    "unpause": ("resume", ""),
    "that was wrong": ("correction", ""),
    "that's wrong": ("correction", ""),
    "escalate": ("escalate", ""),
    "ask me": ("ask", ""),
}
_VARIATION, _SKIN = "\ufe0e\ufe0f", "🏻🏼🏽🏾🏿"
_IGNORED = str.maketrans("", "", _VARIATION + _SKIN)


def normalised(emoji: str) -> str:
    """Return the sign without variation selectors and skin tones."""
    return emoji.translate(_IGNORED)


def meaning(emoji: str, custom_id: str = "", configured: Mapping[str, str] | None = None) -> Meaning | None:
    """Return what a reaction asks for, None for nothing; ``configured`` maps ids of custom emoji to signs."""
    sign = (configured or {}).get(custom_id, "") if custom_id else emoji
    sign = normalised(sign)
    return SIGNS.get(sign) or _OFFER_SIGNS.get(sign)


def command(text: str) -> Meaning | None:
    """Return the meaning of a message that is nothing but a command word or sign; 'stopwatch' and 'stop it there' are
    none.
    """
    words = text.strip().casefold()
    if len(words) > 20:
        return None
    return WORDS.get(words.rstrip(".!").rstrip()) or SIGNS.get(normalised(words))
