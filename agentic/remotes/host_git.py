"""git of this machine, run only in bare mirrors that are ours.

Nothing of a repository runs here: a mirror has no work tree, no hooks and no configuration but ours; of the machine's own
configuration nothing is read.  A credential is in the environment of the one process that needs it, and in no argument,
file, log or message.  git has limits of memory, file size and time, and ends with this process, however that ends.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import re
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agentic.forges.hosts import Forges
from agentic.ports.errors import BranchMoved, GitFailed, RepositoryGone, RightMissing, TokenRefused
from agentic.ports.forge import Remote

GIT_SECONDS = 60.0
FETCH_SECONDS = 900.0
OUT_BYTES = 32 * 1024 * 1024
LOOK_SECONDS = 0.5
MB = 1024 * 1024
_SETTINGS = (
    "core.hooksPath=/dev/null", "core.fsmonitor=false", "core.sharedRepository=0644", "core.bigFileThreshold=1m",
    "core.askPass=/bin/false", "credential.helper=", "gc.auto=0", "maintenance.auto=false", "transfer.fsckObjects=true",
    "fetch.fsckObjects=true", "http.followRedirects=false", "submodule.recurse=false", "fetch.recurseSubmodules=false",
    "safe.directory=*", "protocol.version=2", "push.gpgSign=false", "core.pager=cat", "core.quotePath=false",
    *(
        f"fetch.fsck.{name}=warn"
        for name in ("zeroPaddedFilemode", "badTimezone", "missingSpaceBeforeDate", "missingSpaceBeforeEmail",
                     "missingNameBeforeEmail", "badEmail", "missingEmail", "zeroPaddedDate")
    ),
)  # fmt: skip
"""What old histories hold here and there is let through; what could do something is not."""
_PASSED_ON = (
    "HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "PATH",
)  # fmt: skip
_NOT_RUN = (126, 127)
"""What a shell exits with where a program is not there or does not start; git itself never does."""
_HELD = """ulimit -v "$1" && ulimit -f "$2" && ulimit -t "$3" || exit 126
{ read -r _ < "/proc/self/fd/$4"; kill -9 0; } < /dev/null > /dev/null 2>&1 &
shift 4
exec "$@"
"""
"""The command under limits.  A pipe whose other end is ours is its life: once that is closed, all of its group is ended."""
MEMORY = 2048 * MB
"""Beside a whole mirror, which git may map."""
CPU_SECONDS = 3_600
_PROGRESS = re.compile(rb"(Receiving objects|Resolving deltas|Writing objects):\s{1,4}(\d{1,3})%")

Progress = Callable[[str], None]
"""Is told how far something is, in words."""


class TooLarge(GitFailed):
    """A repository has more than may be fetched."""


@dataclass(frozen=True, slots=True)
class HostGit:
    """Runs git.  With ``ssh_key`` repositories are reached over SSH, else over HTTPS with the host's token."""

    forges: Forges
    ssh_key: Path | None = None
    largest: int = 2048 * MB
    """Bytes that a mirror may have; what is larger is not fetched to its end."""
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))

    def address(self, remote: Remote) -> str:
        """Where git reaches a repository."""
        if self.ssh_key is not None:
            return f"ssh://git@{remote.host.partition(':')[0]}/{remote}.git"
        return f"{self.forges.host(remote.host).web}/{remote}.git"

    async def run(
        self,
        folder: Path,
        *arguments: str,
        stdin: bytes = b"",
        remote: Remote | None = None,
        seconds: float = GIT_SECONDS,
        progress: Progress | None = None,
        ok: Sequence[int] = (0,),
    ) -> bytes:
        """What git writes.  With a ``remote`` it may reach that repository, with its credential.

        Raises ``RemoteError``; whatever it left half done in the mirror no reference leads to.
        """
        settings = [part for setting in _SETTINGS for part in ("-c", setting)]
        life, ours = os.pipe()
        try:
            process = await asyncio.create_subprocess_exec(
                "/bin/sh", "-c", _HELD, "git", *self._limits(), str(life),
                "git", "--git-dir", str(folder), *settings, *arguments,
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
                cwd="/", env=self._environment(remote), start_new_session=True, pass_fds=(life,),
            )  # fmt: skip
        except BaseException:
            os.close(ours)
            raise
        finally:
            os.close(life)
        watch = asyncio.create_task(self._watched(folder, process)) if remote is not None else None
        try:
            async with asyncio.timeout(seconds):
                out, said = await _spoken(process, stdin, progress)
        except TimeoutError:
            raise GitFailed(f"git took longer than {seconds / 60:.0f} minutes, so I stopped it.") from None
        finally:
            _end(process)
            os.close(ours)
            too_large = await _verdict(watch)
            await process.wait()
        if too_large:
            raise self.too_large()
        if process.returncode in _NOT_RUN:
            raise GitFailed("git can't be run on the bot's machine. Ask whoever runs it to install git.")
        if process.returncode not in ok:
            raise _problem(said.decode("utf-8", "replace"), remote)
        return out

    def _limits(self) -> tuple[str, str, str]:
        """As ``ulimit`` takes them: kilobytes of memory, blocks of a file, seconds of a processor."""
        return str((self.largest + MEMORY) // 1024), str((2 * self.largest + 64 * MB) // 512), str(CPU_SECONDS)

    def too_large(self) -> TooLarge:
        """That a repository has more than may be fetched."""
        return TooLarge(
            f"The repository has more than {self.largest // MB} MB, which is as much as I fetch. Whoever runs the bot can "
            "allow more with THREADWRIGHT_REPOSITORY_MB."
        )

    async def _watched(self, folder: Path, process: asyncio.subprocess.Process) -> bool:
        """End what fetches more than may be; True where it was ended."""
        while process.returncode is None:
            await asyncio.sleep(LOOK_SECONDS)
            if await asyncio.to_thread(size_of, folder) > self.largest:
                _end(process)
                return True
        return False

    def _environment(self, remote: Remote | None) -> dict[str, str]:
        passed = {name: self.environment[name] for name in _PASSED_ON if name in self.environment}
        clean = {
            **passed, "HOME": "/nonexistent", "LC_ALL": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_SYSTEM": "/dev/null", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_ATTR_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "/bin/false", "SSH_ASKPASS": "/bin/false",
            "GIT_NO_REPLACE_OBJECTS": "1", "GIT_ALLOW_PROTOCOL": "none",
        }  # fmt: skip
        if remote is None:
            return clean
        if self.ssh_key is not None:
            options = (
                "-F /dev/null -o BatchMode=yes -o IdentitiesOnly=yes -o StrictHostKeyChecking=yes "
                f"-o UserKnownHostsFile='{self.ssh_key.parent / 'known_hosts'}' -i '{self.ssh_key}'"
            )
            return clean | {"GIT_ALLOW_PROTOCOL": "ssh", "GIT_SSH_COMMAND": f"ssh {options}", "GIT_SSH_VARIANT": "ssh"}
        host = self.forges.host(remote.host)
        clean["GIT_ALLOW_PROTOCOL"] = "http" if host.plain else "https"
        if token := self.forges.token(host):
            stamp = base64.b64encode(f"x-access-token:{token}".encode()).decode()
            clean |= {
                "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": f"http.{host.web}/.extraHeader",
                "GIT_CONFIG_VALUE_0": f"Authorization: Basic {stamp}",
            }  # fmt: skip
        return clean


def size_of(folder: Path) -> int:
    """Bytes of the files below a folder."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += (Path(place) / name).lstat().st_size
    return total


async def _spoken(process: asyncio.subprocess.Process, stdin: bytes, progress: Progress | None) -> tuple[bytes, bytes]:
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    async with asyncio.TaskGroup() as group:
        out = group.create_task(_kept(process.stdout, OUT_BYTES, None))
        said = group.create_task(_kept(process.stderr, 64 * 1024, progress))
        group.create_task(_fed(process.stdin, stdin))
    await process.wait()
    return out.result(), said.result()


async def _fed(pipe: asyncio.StreamWriter, content: bytes) -> None:
    with contextlib.suppress(ConnectionError):  # it did not want all of it, and says why
        pipe.write(content)
        await pipe.drain()
    pipe.close()


async def _kept(pipe: asyncio.StreamReader, most: int, progress: Progress | None) -> bytes:
    kept = bytearray()
    while piece := await pipe.read(64 * 1024):
        kept += piece
        del kept[:-most]
        if progress is not None and (told := list(_PROGRESS.finditer(piece))):
            progress(f"{told[-1][1].decode().lower()}: {int(told[-1][2])} %")
    return bytes(kept)


def _end(process: asyncio.subprocess.Process) -> None:
    """End it with what it has begun (its transport helper, ssh)."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


async def _verdict(watch: asyncio.Task[bool] | None) -> bool:
    if watch is None:
        return False
    if not watch.done():
        watch.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        return await watch
    return False


def _problem(said: str, remote: Remote | None) -> Exception:
    """What git's words mean.  They are shown cut to a line; the credential is in none of them."""
    host = remote.host if remote is not None else "git"
    lower = said.lower()
    lines = [line for line in said.splitlines() if line.strip() and not line.startswith("remote: \n")]
    short = " ".join(" ".join(lines[-6:]).split())[-400:]
    if any(sign in lower for sign in ("authentication failed", "terminal prompts disabled", "could not read username")):
        return TokenRefused(
            f"{host} does not take the token: it is wrong, was revoked or has expired. Whoever runs the bot has to set a new "
            "one."
        )
    if "permission denied (publickey" in lower or "host key verification failed" in lower:
        return TokenRefused(f"{host} does not take the SSH key, or is not in the `known_hosts` beside it: {short}")
    if "stale info" in lower or "[rejected]" in lower or "fetch first" in lower or "cannot lock ref" in lower:
        return BranchMoved("Somebody else pushed to that branch meanwhile. Nothing was overwritten.")
    if any(
        sign in lower
        for sign in ("error: 403", "protected branch", "refusing to allow", "permission to", "pre-receive hook")
    ):
        return RightMissing(f"{host} did not allow it: {short}")
    if remote is not None and ("not found" in lower or "error: 404" in lower):
        return RepositoryGone(f"{host} has no repository {remote}, or does not show it to this token.")
    return GitFailed(f"git failed: {short or 'it said nothing'}")
