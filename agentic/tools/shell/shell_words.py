"""The words of a shell command line, with quotes taken off and expansions made as far as they are known."""

from __future__ import annotations

import base64
import binascii
import posixpath
import re
from abc import ABC, abstractmethod
from bisect import bisect_left
from itertools import product

UNKNOWN = "\x00"
"""Stands for what an expansion would put there."""
LONGEST = 10_000
"""So long a variable's value may grow; beyond it is unknown."""
MOST_WORDS = 64
"""So many words one may become by braces; beyond it is unknown."""
_SPLIT, _OPEN, _COMMA, _CLOSE = "\x01", "\x02", "\x03", "\x04"
"""Signs that were not quoted, until a word is whole."""
_BRACES = {"{": _OPEN, ",": _COMMA, "}": _CLOSE}
_PLAIN = str.maketrans({_OPEN: "{", _COMMA: ",", _CLOSE: "}"})
_CHOICE = re.compile(f"{_OPEN}([^{_OPEN}{_CLOSE}]*{_COMMA}[^{_OPEN}{_CLOSE}]*){_CLOSE}")
_OPERATOR = re.compile(r";;&|;;|;&|&&|\|\||\|&|[;&|()\n]")
_REDIRECTION = re.compile(r"&>>?|\d{0,9}(?:<<<|<<-?|<>|>>|>\||>&|<&|>(?!\()|<(?!\())")
_NAME = re.compile(r"[A-Za-z_]\w*")
_PARAMETER = re.compile(r"([A-Za-z_]\w*|[0-9@*])(\[[@*]\])?(:?[-=+?])?")
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|0?([0-7]{1,3})|(.))", re.DOTALL)
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}
_BLANKS, _ECHO_FLAGS = re.compile(r"[ \t\n]+"), re.compile(r"-[neE]+")
_PLACES, _HEX = re.compile(r"%[sb]"), re.compile(r"(?:[\da-f]{2})+\s*")
_RANGE = re.compile(r"(.)-(.)", re.DOTALL)


def unescaped(text: str) -> str:
    """What ``$'…'``, ``printf`` and ``echo -e`` make of a text."""

    def one(found: re.Match[str]) -> str:
        if found[4]:
            return _LETTERS.get(found[4], found[4] if found[4] in "\\'\"?" else found[0])
        code = int(found[1] or found[2], 16) if found[1] or found[2] else int(found[3], 8)
        return chr(code) if code else ""

    return _ESCAPE.sub(one, text)


class Words(ABC):
    """Reads the words, operators and redirections of a text one by one."""

    def __init__(self, text: str, at: int = 0) -> None:
        self._text = text
        self._at = at
        self._variables: dict[str, str] = {}
        self._bodies: dict[int, int] = {}
        """Line ends after which here-documents begin, and where those end."""
        self._lines: dict[str, list[int]] | None = None

    @abstractmethod
    def _substituted(self, process: bool) -> str:
        """What a command prints that begins here and ends with a bracket."""

    @abstractmethod
    def _evaluated(self, text: str) -> str:
        """What a text prints as a command, with backquotes around it."""

    def _blank(self, signs: str = " \t") -> None:
        """Go on to the next word or operator, past comments."""
        text = self._text
        while self._at < len(text):
            if text[self._at] in signs:
                self._past_sign()
            elif text[self._at] == "#" and (not self._at or text[self._at - 1] in " \t\n;&|()"):
                end = text.find("\n", self._at)
                self._at = len(text) if end < 0 else end
            else:
                return

    def _past_sign(self) -> None:
        self._at = self._bodies.get(self._at, self._at + 1)

    def _operator(self) -> str:
        found = _OPERATOR.match(self._text, self._at)
        if found is None:
            return ""
        self._at = self._bodies.get(self._at, found.end())
        return found[0]

    def _redirection(self) -> str:
        found = _REDIRECTION.match(self._text, self._at)
        if found is None:
            return ""
        self._at = found.end()
        sign = found[0].lstrip("0123456789")
        return "2>" if sign.startswith(">") and found[0][0] in "23456789" else sign

    def _document(self) -> str:
        """The text of a here-document whose end is named here; what is substituted in it is run."""
        self._blank()
        start = self._at
        end_line = "".join(self._word())
        bare = not any(sign in self._text[start : self._at] for sign in "'\"\\")
        newline = self._text.find("\n", self._at)
        begins = self._bodies.get(newline, newline + 1)
        if self._lines is None:
            self._lines, at = {}, 0
            for line in self._text.split("\n"):
                self._lines.setdefault(line.strip(), []).append(at)
                at += len(line) + 1
        known = self._lines.get(end_line, [])
        nearest = bisect_left(known, begins)
        if newline < 0 or nearest == len(known):
            return ""  # only looks like one, and hides nothing
        ends = known[nearest]
        after = self._text.find("\n", ends)
        self._bodies[newline] = len(self._text) if after < 0 else after + 1
        return self._expanded_until(begins, ends) if bare else self._text[begins:ends]

    def _expanded_until(self, start: int, end: int) -> str:
        at, self._at, said = self._at, start, ""
        while self._at < end:
            sign = self._text[self._at]
            self._at += 1
            if sign == "\\":
                said += self._text[self._at : self._at + 1]
                self._at += 1
            else:
                said += self._expanded(sign)
        self._at = at
        return said

    def _word(self) -> list[str]:
        """The words that the next one becomes; none where it is an expansion of nothing."""
        text, said, quoted = self._text, "", False
        while self._at < len(text):
            sign = text[self._at]
            if sign in " \t;&|()\n" or (sign in "<>" and not text.startswith("(", self._at + 1)):
                break
            self._at += 1
            if sign == "'":
                end = text.find("'", self._at)
                end = len(text) if end < 0 else end
                said, quoted = said + text[self._at : end], True
                self._at = end + 1
            elif sign == '"':
                said, quoted = said + self._quoted(), True
            elif sign == "$" and text[self._at : self._at + 1] in ("'", '"'):
                said, quoted = said + self._dollar_quoted(), True
            elif sign == "\\":
                said += text[self._at : self._at + 1]
                self._at += 1
            elif sign in "$<>`":
                said += _BLANKS.sub(_SPLIT, self._expanded(sign))
            else:
                said += _BRACES.get(sign, sign)
        words = [word for each in _chosen(said) for word in each.translate(_PLAIN).split(_SPLIT)]
        return [word for word in words if word] or ([""] if quoted else [])

    def _dollar_quoted(self) -> str:
        self._at += 1
        if self._text[self._at - 1] == '"':
            return self._quoted()
        start = self._at
        while self._at < len(self._text) and self._text[self._at] != "'":
            self._at += 2 if self._text[self._at] == "\\" else 1
        self._at += 1
        return unescaped(self._text[start : self._at - 1])

    def _quoted(self) -> str:
        text, said = self._text, ""
        while self._at < len(text) and text[self._at] != '"':
            sign = text[self._at]
            self._at += 1
            if sign == "\\" and self._at < len(text):
                kept = "" if text[self._at] in '$`"\\' else "\\"
                said += kept + text[self._at]
                self._at += 1
            else:
                said += self._expanded(sign)
        self._at += 1
        return said

    def _expanded(self, sign: str) -> str:
        """What a sign stands for where expansions count; it has been read already."""
        text = self._text
        if sign == "`":
            start = self._at
            while self._at < len(text) and text[self._at] != "`":
                self._at += 2 if text[self._at] == "\\" else 1
            self._at += 1
            return self._evaluated(text[start : self._at - 1].replace("\\`", "`"))
        if sign in "$<>" and text.startswith("(", self._at):
            end = arithmetic_end(text, self._at) if sign == "$" else 0
            if end:
                self._expanded_until(self._at + 2, end - 2)
                self._at = end
                return UNKNOWN
            self._at += 1
            return self._substituted(process=sign != "$")
        if sign != "$":
            return sign
        if text.startswith("{", self._at):
            return self._parameter()
        if found := _NAME.match(text, self._at):
            self._at = found.end()
            return self._variables.get(found[0], UNKNOWN)
        if (name := text[self._at : self._at + 1]) in tuple("?#@*!0123456789-$"):
            self._at += 1
            known = self._variables.get("@" if name == "*" else name, UNKNOWN)
            return known.replace(" ", _SPLIT) if name == "@" else known
        return sign

    def _parameter(self) -> str:
        """``${name}``, also with what stands for it where it is not set."""
        found = _PARAMETER.match(self._text, self._at + 1)
        operator = (found[3] or "")[-1:] if found else ""
        if found:
            self._at = found.end()
        rest = self._until_brace()
        if found is None:
            return UNKNOWN
        known = self._variables.get(found[1], UNKNOWN)
        if operator and operator in "-=":
            return rest if known in ("", UNKNOWN) else known
        if operator == "+":
            return rest if known and known != UNKNOWN else UNKNOWN
        known = known.replace(" ", _SPLIT) if found[2] or found[1] == "@" else known
        return UNKNOWN if rest and not operator else known

    def _until_brace(self) -> str:
        said = ""
        while self._at < len(self._text) and self._text[self._at] != "}":
            sign = self._text[self._at]
            self._at += 1
            said += self._quoted() if sign == '"' else self._expanded(sign)
        self._at += 1
        return said


def arithmetic_end(text: str, start: int) -> int:
    """Where ``((…))`` ends that begins at ``start``; 0 where it is no arithmetic."""
    if not text.startswith("((", start):
        return 0
    depth = 0
    for at in range(start, min(len(text), start + 1_000)):
        depth += (text[at] == "(") - (text[at] == ")")
        if depth > MOST_WORDS:
            return 0
        if depth == 1 and text[at] == ")":
            return at + 2 if text.startswith(")", at + 1) else 0
    return 0


def _chosen(word: str) -> list[str]:
    """The words that braces make of one."""
    words = [word]
    while found := next((found for each in words if (found := _CHOICE.search(each))), None):
        if len(words) > MOST_WORDS or len(word) > LONGEST:
            return [UNKNOWN]
        words = [
            f"{each[: one.start()]}{choice}{each[one.end() :]}"
            for each in words
            for one in [_CHOICE.search(each) or found]
            for choice in (one[1].split(_COMMA) if _CHOICE.search(each) else [""])
        ]
    return words


def printed(words: list[str], given: str) -> str:
    """What a command prints that is given a text, where that is plain; '' where it is not.

    Of a list of files it is the pattern that they match: ``git ls-files`` prints ``*``.
    """
    match words:
        case ["echo", *rest]:
            flags = [word for word in rest[:1] if _ECHO_FLAGS.fullmatch(word)]
            text = " ".join(rest[len(flags) :])
            return unescaped(text) if any("e" in flag for flag in flags) else text
        case ["printf", form, *rest]:
            parts = _PLACES.split(unescaped(form))
            filled = product(rest[: len(parts) - 1] or [""])
            return "".join(
                part + (next(filled, ("",))[0] if at < len(parts) - 1 else "") for at, part in enumerate(parts)
            )
        case ["which", name] | ["command", "-v", name] | ["type", "-P", name]:
            return name
        case ["basename", path]:
            return path.rstrip("/").rpartition("/")[2]
        case ["dirname", path] if UNKNOWN not in path or "/" in path:
            return posixpath.dirname(path.rstrip("/")) or "."
        case ["cat"] | ["cat", "-"] | ["tee" | "sort" | "uniq" | "head" | "tail" | "grep", *_] if given:
            return given
        case ["find" | "ls" | "git", *_]:
            return _files_of(words)
        case ["rev"]:
            return given.strip()[::-1]
        case ["base64", "-d" | "-D" | "--decode" | "-di"]:
            return _decoded(given)
        case ["xxd", *flags] if flags in (["-r", "-p"], ["-p", "-r"], ["-rp"]):
            return bytes.fromhex(given.strip()).decode("utf-8", "replace") if _HEX.fullmatch(given) else ""
        case ["tr", old, new] if not old.startswith("-"):
            old, new = _RANGE.sub(_run, old), _RANGE.sub(_run, new)
            return given.translate(dict(zip(map(ord, old), new.ljust(len(old), new[-1:]), strict=False))) if new else ""
        case _:
            return ""


def _files_of(words: list[str]) -> str:
    """The patterns of the files that a command lists; '' where it lists none."""
    match words:
        case ["find", *rest]:
            return _found_by(rest)
        case ["ls", *rest]:
            named = [word for word in rest if not word.startswith("-")]
            return "\n".join(named) if any("*" in word for word in named) or "-d" in rest else "*"
        case ["git", "ls-files" | "status", *rest]:
            return "\n".join(word for word in rest if "*" in word) or "*"
        case ["git", "diff" | "grep", *rest] if {"-l", "--name-only", "-z"} & set(rest):
            return "*"
        case _:
            return ""


def _found_by(words: list[str]) -> str:
    """The patterns of the files that find prints; '' where its tests are more than names."""
    if {"!", "-not", "-printf", "-exec", "-delete", "-regex"} & set(words) or UNKNOWN in "".join(words):
        return ""
    first = next((at for at, word in enumerate(words) if word.startswith(("-", "("))), len(words))
    names = [words[at + 1] for at, word in enumerate(words[:-1]) if word in ("-name", "-iname")]
    if len(names) <= sum(word in ("-o", "-or", ",") for word in words):
        return ""
    return "\n".join(f"{root}/found/{name}" for root in words[:first] or ["."] for name in names)


def _run(found: re.Match[str]) -> str:
    first, last = ord(found[1]), ord(found[2])
    return "".join(map(chr, range(first, min(last, first + 255) + 1)))


def _decoded(text: str) -> str:
    try:
        return base64.b64decode(text).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return ""
