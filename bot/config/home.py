"""The layout of ``THREADWRIGHT_HOME``.

threadwright.sqlite   events, inbox, outbox, lessons
copies/               what lessons and searches are found in, where the store is on AWS; can be deleted at any time
workspaces/<thread>/  the files of each thread
checkpoints/<thread>/ the files as they were before and after each execution
sandboxes/            homes of the sandboxes
mirrors/              bare copies of repositories
accounts/             tokens of people who linked an account, in no backup
code_index/           what is known of each workspace's code, to search it; can be deleted at any time
guild/                messages of the local guild
console-sessions.json browsers that somebody signed in to the console with, as hashes
roles/, rules/        roles and rules that people wrote, for all servers or in a folder for one place
mcp.json              MCP servers, as the owner names them; mcp-tools.json: the tools that were agreed to
mcp-tokens/           tokens of MCP servers that somebody signed in to, in no backup
watchers/             small agents that may look on, as files of whoever runs the bot
skills/<name>/        skills, as the owner puts them there; skills.json: what was approved; skill_copies/: as it was then
shared-….json         what other machines have of this home, where the store is on AWS; shared.lock: who is at it
tasks/<stamp>/        the same layout for each `threadwright task`
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import uuid
from collections.abc import Generator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass

DATABASE = "threadwright.sqlite"
LESSONS = "lessons.sqlite"
COPIES = "copies"
TASKS = "tasks"
CHECKPOINTS = "checkpoints"
SANDBOXES = "sandboxes"
MIRRORS = "mirrors"
ACCOUNTS = "accounts"
MCP_TOKENS = "mcp-tokens"
SHARED = (
    "roles", "rules", "watchers", "skills", "skill_copies", "skills.json", ACCOUNTS, "mcp.json", "mcp-tools.json", MCP_TOKENS
)  # fmt: skip
"""What processes on many machines share of their homes: what people wrote, agreed to and signed in to."""
CODE_INDEX = "code_index"
CONSOLE_SESSIONS = "console-sessions.json"
KEPT_TASKS, KEPT_COPIES = 50, 5
"""Tasks whose state is kept, and those of them whose snapshots are kept: each may be as large as the folder."""
_REASONS = {
    errno.EACCES: "it cannot be written to",
    errno.EPERM: "it cannot be written to",
    errno.EROFS: "it is on a disk that cannot be written to",
    errno.ENOSPC: "no room is left on the disk",
    errno.EDQUOT: "no room is left on the disk",
    errno.EEXIST: "it is a file, not a folder",
    errno.ENOTDIR: "a part of its path is a file, not a folder",
    errno.ENOENT: "it cannot be created there",
}


class HomeUnusable(Exception):
    """Nothing can be stored in ``THREADWRIGHT_HOME``; the message says why and what to do."""


def databases(home: Path) -> list[Path]:
    """Return every database below a home: the bot's own, then those of tasks, newest first."""
    tasks = sorted((home / TASKS).glob(f"*/{DATABASE}"), reverse=True)
    return [path for path in (home / DATABASE, *tasks) if path.is_file()]


def why_unusable(home: Path, error: OSError) -> str:
    """Say what is wrong with a home, in plain words."""
    if home.exists() and not home.is_dir():
        return _REASONS[errno.EEXIST]
    return _REASONS.get(error.errno or 0, error.strerror or str(error))


@contextmanager
def usable(home: Path) -> Generator[None]:
    """Raise ``HomeUnusable`` with the reason where something in this context cannot be created."""
    try:
        yield
    except OSError as error:
        reason = f"{home} cannot be used: {why_unusable(home, error)}."
        raise HomeUnusable(f"{reason} Set THREADWRIGHT_HOME to another folder.") from error


def own(home: Path) -> None:
    """Create the home, or restrict it to this user; raises ``HomeUnusable`` where another user could change its
    contents.
    """
    with usable(home):
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        if wrong := not_ours(home):
            raise HomeUnusable(f"{home} cannot be used: {wrong}. Set THREADWRIGHT_HOME to a folder of your own.")
        if wide(home) and home.stat().st_uid == os.geteuid():
            home.chmod(0o700)


def not_ours(home: Path) -> str:
    """Say why a home cannot be trusted; '' where it can."""
    about = home.stat()
    if about.st_uid in (os.geteuid(), 0):
        return ""
    return "it belongs to another user, who can change what is in it"


def wide(home: Path) -> bool:
    """Whether other users can reach the home."""
    return bool(stat.S_IMODE(home.stat().st_mode) & 0o077)


def new_task_folder(home: Path, now: datetime) -> Path:
    """Create the state of one `threadwright task`; the oldest beyond ``KEPT_TASKS`` are removed, snapshots earlier."""
    tasks = home / TASKS
    folder = tasks / f"{now:%Y%m%d-%H%M%S}-{uuid.uuid4().hex[:6]}"
    own(home)
    with usable(home):
        tasks.mkdir(parents=True, exist_ok=True)
        newest = sorted(tasks.iterdir(), reverse=True)
        for old in newest[KEPT_TASKS - 1 :]:
            shutil.rmtree(old, ignore_errors=True)
        for old in newest[KEPT_COPIES - 1 : KEPT_TASKS - 1]:
            shutil.rmtree(old / CHECKPOINTS, ignore_errors=True)
        folder.mkdir()
    return folder
