"""The one way out: commits of a checkout become a branch of ours and one pull request.

Each step can be taken again.  Commits are taken into a repository of their thread's own beside the mirror; the push carries a
lease, so that it overwrites nothing that anybody else did; and before a pull request is opened, and after an error, the
host is asked which one there is.  So a publication that was cut off anywhere goes on when it is asked for again.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from agentic.core.text.foreign_text import one_line
from agentic.forges.hosts import Forges
from agentic.ports.errors import (
    BranchMoved,
    ForgeRejected,
    ForgeUnclear,
    GitFailed,
    NotPublished,
    RemoteError,
    RepositoryGone,
    RightMissing,
    TokenRefused,
)
from agentic.ports.failpoints import reach
from agentic.ports.forge import Forge, Hosted, PullRequest, Remote
from agentic.remotes import publication_rules as rules
from agentic.remotes.checkout import PACK_BYTES, AtWork, at_work, packed
from agentic.remotes.host_git import OUT_BYTES, Progress
from agentic.remotes.mirror import Mirror, Mirrors
from agentic.remotes.pull_request_text import NEWS, marked, merged
from agentic.workspace.workspace import RealWorld

T = TypeVar("T")

ANOTHER = "would publish another commit than the one that was allowed"
"""Commands that go on in the sandbox may have changed what is checked out since a person saw it."""
PUSH_SECONDS = 300.0
MOST_PATHS = 5_000
SHOWN_CHARACTERS = 20_000
"""A change of workflows that is longer is shown to nobody, since nobody could look through it."""
SHOWN_PATHS = 100
BODY_CHARACTERS = 60_000
TOO_LONG = (
    "The workflows ({names}) would change by more than a person can look through. Publish them in smaller parts, or leave "
    "them out."
)
NO_TEXT = (
    "The change of the workflows ({names}) cannot be shown as text, so nobody could allow it. Write them as UTF-8, under "
    "names of letters, digits and dashes, or leave them out."
)
LOOKS = 5


@dataclass(frozen=True, slots=True)
class Origin:
    """The repository of a thread, and the branch that its work is for ('' for the default one)."""

    remote: Remote
    branch: str = ""


@dataclass(frozen=True, slots=True)
class Hand:
    """The account of a person that pull requests and comments are written with; the bot reads and pushes with its own."""

    forge: Forge
    refused: Callable[[RemoteError], Awaitable[None]]
    """Told why the host does not let them, before the bot writes instead."""


@dataclass(frozen=True, slots=True)
class Order:
    """What is asked for: ``branch`` may be ''; ``footer`` is added to the text, and is ours."""

    title: str
    body: str
    branch: str = ""
    draft: bool = False
    footer: str = ""
    hand: Hand | None = None


@dataclass(frozen=True, slots=True)
class Published:
    """What came of it; ``moved`` is the repository's old name where it has another one now."""

    pull: PullRequest
    remote: Remote
    commit: str
    commits: int
    files: tuple[str, ...]
    pushed: bool
    open: tuple[str, ...] = ()
    """Files of the checkout whose changes are in no commit, and so not published."""
    moved: str = ""
    kept: tuple[str, ...] = ()
    """What people wrote there (``title``, ``description``) and what was left as it is."""
    comment: str = ""
    """Whether what is new stands in a comment instead, in words; '' where nothing had to be said in one."""


@dataclass(frozen=True, slots=True)
class NeedsYes:
    """It changes what runs with the host's rights: a person has to allow exactly this ``state``.

    ``difference`` is all of what changes there, as text.
    """

    reason: str
    state: str
    difference: str


@contextmanager
def _unusable_git() -> Generator[None]:
    """What is wrong with this machine's git, in words."""
    try:
        yield
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise GitFailed(
            f"git cannot be used on the bot's machine ({why}). Whoever runs the bot has to look."
        ) from error


def state_of(commit: str) -> str:
    """What an approval of a commit is bound to."""
    return hashlib.sha256(f"{commit}\n".encode()).hexdigest()


class Publisher:
    """Publishes from checkouts in sandboxes."""

    def __init__(self, mirrors: Mirrors, forges: Forges) -> None:
        self.mirrors = mirrors
        self.forges = forges
        self.look_seconds = 1.0
        """Between two looks at a pull request that does not show a push yet."""

    async def publish(
        self, world: RealWorld, folder: str, thread: str, origin: Origin, order: Order, approved: str = "",
        progress: Progress | None = None,
    ) -> Published | NeedsYes:  # fmt: skip
        """Bring the commit that is checked out to the host.  ``approved``: the state that a person has allowed.

        Raises ``RemoteError`` and what the world raises of its own.
        """
        with _unusable_git():
            return await self._published(world, folder, thread, origin, order, approved, progress)

    async def preview(
        self, world: RealWorld, folder: str, thread: str, origin: Origin, order: Order, progress: Progress | None = None
    ) -> NeedsYes:
        """Everything that ``publish`` would bring to the host, as far as it can be shown; nothing leaves.

        Raises what ``publish`` would, so that nobody is asked about what could not be done.
        """
        with _unusable_git():
            async with self._taken(world, folder, thread, origin, progress) as taken:
                powerful = rules.powerful(await taken.unlike_the_base())
                asks = await taken.question(powerful) if powerful else None
                await taken.branch(order, self.forges.forge(origin.remote))
                return NeedsYes(asks.reason if asks else "", state_of(taken.commit), await taken.everything())

    @asynccontextmanager
    async def _taken(
        self, world: RealWorld, folder: str, thread: str, origin: Origin, progress: Progress | None
    ) -> AsyncGenerator[_Taken]:
        """The commit that is checked out, on our side, while the mirror is ours."""
        work = await at_work(world, folder)
        hosted = await self.forges.forge(origin.remote).repository(origin.remote)
        if not hosted.may_push:
            raise RightMissing(
                f"The token may read {hosted.remote}, and not push to it. Whoever runs the bot has to give it the right to "
                "write contents and pull requests."
            )
        mirror = await self.mirrors.fetched(hosted, progress, thread)
        base = origin.branch or hosted.default_branch
        async with self.mirrors.lock(hosted.remote):
            taken = _Taken(mirror, await self.mirrors.apart(mirror, thread), thread, work, hosted, base)
            await taken.take_in(world, folder, await mirror.tip(f"refs/heads/{base}"))
            yield taken

    async def _published(
        self, world: RealWorld, folder: str, thread: str, origin: Origin, order: Order, approved: str,
        progress: Progress | None,
    ) -> Published | NeedsYes:  # fmt: skip
        forge = self.forges.forge(origin.remote)
        async with self._taken(world, folder, thread, origin, progress) as taken:
            allowed = state_of(taken.commit)
            if (powerful := rules.powerful(await taken.unlike_the_base())) and approved != allowed:
                return await taken.question(powerful)
            if approved not in ("", allowed):
                return NeedsYes(ANOTHER, allowed, await taken.everything())
            branch = await taken.branch(order, forge)
            pushed = await taken.push(branch)
        hosted, commit = taken.hosted, taken.commit
        pull, kept, comment = await self._pull_request(forge, hosted, branch, taken.target, order, commit)
        moved = str(origin.remote) if str(hosted.remote).lower() != str(origin.remote).lower() else ""
        return Published(
            pull, hosted.remote, commit, taken.commits, taken.files, pushed, taken.open, moved, kept, comment,
        )  # fmt: skip

    async def _pull_request(
        self, forge: Forge, hosted: Hosted, branch: str, base: str, order: Order, commit: str
    ) -> tuple[PullRequest, tuple[str, ...], str]:  # fmt: skip
        """The one open pull request of a branch, with the title and the text that were asked for; what of them is not there,
        and where it is said.

        It is looked for with the bot's account, which finds it whoever has opened it.
        """
        body = _written(order.body, order.footer, order.hand)
        found = await forge.open_from(hosted.remote, branch, base)
        if found is not None:
            found = await self._at(forge, hosted.remote, found, commit)
            return await self._described(forge, hosted.remote, found, order, body)
        reach("publish.pull.before")
        try:
            opened = await _by_hand(
                order.hand, forge,
                lambda by: by.open(
                    hosted.remote, branch, base, order.title, marked(order.title, body), draft=order.draft
                ),
            )  # fmt: skip
        except (ForgeUnclear, ForgeRejected):
            found = await forge.open_from(hosted.remote, branch, base)
            if found is None:
                raise
            return await self._described(forge, hosted.remote, found, order, body)
        reach("publish.pull.after")
        return opened, (), ""

    async def _described(
        self, forge: Forge, remote: Remote, found: PullRequest, order: Order, body: str
    ) -> tuple[PullRequest, tuple[str, ...], str]:
        """Bring a pull request's title and text up to date; what people wrote there stays, and is named."""
        change = merged(found.title, found.body, order.title, body)
        if change.body is not None:
            found = await forge.describe(remote, found.number, change.title, change.body)
        if not change.news:
            return found, change.kept, ""
        said = NEWS.format(why=change.news, title=order.title, body=order.body)
        key = f"text.{hashlib.sha256(said.encode()).hexdigest()}"
        try:
            await self.comment(remote, found.number, said, key, order.footer, order.hand)
        except RemoteError as error:  # the push and the pull request stand all the same
            return found, change.kept, f"What is new could not be said in a comment there: {error}"
        return found, change.kept, "A new description stands in a comment there."

    async def _at(self, forge: Forge, remote: Remote, found: PullRequest, commit: str) -> PullRequest:
        """Wait until a pull request shows what was pushed.  Raises ``BranchMoved`` where it shows something else."""
        for _ in range(LOOKS):
            if found.sha == commit:
                return found
            await asyncio.sleep(self.look_seconds)  # a host shows a push a moment later
            found = await forge.pull_request(remote, found.number)
        if found.sha != commit:
            raise BranchMoved(
                f"Pull request {found.number} does not show the commit that was pushed: somebody pushed to {found.head} "
                "meanwhile, or the host is slow. Its text was left as it is. Publish again."
            )
        return found

    async def comment(
        self, remote: Remote, number: int, text: str, key: str, footer: str = "", hand: Hand | None = None
    ) -> str:
        """Write on a pull request once for a key, whatever fails; returns the remark's id."""
        forge = self.forges.forge(remote)
        mark = f"<!-- threadwright:{hashlib.sha256(key.encode()).hexdigest()[:20]} -->"
        written = _written(text, f"{footer}\n{mark}".strip(), hand)

        async def there() -> str:
            remarks = await forge.remarks(remote, number)
            return next((each.id for each in reversed(remarks) if mark in each.text), "")

        if found := await there():
            return found
        reach("publish.comment.before")
        try:
            made = await _by_hand(hand, forge, lambda by: by.comment(remote, number, written))
        except ForgeUnclear:
            made = await there()
            if not made:
                raise
        reach("publish.comment.after")
        return made


def _written(text: str, footer: str, hand: Hand | None) -> str:
    """A text as it stands at the host; in a person's name without what calls or orders, since others act on what they say."""
    cut = text.strip()[:BODY_CHARACTERS]
    return f"{rules.orderless(cut) if hand is not None else cut}\n\n{footer}".strip()


async def _by_hand(hand: Hand | None, ours: Forge, write: Callable[[Forge], Awaitable[T]]) -> T:
    """Write as the person, or as the bot where the host does not let them: then nothing was written before."""
    if hand is not None:
        try:
            return await write(hand.forge)
        except (TokenRefused, RightMissing, RepositoryGone) as refused:
            await hand.refused(refused)
    return await write(ours)


class _Taken:
    """A commit of a thread as it comes into the thread's own repository, and from there to the host."""

    def __init__(self, mirror: Mirror, apart: Path, thread: str, work: AtWork, hosted: Hosted, target: str) -> None:
        self._mirror, self._apart, self._git = mirror, apart, mirror.git
        self._mark = hashlib.sha256(thread.encode()).hexdigest()[:24]
        self._thread, self.commit, self.open = thread, work.commit, work.open
        self.hosted, self.target = hosted, target
        """``target`` is the branch that the work is for."""
        self._base = ""
        self.files: tuple[str, ...] = ()
        """What the commits change, to be read."""
        self.commits = 0

    async def take_in(self, world: RealWorld, folder: str, base: str) -> None:
        """Take the commit out of the sandbox, every object checked.  Raises ``NotPublished``."""
        self._base = base
        if not base:
            raise NotPublished(
                "The branch that the work is for is not there at the host. An empty repository needs a first commit, "
                "which a person makes at the host."
            )
        tips = await self._mirror.tips()
        pack = await packed(world, folder, self.commit, tips)
        await self._run("index-pack", "--stdin", "--fix-thin", "--strict", f"--max-input-size={PACK_BYTES}", stdin=pack)
        try:
            known = "".join(f"^{tip}\n" for tip in tips).encode()
            await self._run("rev-list", "--objects", "--quiet", "--stdin", self.commit, stdin=known)
            merge_base = await self._run("merge-base", base, self.commit, ok=(0, 1))
        except GitFailed as failed:
            raise NotPublished(f"Parts of the commits are missing in the checkout: {failed}") from failed
        since = merge_base.decode().strip()
        if not since:
            raise NotPublished(
                "The commits do not build on the branch that the work is for. Begin from origin's branch."
            )
        count = await self._run("rev-list", "--count", f"{base}..{self.commit}")
        self.commits = int(count)
        if not self.commits:
            raise NotPublished("There is nothing to publish: commit your changes first (git add, git commit).")
        self.files = tuple(os.fsencode(path).decode("utf-8", "replace") for path in await self._differing(since))
        if len(self.files) > MOST_PATHS:
            raise NotPublished(f"{len(self.files)} files differ, which nobody can look through. Publish in parts.")
        await self._run("update-ref", f"refs/threadwright/{self._mark}/taken", self.commit)
        reach("publish.taken")

    async def unlike_the_base(self) -> tuple[str, ...]:
        """Paths that are otherwise in the branch that the work is for, as it is now.

        A commit that builds on an old state changes nothing of it, and yet what it brings to the host is that state.
        They are byte for byte (``os.fsdecode``), for git and for rules.
        """
        return await self._differing(self._base)

    async def question(self, paths: Sequence[str]) -> NeedsYes:
        """What a person is asked before workflows change.  Raises ``NotPublished`` where they could not see all of it."""
        names = ", ".join(one_line(path, 80) for path in paths[:6]) + (" and more" if len(paths) > 6 else "")
        if len(paths) > SHOWN_PATHS:
            raise NotPublished(TOO_LONG.format(names=names))
        shown = await self._run(
            "diff-tree", "-p", "--text", "--full-index", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames",
            self._base, self.commit, "--", *(f":(literal){path}" for path in paths),
        )  # fmt: skip
        try:
            text = shown.decode()
        except UnicodeDecodeError:
            text = "\0"
        if not text.strip() or "\0" in text:
            raise NotPublished(NO_TEXT.format(names=names))
        if len(text) > SHOWN_CHARACTERS:
            raise NotPublished(TOO_LONG.format(names=names))
        return NeedsYes(
            f"changes workflows, which run with the repository's rights: {names}", state_of(self.commit), text
        )

    async def everything(self) -> str:
        """All that its commits bring along, one by one: who, the message, the difference; cut where nobody would read on."""
        shown = await self._run(
            "log", "--reverse", "--patch", "--stat", "--diff-merges=first-parent", "--no-color", "--no-ext-diff",
            "--no-textconv", "--no-renames", "--no-notes", "--no-show-signature", "--no-decorate", "--no-mailmap",
            "--format=commit %h by %an <%ae>%n%B", f"{self._base}..{self.commit}",
        )  # fmt: skip
        text = shown.decode("utf-8", "replace").replace("\0", "\N{REPLACEMENT CHARACTER}")
        head = f"{self.commits} commits, {len(self.files)} files: {', '.join(one_line(path, 80) for path in self.files[:50])}"
        more = len(text) - SHOWN_CHARACTERS
        cut = f"\n… {more} characters more are not shown …" if more > 0 else ""
        return f"{head}\n\n{text[:SHOWN_CHARACTERS]}{cut}"

    async def _differing(self, base: str) -> tuple[str, ...]:
        """The paths in which the commit differs from another one.  Raises ``NotPublished`` where git names too many."""
        names = await self._run("diff-tree", "-r", "-z", "--no-renames", "--name-only", base, self.commit)
        if len(names) >= OUT_BYTES:  # what stood before that was not kept
            raise NotPublished("More files differ than I can look through. Bring the commits onto origin's branch.")
        return tuple(os.fsdecode(name) for name in names.split(b"\0") if name)

    async def branch(self, order: Order, forge: Forge) -> str:
        """The branch it goes to: as asked for, else the one that this thread has published to, else a new one."""
        ours = await self._pushed_before()
        branch = next(iter(ours)) if not order.branch and len(ours) == 1 else ""
        branch = branch or rules.branch_for(order.branch, order.title, self._thread)
        rules.check_branch(
            branch,
            self.hosted.default_branch,
            self.target,
            protected=await forge.is_protected(self.hosted.remote, branch),
        )
        return branch

    async def push(self, branch: str) -> bool:
        """Push with a lease; False where the branch was there already.  Raises ``BranchMoved``."""
        expected = (await self._pushed_before()).get(branch, "")
        address, ref = self._git.address(self._mirror.remote), f"refs/heads/{branch}"
        there = await self._at_host(address, ref)
        if there != self.commit:
            if there not in ("", expected) and not await self._is_ancestor(there):
                raise BranchMoved(
                    f"Somebody else pushed to {branch}; nothing was overwritten. Run `git fetch origin`, bring your commits "
                    f"onto origin/{branch}, and publish again; or name another branch."
                )
            reach("publish.push.before")
            try:
                await self._run(
                    "push", "--porcelain", "--no-verify", f"--force-with-lease={ref}:{there}", "--end-of-options", address,
                    f"{self.commit}:{ref}", remote=self._mirror.remote, seconds=PUSH_SECONDS,
                )  # fmt: skip
            except GitFailed:
                if await self._at_host(address, ref) != self.commit:
                    raise  # else the host has taken it, and failed afterwards
            reach("publish.push.after")
        await self._run("update-ref", f"refs/threadwright/{self._mark}/pushed/{branch}", self.commit)
        reach("publish.noted")
        return there != self.commit

    async def _at_host(self, address: str, ref: str) -> str:
        """The commit that the host has there now, '' where there is none."""
        listed = await self._run("ls-remote", "--end-of-options", address, ref, remote=self._mirror.remote)
        return next((line.split()[0] for line in listed.decode().splitlines() if line.endswith(f"\t{ref}")), "")

    async def _pushed_before(self) -> dict[str, str]:
        """The branches that this thread has pushed, with the commits it has pushed last."""
        under = f"refs/threadwright/{self._mark}/pushed/"
        out = await self._run("for-each-ref", "--format=%(refname) %(objectname)", under)
        return dict(line.removeprefix(under).rsplit(" ", 1) for line in out.decode().splitlines())

    async def _is_ancestor(self, commit: str) -> bool:
        try:
            await self._run("merge-base", "--is-ancestor", commit, self.commit)
        except GitFailed:
            return False
        return True

    async def _run(
        self,
        *arguments: str,
        stdin: bytes = b"",
        remote: Remote | None = None,
        seconds: float = 60.0,
        ok: Sequence[int] = (0,),
    ) -> bytes:
        return await self._git.run(self._apart, *arguments, stdin=stdin, remote=remote, seconds=seconds, ok=ok)
