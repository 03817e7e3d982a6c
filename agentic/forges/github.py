"""GitHub and GitHub Enterprise: REST, version 2022-11-28."""

from __future__ import annotations

from pydantic import TypeAdapter

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
from agentic.ports.errors import RepositoryGone, RightMissing
from agentic.ports.forge import CheckState, ForgeHost, Hosted, PullRequest, Remark, Remote, RemoteCheck, remote_at

_JOB = "/actions/jobs/{id}/logs"
_PASSED = ("success", "neutral", "skipped")


class _Repository(RepositoryRead):
    pushed_at: str | None = None
    permissions: Rights = Rights()


class _Pull(PullRead):
    html_url: str
    merged_at: str | None = None
    draft: bool | None = False


class _Output(Read):
    title: str | None = None
    summary: str | None = None
    text: str | None = None


class _App(Read):
    slug: str | None = None


class _Run(Read):
    id: int
    name: str
    status: str
    conclusion: str | None = None
    html_url: str | None = None
    output: _Output = _Output()
    app: _App | None = None


class _Runs(Read):
    check_runs: tuple[_Run, ...] = ()


class _Status(StatusRead):
    state: str


class _Statuses(Read):
    statuses: tuple[_Status, ...] = ()


_PULLS, _COMMENTS = TypeAdapter(tuple[_Pull, ...]), TypeAdapter(tuple[CommentRead, ...])
_RUNS, _STATUSES = TypeAdapter(_Runs), TypeAdapter(_Statuses)


class GitHub(RestForge):
    """A host with GitHub's API."""

    def __init__(self, host: ForgeHost, token: str) -> None:
        headers = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
        super().__init__(host, ApiClient(host.api, host.name, f"Bearer {token}" if token else "", headers))

    async def repository(self, remote: Remote) -> Hosted:
        """The repository as it is named now."""
        read = await self._api.get(path_of(remote), TypeAdapter(_Repository))
        named = remote_at(remote.host, read.full_name) or remote
        return Hosted(
            named, read.default_branch or "main", read.permissions.push,
            empty=read.size == 0 and read.pushed_at is None, private=read.private, kilobytes=read.size,
        )  # fmt: skip

    async def open_from(self, remote: Remote, branch: str, base: str) -> PullRequest | None:
        """The open pull request from this branch to that one of the same repository."""
        found = await self._api.get(
            f"{path_of(remote)}/pulls", _PULLS, state="open", head=f"{remote.owner}:{branch}", base=base
        )
        return next((_pull(each) for each in found if each.joins(branch, base)), None)

    async def open(self, remote: Remote, head: str, base: str, title: str, body: str, *, draft: bool) -> PullRequest:
        """Open one."""
        asked = {"title": title, "body": body, "head": head, "base": base, "draft": draft}
        return _pull(await self._api.send("POST", f"{path_of(remote)}/pulls", {**asked}, TypeAdapter(_Pull)))

    async def describe(self, remote: Remote, number: int, title: str | None, body: str) -> PullRequest:
        """Give one another text, and another title where there is one."""
        path, told = f"{path_of(remote)}/pulls/{number}", {} if title is None else {"title": title}
        return _pull(await self._api.send("PATCH", path, {**told, "body": body}, TypeAdapter(_Pull)))

    async def close_pull_request(self, remote: Remote, number: int) -> PullRequest:
        """Close one without merging it."""
        path = f"{path_of(remote)}/pulls/{number}"
        return _pull(await self._api.send("PATCH", path, {"state": "closed"}, TypeAdapter(_Pull)))

    async def pull_request(self, remote: Remote, number: int) -> PullRequest:
        """One as it is now."""
        return _pull(await self._api.get(f"{path_of(remote)}/pulls/{number}", TypeAdapter(_Pull)))

    async def checks(self, remote: Remote, sha: str) -> tuple[RemoteCheck, ...]:
        """Check runs and commit statuses; a token without the right to one of them raises, for half of them is no green."""
        at = f"{path_of(remote)}/commits/{sha}"
        runs = await self._api.checks(f"{at}/check-runs", _RUNS, lambda read: read.check_runs, "per_page")
        statuses = await self._api.checks(f"{at}/status", _STATUSES, lambda read: read.statuses, "per_page")
        return (*map(_of_run, runs), *map(_of_status, statuses))

    async def log_of(self, remote: Remote, check: RemoteCheck, most: int) -> str:
        """The end of a check's log, what the check itself wrote where there is no log to be read."""
        if check.log:
            try:
                return await self._api.text(f"{path_of(remote)}{check.log}", most)
            except (RepositoryGone, RightMissing):
                pass
        return check.summary[-most:]

    async def remarks(self, remote: Remote, number: int) -> tuple[Remark, ...]:
        """Comments, reviews, and comments on lines."""
        at = path_of(remote)
        kinds = (
            ("c", f"{at}/issues/{number}/comments"),
            ("r", f"{at}/pulls/{number}/reviews"),
            ("l", f"{at}/pulls/{number}/comments"),
        )
        found: list[Remark] = []
        for kind, path in kinds:
            found += [
                each.remark(kind)
                for each in await self._api.pages(path, _COMMENTS, tuple, "per_page")
                if each.body and each.state != "PENDING"
            ]
        return tuple(found)


def _pull(read: _Pull) -> PullRequest:
    state = "merged" if read.merged_at else read.state
    return PullRequest(
        read.number, read.html_url, state, read.title, read.head.ref, read.base.ref, read.head.sha, bool(read.draft),
        read.body or "",
    )  # fmt: skip


def _of_run(run: _Run) -> RemoteCheck:
    state: CheckState = "running"
    if run.status == "completed":
        state = "passed" if run.conclusion in _PASSED else "failed"
    told = "\n".join(part for part in (run.output.title, run.output.summary, run.output.text) if part)
    log = _JOB.format(id=run.id) if run.app is not None and run.app.slug == "github-actions" else ""
    return RemoteCheck(run.name, state, told, run.html_url or "", log)


def _of_status(status: _Status) -> RemoteCheck:
    states: dict[str, CheckState] = {"success": "passed", "pending": "running"}
    return RemoteCheck(
        status.context, states.get(status.state, "failed"), status.description or "", status.target_url or ""
    )
