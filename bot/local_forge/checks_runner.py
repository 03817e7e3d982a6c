"""Runs a repository's own check on a commit, as continuous integration does: in a folder of its own, without a network.

What is run was written by an agent, so it runs behind bubblewrap or not at all.
"""

from __future__ import annotations

import asyncio
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bot.local_forge.forge_records import HostedRepository
from bot.local_forge.git_endpoint import git

SECONDS = 60.0
_WALLS = (
    "bwrap", "--unshare-all", "--die-with-parent", "--new-session",
    "--clearenv", "--setenv", "PATH", "/usr/local/bin:/usr/bin:/bin",
    "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib",
    "--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp",  # noqa: S108
)  # fmt: skip


async def run_check(repository: HostedRepository, sha: str, name: str, command: Sequence[str]) -> bool:
    """Check out a commit, run the command there, and keep how it came out; returns whether it passed."""
    repository.set_check(sha, name, "pending")
    with tempfile.TemporaryDirectory(prefix="local-forge-") as folder:
        await asyncio.to_thread(_unpack, repository.folder, sha, Path(folder))
        process = await asyncio.create_subprocess_exec(
            *_WALLS, "--bind", folder, "/work", "--chdir", "/work", *command,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            async with asyncio.timeout(SECONDS):
                out, _ = await process.communicate()
            passed, log = process.returncode == 0, out.decode("utf-8", "replace")
        except TimeoutError:
            process.kill()
            await process.wait()
            passed, log = False, f"It took longer than {SECONDS:.0f} s."
    repository.set_check(sha, name, "success" if passed else "failure", log)
    return passed


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
