"""What a local forge holds: repositories with their pull requests, remarks and checks."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

FORGE_TOKEN = "local-forge-token-0123456789"  # noqa: S105 - opens nothing but a forge on loopback
BOT = "threadwright-bot"

State = Literal["pending", "success", "failure"]


@dataclass(slots=True)
class Account:
    """Somebody at the forge, as one of their tokens has it."""

    login: str
    may_write: bool = True
    """Whether the token may open pull requests and comment."""


@dataclass(slots=True)
class Note:
    """A comment, or a review with ``path`` of a line."""

    id: int
    author: str
    text: str
    kind: Literal["comment", "review", "line"] = "comment"
    path: str = ""
    line: int = 0
    review: int = 0
    """The review that a comment on a line belongs to."""


@dataclass(slots=True)
class CheckRun:
    """One check of a commit."""

    id: int
    name: str
    state: State
    log: str = ""


@dataclass(slots=True)
class Pull:
    """A pull request."""

    number: int
    title: str
    body: str
    head: str
    base: str
    draft: bool = False
    state: Literal["open", "closed"] = "open"
    merged: bool = False
    fork: str = ""
    """The owner of the fork that its head is a branch of, '' where it is one of the repository itself."""
    sha: str = ""
    """The commit of its head where that is no branch's of the repository, or is not known to the host yet."""
    notes: list[Note] = field(default_factory=list[Note])
    author: str = BOT
    """Who opened it."""


@dataclass(slots=True)
class HostedRepository:
    """A bare repository and what the forge knows of it."""

    owner: str
    name: str
    folder: Path
    default_branch: str = "main"
    private: bool = False
    protected: set[str] = field(default_factory=set[str])
    may_push: bool = True
    pulls: list[Pull] = field(default_factory=list[Pull])
    checks: dict[str, list[CheckRun]] = field(default_factory=dict[str, list[CheckRun]])
    pushes: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])
    """Each update of a branch: its name, the commit before and the one after."""
    numbers: int = 0
    happened: Callable[[str], None] = lambda _: None
    """Told what changed, in the words of webhooks: ``check_run``, ``issue_comment``."""

    @property
    def full(self) -> str:
        """``owner/name``."""
        return f"{self.owner}/{self.name}"

    def next(self) -> int:
        """A number that is used once."""
        self.numbers += 1
        return self.numbers

    def pull(self, number: int) -> Pull | None:
        """One by its number."""
        return next((pull for pull in self.pulls if pull.number == number), None)

    def set_check(self, sha: str, name: str, state: State, log: str = "") -> None:
        """Say how a check of a commit stands."""
        runs = self.checks.setdefault(sha, [])
        for run in runs:
            if run.name == name:
                run.state, run.log = state, log
                break
        else:
            runs.append(CheckRun(self.next(), name, state, log))
        self.happened("check_run")

    def tag(self) -> str:
        """A tag of everything that can be read here, for conditional requests."""
        shown = (
            self.full, self.default_branch, self.private, self.may_push, self.protected, self.pulls, self.checks, self.pushes,
        )  # fmt: skip
        return hashlib.sha256(repr(shown).encode()).hexdigest()[:24]
