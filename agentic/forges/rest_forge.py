"""What GitHub's API and Forgejo's, which was made after it, have in common: addresses, shapes, and the same requests."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, TypeAdapter

from agentic.forges.api_client import ApiClient
from agentic.ports.errors import RepositoryGone
from agentic.ports.forge import ForgeHost, Remark, Remote


class Read(BaseModel):
    """Something that a host says; what is not named here is not read."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class Account(Read):
    """Somebody at the host."""

    login: str = ""


class Rights(Read):
    """What the token may do in a repository."""

    push: bool = False


class RepositoryRead(Read):
    """A repository."""

    full_name: str
    default_branch: str = ""
    private: bool = True
    """Where the host does not say, nothing is shown to anybody."""
    size: int = 0


class _Branch(Read):
    protected: bool = False


class _Place(Read):
    id: int


class _End(Read):
    ref: str
    sha: str = ""
    repo: _Place | None = None
    """Whose branch it is; None where that repository is gone."""


class PullRead(Read):
    """A pull request."""

    number: int
    state: Literal["open", "closed"]
    title: str = ""
    body: str | None = ""
    head: _End
    base: _End

    def joins(self, head: str, base: str) -> bool:
        """Whether it is from this branch to that one, both of the same repository: a fork's may bear the same name."""
        own = self.head.repo is not None and self.head.repo == self.base.repo
        return own and (self.head.ref, self.base.ref) == (head, base)


class StatusRead(Read):
    """A status of a commit."""

    context: str
    description: str | None = None
    target_url: str | None = None


class CommentRead(Read):
    """What somebody wrote on a pull request."""

    id: int
    user: Account | None = None
    body: str | None = ""
    path: str = ""
    line: int | None = None
    state: str = ""

    def remark(self, kind: str) -> Remark:
        """The same as a remark; ``kind`` tells ids apart that the host counts by themselves."""
        author = self.user.login if self.user else ""
        return Remark(f"{kind}{self.id}", author, self.body or "", self.path, self.line or 0)


def path_of(remote: Remote) -> str:
    """The path of a repository."""
    return f"/repos/{remote.owner}/{remote.name}"


class RestForge:
    """The part of ``Forge`` that is the same request at both."""

    def __init__(self, host: ForgeHost, api: ApiClient) -> None:
        self._host = host
        self._api = api

    @property
    def host(self) -> ForgeHost:
        """Which one."""
        return self._host

    async def account(self) -> str:
        """The login that the token belongs to."""
        return (await self._api.get("/user", TypeAdapter(Account))).login

    async def is_protected(self, remote: Remote, branch: str) -> bool:
        """Whether rules of the host stand on a branch."""
        try:
            return (await self._api.get(f"{path_of(remote)}/branches/{branch}", TypeAdapter(_Branch))).protected
        except RepositoryGone:
            return False

    async def comment(self, remote: Remote, number: int, text: str) -> str:
        """Write on it."""
        path = f"{path_of(remote)}/issues/{number}/comments"
        return f"c{(await self._api.send('POST', path, {'body': text}, TypeAdapter(CommentRead))).id}"

    async def close(self) -> None:
        """Let go of connections."""
        await self._api.close()
