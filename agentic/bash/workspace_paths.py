"""Paths of a shell as seen from the workspace, and folders that nobody needs to keep."""

from __future__ import annotations

import posixpath

from agentic.bash.command_output import UNKNOWN

HOME = "/workspace"
SCRATCH = "/tmp/made-by-mktemp"  # noqa: S108  # inside the sandbox
SCRATCHES = ("/tmp/", "/var/tmp/", "/dev/shm/", "~/.cache/")  # noqa: S108  # inside the sandbox


def inside(folder: str, path: str) -> str:
    """The path as seen from the workspace: relative where it lies there, else absolute, with ~ or unknown."""
    if path.startswith("~"):
        return path
    if UNKNOWN in folder:
        return path if path.startswith("/") else UNKNOWN
    if folder.startswith("~"):
        return posixpath.join(folder, path)
    base = folder if folder.startswith("/") else f"{HOME}/{folder}"
    joined = posixpath.normpath(path if path.startswith("/") else f"{base}/{path}")
    return "." if joined == HOME else joined.removeprefix(f"{HOME}/")


def absolute(folder: str) -> str:
    """A folder of the workspace as an absolute path."""
    return folder if folder.startswith(("/", "~", UNKNOWN)) else posixpath.normpath(f"{HOME}/{folder}")
