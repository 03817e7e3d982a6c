"""A shell command line taken apart: the simple commands in it, also those in substitutions, pipes and subshells.

It reads what bash would run, as far as that can be known without running it: quotes are taken off, assignments and
``cd`` are followed where they are literal, and what only the shell itself knows is marked as unknown.
"""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import field

from agentic.core.lazy_dataclass import dataclass

UNKNOWN = "\x00"
"""Stands for what an expansion would put there."""
SCRATCH = "/tmp/made-by-mktemp"  # noqa: S108  # inside the sandbox
_OPERATORS = frozenset(";&|()\n")
_PIPE, _AND, _HERE_STRING = "|", "&", "<<<"
_PARENTS = re.compile(r"-[a-z]*p|--parents")
_NAME = re.compile(r"[A-Za-z_]\w*")
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_HEREDOC = re.compile(r"(?<!<)<<-?[ \t]*(['\"\\]?)([\w.+-]+)['\"]?")
_SUBSTITUTION = re.compile(r"(?<!\\)(?:\$\((?!\()|`)")
_REDIRECTION = re.compile(r"<<<|&>>?|\d{0,9}(?:>>|>\||>&\d?|>(?!\())|<(?!\()")
_SHELL = re.compile(r"(?:^|[\s;&|(/])(?:ba|z|da|k)?sh(?=[\s;&|)<]|$)")
_KNOWN = {"TMPDIR": "/tmp", "HOME": "~", "PWD": "."}  # noqa: S108  # inside the sandbox


DEPTH = 12
LONGEST = 10_000
"""So long a variable's value may grow, and a quarter of it a folder's path; beyond it is unknown."""


class TooDeep(Exception):
    """Substitutions inside of substitutions, deeper than anybody writes them."""


@dataclass(slots=True)
class Simple:
    """One command with its words, where it runs, and the files that it empties or overwrites by redirection."""

    words: list[str] = field(default_factory=list[str])
    cwd: str = "."
    writes: list[str] = field(default_factory=list[str])
    made: frozenset[str] = frozenset()
    """Folders that were made earlier on the same line, or nothing after it would have run."""
    given: str = ""
    """What it reads, where that stands on the same line: a here-string, the words of an ``echo`` before it."""


class Line:
    """What a command line runs, in order; reading it follows ``cd``, assignments and ``mkdir``.  Raises ``TooDeep``."""

    def __init__(self, text: str, cwd: str = ".", variables: dict[str, str] | None = None, depth: int = 0) -> None:
        self._depth = depth
        self._text = _without_heredocs(text.replace("\\\n", ""))
        self._at = 0
        self._cwd = cwd
        self._variables = dict(_KNOWN | {"PWD": cwd}) if variables is None else variables
        self._made: set[str] = set()
        self._inner: list[Simple] = []

    def commands(self) -> Iterator[Simple]:
        """Each simple command; those of substitutions come before the command they stand in."""
        words: list[str] = []
        writes: list[str] = []
        given = ""
        while True:
            token = self._token()
            if token is None or token in _OPERATORS:
                yield from self._take_inner()
                only_then = token == _AND and self._text.startswith(_AND, self._at)
                yield from self._simple(words, writes, given, only_then)
                given = " ".join(words[1:]) if token == _PIPE and words[:1] in (["echo"], ["printf"]) else ""
                words, writes = [], []
                if token is None:
                    return
            elif token in (">", ">|"):
                writes.append((self._token() or "").removeprefix(" "))
            elif token == _HERE_STRING:
                given = (self._token() or "").removeprefix(" ")
            elif token in (">>", "<", "&>"):
                self._token()
            else:
                words.append(token.removeprefix(" "))

    def _take_inner(self) -> list[Simple]:
        inner, self._inner = self._inner, []
        return inner

    def _simple(self, words: list[str], writes: list[str], given: str, only_then: bool) -> Iterator[Simple]:
        """``only_then``: what follows runs only if this succeeds, so that what it makes was not there before."""
        while words and (words[0] in ("then", "do", "else", "elif", "if", "while", "until", "!", "{", "function")):
            words = words[2:] if words[0] == "function" else words[1:]
        while words and (assigned := _ASSIGNED.fullmatch(words[0])):
            self._variables[assigned[1]] = assigned[2] if len(assigned[2]) < LONGEST else UNKNOWN
            words = words[1:]
        if words[:1] == ["export"]:
            for each in words[1:]:
                if assigned := _ASSIGNED.fullmatch(each):
                    self._variables[assigned[1]] = assigned[2] if len(assigned[2]) < LONGEST else UNKNOWN
        if words or writes:
            yield Simple(words, self._cwd, writes, frozenset(self._made), given)
        if words[:1] in (["cd"], ["pushd"]):
            self._cwd = inside(self._cwd, words[1] if len(words) > 1 else "~")
            self._cwd = self._cwd if len(self._cwd) < LONGEST // 4 else UNKNOWN
        if only_then and words[:1] == ["mkdir"] and not any(_PARENTS.match(word) for word in words):
            self._made.update(inside(self._cwd, word) for word in words[1:] if not word.startswith("-"))
        if only_then and words[:2] == ["git", "clone"] and len(words) > 3:
            self._made.add(inside(self._cwd, words[-1]))

    # --- tokens -------------------------------------------------------------------------------------------------

    def _token(self) -> str | None:
        """An operator, or a word that begins with a space (so that a quoted ';' is no operator); None at the end."""
        text = self._text
        while self._at < len(text) and text[self._at] in " \t":
            self._at += 1
        if self._at >= len(text):
            return None
        char = text[self._at]
        if char == "#":
            end = text.find("\n", self._at)
            self._at = len(text) if end < 0 else end
            return self._token()
        if found := _REDIRECTION.match(text, self._at):
            self._at = found.end()
            if ">&" in found[0] or found[0].startswith("2"):
                return self._skipped(found[0])
            return found[0].lstrip("0123456789")
        if char in _OPERATORS:
            self._at += 1
            return char
        return " " + self._word()

    def _skipped(self, operator: str) -> str | None:
        """A redirection of errors or of one stream into another touches nothing that counts here."""
        if not operator[-1].isdigit():
            self._token()
        return self._token()

    def _word(self) -> str:
        text, said = self._text, ""
        while self._at < len(text):
            char = text[self._at]
            if char in " \t" or char in _OPERATORS or (char in "<>" and not text.startswith("(", self._at + 1)):
                break
            self._at += 1
            if char == "'":
                end = text.find("'", self._at)
                end = len(text) if end < 0 else end
                said += text[self._at : end]
                self._at = end + 1
            elif char == '"':
                said += self._quoted()
            elif char == "\\":
                said += text[self._at : self._at + 1]
                self._at += 1
            else:
                said += self._expanded(char)
        return said

    def _quoted(self) -> str:
        text, said = self._text, ""
        while self._at < len(text) and text[self._at] != '"':
            char = text[self._at]
            self._at += 1
            if char == "\\" and self._at < len(text):
                said += text[self._at]
                self._at += 1
            else:
                said += self._expanded(char)
        self._at += 1
        return said

    def _expanded(self, char: str) -> str:
        """What a character stands for where expansions count; it has been read already."""
        text = self._text
        if (char in "$<>" and text.startswith("(", self._at)) or char == "`":
            return self._substituted("`" if char == "`" else ")")
        if char != "$":
            return char
        if text.startswith("{", self._at):
            end = text.find("}", self._at)
            end = len(text) if end < 0 else end
            name, self._at = text[self._at + 1 : end], end + 1
            return self._variables.get(name, UNKNOWN)
        if found := _NAME.match(text, self._at):
            self._at = found.end()
            return self._variables.get(found[0], UNKNOWN)
        if text[self._at : self._at + 1] in tuple("?#@*!0123456789-$"):
            self._at += 1
            return UNKNOWN
        return char

    def _substituted(self, closing: str) -> str:
        if self._depth >= DEPTH:
            raise TooDeep
        start = self._at + (closing == ")")
        end = text_end(self._text, start, closing)
        inner = self._text[start:end]
        self._at = end + 1
        found = list(Line(inner, self._cwd, dict(self._variables), self._depth + 1).commands())
        self._inner.extend(found)
        return SCRATCH if found and found[0].words[:1] == ["mktemp"] else UNKNOWN


def text_end(text: str, start: int, closing: str) -> int:
    """Where what begins at ``start`` is closed; its end where it never is."""
    depth, at = 1, start
    while at < len(text):
        char = text[at]
        if char == "\\":
            at += 1
        elif char == "'" and closing == ")":
            at = max(text.find("'", at + 1), at)
        elif char == closing:
            depth -= 1
            if not depth:
                return at
        elif char == "(" and closing == ")":
            depth += 1
        at += 1
    return len(text)


def inside(folder: str, path: str) -> str:
    """The path as seen from the workspace: relative where it lies there, else absolute, with ~ or unknown."""
    if path.startswith("~"):
        return path
    if UNKNOWN in folder:
        return path if path.startswith("/") else UNKNOWN
    joined = posixpath.normpath(posixpath.join("/workspace", folder, path))
    if joined == "/workspace":
        return "."
    return joined.removeprefix("/workspace/") if joined.startswith("/workspace/") else joined


def _without_heredocs(text: str) -> str:
    """The text of a here-document is no command, unless a shell reads it; what is substituted in it is run.

    What only looks like the beginning of one, in quotes or as a shift, has no line that ends it, and hides nothing.
    """
    lines = text.split("\n")
    ends = _places(lines)
    kept: list[str] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        kept.append(_HEREDOC.sub("", line))
        if _SHELL.search(kept[-1]):
            continue
        for found in _HEREDOC.finditer(line):
            end = _next(ends, found[2], at)
            if end is None:
                kept[-1] = line
                break
            if not found[1]:
                kept += _substituted_in("\n".join(lines[at:end]))
            at = end + 1
    return "\n".join(kept)


def documents(text: str) -> Iterator[tuple[str, str]]:
    """Each here-document, with what stands before it on its line."""
    lines = text.split("\n")
    ends = _places(lines)
    for place, line in enumerate(lines):
        found = _HEREDOC.search(line)
        end = _next(ends, found[2], place + 1) if found else None
        if found and end is not None:
            yield line[: found.start()], "\n".join(lines[place + 1 : end])


def _places(lines: list[str]) -> dict[str, list[int]]:
    places: dict[str, list[int]] = {}
    for place, line in enumerate(lines):
        places.setdefault(line.strip(), []).append(place)
    return places


def _next(places: dict[str, list[int]], line: str, at: int) -> int | None:
    known = places.get(line, [])
    nearest = bisect_left(known, at)
    return known[nearest] if nearest < len(known) else None


def _substituted_in(text: str) -> Iterator[str]:
    """The commands of the substitutions that stand in a text."""
    at = 0
    while found := _SUBSTITUTION.search(text, at):
        at = text_end(text, found.end(), "`" if found[0] == "`" else ")")
        yield text[found.end() : at]
        at += 1
