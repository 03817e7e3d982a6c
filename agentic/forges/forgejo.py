"""Forgejo and Gitea: API v1.

A draft is a title that begins with ``WIP:``.  Checks are statuses of a commit; that is where Forgejo Actions writes them.
"""

from __future__ import annotations

import re

from pydantic import Field, JsonValue, TypeAdapter

from agentic.forges.api_client import ApiClient
from agentic.forges.rest_forge import (
    CommentRead,
    PullRead,
    Read,
    RepositoryRead,
    RestForge,
    Rights,
    StatusRead,
    path_of,
)
from agentic.ports.errors import ForgeRejected, RepositoryGone, RightMissing
from agentic.ports.forge import CheckState, ForgeHost, Hosted, PullRequest, Remark, Remote, RemoteCheck, remote_at

DRAFT = "WIP: "
LISTED_PAGES = 6
"""Pages of open pull requests in which one of ours is looked for, the one that was changed last first."""
_JOB = re.compile(r".{0,300}/actions/runs/(\d{1,12})/jobs/(\d{1,9})(?:/attempt/\d{1,4})?")


class _Repository(RepositoryRead):
    empty: bool = False
    permissions: Rights | None = None


class _Pull(PullRead):
    html_url: str = ""
    merged: bool = False
    draft: bool = False


class _Status(StatusRead):
    status: str


class _Statuses(Read):
    statuses: tuple[_Status, ...] | None = None


class _Comment(CommentRead):
    line: int | None = Field(default=None, validation_alias="position")
    comments_count: int = 0


_PULLS, _COMMENTS = TypeAdapter(tuple[_Pull, ...]), TypeAdapter(tuple[_Comment, ...])


class Forgejo(RestForge):
    """A host with Forgejo's API."""

    def __init__(self, host: ForgeHost, token: str) -> None:
        super().__init__(host, ApiClient(host.api, host.name, f"token {token}" if token else ""))

    async def repository(self, remote: Remote) -> Hosted:
        """The repository as it is named now."""
        read = await self._api.get(path_of(remote), TypeAdapter(_Repository))
        named = remote_at(remote.host, read.full_name) or remote
        rights = read.permissions or Rights()
        return Hosted(
            named, read.default_branch or "main", rights.push,
            empty=read.empty, private=read.private, kilobytes=read.size,
        )  # fmt: skip

    async def open_from(self, remote: Remote, branch: str, base: str) -> PullRequest | None:
        """The open pull request from this branch to that one; the list cannot be asked for one branch alone."""
        pulls = await self._api.pages(
            f"{path_of(remote)}/pulls", _PULLS, tuple, "limit", most=LISTED_PAGES, state="open", sort="recentupdate"
        )
        return next((self._pull(remote, each) for each in pulls if each.joins(branch, base)), None)

    async def open(self, remote: Remote, head: str, base: str, title: str, body: str, *, draft: bool) -> PullRequest:
        """Open one."""
        asked = {"title": _titled(title, draft=draft), "body": body, "head": head, "base": base}
        made = await self._api.send("POST", f"{path_of(remote)}/pulls", {**asked}, TypeAdapter(_Pull))
        return self._pull(remote, made)

    async def describe(self, remote: Remote, number: int, title: str | None, body: str) -> PullRequest:
        """Give one another text, and another title where there is one; a draft stays one."""
        path, told = f"{path_of(remote)}/pulls/{number}", dict[str, JsonValue]()
        if title is not None:
            now = await self._api.get(path, TypeAdapter(_Pull))
            told["title"] = _titled(title, draft=now.title.startswith(DRAFT))
        return self._pull(remote, await self._api.send("PATCH", path, {**told, "body": body}, TypeAdapter(_Pull)))

    async def close_pull_request(self, remote: Remote, number: int) -> PullRequest:
        """Close one without merging it."""
        path = f"{path_of(remote)}/pulls/{number}"
        return self._pull(remote, await self._api.send("PATCH", path, {"state": "closed"}, TypeAdapter(_Pull)))

    async def pull_request(self, remote: Remote, number: int) -> PullRequest:
        """One as it is now."""
        return self._pull(remote, await self._api.get(f"{path_of(remote)}/pulls/{number}", TypeAdapter(_Pull)))

    async def checks(self, remote: Remote, sha: str) -> tuple[RemoteCheck, ...]:
        """The newest status of each context."""
        path = f"{path_of(remote)}/commits/{sha}/status"
        read = await self._api.checks(path, TypeAdapter(_Statuses), lambda read: read.statuses or (), "limit")
        return tuple(self._check(each) for each in read)

    async def log_of(self, remote: Remote, check: RemoteCheck, most: int) -> str:
        """The end of a job's log where this version gives it out, else what its status says."""
        if check.log:
            try:
                return await self._api.text(f"{path_of(remote)}{check.log}", most)
            except (RepositoryGone, RightMissing, ForgeRejected):
                pass
        return check.summary[-most:]

    async def remarks(self, remote: Remote, number: int) -> tuple[Remark, ...]:
        """Comments, reviews, and comments on lines; only reviews come in pages."""
        at = path_of(remote)
        found = [each.remark("c") for each in await self._api.get(f"{at}/issues/{number}/comments", _COMMENTS)]
        for review in await self._api.pages(f"{at}/pulls/{number}/reviews", _COMMENTS, tuple, "limit"):
            if review.state == "PENDING":
                continue
            found.append(review.remark("r"))
            if review.comments_count:
                lines = await self._api.get(f"{at}/pulls/{number}/reviews/{review.id}/comments", _COMMENTS)
                found += [each.remark("l") for each in lines]
        return tuple(each for each in found if each.text)

    def _pull(self, remote: Remote, read: _Pull) -> PullRequest:
        url = read.html_url or f"{self._host.web}/{remote}/pulls/{read.number}"
        title, draft = read.title.removeprefix(DRAFT), read.draft or read.title.startswith(DRAFT)
        state = "merged" if read.merged else read.state
        return PullRequest(
            read.number, url, state, title, read.head.ref, read.base.ref, read.head.sha, draft, read.body or ""
        )

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


def _titled(title: str, *, draft: bool) -> str:
    return f"{DRAFT}{title}" if draft and not title.startswith(DRAFT) else title
