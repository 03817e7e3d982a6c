"""Forgejo and Gitea: API v1.

A draft is a title that begins with ``WIP:``.  Checks are statuses of a commit; that is where Forgejo Actions writes them.
"""

from __future__ import annotations

import re
from typing import Literal

from pydantic import BaseModel, ConfigDict, TypeAdapter

from agentic.forges.api_client import ApiClient
from agentic.ports.errors import ForgeRejected, RepositoryGone, RightMissing
from agentic.ports.forge import CheckState, ForgeHost, Hosted, PullRequest, Remark, Remote, RemoteCheck, remote_at

DRAFT = "WIP: "
_JOB = re.compile(r".{0,300}/actions/runs/(\d{1,12})/jobs/(\d{1,9})(?:/attempt/\d{1,4})?")


class _Read(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _Account(_Read):
    login: str = ""


class _Rights(_Read):
    push: bool = False


class _Repository(_Read):
    full_name: str
    default_branch: str = ""
    private: bool = True
    """Where the host does not say, nothing is shown to anybody."""
    empty: bool = False
    size: int = 0
    permissions: _Rights | None = None


class _Branch(_Read):
    protected: bool = False


class _Place(_Read):
    id: int


class _End(_Read):
    ref: str
    sha: str = ""
    repo: _Place | None = None
    """Whose branch it is; None where that repository is gone."""


class _Pull(_Read):
    number: int
    html_url: str = ""
    state: Literal["open", "closed"]
    title: str = ""
    head: _End
    base: _End
    merged: bool = False
    draft: bool = False

    def joins(self, head: str, base: str) -> bool:
        """Whether it is from this branch to that one, both of the same repository: a fork's may bear the same name."""
        own = self.head.repo is not None and self.head.repo == self.base.repo
        return own and (self.head.ref, self.base.ref) == (head, base)


class _Status(_Read):
    context: str
    status: str
    description: str | None = None
    target_url: str | None = None


class _Statuses(_Read):
    statuses: tuple[_Status, ...] | None = None


class _Comment(_Read):
    id: int
    user: _Account | None = None
    body: str | None = ""
    path: str = ""
    position: int | None = None
    state: str = ""
    comments_count: int = 0


_PULLS, _COMMENTS = TypeAdapter(tuple[_Pull, ...]), TypeAdapter(tuple[_Comment, ...])


class Forgejo:
    """A host with Forgejo's API."""

    def __init__(self, host: ForgeHost, token: str) -> None:
        self._host = host
        self._api = ApiClient(host.api, host.name, f"token {token}" if token else "")

    @property
    def host(self) -> ForgeHost:
        """Which one."""
        return self._host

    async def account(self) -> str:
        """The login that the token belongs to."""
        return (await self._api.get("/user", TypeAdapter(_Account))).login

    async def repository(self, remote: Remote) -> Hosted:
        """The repository as it is named now."""
        read = await self._api.get(_at(remote), TypeAdapter(_Repository))
        named = remote_at(remote.host, read.full_name) or remote
        rights = read.permissions or _Rights()
        return Hosted(
            named, read.default_branch or "main", rights.push,
            empty=read.empty, private=read.private, kilobytes=read.size,
        )  # fmt: skip

    async def is_protected(self, remote: Remote, branch: str) -> bool:
        """Whether rules of the host stand on a branch."""
        try:
            return (await self._api.get(f"{_at(remote)}/branches/{branch}", TypeAdapter(_Branch))).protected
        except RepositoryGone:
            return False

    async def open_from(self, remote: Remote, branch: str, base: str) -> PullRequest | None:
        """The open pull request from this branch to that one; the list cannot be asked for one branch alone."""
        pulls = await self._api.pages(f"{_at(remote)}/pulls", _PULLS, "limit", state="open", sort="recentupdate")
        return next((self._pull(remote, each) for each in pulls if each.joins(branch, base)), None)

    async def open(self, remote: Remote, head: str, base: str, title: str, body: str, *, draft: bool) -> PullRequest:
        """Open one."""
        asked = {"title": _titled(title, draft=draft), "body": body, "head": head, "base": base}
        made = await self._api.send("POST", f"{_at(remote)}/pulls", {**asked}, TypeAdapter(_Pull))
        return self._pull(remote, made)

    async def describe(self, remote: Remote, number: int, title: str, body: str) -> PullRequest:
        """Give one another title and text; a draft stays one."""
        path = f"{_at(remote)}/pulls/{number}"
        now = await self._api.get(path, TypeAdapter(_Pull))
        told = _titled(title, draft=now.title.startswith(DRAFT))
        return self._pull(
            remote, await self._api.send("PATCH", path, {"title": told, "body": body}, TypeAdapter(_Pull))
        )

    async def pull_request(self, remote: Remote, number: int) -> PullRequest:
        """One as it is now."""
        return self._pull(remote, await self._api.get(f"{_at(remote)}/pulls/{number}", TypeAdapter(_Pull)))

    async def checks(self, remote: Remote, sha: str) -> tuple[RemoteCheck, ...]:
        """The newest status of each context."""
        read = await self._api.get(f"{_at(remote)}/commits/{sha}/status", TypeAdapter(_Statuses))
        return tuple(self._check(each) for each in read.statuses or ())

    async def log_of(self, remote: Remote, check: RemoteCheck, most: int) -> str:
        """The end of a job's log where this version gives it out, else what its status says."""
        if check.log:
            try:
                return await self._api.text(f"{_at(remote)}{check.log}", most)
            except (RepositoryGone, RightMissing, ForgeRejected):
                pass
        return check.summary[-most:]

    async def remarks(self, remote: Remote, number: int) -> tuple[Remark, ...]:
        """Comments, reviews, and comments on lines."""
        at = _at(remote)
        found = [
            _remark("c", each) for each in await self._api.pages(f"{at}/issues/{number}/comments", _COMMENTS, "limit")
        ]
        for review in await self._api.pages(f"{at}/pulls/{number}/reviews", _COMMENTS, "limit"):
            if review.state == "PENDING":
                continue
            found.append(_remark("r", review))
            if review.comments_count:
                lines = await self._api.get(f"{at}/pulls/{number}/reviews/{review.id}/comments", _COMMENTS)
                found += [_remark("l", each) for each in lines]
        return tuple(each for each in found if each.text)

    async def comment(self, remote: Remote, number: int, text: str) -> str:
        """Write on it."""
        path = f"{_at(remote)}/issues/{number}/comments"
        return f"c{(await self._api.send('POST', path, {'body': text}, TypeAdapter(_Comment))).id}"

    async def close(self) -> None:
        """Let go of connections."""
        await self._api.close()

    def _pull(self, remote: Remote, read: _Pull) -> PullRequest:
        url = read.html_url or f"{self._host.web}/{remote}/pulls/{read.number}"
        title, draft = read.title.removeprefix(DRAFT), read.draft or read.title.startswith(DRAFT)
        state = "merged" if read.merged else read.state
        return PullRequest(read.number, url, state, title, read.head.ref, read.base.ref, read.head.sha, draft)

    def _check(self, status: _Status) -> RemoteCheck:
        """One status; an address by its path alone belongs to this host."""
        url = status.target_url or ""
        job = _JOB.fullmatch(url)
        states: dict[str, CheckState] = {
            "success": "passed",
            "warning": "passed",
            "skipped": "passed",
            "pending": "running",
        }
        return RemoteCheck(
            status.context, states.get(status.status, "failed"), status.description or "",
            f"{self._host.web}{url}" if url.startswith("/") else url,
            f"/actions/runs/{job[1]}/jobs/{job[2]}/logs" if job else "",
        )  # fmt: skip


def _at(remote: Remote) -> str:
    return f"/repos/{remote.owner}/{remote.name}"


def _titled(title: str, *, draft: bool) -> str:
    return f"{DRAFT}{title}" if draft and not title.startswith(DRAFT) else title


def _remark(kind: str, read: _Comment) -> Remark:
    author = read.user.login if read.user else ""
    return Remark(f"{kind}{read.id}", author, read.body or "", read.path, read.position or 0)
