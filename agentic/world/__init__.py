"""The world outside the agent: sandboxes with their resident supervisor, files, and what an agent knows of them."""

from agentic.world.answers import changes_of, exec_result, python_result
from agentic.world.diaries import Remembered
from agentic.world.heartbeat import Heartbeat
from agentic.world.model import WorldModel
from agentic.world.place import Limits, Place
from agentic.world.pool import Choice, Rung, Sandboxes
from agentic.world.real import RealWorld
from agentic.world.results import (
    BackgroundState,
    Changes,
    DirEntry,
    Edit,
    ExecResult,
    FileChange,
    FileStat,
    FileText,
    GrepHit,
    GrepResult,
    Listing,
    OutputPage,
    PythonResult,
    Refusal,
    SeenChange,
    Unpacked,
)
from agentic.world.sandbox import Sandbox

__all__ = [
    "BackgroundState",
    "Changes",
    "Choice",
    "DirEntry",
    "Edit",
    "ExecResult",
    "FileChange",
    "FileStat",
    "FileText",
    "GrepHit",
    "GrepResult",
    "Heartbeat",
    "Limits",
    "Listing",
    "OutputPage",
    "Place",
    "PythonResult",
    "RealWorld",
    "Refusal",
    "Remembered",
    "Rung",
    "Sandbox",
    "Sandboxes",
    "SeenChange",
    "Unpacked",
    "WorldModel",
    "changes_of",
    "exec_result",
    "python_result",
]
