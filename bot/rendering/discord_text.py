"""Make the text of a model or a tool fit for Discord: clean, split, fence; pure.

Discord allows 2,000 characters a message; here they are counted as UTF-16 units, the stricter way. Foreign text cannot
move the cursor (ANSI, OSC), reorder what is read (bidi), leave its fence or spoiler, or break the request (NUL, lone
surrogates). Pings are prevented by ``AllowedMentions.none()`` on the client.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from bot.rendering.code_blocks import FENCE, fence_after
from bot.rendering.tables import with_tables

LIMIT = 2_000
"""Maximum characters of one message."""
MESSAGES_AT_MOST = 3
"""Maximum number of messages; longer text becomes a file."""
ANSWER_FILE = "answer.md"
NAME = 100
"""Maximum characters of a shown name."""
HEADINGS_AT_MOST = 160
"""Characters of headings that are moved to the next message with what stands under them."""
BEGINNING = 1_200
"""Characters that are shown of a text that became a file."""

_OSC = re.compile(r"\x1b[\]PX^_].*?(?:\x07|\x1b\\|\x9c|$)|\x9d.*?(?:\x07|\x9c|$)", re.DOTALL)
_CSI = re.compile(r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?|\x1b[ -/]*[0-~]?")
_CONTROLS = re.compile(r"[\x01-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_LOST = re.compile(r"[\x00\ud800-\udfff]")
_INVISIBLE = re.compile(
    "[\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
    "|(?<![^\x00-\x7f])[\u200c\u200d]|[\u200c\u200d](?![^\x00-\x7f])"
)
_MARKS = re.compile(r"([\\*_~`|>\[\]#<])")
_HEADING = re.compile(r"#{1,3} \S|\*\*[^*\n]{1,120}\*\*:?\s*$")
"""A heading of Discord's, or a line that is wholly bold."""
_LONG_RUN = re.compile(r"`{4,}")


def clean(text: str) -> str:
    """Remove terminal sequences, controls and characters that hide or reorder; NUL and the like become U+FFFD."""
    if text.isascii() and text.isprintable():
        return text
    text = text.replace("\r\n", "\n")
    text = _CSI.sub("", _OSC.sub("", text)).replace("\r", "\n")
    return _INVISIBLE.sub("", _CONTROLS.sub("", _LOST.sub("\ufffd", text)))


def storable(text: str) -> str:
    """Replace what no encoding can hold, NUL and lone surrogates, by U+FFFD, and change nothing else."""
    return _LOST.sub("\ufffd", text)


def length(text: str) -> int:
    """Return the length as Discord may count it: UTF-16 units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def cut(text: str, limit: int) -> str:
    """Return at most ``limit`` characters, with an ellipsis where something is missing."""
    if length(text) <= limit:
        return text
    return text[: _units(text, limit - 1)].rstrip() + "…"


def one_line(text: str, limit: int = 80) -> str:
    """Return the first words of a text on one line."""
    return cut(" ".join(clean(text[: limit * 8]).split()), limit)


def named(name: str, otherwise: str = "somebody") -> str:
    """Return a chosen name on one line without what hides or reorders; for people, prompts and logs."""
    return one_line(name, NAME) or otherwise


def inline(text: str, limit: int = 80) -> str:
    """Return foreign text as inline code that it cannot leave."""
    inner = one_line(text, limit).replace("`", "ˋ")
    return f"`{inner}`" if inner else ""


def plain(text: str, limit: int = 200) -> str:
    """Return foreign text on one line with its Markdown escaped."""
    return _MARKS.sub(r"\\\1", one_line(text, limit))


def fenced(text: str, language: str = "") -> str:
    """Return foreign text as a code block that it cannot leave."""
    inner = clean(text).replace(FENCE, "ˋˋˋ").strip("\n")
    return f"{FENCE}{language}\n{inner}\n{FENCE}"


def spoiler(text: str) -> str:
    """Return foreign text behind a spoiler that it cannot leave."""
    inner = clean(text).replace("|", "\\|")
    return f"||{inner}||"


@dataclass(frozen=True, slots=True)
class Attached:
    """A file: made of text that did not fit, or of the workspace (``made`` is False)."""

    name: str
    content: bytes
    made: bool = True


Steering = Literal["stop", "pause", "resume", "revoke", "continue"]
"""What a button of a task's card does with the task; 'continue' takes up one that was stopped,
'revoke' takes back what was allowed for all of it."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """A text as messages; ``files`` belong to the last of them."""

    parts: tuple[str, ...]
    files: tuple[Attached, ...] = ()
    undo: bool = False
    """Whether the last message gets a button that undoes the changes."""
    redo: bool = False
    """Whether the last message gets a button that takes an undo back, in the place of that one."""
    again: str = ""
    """Which attempt at the task a button under the last message begins, '' for no such button: '2 of 3'."""
    votes: bool = True
    """Whether the last message gets 👍 and 👎."""
    steer: tuple[Steering, ...] = ()
    """Buttons that stop, pause, resume or continue the task."""
    wake: str = ""
    """The wake-up that a button under the last message cancels, '' for none."""
    pings: str = ""
    """The mention in the last part that calls somebody, '' for none; no other mention does."""
    card: tuple[str, ...] = ()
    """The same as the blocks of one card, where it is to be shown as one and fits (``bot/rendering/answer_card.py``)."""


def render(text: str, *, footer: str = "", name: str = ANSWER_FILE, messages: int = MESSAGES_AT_MOST) -> Rendered:
    """Render a text as at most ``messages`` messages; the rest, and wide tables, become files. Never empty."""
    body, wide = with_tables(clean(text).strip("\n"))
    files = tuple(Attached(f"table-{number}.md", table.encode()) for number, table in enumerate(wide, 1))
    ending = cut(clean(footer).strip(), LIMIT // 2)
    parts = split(body)
    if len(parts) > messages:
        files = (Attached(name, clean(text).encode()), *files)
        parts = _shortened(body, name, ending)
    return Rendered(_with_ending(parts, ending), files)


def calling(rendered: Rendered, mention: str) -> Rendered:
    """Return the same with a mention that calls a person or a role, in the small print at its end."""
    *before, last = rendered.parts
    small, fits = last.rpartition("\n")[2].startswith("-# "), length(last) + length(mention) + 3 <= LIMIT
    parts = (*before, f"{last} · {mention}") if small and fits else _with_ending([*before, last], f"-# {mention}")
    card = rendered.card
    if card:
        small = card[-1].rpartition("\n")[2].startswith("-# ")
        card = (*card[:-1], f"{card[-1]} · {mention}") if small else (*card, f"-# {mention}")
    return replace(rendered, parts=parts, pings=mention, card=card)


def beginning(text: str, name: str = ANSWER_FILE, limit: int = BEGINNING) -> str:
    """Return the first lines of a text that became a file, and the file's name."""
    return split(clean(text).strip("\n"), limit)[0] + f"\n\n*This is the beginning; the whole is in `{name}`.*"


def _shortened(body: str, name: str, ending: str) -> list[str]:
    return [beginning(body, name, LIMIT - length(ending) - length(name) - 60)]


def _with_ending(parts: list[str], ending: str) -> tuple[str, ...]:
    if not ending:
        return tuple(parts) or ("*(nothing to say)*",)
    if not parts:
        return (ending,)
    *before, last = parts
    if length(last) + length(ending) + 1 > LIMIT:
        *more, last = split(last, LIMIT - length(ending) - 1)
        before += more
    return (*before, f"{last}\n{ending}")


def split(text: str, limit: int = LIMIT) -> list[str]:
    """Split a text into parts of at most ``limit`` (200 or more), at line ends where possible; fences are closed and
    reopened, and a heading goes with what it is about.

    Nothing is lost: without the fence lines added between parts, the parts hold the text's lines in order.
    """
    parts: list[str] = []
    lines: list[str] = []
    used, fence = 0, ""
    for line in _lines_that_fit(_LONG_RUN.sub(FENCE, text), limit):
        if lines and used + length(line) + 1 + len(FENCE) + 1 > limit:
            heads = [] if fence else _headings_at_end(lines, limit - length(line) - len(FENCE) - 2)
            _close(parts, lines[: len(lines) - len(heads)], fence)
            lines = [fence] if fence else heads
            used = sum(length(one) + 1 for one in lines)
        lines.append(line)
        used += length(line) + 1
        fence = fence_after(fence, line)
    _close(parts, lines, fence)
    return parts


def _headings_at_end(lines: list[str], room: int) -> list[str]:
    """Return the headings that end a part with nothing under them; none where it has nothing else, or they are too long."""
    begins = len(lines)
    while begins and (not lines[begins - 1].strip() or _HEADING.match(lines[begins - 1])):
        begins -= 1
    heads = lines[begins:]
    used = sum(length(line) + 1 for line in heads)
    fits = begins > 0 and any(line.strip() for line in heads) and used <= min(room, HEADINGS_AT_MOST)
    return heads if fits else []


def _close(parts: list[str], lines: list[str], fence: str) -> None:
    part = "\n".join([*lines, FENCE] if fence else lines)
    if part.strip():
        parts.append(part)


def _lines_that_fit(text: str, limit: int) -> Iterator[str]:
    """Yield lines short enough to fit beside a reopened and a closing fence; never cut inside a fence mark."""
    room = limit - 40
    for line in text.split("\n"):
        rest = line
        while length(rest) > room:
            end = _units(rest, room)
            end = rest.rfind(" ", end * 3 // 4, end) + 1 or end
            while rest[end - 1] == "`":
                end -= 1
            yield rest[:end]
            rest = rest[end:]
        yield rest


def _units(text: str, limit: int) -> int:
    """Return how many code points make at most ``limit`` UTF-16 units."""
    if text.isascii():
        return limit
    used = 0
    for index, char in enumerate(text):
        used += 2 if char > "\uffff" else 1
        if used > limit:
            return index
    return len(text)
