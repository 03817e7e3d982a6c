"""What a local forge holds: repositories with their pull requests, remarks and checks."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

FORGE_TOKEN = "local-forge-token-0123456789"  # noqa: S105 - opens nothing but a forge on loopback
BOT = "threadwright-bot"

State = Literal["pending", "success", "failure"]


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


@dataclass(slots=True)
class HostedRepository:
    """A bare repository and what the forge knows of it."""

    owner: str
    name: str
    folder: Path
    default_branch: str = "main"
    protected: set[str] = field(default_factory=set[str])
    may_push: bool = True
    private: bool = True
    pulls: list[Pull] = field(default_factory=list[Pull])
    checks: dict[str, list[CheckRun]] = field(default_factory=dict[str, list[CheckRun]])
    pushes: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])
    """Each update of a branch: its name, the commit before and the one after."""
    numbers: int = 0

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
                return
        runs.append(CheckRun(self.next(), name, state, log))

    def tag(self) -> str:
        """A tag of everything that can be read here, for conditional requests."""
        return hashlib.sha256(
            repr(
                (self.full, self.default_branch, self.may_push, self.protected, self.pulls, self.checks, self.pushes)
            ).encode()
        ).hexdigest()[:24]
