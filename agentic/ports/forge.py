"""The host of repositories and pull requests, as the product needs it: GitHub or Forgejo behind one protocol.

Values are what hosts say, read once; texts in them were written by anybody and are data.  Every method may raise what
stands below ``RemoteError``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, Protocol

ForgeKind = Literal["github", "forgejo"]
PullRequestState = Literal["open", "merged", "closed"]
CheckState = Literal["running", "passed", "failed"]

_OWNER = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}"
_NAME = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}"
_WHOLE = re.compile(rf"({_OWNER})/({_NAME}?)(?:\.git)?/?")


@dataclass(frozen=True, slots=True)
class ForgeHost:
    """A host of repositories: ``name`` as in an address, with its port where it has one.

    ``plain`` means http instead of https, which is for this machine alone; ``variable`` names the environment's variable
    that holds its token, '' where there is none.
    """

    name: str
    kind: ForgeKind
    variable: str = ""
    plain: bool = False
    api_at: str = ""
    """Where its API answers instead, '' for where such a host has it."""

    @property
    def web(self) -> str:
        """The address that people open."""
        return f"{'http' if self.plain else 'https'}://{self.name}"

    @property
    def api(self) -> str:
        """Where its API answers."""
        if self.api_at:
            return self.api_at
        if self.name == "github.com":
            return "https://api.github.com"
        return f"{self.web}/api/{'v3' if self.kind == 'github' else 'v1'}"


@dataclass(frozen=True, slots=True)
class Remote:
    """A repository at a host."""

    host: str
    owner: str
    name: str

    def __str__(self) -> str:
        return f"{self.owner}/{self.name}"

    @property
    def key(self) -> str:
        """A name of letters, digits and ``+._-`` for files, which no other repository has."""
        return f"{self.host.replace(':', '_')}+{self.owner}+{self.name}".lower()


def remote_at(host: str, path: str) -> Remote | None:
    """The repository that ``owner/name`` (with or without ``.git``) names at a host; None where it names none."""
    found = _WHOLE.fullmatch(path.strip("/"))
    return Remote(host, found[1], found[2].removesuffix(".git")) if found and found[2] and ".." not in path else None


@dataclass(frozen=True, slots=True)
class Hosted:
    """What a host says of a repository.  ``remote`` is its name now, which may be another than it was asked for by."""

    remote: Remote
    default_branch: str
    may_push: bool
    empty: bool = False
    private: bool = False
    kilobytes: int = 0


@dataclass(frozen=True, slots=True)
class PullRequest:
    """A pull request; ``head`` and ``base`` are branches, ``sha`` is the commit that the head is at."""

    number: int
    url: str
    state: PullRequestState
    title: str
    head: str
    base: str
    sha: str
    draft: bool = False
    body: str = ""


@dataclass(frozen=True, slots=True)
class RemoteCheck:
    """One check of a commit; ``log`` is where more can be read of it, by its own host's way of naming that."""

    name: str
    state: CheckState
    summary: str = ""
    url: str = ""
    log: str = ""


@dataclass(frozen=True, slots=True)
class Remark:
    """What somebody wrote on a pull request; ``id`` stands once among its remarks."""

    id: str
    author: str
    text: str
    path: str = ""
    line: int = 0


class Forge(Protocol):
    """One host, with the token of the bot."""

    @property
    def host(self) -> ForgeHost:
        """Which one."""
        ...

    async def account(self) -> str:
        """The login that the token belongs to."""
        ...

    async def repository(self, remote: Remote) -> Hosted:
        """The repository as it is named now."""
        ...

    async def is_protected(self, remote: Remote, branch: str) -> bool:
        """Whether rules of the host stand on a branch; False where there is none."""
        ...

    async def open_from(self, remote: Remote, branch: str, base: str) -> PullRequest | None:
        """The open pull request from this branch to that one, both of this repository and of no fork."""
        ...

    async def open(self, remote: Remote, head: str, base: str, title: str, body: str, *, draft: bool) -> PullRequest:
        """Open one.  Look for it with ``open_from`` first, and again after ``ForgeUnclear`` or ``ForgeRejected``."""
        ...

    async def describe(self, remote: Remote, number: int, title: str | None, body: str) -> PullRequest:
        """Give one another text, and another title where there is one."""
        ...

    async def pull_request(self, remote: Remote, number: int) -> PullRequest:
        """One as it is now."""
        ...

    async def close_pull_request(self, remote: Remote, number: int) -> PullRequest:
        """Close one without merging it."""
        ...

    async def checks(self, remote: Remote, sha: str) -> tuple[RemoteCheck, ...]:
        """The newest run of each check of a commit."""
        ...

    async def log_of(self, remote: Remote, check: RemoteCheck, most: int) -> str:
        """The last ``most`` characters of a check's log; '' where the host gives none out."""
        ...

    async def remarks(self, remote: Remote, number: int) -> tuple[Remark, ...]:
        """What was written on a pull request, oldest first."""
        ...

    async def comment(self, remote: Remote, number: int, text: str) -> str:
        """Write on it; returns the remark's id."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...
