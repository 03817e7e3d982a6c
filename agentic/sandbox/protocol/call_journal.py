"""Diaries of sandboxes: what a thread's sandbox did under which key, for the owner after the one that died.

A sandbox writes down what it was asked for under a key, before it begins and when it ended (``supervisor/diary.py``).  The
file lies beside the sandbox, where no command can open it, and is locked for as long as anybody could write to it.  An
intent names the diary in which its call would stand, so once the lock is free the diary says of each of its keys: it ended,
and with what; it began, and nobody knows what it came to; or it never began at all.

What is missing proves something only in a diary without gaps.  So a diary ends, and another begins under a new name, when
the machine was started anew (what was written last may be lost with a power failure), when a line is torn, when it has
grown large, and when a sandbox is made that does not write into it.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import fcntl
import hashlib
import logging
import os
import uuid
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, JsonValue, ValidationError

from agentic.ports.errors import SandboxError
from agentic.sandbox.protocol.channel import Reply

LARGE = 2 * 1024 * 1024
TITLE = 1024
GONE_SECONDS = 5.0
"""So long after its owner's death a sandbox may go on at most: its heartbeat and some more."""
LOOK_SECONDS = 0.02
BOOT = Path("/proc/sys/kernel/random/boot_id")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Remembered:
    """What is known of a key: nothing (not ``known``), that it never began (no ``reply``), or what it came to."""

    known: bool = False
    reply: Reply | None = None

    @property
    def never_began(self) -> bool:
        """It had no effect, and will have none."""
        return self.known and self.reply is None

    @property
    def fault(self) -> str:
        """Why the sandbox did not do it, '' where it did."""
        return (self.reply.text("message") or self.reply.text("error")) if self.reply is not None else ""


class _Title(BaseModel):
    diary: str
    boot: str


class _Line(BaseModel):
    began: str = ""
    ended: str = ""
    header: dict[str, JsonValue] | None = None
    payload: str = ""


@dataclass(frozen=True, slots=True)
class Diary:
    """A thread's diary on its way to the sandbox that will write it."""

    path: Path
    descriptor: int
    """Its lock goes with it to whoever gets it; -1 where there is none."""

    def unlock(self) -> None:
        """For a sandbox that opens it by its path, and locks it itself."""
        if self.descriptor >= 0:
            fcntl.flock(self.descriptor, fcntl.LOCK_UN)


def descriptors(diary: Diary | None) -> tuple[int, ...]:
    """What a supervisor that is a child process inherits of it."""
    return (diary.descriptor,) if diary is not None and diary.descriptor >= 0 else ()


def arguments(diary: Diary | None) -> tuple[str, ...]:
    """How that supervisor is told."""
    return tuple(part for descriptor in descriptors(diary) for part in ("--diary", str(descriptor)))


def path_of(state: Path, thread: str) -> Path:
    """Where a thread's diary lies."""
    return state / "diaries" / f"{hashlib.sha256(thread.encode()).hexdigest()[:24]}.jsonl"


@contextlib.contextmanager
def opened(path: Path) -> Generator[Diary]:
    """The diary, gone on with or begun anew, locked until all who were given its descriptor are gone.

    Raises ``SandboxError`` where an old one can neither be gone on with nor be ended: what would be missing in it would be
    taken for what never began.
    """
    try:
        descriptor = _ready(path)
    except OSError as error:
        end(path)
        log.warning("no diary is kept of a sandbox: %s", error)
        descriptor = -1
    try:
        yield Diary(path, descriptor)
    finally:
        if descriptor >= 0:
            os.close(descriptor)


def end(path: Path) -> None:
    """Nobody goes on with it: what its intents came to is unknown from now on."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise SandboxError(f"the diary {path} of an earlier sandbox cannot be removed: {error}") from error


async def look_up(path: Path, diary: str, key: str, *, written_by_us: bool = False) -> Remembered:
    """What a diary says of a key once nobody can write to it; nothing where that does not come about soon.

    ``written_by_us``: it is our own sandbox that writes it now, and no other.
    """
    if not written_by_us and not await _is_free(path):
        return Remembered()
    return await asyncio.to_thread(_looked_up, path, diary, key)


def _ready(path: Path) -> int:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = _locked(path)
    try:
        if not _goes_on(descriptor):
            os.ftruncate(descriptor, 0)
            os.write(descriptor, _Title(diary=uuid.uuid4().hex[:16], boot=_boot()).model_dump_json().encode() + b"\n")
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _locked(path: Path) -> int:
    """Where somebody still writes to it (a sandbox that is slow to go), that one becomes nobody's."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            end(path)
        except BaseException:
            os.close(descriptor)
            raise
        else:
            return descriptor


def _goes_on(descriptor: int) -> bool:
    size = os.fstat(descriptor).st_size
    if not 0 < size < LARGE or os.pread(descriptor, 1, size - 1) != b"\n":
        return False
    title = _title(os.pread(descriptor, TITLE, 0).partition(b"\n")[0])
    return title is not None and title.boot == _boot()


def _title(line: bytes) -> _Title | None:
    try:
        return _Title.model_validate_json(line)
    except ValidationError:
        return None


def _boot() -> str:
    return BOOT.read_text().strip()


async def _is_free(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        async with asyncio.timeout(GONE_SECONDS):
            while True:
                with contextlib.suppress(BlockingIOError):
                    fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
                    return True
                await asyncio.sleep(LOOK_SECONDS)
    except (OSError, TimeoutError):
        return False
    finally:
        os.close(descriptor)


def _looked_up(path: Path, diary: str, key: str) -> Remembered:
    try:
        title, *lines = path.read_bytes().split(b"\n")
    except OSError:
        return Remembered()
    found = _title(title)
    if found is None or found.diary != diary or found.boot != _boot():
        return Remembered()
    never = Remembered(known=True)
    seen = never
    for line in filter(None, lines):
        try:
            entry = _Line.model_validate_json(line)
        except ValidationError:
            never = Remembered()  # it may be the line that is missing
            continue
        if key in (entry.began, entry.ended):
            whole = entry.ended and entry.header is not None
            reply = Reply(entry.header or {}, base64.b64decode(entry.payload)) if whole else None
            seen = Remembered(known=reply is not None, reply=reply)
    return never if seen.never_began else seen
