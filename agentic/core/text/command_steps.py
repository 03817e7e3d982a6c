"""A command line as a sequence of plain steps, so that a claim finds the run it names though it is written otherwise.

Read are quotes, ``&&``, ``||``, ``;``, ``|`` and redirections.  What only a shell can know (substitutions, subshells,
here-documents) is not read: such a command counts only as it was written, word for word.
"""

from __future__ import annotations

import re
from posixpath import normpath

from agentic.core.lazy_dataclass import dataclass

HOME = "/workspace"
_JOINTS = ("&&", "||", "|&", "|", ";", "\n", "&")
_ASSIGNED = re.compile(r"[A-Za-z_]\w*=")
_PYTHON = re.compile(r"python[\d.]*")
_WRAPPERS = (("uv", "run"), ("poetry", "run"), ("pipenv", "run"), ("npx",), ("time",), ("env",), ("nice",))
_NEUTRAL = frozenset(("cd", "pushd", "export", "set", "source", ".", "unset"))
_REDIRECTION = re.compile(r"(?:&>>?|>>|>\||>&|<&|>|<)[ \t]*")


@dataclass(frozen=True, slots=True)
class Step:
    """One simple command: its words, and what joins it to the one before."""

    words: tuple[str, ...]
    joint: str = ""
    given: tuple[str, ...] = ()
    """Variables that are set for it alone."""
    cwd: str = ""
    """The folder that the line went to before, '' where it stayed."""

    @property
    def program(self) -> str:
        """What it runs."""
        return self.words[0]


@dataclass(frozen=True, slots=True)
class Line:
    """The steps that do something, without those that only prepare (``cd``, ``export``, ``set``)."""

    steps: tuple[Step, ...]
    pipefail: bool = False
    detached: bool = False
    """The last of them goes on in the background, and the line ends without it."""

    def hidden_by(self, at: int) -> str:
        """What decides the exit code instead of this step, as written; '' where the step does, or ends the line."""
        for step in self.steps[at + 1 :]:
            if step.joint != "&&" and not (self.pipefail and step.joint in ("|", "|&")):
                return f"{step.joint} {' '.join(step.words)}".replace("\n ", "; ")[:60]
        return "&" if self.detached else ""


class _Unreadable(Exception):
    """Only a shell can read it."""


def read(command: str) -> Line | None:
    """The steps of a command line; None where they cannot be read."""
    try:
        parts = _parts(command.strip())
    except _Unreadable:
        return None
    steps: list[Step] = []
    cwd, pipefail = "", False
    for joint, words in parts:
        given, plain = _plain(words)
        if len(plain) == 0:
            continue
        pipefail = pipefail or (plain[0] == "set" and "pipefail" in plain)
        if plain[0] in ("cd", "pushd") and len(plain) > 1:
            cwd = folder(cwd, plain[1])
        if plain[0] not in _NEUTRAL:
            steps.append(Step(plain, joint if steps else "", given, cwd))
    detached = command.rstrip().endswith("&") and not command.rstrip().endswith(("&&", "\\&"))
    return Line(tuple(steps), pipefail, detached) if steps else None


def written(command: str) -> tuple[tuple[str, ...], ...] | None:
    """The words of each simple command just as they stand there; None where they cannot be read."""
    try:
        return tuple(words for _, words in _parts(command.strip()))
    except _Unreadable:
        return None


def folder(base: str, path: str) -> str:
    """The folder as seen from the workspace, which is '.'."""
    return inside(normpath(f"{HOME}/{base}/{path}" if not path.startswith("/") else path))


def inside(path: str) -> str:
    """A path as seen from the workspace: relative where it lies there."""
    return "." if path == HOME else path.removeprefix(f"{HOME}/")


def _plain(words: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Variables set for it, and the words without wrappers and with the program's common name."""
    given: list[str] = []
    while words:
        wrapper = next((each for each in _WRAPPERS if words[: len(each)] == each), ())
        if _ASSIGNED.match(words[0]):
            given.append(words[0])
            words = words[1:]
        elif words[0] == "timeout":
            words = words[2:]
        elif wrapper:
            words = words[len(wrapper) :]
        else:
            break
    if not words:
        return tuple(given), ()
    program = words[0].rpartition("/")[2] if "bin/" in words[0] else words[0].removeprefix("./")
    program = "python" if _PYTHON.fullmatch(program) else "pytest" if program == "py.test" else program
    if (program, *words[1:3]) == ("python", "-m", "pytest"):
        return tuple(given), ("pytest", *words[3:])
    return tuple(given), (program, *words[1:])


def _parts(text: str) -> list[tuple[str, tuple[str, ...]]]:
    """(joint before, words) of each simple command."""
    parts: list[tuple[str, list[str]]] = [("", [])]
    at = 0
    while at < len(text):
        joint = next((each for each in _JOINTS if text.startswith(each, at)), "")
        redirected = _REDIRECTION.match(text, at)
        if redirected is not None:
            at = _redirected(text, at, redirected, parts[-1][1])
        elif joint:
            parts.append((joint, []))
            at += len(joint)
        elif text[at] in " \t\r":
            at += 1
        elif text.startswith("\\\n", at):
            at += 2
        elif text[at] == "#":
            at = text.find("\n", at) if "\n" in text[at:] else len(text)
        else:
            word, at = _word(text, at)
            parts[-1][1].append(word)
    return [(joint, tuple(words)) for joint, words in parts if words]


def _redirected(text: str, at: int, found: re.Match[str], words: list[str]) -> int:
    """Past a redirection and its target; a stream's number before it is no word of the command."""
    if text.startswith("<<", at) or text[found.end() : found.end() + 1] == "(":
        raise _Unreadable
    if words and words[-1].isdigit() and text[at - 1].isdigit():
        words.pop()
    if found.end() >= len(text):
        raise _Unreadable
    return _word(text, found.end())[1]


def _word(text: str, at: int) -> tuple[str, int]:
    said = ""
    while at < len(text) and text[at] not in " \t\r\n;|&<>":
        char = text[at]
        if char in "()`" or text.startswith("$(", at):
            raise _Unreadable
        if char in "'\"":
            end = _closing(text, at)
            inner = text[at + 1 : end]
            if char == '"' and ("$(" in inner or "`" in inner):
                raise _Unreadable
            said += inner.replace('\\"', '"') if char == '"' else inner
            at = end + 1
        elif char == "\\":
            said += text[at + 1 : at + 2]
            at += 2
        else:
            said += char
            at += 1
    return said, at


def _closing(text: str, at: int) -> int:
    """Where the quote that opens here is closed."""
    end = at + 1
    while end < len(text) and text[end] != text[at]:
        end += 2 if text[at] == '"' and text[end] == "\\" else 1
    if end >= len(text):
        raise _Unreadable
    return end
