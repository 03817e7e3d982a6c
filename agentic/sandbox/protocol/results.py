"""What the world answers: frozen values, so that a result can be recorded, compared and shown as it was."""

from __future__ import annotations

from dataclasses import dataclass, field

from agentic.core.events.execution_events import FileChange

COMMAND = 80
"""So many characters of a command are told to others."""

__all__ = [
    "BackgroundState",
    "Changes",
    "DirEntry",
    "Edit",
    "ExecResult",
    "FileChange",
    "FileStat",
    "FileText",
    "GrepHit",
    "GrepResult",
    "Listing",
    "OutputPage",
    "PipeEnd",
    "PythonResult",
    "Refusal",
    "SeenChange",
    "Unpacked",
]


@dataclass(frozen=True, slots=True)
class Changes:
    """Files that changed since the scan before; ``more`` counts those left out of ``files``."""

    files: tuple[FileChange, ...] = ()
    more: int = 0


@dataclass(frozen=True, slots=True)
class PipeEnd:
    """How a command ended whose input and output were the owner's; ``words`` is the end of its standard error."""

    exit_code: int | None
    signal: int | None
    killed_reason: str = ""
    words: bytes = b""


@dataclass(frozen=True, slots=True)
class ExecResult:
    """A command that ended.

    ``output`` is stdout and stderr as they came, cut to head and tail where ``truncated``; the whole of it is then
    paged by ``output_ref``.  ``killed_reason`` says why we ended it ('' if it ended by itself); ``left_running`` names the
    processes that it left behind (they run on until they are cancelled).
    """

    exec_id: str
    exit_code: int | None
    signal: int | None
    output: bytes
    truncated: bool = False
    output_ref: str = ""
    output_size: int = 0
    duration: float = 0.0
    timed_out: bool = False
    killed_reason: str = ""
    changes: Changes = field(default_factory=Changes)
    left_running: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """The command ended by itself with exit code 0."""
        return self.exit_code == 0 and not self.killed_reason

    @property
    def text(self) -> str:
        """The output as text; what is no UTF-8 or NUL is replaced."""
        return self.output.decode("utf-8", "replace").replace("\0", "�")


@dataclass(frozen=True, slots=True)
class PythonResult:
    """Code that ran in the thread's interpreter; ``error`` is the traceback, ``restarted`` says the state was lost."""

    output: bytes
    error: str = ""
    truncated: bool = False
    output_ref: str = ""
    duration: float = 0.0
    timed_out: bool = False
    killed_reason: str = ""
    restarted: bool = False
    changes: Changes = field(default_factory=Changes)
    figures: tuple[str, ...] = ()
    """Pictures that it drew, as files of the workspace."""

    @property
    def ok(self) -> bool:
        """The code ran to its end."""
        return not (self.error or self.killed_reason)

    @property
    def text(self) -> str:
        """The output as text."""
        return self.output.decode("utf-8", "replace").replace("\0", "�")


@dataclass(frozen=True, slots=True)
class BackgroundState:
    """A background command; ``output`` is what came since ``offset``, ``next_offset`` is where to go on."""

    exec_id: str
    running: bool
    exit_code: int | None
    signal: int | None
    output: bytes
    next_offset: int
    killed_reason: str = ""


@dataclass(frozen=True, slots=True)
class FileStat:
    """A path of the workspace; kind is file, dir, link or other."""

    path: str
    kind: str
    size: int
    mtime_ns: int
    sha: str = ""


@dataclass(frozen=True, slots=True)
class FileText:
    """Lines ``offset`` … of a file; ``sha`` and ``size`` are those of the whole file.

    ``lossy``: some bytes are no UTF-8 and were replaced, so this text must not be written back whole.
    """

    path: str
    text: str
    sha: str
    size: int
    total_lines: int
    offset: int = 0
    lossy: bool = False


@dataclass(frozen=True, slots=True)
class DirEntry:
    """One name in a folder."""

    name: str
    kind: str
    size: int


@dataclass(frozen=True, slots=True)
class Listing:
    """Paths or entries; ``more`` says that there are further ones."""

    entries: tuple[DirEntry, ...] = ()
    more: bool = False


@dataclass(frozen=True, slots=True)
class GrepHit:
    """One line that matches (or stands around one that does, ``context``)."""

    path: str
    line: int
    text: str
    context: bool = False


@dataclass(frozen=True, slots=True)
class GrepResult:
    """What a search found; ``more`` says that the limit cut it."""

    hits: tuple[GrepHit, ...] = ()
    files_searched: int = 0
    more: bool = False


@dataclass(frozen=True, slots=True)
class OutputPage:
    """Bytes ``offset`` … of a saved output; ``size`` is the whole; ``hits`` are there when a pattern was given."""

    ref: str
    data: bytes
    offset: int
    size: int
    hits: tuple[GrepHit, ...] = ()
    more: bool = False

    @property
    def text(self) -> str:
        """The page as text."""
        return self.data.decode("utf-8", "replace").replace("\0", "�")


@dataclass(frozen=True, slots=True)
class Unpacked:
    """What came out of an archive; ``skipped`` says of each entry left out, why."""

    files: tuple[str, ...] = ()
    size: int = 0
    skipped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace ``old`` by ``new``; ``old`` must stand there exactly once unless ``every``."""

    old: str
    new: str
    every: bool = False


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a write is refused, in words for the agent, with the diff it has not seen."""

    reason: str
    diff: str = ""


@dataclass(frozen=True, slots=True)
class SeenChange:
    """A change of the workspace as the world saw it: numbered, with its time (monotonic seconds) and who did it."""

    number: int
    at: float
    by: str
    """Who acted; '' where it happened outside of all calls."""
    change: FileChange
    how: str = ""
    """The command that did it; of a change outside of all calls, what runs in the background and may have done it."""

    @property
    def who(self) -> str:
        """Who did it and how, as the end of a sentence; '' where nobody knows."""
        command = f"`{' '.join(self.how.split())[:COMMAND]}`" if self.how else ""
        if self.by:
            return f"by {self.by}{f' with {command}' if command else ''}"
        return f"perhaps by {command} in the background" if command else ""
