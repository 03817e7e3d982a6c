"""Bare mirrors of repositories, one for each, below the home: fetched here, shown read-only in sandboxes.

Nothing is collected or pruned in one, so that whoever reads it meanwhile finds what it was told of.  A mirror holds what
its host gave, and nothing else: what a thread commits is kept beside it, in a repository of the thread's own that borrows
the mirror's objects and that no sandbox is shown.  A mirror says which threads use it, and goes with the last of them.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import time
from collections.abc import AsyncGenerator, Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from agentic.ports.errors import GitFailed
from agentic.ports.forge import Hosted, Remote
from agentic.remotes.host_git import FETCH_SECONDS, MB, HostGit, Progress, TooLarge, size_of
from agentic.sandbox.shown_mirror import CONFIGURATION, configuration, place_of

MOST_TIPS = 2_000
LOCK_SECONDS = 5.0
LOOK_SECONDS = 0.05
"""Between two looks whether another process has let go of a mirror."""
APART, LOCKS = "threads", "locks"
"""Folders beside the mirrors: of what threads commit, and of a file for each mirror that says that somebody changes it."""
APART_BYTES = 256 * MB
"""What is kept of one thread's commits; more begins anew."""
REPOSITORY, USERS = "repository", "users"
"""In a mirror: the file that says what it is of, and the folder with a file for each thread that uses it."""
BRANCH = re.compile(r"(?!-)(?!.*(?:\.\.|//|@\{|\.lock(?:/|$)|\.$|/$|/\.))[A-Za-z0-9_][A-Za-z0-9_./+#@=-]{0,199}")
"""Names of branches that mean the same to git, to a shell and in an address."""
_HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Mirror:
    """One mirror: ``folder`` is its bare repository."""

    remote: Remote
    folder: Path
    git: HostGit

    @property
    def exists(self) -> bool:
        """Whether it was fetched whole once."""
        return (self.folder / "fetched").exists()

    def hide(self) -> None:
        """It counts as not fetched until it is fetched again."""
        (self.folder / "fetched").unlink(missing_ok=True)

    async def tip(self, ref: str) -> str:
        """The commit of a reference, '' where there is none."""
        out = await self.git.run(self.folder, "rev-parse", "-q", "--verify", f"{ref}^{{commit}}", ok=(0, 1, 128))
        written = out.decode().strip()
        return written if _HASH.fullmatch(written) else ""

    async def tips(self) -> tuple[str, ...]:
        """The commits of all branches and tags, the newest first."""
        out = await self.git.run(
            self.folder, "for-each-ref", f"--count={MOST_TIPS}", "--sort=-committerdate",
            "--format=%(if)%(*objectname)%(then)%(*objectname)%(else)%(objectname)%(end)", "refs/heads", "refs/tags",
        )  # fmt: skip
        return tuple(dict.fromkeys(line for line in out.decode().split() if _HASH.fullmatch(line)))

    async def branches(self) -> tuple[str, ...]:
        """Its branches, the one that was changed last first."""
        out = await self.git.run(
            self.folder,
            "for-each-ref",
            f"--count={MOST_TIPS}",
            "--sort=-committerdate",
            "--format=%(refname:lstrip=2)",
            "refs/heads",
        )
        return tuple(line for line in out.decode("utf-8", "replace").splitlines() if BRANCH.fullmatch(line))


class Mirrors:
    """All of them, below ``root``."""

    def __init__(self, root: Path, git: HostGit) -> None:
        self._root = root
        self.git = git
        self._locks: dict[str, asyncio.Lock] = {}
        self._tidied = set[str]()
        """Mirrors in which nothing is left of a process that died."""

    def of(self, remote: Remote) -> Mirror:
        """The mirror of a repository, fetched or not."""
        mark = hashlib.sha256(remote.key.encode()).hexdigest()[:8]
        return Mirror(remote, self._root / f"{remote.key[:120]}-{mark}.git", self.git)

    def lock(self, remote: Remote) -> contextlib.AbstractAsyncContextManager[None]:
        """Held by whoever changes the mirror."""
        return self._held(self.of(remote).folder)

    @contextlib.asynccontextmanager
    async def _held(self, folder: Path) -> AsyncGenerator[None]:
        """Nobody else changes a mirror, in this process or in another one that has the same home."""
        path = self._root / LOCKS / _mark(folder.name)
        async with self._locks.setdefault(folder.name, asyncio.Lock()):
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                while not _locked(descriptor):  # noqa: ASYNC110 - another process lets go of it
                    await asyncio.sleep(LOOK_SECONDS)
                yield
            finally:
                os.close(descriptor)

    async def fetched(self, hosted: Hosted, progress: Progress | None = None, thread: str = "") -> Mirror:
        """Bring a mirror up to date, for a thread that uses it from now on.  Raises ``RemoteError``; what it held stays."""
        mirror = self.of(hosted.remote)
        if hosted.kilobytes * 1024 > self.git.largest:
            raise self.git.too_large()
        async with self.lock(hosted.remote):
            try:
                try:
                    await self._fetch(mirror, progress, thread)
                except TooLarge:
                    if not mirror.exists:
                        raise
                    # it has grown by what the host no longer has: as it is now it may be small enough
                    await asyncio.to_thread(shutil.rmtree, mirror.folder, ignore_errors=True)
                    await self._fetch(mirror, progress, thread)
            except GitFailed:
                if not mirror.exists:  # half of a repository helps nobody, and holds the room of a whole one
                    await asyncio.to_thread(shutil.rmtree, mirror.folder, ignore_errors=True)
                raise
            if BRANCH.fullmatch(hosted.default_branch):
                await self.git.run(mirror.folder, "symbolic-ref", "HEAD", f"refs/heads/{hosted.default_branch}")
            (mirror.folder / "fetched").touch()
        return mirror

    async def _fetch(self, mirror: Mirror, progress: Progress | None, thread: str) -> None:
        await self._made(mirror)
        (mirror.folder / REPOSITORY).write_text(
            "\n".join((mirror.remote.host, mirror.remote.owner, mirror.remote.name))
        )
        (mirror.folder / USERS).mkdir(exist_ok=True)
        if thread:
            (mirror.folder / USERS / _mark(thread)).touch()
        await asyncio.to_thread(_swept, mirror.folder)
        try:
            await self.git.run(
                mirror.folder, "fetch", "--prune", "--no-tags", "--no-write-fetch-head", "--progress", "--force",
                "--end-of-options", self.git.address(mirror.remote),
                "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*",
                remote=mirror.remote, seconds=FETCH_SECONDS, progress=progress,
            )  # fmt: skip
        finally:
            await asyncio.to_thread(_swept, mirror.folder)
        if await asyncio.to_thread(size_of, mirror.folder) > self.git.largest:
            raise self.git.too_large()

    async def apart(self, mirror: Mirror, thread: str) -> Path:
        """The repository of a thread's own commits, ready; to be used while the mirror's lock is held."""
        folder = self._apart(thread) / mirror.folder.name
        kept = b""
        if folder.exists() and await asyncio.to_thread(size_of, folder) > APART_BYTES:
            kept = await self.git.run(folder, "for-each-ref", "--format=%(refname) %(objectname)")
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
        if not (folder / "HEAD").exists():
            folder.parent.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            folder.mkdir(parents=True, exist_ok=True)
            await self.git.run(folder, "init", "--bare", "--quiet", "--template=", str(folder))
        lent = folder / "objects/info/alternates"
        lent.parent.mkdir(parents=True, exist_ok=True)
        lent.write_text(f"{mirror.folder / 'objects'}\n")
        await asyncio.to_thread(_swept, folder)
        for line in kept.decode().splitlines():  # what was pushed came back into the mirror with a fetch
            with contextlib.suppress(GitFailed):
                await self.git.run(folder, "update-ref", *line.split(" ", 1))
        return folder

    async def forget_thread(self, thread: str) -> None:
        """Delete what a thread has committed."""
        await asyncio.to_thread(shutil.rmtree, self._apart(thread), ignore_errors=True)

    def _apart(self, thread: str) -> Path:
        return self._root / APART / _mark(thread)

    async def leave(self, thread: str, but: Remote | None = None) -> tuple[Path, ...]:
        """A thread uses no mirror any more, ``but`` this one; those go that nobody uses, and their folders are returned."""
        gone: list[Path] = []
        for mirror in self.all():
            note = mirror.folder / USERS / _mark(thread)
            if mirror.remote == but or not note.exists():
                continue
            async with self.lock(mirror.remote):
                note.unlink(missing_ok=True)
                if note.parent.exists() and not any(note.parent.iterdir()):
                    await asyncio.to_thread(shutil.rmtree, mirror.folder, ignore_errors=True)
                    gone.append(mirror.folder)
        return tuple(gone)

    def all(self) -> tuple[Mirror, ...]:
        """Those that were fetched since mirrors say what they are of."""
        found: list[Mirror] = []
        for note in sorted(self._root.glob(f"*/{REPOSITORY}")):
            with contextlib.suppress(OSError, ValueError):
                host, owner, name = note.read_text().split("\n")
                found.append(Mirror(Remote(host, owner, name), note.parent, self.git))
        return tuple(found)

    async def sweep(self, before: float, wanted: Callable[[Remote], bool], shown: Collection[Path]) -> tuple[Path, ...]:
        """Delete those that are not ``wanted`` and those that nobody fetched since ``before`` (seconds since 1970).

        What a running sandbox is ``shown`` stays for now, and what may be on its way here.  Returns the folders that are gone.
        """
        known = {mirror.folder: mirror.remote for mirror in self.all()}
        gone: list[Path] = []
        for folder in sorted(self._root.glob("*.git")):
            remote = known.get(folder)
            async with self._held(folder):
                if not folder.exists():
                    continue
                fetched = folder / "fetched"
                old = (fetched if fetched.exists() else folder).stat().st_mtime < before
                if folder not in shown and (old or (remote is not None and not wanted(remote))):
                    await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
                    gone.append(folder)
        return tuple(gone)

    async def _made(self, mirror: Mirror) -> None:
        if not (mirror.folder / "HEAD").exists():
            mirror.folder.mkdir(parents=True, exist_ok=True)
            await self.git.run(
                mirror.folder, "init", "--bare", "--quiet", "--template=", "--shared=0644", str(mirror.folder)
            )
        if mirror.remote.key not in self._tidied:
            self._tidied.add(mirror.remote.key)
            await asyncio.to_thread(_unlocked, mirror.folder)
        mirror.folder.chmod(0o755)
        remote = mirror.remote
        host = remote.host.partition(":")[0]
        web = f"{self.git.forges.host(remote.host).web}/{remote}"
        forms = (f"{web}.git", web, f"git@{host}:{remote}.git", f"git@{host}:{remote}", f"ssh://git@{host}/{remote}.git",
                 f"ssh://git@{host}/{remote}")  # fmt: skip
        for name, place in ((CONFIGURATION, place_of(mirror.folder)), (f"host.{CONFIGURATION}", str(mirror.folder))):
            path = mirror.folder / name
            path.write_text(configuration(place, forms))
            path.chmod(0o644)


def _mark(thread: str) -> str:
    return hashlib.sha256(thread.encode()).hexdigest()[:24]


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _swept(folder: Path) -> None:
    """Remove what a git that was ended has begun to take in; the lock is held, so none is at work."""
    for path in tuple((folder / "objects").rglob("*")):
        if path.name.startswith(("tmp_", "incoming-")):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def _unlocked(folder: Path) -> None:
    """Remove the locks of a git whose process died; one that is young may be at work."""
    for path in folder.rglob("*.lock"):
        with contextlib.suppress(OSError):
            if time.time() - path.lstat().st_mtime > LOCK_SECONDS:
                path.unlink()
