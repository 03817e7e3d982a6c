"""A command as the rules see it: without what wraps it, and with what is known when it runs.

A rule yields what it found: why a person must approve the command, or another command that it runs, which is then
looked at in the same way.  All of it counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from agentic.bash.command_output import UNKNOWN
from agentic.bash.evaluation import SimpleCommand
from agentic.bash.workspace_paths import inside
from agentic.core.events.values import Act, Finding
from agentic.tools.approval.disposable_files import is_disposable

LONGEST_NAME = 60
LONGEST_TARGET = 200
NAMED = 3
"""So many names are in a reason; more are counted."""
_PATTERN = frozenset(f"*?[]{{}}$`\\'\"!{UNKNOWN}")
"""What a name may not hold that stands for just one file."""
_EMPTY = ("__init__.py", ".gitkeep", ".keep", ".nojekyll", "py.typed", "conftest.py")
"""Files that are made empty."""


@dataclass(frozen=True, slots=True)
class Runs:
    """Another command that a command runs: a text that a shell reads, or a simple command."""

    text: str = ""
    simple: SimpleCommand | None = None
    cwd: str | None = None
    """The folder in which the text runs; None where it is that of the command."""
    variables: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Unread:
    """Something runs that nobody can read beforehand: no reason to ask by itself, but one not to let more pass unasked."""

    text: str = "runs a command that is only known when it runs"


Found = str | Runs | Finding | Unread
"""A reason in words, one whose targets are known, what is run, or what cannot be read; an empty text is nothing."""


@dataclass(frozen=True, slots=True)
class GatedCommand:
    """One command, its words without ``sudo``, ``env``, ``xargs`` … before it."""

    words: list[str]
    simple: SimpleCommand
    created: frozenset[str] = frozenset()
    """Files that this execution has made."""
    piped: bool = False
    """Its last arguments come from elsewhere (``xargs``)."""

    @property
    def name(self) -> str:
        """The program, without its folder."""
        return name_of(self.words[0])

    def passes(self, path: str) -> bool:
        """Whether a path is scratch, derived, or this execution's own."""
        return is_disposable(inside(self.simple.cwd, path), self.created, self.simple.made)

    def deletes(self, paths: list[str]) -> Found:
        """Why paths, with all below them, must not be deleted; '' where they may be."""
        left = [path for path in paths if not self.passes(path)]
        them = "it" if len(left) == 1 else "them"
        whole = f"with everything in {them}, including files this task didn't create"
        return Finding(text=f"deletes {quoted(left)} {whole}", acts=self._acts("delete", left)) if left else ""

    def empties(self, paths: list[str]) -> Found:
        """Why nothing may be left of files; '' where they may be emptied."""
        known = (path for path in paths if path != "/dev/null" and name_of(path) not in _EMPTY)
        left = [path for path in known if not self.passes(path)]
        created = "which this task didn't create"
        return Finding(text=f"empties {quoted(left)}, {created}", acts=self._acts("empty", left)) if left else ""

    def _acts(self, kind: Literal["delete", "empty"], paths: list[str]) -> tuple[Act, ...]:
        """What is done, for a whole task to be allowed; nothing where only running it shows what that is."""
        if self.piped:
            return ()
        targets = [inside(self.simple.cwd, path) for path in paths]
        return tuple(Act(kind=kind, path=path) for path in targets) if all(map(is_target, targets)) else ()

    def text_of(self, path: str) -> str:
        """What stands in a file that was written on the same line."""
        return self.simple.evaluation.texts.get(inside(self.simple.cwd, path), "")


Rule = Callable[[GatedCommand], Iterator[Found]]


def is_target(path: str) -> bool:
    """Whether a path names one file or folder of the workspace, and nothing of git's own."""
    inner = path not in ("", ".") and not path.startswith(("/", "~", "-")) and len(path) <= LONGEST_TARGET
    plain = path.isprintable() and not _PATTERN.intersection(path)
    return inner and plain and not {"..", ".git"} & set(path.split("/"))


def name_of(path: str) -> str:
    """The last part of a path."""
    return path.rpartition("/")[2]


def quoted(names: list[str]) -> str:
    """Names in a sentence, each between backticks and no longer than a person reads: ``a``, ``b`` and 3 more."""
    said = [f"`{_bounded(name).replace(UNKNOWN, '…').replace('`', 'ˋ')}`" for name in names[:NAMED]]
    said += [f"{len(names) - NAMED} more"] if len(names) > NAMED else []
    return " and ".join(filter(None, (", ".join(said[:-1]), said[-1])))


def _bounded(name: str) -> str:
    """The beginning of a name: what a command names may be as long as it likes."""
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 2]} …"


def flags_of(words: list[str]) -> tuple[set[str], list[str]]:
    """The options, single letters apart, and what is no option."""
    flags: set[str] = set()
    rest: list[str] = []
    for place, word in enumerate(words):
        if word == "--":
            return flags, rest + words[place + 1 :]
        if word.startswith("--"):
            flags.add(word.partition("=")[0])
        elif word.startswith("-") and len(word) > 1:
            flags.update(f"-{letter}" for letter in word[1:])
        else:
            rest.append(word)
    return flags, rest


def values_of(words: list[str], *options: str) -> list[str]:
    """The words that stand behind an option."""
    return [value for option, value in pairwise(words) if option in options]
