"""Shells that are handed a command: ``bash -c``, ``eval``, ``source``, scripts of the same line, what is piped into them."""

from __future__ import annotations

from collections.abc import Iterator

from agentic.bash.command_output import UNKNOWN
from agentic.tools.approval.gated_command import Found, GatedCommand, Runs, Unread, name_of
from agentic.tools.approval.wrapped_commands import set_before

SHELLS = frozenset(("bash", "sh", "zsh", "dash", "ksh", "ash", "su", "runuser", "script", "fish", "xonsh"))
_FORM = frozenset(
    ("sed", "awk", "gawk", "perl", "python3", "python", "tr", "rev", "xxd", "base64", "base32", "openssl", "gpg")
)
"""They form a text out of another."""
_BEFORE_VALUE = frozenset(("--rcfile", "--init-file", "-O", "+O", "-o", "+o"))
"""Options of a shell that take the next word."""


def shell(command: GatedCommand) -> Iterator[Found]:
    """A shell, ``eval`` or ``source``: what it is told to run."""
    name, words, simple = command.name, command.words, command.simple
    if name == "eval":
        yield Runs(" ".join(words[1:]))
        return
    place = 1
    strict = ""
    variables = dict(set_before(simple.words))
    while name in SHELLS and place < len(words) and words[place][:1] in ("-", "+"):
        word = words[place]
        short = word.startswith("-") and not word.startswith("--")
        strict = "set -e\n" if short and "e" in word else strict
        place += 2 if word in _BEFORE_VALUE else 1
        if short and "c" in word:
            yield from _code(command, place, strict, variables)
            return
    if name == "su" and "-c" in words[:-1]:
        yield Runs(words[words.index("-c") + 1])
        return
    rest = words[place:]
    if rest[:1] == [UNKNOWN]:
        yield Unread()
    if rest and rest[0] != UNKNOWN and (text := command.text_of(rest[0])):
        yield Runs(text, variables=variables | _places(rest))
    elif simple.stdin:
        yield Runs(strict + simple.stdin, variables=variables | _places(["bash", *rest]))
    elif simple.upstream and name in SHELLS and (not rest or rest == ["-s"]):
        yield from _fed(simple.upstream)


def alias(command: GatedCommand) -> Iterator[Found]:
    """What aliases stand for."""
    for word in command.words[1:]:
        yield Runs(word.partition("=")[2])


def _code(command: GatedCommand, place: int, strict: str, variables: dict[str, str]) -> Iterator[Found]:
    """What stands behind ``-c``, and further options before it."""
    words = command.words
    while place < len(words) - 1 and words[place].startswith(("-", "+")):
        place += 2 if words[place] in _BEFORE_VALUE else 1
    text = words[place] if place < len(words) else ""
    if command.piped and text == UNKNOWN:
        yield Runs(command.simple.stdin)
        yield "runs every command named in a list"
    else:
        yield Runs(strict + text, variables=variables | _places(words[place + 1 :]))


def _fed(chain: list[str]) -> Iterator[Found]:
    """A shell that runs what other commands print."""
    if _FORM & {name_of(word) for word in chain}:
        yield "runs the output of another command"
    else:
        yield from (Runs(word) for word in chain if " " in word)
        yield Unread("runs what another command prints")


def _places(words: list[str]) -> dict[str, str]:
    """The name and the arguments of a script."""
    return {str(at): word for at, word in enumerate(words[:10])} | {"@": " ".join(words[1:])} if words else {}
