"""The tree of a shell command line: words and what they are made of, commands, and what joins them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Text:
    """Characters that stand for themselves, with quotes and backslashes taken off."""

    value: str
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Variable:
    """``$name`` or ``${name…}``."""

    source: str
    name: str = ""
    operator: str = ""
    """One of ``-=+?`` before what stands for it otherwise, ``~`` where its value is changed, '' where it stands alone."""
    otherwise: tuple[WordPart, ...] = ()
    every: bool = False
    """All elements, each a word of its own."""
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Substitution:
    """Commands whose output stands here, or, of a process, the name of a file with it."""

    body: Block
    process: bool = False
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """A number that only the shell computes, with the substitutions in it."""

    inner: tuple[Substitution, ...] = ()


WordPart = Text | Variable | Substitution | Arithmetic


@dataclass(frozen=True, slots=True)
class Word:
    """One word, before expansion."""

    parts: tuple[WordPart, ...] = ()

    def plain(self) -> str | None:
        """The word with variables as they are written; None where it runs a command."""
        return self.shown() if _runs_nothing(self.parts) else None

    def shown(self) -> str:
        """The word as it is written, with a mark for what only the shell knows."""
        return "".join(
            part.value if isinstance(part, Text) else part.source if isinstance(part, Variable) else "$(…)"
            for part in self.parts
        )


def _runs_nothing(parts: tuple[WordPart, ...]) -> bool:
    return all(
        isinstance(part, Text) or (isinstance(part, Variable) and _runs_nothing(part.otherwise)) for part in parts
    )


@dataclass(frozen=True, slots=True)
class Redirect:
    """Where a command reads or writes; of a here-document (``<<``) the target is its text."""

    sign: str
    target: Word = Word()


@dataclass(frozen=True, slots=True)
class Command:
    """A simple command: assignments, name and arguments as they stand there."""

    words: tuple[Word, ...] = ()
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Commands that feed one another; ``joints`` stand between them."""

    parts: tuple[Node, ...]
    joints: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AndOr:
    """Commands of which one depends on another's success; ``joints`` stand between them."""

    parts: tuple[Node, ...]
    joints: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Negation:
    """``! command``."""

    body: Node


@dataclass(frozen=True, slots=True)
class Group:
    """``{ …; }``, or a subshell."""

    body: Block
    subshell: bool = False


@dataclass(frozen=True, slots=True)
class If:
    """Conditions with what is run under each."""

    branches: tuple[tuple[Block, Block], ...]
    otherwise: Block | None = None


@dataclass(frozen=True, slots=True)
class While:
    """A loop with a condition."""

    condition: Block
    body: Block
    until: bool = False


@dataclass(frozen=True, slots=True)
class For:
    """A loop over words; over what is unknown where it has none."""

    variable: str
    values: tuple[Word, ...]
    body: Block


@dataclass(frozen=True, slots=True)
class Case:
    """A choice by pattern; ``words`` are the subject and all patterns."""

    words: tuple[Word, ...]
    arms: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Function:
    """A function with its body."""

    name: str
    body: Node


@dataclass(frozen=True, slots=True)
class Redirected:
    """A compound command with what it reads and writes."""

    body: Node
    redirects: tuple[Redirect, ...]


Node = Command | Pipeline | AndOr | Negation | Group | If | While | For | Case | Function | Redirected


@dataclass(frozen=True, slots=True)
class Block:
    """Commands one after the other, each with what ends it: ``;``, ``&``, a new line, or '' for the last."""

    statements: tuple[tuple[Node, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Script:
    """A whole command line."""

    body: Block
    sound: bool = True
    """False where it, or a part of it, is no shell that can be read."""
