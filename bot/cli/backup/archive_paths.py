"""Which names a backup may hold, and as what: the places below a home that the bot itself writes.

A backup may come from somebody else, and the bot trusts what lies in its home: a link in place of a workspace maps a folder of
the machine into a sandbox, a program in ``sandboxes/`` is run.  So a name that is not in this list is refused.
"""

from __future__ import annotations

import re
from typing import Literal

from bot.config.home import (
    CHECKPOINTS,
    DATABASE,
    LESSONS,
    TASKS,
)

SETTINGS = "settings.env"
IGNORED = "sandboxes/ignored"
"""What people hid by ``.aiignore``, a file a thread."""
GUILD = "guild/guild.sqlite3"
DATABASES = (DATABASE, LESSONS, GUILD)
TREES = ("blobs", "guild/attachments", "workspaces", "roles", "rules", "watchers", "skills", "skill_copies")
"""Folders that are kept as they stand.  Which skills are approved is not: whoever brings a backup back says that anew."""
Kind = Literal["file", "folder", "link"]

_TASK = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_CHECKPOINT = re.compile(r"(?:packs/[0-9]{1,12}\.pack|manifests/[0-9]{1,12}-[0-9a-f]{1,64})")


def belongs(name: str, kind: Kind) -> bool:
    """Whether a backup holds something of this kind under this name, a path below the home."""
    parts = name.split("/")
    if "\0" in name or any(part in ("", ".", "..") for part in parts):
        return False
    if name == SETTINGS:
        return kind == "file"
    if parts[0] == TASKS:
        if len(parts) < 3 or not _TASK.fullmatch(parts[1]):
            return False
        parts = parts[2:]
    return kind in _kinds(parts)


def _kinds(parts: list[str]) -> tuple[Kind, ...]:
    name, tail = "/".join(parts), "/".join(parts[2:])
    if name in DATABASES:
        return ("file",)
    if name in TREES:
        return ("folder",)
    if parts[0] == "workspaces":
        if not parts[1].isalnum():
            return ()
        return ("file", "folder", "link") if tail else ("folder",)
    if parts[0] == CHECKPOINTS:
        return ("file",) if len(parts) == 4 and parts[1].isalnum() and _CHECKPOINT.fullmatch(tail) else ()
    if name.startswith(f"{IGNORED}/"):
        return ("file",) if len(parts) == 3 and tail.endswith(".json") and tail[: -len(".json")].isalnum() else ()
    return ("file", "folder") if any(name.startswith(f"{tree}/") for tree in TREES) else ()
