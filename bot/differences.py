"""What became of files, line by line; pure."""

from __future__ import annotations

from collections.abc import Sequence

from agentic.core.lazy_dataclass import dataclass
from agentic.differences import unified_diff
from bot.fences import FENCE
from bot.progress import Changed
from bot.render import clean, inline

INLINE_LINES = 16
INLINE_CHARACTERS = 700
LINES_COMPARED = 2_000
"""Longer files are counted as changed, not compared."""
_MARK = 2


@dataclass(frozen=True, slots=True)
class Difference:
    """One file; ``lines`` is a unified diff, empty where its content is not text, not known, or too long."""

    path: str
    kind: str
    added: int | None = None
    removed: int | None = None
    lines: tuple[str, ...] = ()


def difference(change: Changed, before: bytes | None, after: bytes | None) -> Difference:
    """What changed in a file; a content is None where it is not known."""
    old, new = _text(before if change.before else b""), _text(after if change.after else b"")
    if old is None or new is None or max(len(old), len(new)) > LINES_COMPARED:
        return Difference(change.path, change.kind)
    lines = tuple(line.rstrip("\n") for line in unified_diff(old, new, f"a/{change.path}", f"b/{change.path}", _MARK))
    body = lines[2:]
    return Difference(
        change.path,
        change.kind,
        sum(line.startswith("+") for line in body),
        sum(line.startswith("-") for line in body),
        lines,
    )


def change_line(each: Difference) -> str:
    """A file with what became of it: `a.py` +2 −1."""
    counts = [f"{sign}{number}" for sign, number in (("+", each.added), ("−", each.removed)) if number]
    words = {"added": "new", "deleted": "deleted"}.get(each.kind, "" if counts else "changed")
    return " ".join(filter(None, (inline(each.path), words, *counts)))


def inline_diff(differences: Sequence[Difference]) -> str:
    """The changes as one code block, where they are short enough to be read in a message; else ''."""
    shown = [each for each in differences if each.kind == "modified"]
    if not shown or len(differences) > 2 or not all(each.lines for each in differences):
        return ""
    lines: list[str] = []
    for each in shown:
        lines += [f"--- {each.path}"] if len(shown) > 1 else []
        lines += _trimmed([line for line in each.lines[2:] if not line.startswith("@@")])
    if len(lines) > INLINE_LINES or sum(map(len, lines)) > INLINE_CHARACTERS:
        return ""
    return "\n".join([f"{FENCE}diff", clean("\n".join(lines)).replace(FENCE, "ˋˋˋ"), FENCE])


def _trimmed(lines: list[str]) -> list[str]:
    """Without empty lines around what changed."""
    while lines and not lines[0].strip():
        lines = lines[1:]
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    return lines


def whole_diff(differences: Sequence[Difference]) -> bytes:
    """All changes as a patch."""
    return "".join("\n".join([*each.lines, ""]) for each in differences if each.lines).encode("utf-8", "replace")


def _text(content: bytes | None) -> list[str] | None:
    if content is None or b"\0" in content:
        return None
    try:
        return content.decode().splitlines()
    except UnicodeDecodeError:
        return None
