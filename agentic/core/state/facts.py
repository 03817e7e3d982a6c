"""What the log can prove: commands with what they came to, and files with what became of them."""

from __future__ import annotations

from dataclasses import dataclass

from agentic.core.events.values import FileChange, Outcome


@dataclass(frozen=True)
class Ran:
    """A command that ran."""

    command: str
    exit_code: int | None = None
    """None where it did not end by itself, or goes on in the background."""
    cwd: str = "."
    tests: tuple[int, int, int] | None = None
    """(passed, failed, skipped) that it printed; all 0 where its runner found no test, None where none spoke."""
    changes: int = 0
    """How many changes of files were known when it had run; later ones came after it."""
    job: str = ""
    """It goes on in the background under this name."""


@dataclass(frozen=True)
class Unrun:
    """What a call was to run or to write that was denied, refused, cancelled or cut off."""

    what: str
    """A command, or the path of a file."""
    outcome: Outcome
    began: bool = False
    cwd: str = "."


@dataclass(frozen=True)
class Deeds:
    """Runs and changes oldest first."""

    runs: tuple[Ran, ...] = ()
    changes: tuple[FileChange, ...] = ()
    offered: frozenset[str] = frozenset()
    """Files whose last change stands on an offered branch, and no more in the workspace."""
    unrun: tuple[Unrun, ...] = ()
    """What did not run to its end, or not at all."""
    looked: bool = False
    """A tool that looks, acts or asks came to something; what only the agent itself keeps does not count."""
    acted: bool = False
    """One of them may have changed the world; a command that only looks does not."""
    achieved: bool = False
    """One of those did not fail."""
    used: frozenset[str] = frozenset()
    """The tools that came to something."""

    @property
    def commands(self) -> tuple[tuple[str, int | None], ...]:
        """Each command that ran, with its exit code."""
        return tuple((ran.command, ran.exit_code) for ran in self.runs)
