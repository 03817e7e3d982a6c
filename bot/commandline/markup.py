"""Discord's markup as plain text, for a terminal; pure."""

from __future__ import annotations

import re
from datetime import datetime

_CODE = re.compile(r"(?<!\\)(?:```.*?```|`[^`\n]+`)", re.DOTALL)
_KEPT = re.compile("\x00(\\d+)\x00")
_SMALL = re.compile(r"^-# ", re.MULTILINE)
_BOLD = re.compile(r"(?<!\\)\*\*(?=\S)(.{1,300}?)(?<=\S)(?<!\\)\*\*")
_TIME = re.compile(r"<t:(\d{1,11})(?::[tTdDfFR])?>")
_ESCAPED = re.compile(r"\\([\\*_~`|>\[\]#<])")


def plainly(text: str) -> str:
    """The text without small print's and bold's signs, with times as clocks show them; code stays as it is."""
    codes: list[str] = []

    def keep(found: re.Match[str]) -> str:
        codes.append(found[0])
        return f"\x00{len(codes) - 1}\x00"

    bare = _CODE.sub(keep, text.replace("\x00", ""))
    bare = _BOLD.sub(r"\1", _SMALL.sub("", _TIME.sub(_clock, bare)))
    return _KEPT.sub(lambda found: codes[int(found[1])], _ESCAPED.sub(r"\1", bare))


def _clock(found: re.Match[str]) -> str:
    return f"{datetime.fromtimestamp(int(found[1])).astimezone():%Y-%m-%d %H:%M:%S}"
