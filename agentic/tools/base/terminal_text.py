"""Convert terminal output to plain text: the output of a command without its control sequences.

A command may write anything: colours, window titles, clipboard writes, progress bars, half a UTF-8 character. None of
it may reach a prompt, a log or a chat. Every pattern is linear: no sequence, however broken, makes cleaning slow.
"""

from __future__ import annotations

import re

_STRINGS = r"(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"
"""OSC, DCS, SOS, PM and APC with their contents; one without an end stops at the end of its line."""
_CSI = r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
_OTHER = r"\x1b[ -/]*[0-~]?"
_SEQUENCE = re.compile(f"{_STRINGS}|{_CSI}|{_OTHER}")
_UNSEEN = re.compile(r"[\x01-\x08\x0b-\x1f\x7f-\x9f]")
_CONTROLS = re.compile(r"[\0-\x08\x0b-\x1f\x7f-\x9f]")
_ENDED = re.compile(r"(?:\x1b\[[0-?]*[ -/]*[@-~]|\x1b[ -/]*[0-OQ-WYZ\\`-~]|\x1b[\]PX^_][^\x07\x1b\n]*[\x07\n])(?s:.*)")
_HELD = 256
_SURROGATES = re.compile("[\ud800-\udfff]")

STREAMED = 4_000
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def clean(text: str) -> str:
    """Remove escape sequences and control characters; of an overwritten line, keep the last form.

    NUL and lone surrogates become U+FFFD. Tabs and line ends stay, CR LF becomes LF.
    """
    if _is_plain(text):
        return text
    text = _SEQUENCE.sub("", text)
    if "\x08" in text:
        text = _erase(text)
    if "\r" in text:
        text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    text = _UNSEEN.sub("", text).replace("\0", REPLACEMENT)
    return _SURROGATES.sub(REPLACEMENT, text)


def clean_bytes(data: bytes) -> str:
    """Do the same for bytes; invalid UTF-8 becomes U+FFFD."""
    return clean(data.decode("utf-8", "replace"))


def visible(text: str) -> str:
    """Show the control characters of a file's text as signs, so that nothing acts and nothing is lost."""
    if _is_plain(text):
        return text
    return _SURROGATES.sub(REPLACEMENT, _CONTROLS.sub(_sign, text))


def one_line(name: str) -> str:
    """Return a file's name, which may contain line ends, as one line."""
    return visible(name.replace("\n", "\N{SYMBOL FOR LINE FEED}").replace("\t", "\N{SYMBOL FOR HORIZONTAL TABULATION}"))


def _is_plain(text: str) -> bool:
    """Whether the text holds no control character or lone surrogate apart from tabs and line ends."""
    return text.replace("\n", "").replace("\t", "").isprintable()


def _sign(found: re.Match[str]) -> str:
    code = ord(found[0])
    return chr(0x2400 + code) if code < 0x20 else "\N{SYMBOL FOR DELETE}" if code == 0x7F else REPLACEMENT


class StreamCleaner:
    """Cleans output that arrives in pieces: a sequence that is cut off waits for the next piece.

    It is for people who watch: of a large piece only the end is passed on.
    """

    def __init__(self) -> None:
        self._held = ""

    def clean(self, piece: str) -> str:
        """Return what can be shown now."""
        text = (self._held + piece)[-STREAMED:]
        start = text.rfind("\x1b", max(0, len(text) - _HELD))
        if start >= 0 and not _ENDED.fullmatch(text, start):
            self._held, text = text[start:], text[:start]
        else:
            self._held = ""
        return clean(text)


def _erase(text: str) -> str:
    kept: list[str] = []
    for character in text:
        if character != "\x08":
            kept.append(character)
        elif kept and kept[-1] != "\n":
            kept.pop()
    return "".join(kept)
