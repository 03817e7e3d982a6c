"""Amounts of what a cap is counted in: as a question offers them, and as people write them in an answer.

Money is given only where an amount was named or an offer was taken: words without either change no cap.
"""

from __future__ import annotations

import re
from typing import Literal

from agentic.core.events.execution_events import Option

What = Literal["turns", "tokens", "usd", "minutes", "day"]
"""What an extension would raise."""
COUNTED: frozenset[str] = frozenset(("tokens", "usd", "minutes", "day"))
"""Caps that words without an amount do not raise; of turns there are ten more."""
OPERATORS: frozenset[str] = frozenset(("tokens", "usd", "day"))
"""Caps on what is paid for: an operator raises them.  Turns and minutes of their own executions executors do."""

STOP = "stop"
"""The choice that ends it."""
STOPS = re.compile(
    r"(please )?(no|nope|nah|stop|don.?t|do not|not|enough|end|cancel|halt|quit|abort)\b(?! more than)|.*\bplease stop\b",
    re.IGNORECASE,
)
YES = re.compile(r"(yes|yep|sure|ok|okay|go on|go ahead|continue|please|do|of course|[ ,.!])+$", re.IGNORECASE)

_DIGITS = r"(?P<figure>\d[\d.,]*)\s?"
_FIGURE = r"(?<![\w.,-])" + _DIGITS
_MORE = r"(?:more |extra |another )?"
_WHOLE = re.compile(r"\+?\s?(?P<figure>\d[\d.,]*)\s?(?P<times>k|m)?\s?(?:more|extra)?", re.IGNORECASE)
_MONEY = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?<![\w-])(?:us ?)?\$\s?{_DIGITS}",
        rf"{_FIGURE}{_MORE}(?:\$|dollars?\b|usd\b|bucks?\b)",
        rf"\busd\s?{_DIGITS}",
        rf"{_FIGURE}{_MORE}(?P<cents>cents?\b|¢)",
    )
)
_TIME = tuple(
    re.compile(rf"{_FIGURE}{_MORE}{unit}", re.IGNORECASE)
    for unit in (r"(?:minutes?|mins?|m)\b", r"(?P<hours>hours?|hrs?|h)\b")
)
_TOKENS = (re.compile(rf"{_FIGURE}(?P<times>k|m|thousand|million)?\b\s?{_MORE}tokens?\b", re.IGNORECASE),)
_PATTERNS: dict[str, tuple[re.Pattern[str], ...]] = {
    "usd": _MONEY, "day": _MONEY, "minutes": _TIME, "tokens": _TOKENS,
}  # fmt: skip
_WITH_COMMAS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_DECIMAL_COMMA = re.compile(r"\d+,\d{1,2}")
_PLAIN = re.compile(r"\d{1,12}(?:\.\d+)?")
_TIMES = {"k": 1_000, "thousand": 1_000, "m": 1_000_000, "million": 1_000_000}
_WORDS = {
    "half an hour": "30 minutes", "a quarter of an hour": "15 minutes", "a hundred": "100", "an": "1", "a": "1",
    "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "eight": "8", "ten": "10",
    "fifteen": "15", "twenty": "20", "thirty": "30", "fifty": "50",
}  # fmt: skip
_UNITS = r" (?:more )?(?:dollar|buck|minute|hour|cent)"
_SPELT = re.compile(rf"\b(?:{'|'.join(_WORDS)})\b(?={_UNITS})|\b(?:half|a quarter of) an hour\b", re.IGNORECASE)
_GOES_ON = re.compile(r"\s*(?:[,.;:!\n]|(?:and|but|then)\b)", re.IGNORECASE)
"""What may stand after an amount that is meant: further words, not a remark about it."""
_FILLING = re.compile(
    r"(?:another|more|give|it|take|yes|ok|okay|sure|please|go|on|with|for|up|to|at|no|not|than|most|add|you|can|may|have"
    r"|spend|use|this|today|task|and|of|course|extra|[\s,.!+])*",
    re.IGNORECASE,
)


def offers(what: What, cap: float, least: float = 0.0) -> tuple[Option, ...]:
    """Two amounts to choose from: the cap once more and twice, for a day half of it and all of it; none below ``least``."""
    if what == "turns":
        return _options(what, 10, 20)
    if what == "day":
        first = max(round(cap / 2, 2), round(least + 0.005, 2))
        return _options(what, first, 2 * first)
    return _options(what, cap, 2 * cap)


def read(what: str, text: str) -> tuple[float, bool] | None:
    """The amount that words ask for, and whether they say nothing beside it; None where they ask for none.

    A number alone counts in the cap's own unit; with the unit of something else it is no amount of this.  A remark or a
    question that only mentions an amount asks for none.
    """
    said = _SPELT.sub(lambda word: _WORDS[word[0].casefold()], text.strip())
    alone = _WHOLE.fullmatch(said)
    found = alone or next((match for each in _PATTERNS[what] if (match := each.search(said))), None)
    if found is None or "?" in said or (alone is not None and alone["times"] and what != "tokens"):
        return None
    amount = _number(found["figure"]) * _factor(found.groupdict())
    before, after = said[: found.start()], said[found.end() :]
    plain = _FILLING.fullmatch(after) is not None
    if amount <= 0 or not _FILLING.fullmatch(before) or not (plain or _GOES_ON.match(after)):
        return None
    return (float(round(amount)) if what == "tokens" else amount), plain


def understood(what: str, text: str) -> bool:
    """Whether words say by how much, or yes, or no."""
    return bool(STOPS.match(text.strip()) or YES.match(text.strip())) or read(what, text) is not None


def more(what: str, amount: float) -> str:
    """So much more of it, in words."""
    if what in ("usd", "day"):
        return f"{dollars(amount)} more" + (" for today" if what == "day" else "")
    return f"{amount:,.0f} more {what}" if amount >= 100 else f"{amount:g} more {what}"


def dollars(amount: float) -> str:
    """A sum as people write it: $5, $2.50, $0.0001."""
    if amount >= 0.01:
        return f"${amount:,.0f}" if amount == round(amount) else f"${amount:,.2f}"
    return f"${amount:.6f}".rstrip("0").rstrip(".")


def _options(what: What, *amounts: float) -> tuple[Option, ...]:
    return tuple(Option(id=f"{amount:.10g}", label=more(what, amount)) for amount in amounts)


def _factor(named: dict[str, str | None]) -> float:
    times = (named.get("times") or "").casefold()
    return _TIMES.get(times, 1) * (0.01 if named.get("cents") else 1) * (60 if named.get("hours") else 1)


def _number(figure: str) -> float:
    """1,000,000 and 2.5 and 2,5; 0 for what is no number."""
    figure = figure.rstrip(".,")
    if _WITH_COMMAS.fullmatch(figure):
        return float(figure.replace(",", ""))
    plain = figure.replace(",", ".") if _DECIMAL_COMMA.fullmatch(figure) else figure
    return float(plain) if _PLAIN.fullmatch(plain) else 0.0
