"""What has to be done to undo an execution: pure, from the workspace before it, after it, and now.

A path that differs between before and after was changed by the execution.  It is put back if it is still as the
execution left it; otherwise somebody changed it since, and it is left.  A repository's ``.git`` is one thing: half of its
files put back would be a broken repository, so where anything in it changed since, all of it is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from agentic.core.events.execution_events import FileChange
from agentic.workspace.file_names import readable
from agentic.workspace.snapshots.manifest import Entry, Manifest

_PASSING = frozenset({"index", "ORIG_HEAD", "FETCH_HEAD", "COMMIT_EDITMSG", "gc.log"})
"""Files of a repository that git writes anew without anything having happened."""
SINCE = "it was changed since"
GONE_ON = "the repository changed since (commits or merges)"
UNKNOWN = "it is not in the checkpoint"


@dataclass(frozen=True, slots=True)
class Plan:
    """``wanted``: how each path is to be (None = gone); ``left``: what is not touched, and why."""

    wanted: Mapping[str, Entry | None] = field(default_factory=dict[str, Entry | None])
    left: Mapping[str, str] = field(default_factory=dict[str, str])
    changed: int = 0
    """How many things the execution had changed."""


def unit_of(path: str) -> str:
    """What is put back as one: the path itself, or the ``.git`` it lies in."""
    parts = path.split("/")
    return "/".join(parts[: parts.index(".git") + 1]) if ".git" in parts else path


def changed_paths(before: Manifest, after: Manifest) -> tuple[str, ...]:
    """Paths that differ and of which both say something; sorted."""
    paths = before.entries.keys() | after.entries.keys()
    return tuple(sorted(path for path in paths if _differ(before, after, path)))


def changed_units(before: Manifest, after: Manifest) -> frozenset[str]:
    """The same as things that are put back as one, without folders and what git writes in passing."""
    paths = changed_paths(before, after)
    return frozenset(unit_of(path) for path in paths if not _passing(path) and not _is_folder(path, before, after))


def plan_undo(before: Manifest, after: Manifest, now: Manifest, disputed: Iterable[str] = ()) -> Plan:
    """What undoes the way from ``before`` to ``after``; ``disputed`` paths are known to have been changed since."""
    mine = changed_paths(before, after)
    touched = frozenset(disputed)
    broken = {unit_of(p) for p in changed_paths(after, now) if unit_of(p) != p and not _passing(p)}
    wanted: dict[str, Entry | None] = {}
    left: dict[str, str] = {}
    for path in mine:
        target, present = before.entries.get(path), now.entries.get(path)
        unit = unit_of(path)
        if unit in broken:
            left[unit] = GONE_ON
        elif not now.covers(path):
            left[path] = UNKNOWN
        elif _alike(target, present):
            continue
        elif unit == path and (path in touched or not _alike(after.entries.get(path), present)):
            if not _is_folder(path, before, after):
                left[path] = SINCE
        else:
            wanted[path] = target
    return Plan(wanted, left, len({unit_of(path) for path in mine if not _is_folder(path, before, after)}))


def unexplained(before: Manifest, now: Manifest, since: Iterable[FileChange]) -> tuple[FileChange, ...]:
    """Files that are now neither as they were before nor as these later changes left them; sorted."""
    left = {change.path: change for change in since}
    named = {readable(path): path for path in (*before.entries, *now.entries) if not path.isascii()}
    found: list[FileChange] = []
    for path in sorted({*changed_paths(before, now), *(named.get(path, path) for path in left)}):
        if _passing(path) or _is_folder(path, before, now) or not (before.covers(path) and now.covers(path)):
            continue
        change = left.get(readable(path))
        if change is not None and change.kind != "deleted" and not change.sha_after:
            continue  # how it was left is not known
        was = _sha(before.entries.get(path)) if change is None else change.sha_after
        if was != (present := _sha(now.entries.get(path))):
            kind = "deleted" if not present else "modified" if was else "added"
            found.append(FileChange(path=readable(path), kind=kind, sha_before=was, sha_after=present))
    return tuple(found)


def _sha(entry: Entry | None) -> str:
    return entry.sha if entry is not None and entry.kind == "file" else ""


def _differ(one: Manifest, other: Manifest, path: str) -> bool:
    return not _alike(one.entries.get(path), other.entries.get(path)) and one.covers(path) and other.covers(path)


def _alike(one: Entry | None, other: Entry | None) -> bool:
    return one.same(other) if one is not None else other is None


def _is_folder(path: str, before: Manifest, after: Manifest) -> bool:
    return all(entry is None or entry.kind == "dir" for entry in (before.entries.get(path), after.entries.get(path)))


def _passing(path: str) -> bool:
    unit = unit_of(path)
    return path != unit and path.removeprefix(unit + "/") in _PASSING
