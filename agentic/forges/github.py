"""GitHub and GitHub Enterprise: REST, version 2022-11-28."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, TypeAdapter

from agentic.forges.api_client import ApiClient
from agentic.ports.errors import RepositoryGone, RightMissing
from agentic.ports.forge import CheckState, ForgeHost, Hosted, PullRequest, Remark, Remote, RemoteCheck, remote_at

_JOB = "/actions/jobs/{id}/logs"
_PASSED = ("success", "neutral", "skipped")


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
    size: int = 0
    pushed_at: str | None = None
    permissions: _Rights = _Rights()


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
    html_url: str
    state: Literal["open", "closed"]
    title: str = ""
    head: _End
    base: _End
    merged_at: str | None = None
    draft: bool | None = False

    def joins(self, head: str, base: str) -> bool:
        """Whether it is from this branch to that one, both of the same repository: a fork's may bear the same name."""
        own = self.head.repo is not None and self.head.repo == self.base.repo
        return own and (self.head.ref, self.base.ref) == (head, base)


class _Output(_Read):
    title: str | None = None
    summary: str | None = None
    text: str | None = None


class _App(_Read):
    slug: str | None = None


class _Run(_Read):
    id: int
    name: str
    status: str
    conclusion: str | None = None
    html_url: str | None = None
    output: _Output = _Output()
    app: _App | None = None


class _Runs(_Read):
    check_runs: tuple[_Run, ...] = ()


class _Status(_Read):
    context: str
    state: str
    description: str | None = None
    target_url: str | None = None


class _Statuses(_Read):
    statuses: tuple[_Status, ...] = ()


class _Comment(_Read):
    id: int
    user: _Account | None = None
    body: str | None = ""
    path: str = ""
    line: int | None = None
    state: str = ""


_PULLS, _COMMENTS = TypeAdapter(tuple[_Pull, ...]), TypeAdapter(tuple[_Comment, ...])
_RUNS, _STATUSES = TypeAdapter(_Runs), TypeAdapter(_Statuses)


class GitHub:
    """A host with GitHub's API."""

    def __init__(self, host: ForgeHost, token: str) -> None:
        self._host = host
        headers = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
        self._api = ApiClient(host.api, host.name, f"Bearer {token}" if token else "", headers)

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
        return Hosted(
            named, read.default_branch or "main", read.permissions.push,
            empty=read.size == 0 and read.pushed_at is None, private=read.private, kilobytes=read.size,
        )  # fmt: skip

    async def is_protected(self, remote: Remote, branch: str) -> bool:
        """Whether rules of the host stand on a branch."""
        try:
            return (await self._api.get(f"{_at(remote)}/branches/{branch}", TypeAdapter(_Branch))).protected
        except RepositoryGone:
            return False

    async def open_from(self, remote: Remote, branch: str, base: str) -> PullRequest | None:
        """The open pull request from this branch to that one of the same repository."""
        found = await self._api.get(
            f"{_at(remote)}/pulls", _PULLS, state="open", head=f"{remote.owner}:{branch}", base=base
        )
        return next((_pull(each) for each in found if each.joins(branch, base)), None)

    async def open(self, remote: Remote, head: str, base: str, title: str, body: str, *, draft: bool) -> PullRequest:
        """Open one."""
        asked = {"title": title, "body": body, "head": head, "base": base, "draft": draft}
        return _pull(await self._api.send("POST", f"{_at(remote)}/pulls", {**asked}, TypeAdapter(_Pull)))

    async def describe(self, remote: Remote, number: int, title: str, body: str) -> PullRequest:
        """Give one another title and text."""
        path = f"{_at(remote)}/pulls/{number}"
        return _pull(await self._api.send("PATCH", path, {"title": title, "body": body}, TypeAdapter(_Pull)))

    async def pull_request(self, remote: Remote, number: int) -> PullRequest:
        """One as it is now."""
        return _pull(await self._api.get(f"{_at(remote)}/pulls/{number}", TypeAdapter(_Pull)))

    async def checks(self, remote: Remote, sha: str) -> tuple[RemoteCheck, ...]:
        """Check runs and commit statuses; a token without the right to one of them raises, for half of them is no green."""
        runs = await self._api.get(f"{_at(remote)}/commits/{sha}/check-runs", _RUNS, per_page="100")
        statuses = await self._api.get(f"{_at(remote)}/commits/{sha}/status", _STATUSES, per_page="100")
        return (*map(_of_run, runs.check_runs), *map(_of_status, statuses.statuses))

    async def log_of(self, remote: Remote, check: RemoteCheck, most: int) -> str:
        """The end of a check's log, what the check itself wrote where there is no log to be read."""
        if check.log:
            try:
                return await self._api.text(f"{_at(remote)}{check.log}", most)
            except (RepositoryGone, RightMissing):
                pass
        return check.summary[-most:]

    async def remarks(self, remote: Remote, number: int) -> tuple[Remark, ...]:
        """Comments, reviews, and comments on lines."""
        at = _at(remote)
        kinds = (
            ("c", f"{at}/issues/{number}/comments"),
            ("r", f"{at}/pulls/{number}/reviews"),
            ("l", f"{at}/pulls/{number}/comments"),
        )
        found: list[Remark] = []
        for kind, path in kinds:
            found += [
                Remark(
                    f"{kind}{each.id}", each.user.login if each.user else "", each.body or "", each.path, each.line or 0
                )
                for each in await self._api.pages(path, _COMMENTS, "per_page")
                if each.body and each.state != "PENDING"
            ]
        return tuple(found)

    async def comment(self, remote: Remote, number: int, text: str) -> str:
        """Write on it."""
        path = f"{_at(remote)}/issues/{number}/comments"
        return f"c{(await self._api.send('POST', path, {'body': text}, TypeAdapter(_Comment))).id}"

    async def close(self) -> None:
        """Let go of connections."""
        await self._api.close()


def _at(remote: Remote) -> str:
    return f"/repos/{remote.owner}/{remote.name}"


def _pull(read: _Pull) -> PullRequest:
    state = "merged" if read.merged_at else read.state
    return PullRequest(
        read.number, read.html_url, state, read.title, read.head.ref, read.base.ref, read.head.sha, bool(read.draft)
    )


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
