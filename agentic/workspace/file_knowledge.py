"""What one agent knows of the files: the counterpart of the real world.

An agent may change only what it has seen.  So this remembers, for each path, the hash that the agent last read or wrote
and a snapshot to diff against.  A change by someone else makes a file stale; the agent's own writes do not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agentic.core.events.execution_events import StaleFile
from agentic.ports.runtime import Perception
from agentic.sandbox.protocol.results import Refusal, SeenChange
from agentic.text.line_diff import unified_diff

SNAPSHOT_BYTES = 64 * 1024
RECENT_CHANGES = 30
RECENT_SECONDS = 600.0
DIFF_LINES = 40
DIFF_CHARACTERS = 4_000


@dataclass(frozen=True, slots=True)
class SeenFile:
    """What the agent last saw of a file; ``text`` is '' where it was too large to keep."""

    sha: str
    text: str


def short_diff(path: str, before: str, after: str) -> str:
    """A unified diff, cut to a length that a prompt can bear."""
    lines = list(unified_diff(before.splitlines(), after.splitlines(), f"{path} (as you know it)", f"{path} (now)"))
    cut = "\n".join(lines[:DIFF_LINES])[:DIFF_CHARACTERS]
    return cut + ("\n… (the diff goes on)" if len(lines) > DIFF_LINES or len(cut) == DIFF_CHARACTERS else "")


class WorldModel:
    """What this agent has read and written.  ``agent`` names it in the world's list of changes."""

    def __init__(self, agent: str = "") -> None:
        self.agent = agent
        self.cursor = 0
        """The number of the last change this agent was told of; ``RealWorld.changes(cursor)`` goes on from here."""
        self.gaps = 0
        """As many gaps of the world's list of changes are made up for; see ``RealWorld.perceive``."""
        self._known: dict[str, SeenFile] = {}
        self._since: dict[str, str] = {}
        """What became of known files since, as far as this agent did it or was told."""
        self._recent: list[SeenChange] = []

    def note_read(self, path: str, sha: str, text: str) -> None:
        """The agent has seen this file as it is."""
        self._known[path] = SeenFile(sha, text if len(text) <= SNAPSHOT_BYTES else "")
        self._since.pop(path, None)

    def note_write(self, path: str, sha: str, text: str) -> None:
        """The agent wrote this file itself: it knows what stands there."""
        self.note_read(path, sha, text)

    def note_deleted(self, path: str) -> None:
        """The agent deleted this file."""
        self._known.pop(path, None)
        self._since.pop(path, None)

    def knows(self, path: str) -> SeenFile | None:
        """What the agent last saw of the file."""
        return self._known.get(path)

    def accounted(self) -> dict[str, str]:
        """The hash of each file that the agent knows, as it changed it since or was told."""
        return {path: self._since.get(path, known.sha) for path, known in self._known.items()}

    def is_behind(self, path: str, current_sha: str) -> bool:
        """Whether the file is another than the agent knows."""
        known = self._known.get(path)
        return known is not None and known.sha != current_sha

    def may_write(self, path: str, current_sha: str, current_text: str = "", who: str = "") -> Refusal | None:
        """None if the agent may write; ``current_sha`` is '' for a file that does not exist.

        A refusal shows the diff, and from then on the agent knows the file as it is now.  ``who`` changed it, as the end
        of a sentence.
        """
        if not current_sha:
            return None
        known = self._known.get(path)
        if known is None:
            return Refusal(f"{path} exists and you have not read it. Read it first, then write.")
        if known.sha == current_sha:
            return None
        diff = short_diff(path, known.text, current_text) if known.text and current_text else ""
        self.note_read(path, current_sha, current_text)
        hint = "Keep what is new in the diff, and write again." if diff else "Read it again, then write."
        if not diff:
            self._known.pop(path)
        by = f", {who}" if who else ""
        return Refusal(f"{path} changed since you read it{by}; nothing was written. {hint}", diff)

    def wants_text(self, changes: Sequence[SeenChange]) -> tuple[str, ...]:
        """The paths whose present text ``perceive`` needs for its diffs."""
        return tuple(self._overtaken(changes))

    def perceive(self, changes: Sequence[SeenChange], texts: Mapping[str, str], now: float) -> Perception:
        """Take the changes in; what is told: files of this agent that others changed, and recent changes by others."""
        stale = tuple(self._as_stale(seen, texts) for seen in self._overtaken(changes).values())
        for seen in changes:
            self.cursor = max(self.cursor, seen.number)
            if seen.by != self.agent:
                self._recent.append(seen)
            if seen.change.path in self._known:
                self._since[seen.change.path] = seen.change.sha_after
        self._recent = [seen for seen in self._recent if now - seen.at <= RECENT_SECONDS][-RECENT_CHANGES:]
        return Perception(stale=stale, changes=tuple(_tell(seen, now) for seen in self._recent))

    def _overtaken(self, changes: Sequence[SeenChange]) -> dict[str, SeenChange]:
        """The last change by another of each file that became another than this agent knows, and did not become it again."""
        last: dict[str, SeenChange] = {}
        for seen in changes:
            path = seen.change.path
            if not self.is_behind(path, seen.change.sha_after):
                last.pop(path, None)
            elif seen.by != self.agent:
                last[path] = seen
        return last

    def _as_stale(self, seen: SeenChange, texts: Mapping[str, str]) -> StaleFile:
        path = seen.change.path
        if seen.change.kind == "deleted":
            return StaleFile(path=path, diff="(it was deleted)", by=seen.who)
        known, text = self._known[path], texts.get(path, "")
        diff = short_diff(path, known.text, text) if known.text and text else ""
        return StaleFile(path=path, diff=diff, by=seen.who)


def _tell(seen: SeenChange, now: float) -> str:
    who = f" {seen.who}" if seen.who else ""
    return f"{seen.change.kind} {seen.change.path}{who}, {max(0, round(now - seen.at))} s ago"
