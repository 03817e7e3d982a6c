"""What a pull request says, where people may have edited what the bot wrote there; pure.

The bot leaves a mark that no reader sees: of which title and which text it wrote last. Where what stands there is no
longer that, a person wrote it, and it stays. So does all of what bears no mark.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

_MARK = re.compile(r"<!-- threadwright:text ([0-9a-f]{12})\.([0-9a-f]{12}) -->")
NEWS = "{why}, so it stays as it is. What was published now:\n\n**{title}**\n\n{body}"
EDITED, UNMARKED = "Somebody edited the description", "The description may be somebody's own"
"""Why a description stays: it is not what the bot wrote last, or it bears no mark, as those of earlier versions."""


@dataclass(frozen=True, slots=True)
class Merged:
    """What to write where; None where it stays as it is.  ``kept`` names what stays although something else was wanted."""

    title: str | None = None
    body: str | None = None
    kept: tuple[str, ...] = ()
    news: str = ""
    """Why the description stays, where what was wanted of it is new, and has to be said elsewhere."""


def marked(title: str, body: str) -> str:
    """A text as the bot writes it under this title; a mark of the bot's that the text itself brings is none."""
    body = _MARK.sub("", body)
    return f"{body}\n{_mark(_digest(title), _digest(body))}"


def merged(title: str, body: str, wanted_title: str, wanted: str) -> Merged:
    """What becomes of a title and a text that stand at the host, where these are wanted instead.

    A title is written only together with a text of the bot, whose mark says so.
    """
    marks = list(_MARK.finditer(body))
    title_mark, text_mark = marks[-1].groups() if marks else ("", "")
    stands, wanted = _MARK.sub("", body), _MARK.sub("", wanted)
    as_wanted, title_as_wanted = _digest(stands) == _digest(wanted), _digest(title) == _digest(wanted_title)
    if as_wanted and title_as_wanted:
        return Merged()
    if _digest(stands) != text_mark:
        kept = (*(() if title_as_wanted else ("title",)), *(() if as_wanted else ("description",)))
        why = EDITED if marks else UNMARKED
        return Merged(kept=kept, news=why if not as_wanted and _digest(wanted) != text_mark else "")
    if title_as_wanted or _digest(title) == title_mark:
        return Merged(None if title_as_wanted else wanted_title, marked(wanted_title, wanted))
    return Merged(None, f"{wanted}\n{_mark(title_mark, _digest(wanted))}", ("title",))


def _mark(title: str, body: str) -> str:
    return f"<!-- threadwright:text {title}.{body} -->"


def _digest(text: str) -> str:
    """Of the words: a host may write ends of lines otherwise, or leave spaces at them out."""
    lines = (line.rstrip() for line in text.strip().splitlines())
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:12]
