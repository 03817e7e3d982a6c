"""A forge for real: a branch with one commit, a pull request, read back, closed, and the branch deleted."""

from __future__ import annotations

import os
import secrets
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from agentic.forges.hosts import PUBLIC, Forges
from agentic.ports.errors import RemoteError
from agentic.ports.forge import Forge, PullRequest, Remote
from agentic.remotes.host_git import HostGit
from bot.cli.checks.forge_token import TODO
from bot.cli.live.trials import StepFailed, Trials
from bot.cli.live.wire_record import RecordingRelay
from bot.config.settings import Settings

_WHO = ("-c", "user.name=Threadwright", "-c", "user.email=doctor@threadwright.invalid")
_PUSH_SECONDS = 300.0
TITLE = "threadwright doctor --live (closes by itself)"
BODY = "A trial of `threadwright doctor --live`. It is closed at once, and its branch is deleted."


async def try_forge(trials: Trials, settings: Settings, repository: str, relay: RecordingRelay | None) -> None:
    """Take the steps."""
    if not repository:
        trials.leave_out("forge", "no repository is named", "add --repository owner/name, one made for trials")
        return
    hosts = settings.forge_hosts or PUBLIC
    forges = Forges(hosts, os.environ)
    try:
        remote = forges.read(repository)
    except RemoteError as error:
        trials.leave_out("forge", str(error))
        return
    host = forges.host(remote.host)
    if not forges.token(host):
        trials.leave_out("forge", f"there is no token for {host.name}", TODO)
        return
    makes = (
        f"makes a branch threadwright/doctor-… with one commit and a pull request in {remote} on {host.name}, closes it "
        "and deletes the branch. People who watch the repository are notified; checks of it may run."
    )
    if not await trials.begin(f"forge ({host.kind})", makes):
        return
    if relay is not None:
        forges = Forges([replace(host, api_at=relay.to(host.api))], os.environ)
    key = settings.forge_ssh_key
    with tempfile.TemporaryDirectory(prefix="threadwright-doctor-") as folder:
        published = _Published(trials, forges.forge(remote), HostGit(forges, key), remote, Path(folder))
        try:
            await published.through()
        finally:
            await trials.clean_up()
            await forges.close()


@dataclass(slots=True)
class _Published:
    """The steps, in the order in which each needs those before it."""

    trials: Trials
    forge: Forge
    git: HostGit
    remote: Remote
    folder: Path
    branch: str = ""
    base: str = ""
    commit: str = ""
    pull: PullRequest | None = None

    async def through(self) -> None:
        """Take the steps until one fails."""
        steps = (
            ("repository", self._look), ("commit", self._commit), ("branch", self._push), ("pull request", self._open),
            ("read back", self._read),
        )  # fmt: skip
        for name, act in steps:
            if not await self.trials.step(name, act()):
                return

    async def _look(self) -> str:
        hosted = await self.forge.repository(self.remote)
        if hosted.empty:
            raise StepFailed("the repository is empty", "make a first commit there")
        if not hosted.may_push:
            raise StepFailed(f"the token may not push to {hosted.remote}", TODO)
        self.remote, self.base = hosted.remote, hosted.default_branch
        return f"{hosted.remote}, and {await self.forge.account()} may push to it"

    async def _commit(self) -> str:
        """One file more than the newest commit has; nothing is checked out."""
        address = self.git.address(self.remote)
        await self._run("init", "--bare", "--quiet", str(self.folder))
        await self._run("fetch", "--quiet", "--depth=1", address, f"refs/heads/{self.base}", far=True)
        name = f"doctor-{secrets.token_hex(4)}"
        self.branch = f"threadwright/{name}"
        blob = await self._run("hash-object", "-w", "--stdin", stdin=f"{BODY}\n".encode())
        listed = await self._run("ls-tree", "-z", "FETCH_HEAD")
        entry = f"100644 blob {blob.decode().strip()}\tthreadwright-{name}.txt\0".encode()
        tree = (await self._run("mktree", "-z", stdin=listed + entry)).decode().strip()
        made = await self._run(*_WHO, "commit-tree", tree, "-p", "FETCH_HEAD", "-m", f"{TITLE}\n\n[skip ci]")
        self.commit = made.decode().strip()
        return f"made on {self.base}"

    async def _push(self) -> str:
        by_hand = f"git push {self.git.address(self.remote)} --delete {self.branch}"
        self.trials.later("the branch", self._deleted, by_hand)
        await self._run(
            "push", "--quiet", self.git.address(self.remote), f"{self.commit}:refs/heads/{self.branch}", far=True
        )
        return f"pushed {self.branch}"

    async def _open(self) -> str:
        self.trials.later(
            "the pull request", self._closed, f"close the pull request of {self.branch} at {self.remote.host}"
        )
        self.pull = await self.forge.open(self.remote, self.branch, self.base, TITLE, BODY, draft=False)
        return f"opened #{self.pull.number}"

    async def _read(self) -> str:
        assert self.pull is not None
        found = await self.forge.open_from(self.remote, self.branch, self.base)
        read = await self.forge.pull_request(self.remote, self.pull.number)
        if found is None or found.number != read.number or (read.state, read.title) != ("open", TITLE):
            raise StepFailed(f"it was read back as {read.state} “{read.title}”")
        return f"#{read.number} is open, from {read.head} to {read.base}"

    async def _closed(self) -> str:
        """Close what is open of the branch, also where nobody heard that it was opened."""
        pull = self.pull or await self.forge.open_from(self.remote, self.branch, self.base)
        if pull is None:
            return "there is none"
        closed = await self.forge.close_pull_request(self.remote, pull.number)
        if closed.state == "open":
            raise StepFailed("it is still open")
        return f"closed #{closed.number}"

    async def _deleted(self) -> str:
        address, ref = self.git.address(self.remote), f"refs/heads/{self.branch}"
        if await self._run("ls-remote", address, ref, far=True):
            await self._run("push", "--quiet", address, f":{ref}", far=True)
        if await self._run("ls-remote", address, ref, far=True):
            raise StepFailed("it is still there")
        return f"deleted {self.branch}"

    async def _run(self, *arguments: str, stdin: bytes = b"", far: bool = False) -> bytes:
        remote = self.remote if far else None
        return await self.git.run(self.folder, *arguments, stdin=stdin, remote=remote, seconds=_PUSH_SECONDS)
