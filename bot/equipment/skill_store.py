"""Which skills somebody approved, by the hash of the whole folder, and the copies that were kept then.

``skills.json`` says what is approved where; ``skill_copies/<hash>/<name>/`` holds the files as they were approved, so that a
task, its children and whatever goes on from it keep reading them.  A place is ``home`` (``skills/`` in the home), a
server's threads without a repository, or a repository as one server uses it: an approval counts only there.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from agentic.sandbox.folder_removal import remove_tree
from agentic.stores.private_file import write_private
from bot.equipment.skill_folder import Skill, SkillUnusable, read_skill, skills_in, write_skill

FILE, FOLDER, COPIES = "skills.json", "skills", "skill_copies"
HOME = "home"
"""The place of skills that lie in the home."""
KEPT_SECONDS = 90 * 86_400.0
"""So long a copy stays that a task could read and that is not approved any more."""
SkillState = Literal["approved", "new", "changed", "damaged", "unusable"]


class SkillApproval(BaseModel):
    """That somebody approved a skill of a place, as it was then.  Who that was is not kept: nobody needs it."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    place: str
    name: str
    sha: str
    at: datetime


class _Approvals(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    approved: tuple[SkillApproval, ...] = ()


@dataclass(frozen=True, slots=True)
class FoundSkill:
    """A folder of a place: the skill, or what is wrong with it; and what was approved there under its name."""

    place: str
    name: str
    where: str
    """The folder, for people."""
    skill: Skill | None
    problem: str = ""
    approval: SkillApproval | None = None
    damaged: bool = False
    """What was kept of it when it was approved cannot be read."""

    @property
    def state(self) -> SkillState:
        """Whether a task may have it."""
        if self.skill is None:
            return "unusable"
        if self.approval is None:
            return "new"
        if self.approval.sha != self.skill.sha:
            return "changed"
        return "damaged" if self.damaged else "approved"


class SkillStore:
    """Owns the file and the copies; other processes may write them too, so the file is read before it is changed.

    ``elsewhere``: tasks on other machines read copies too, and take no note of it here.
    """

    def __init__(self, home: Path, *, elsewhere: bool = False) -> None:
        self._elsewhere = elsewhere
        self.folder = home / FOLDER
        self._path, self._copies = home / FILE, home / COPIES
        self._lock = threading.Lock()

    @property
    def trouble(self) -> str:
        """Why nothing counts as approved; '' where all is well."""
        return (
            ""
            if self._read() is not None
            else (f"{self._path} cannot be read, so no skill counts as approved. Delete it, and approve them again")
        )

    def found_in_home(self) -> tuple[FoundSkill, ...]:
        """The skills of the home, by name; of those that are there no more, what was approved of them is not told."""
        root = self.folder.resolve()  # whoever owns the home may lead it elsewhere
        return tuple(self.found(HOME, str(self.folder), skills_in(root)))

    def found(self, place: str, where: str, read: Iterable[tuple[str, Skill | SkillUnusable]]) -> Iterator[FoundSkill]:
        """Folders of a place, each with what was approved there under its name."""
        approved = {each.name: each for each in self.approved(place)}
        for name, one in read:
            skill, problem = (one, "") if isinstance(one, Skill) else (None, str(one))
            approval = approved.get(name)
            damaged = skill is not None and approval is not None and not self._kept(name, approval.sha)
            yield FoundSkill(place, name, f"{where}/{name}", skill, problem, approval, damaged)

    def approved(self, place: str) -> tuple[SkillApproval, ...]:
        """What was approved for a place, by name."""
        kept = self._read() or _Approvals()
        return tuple(sorted((each for each in kept.approved if each.place == place), key=lambda each: each.name))

    def approve(self, place: str, skill: Skill, at: datetime) -> None:
        """Let tasks have a skill as it is here, in the place of what was approved under its name.

        Raises ``OSError``, and ``SkillUnusable`` where the file of approvals cannot be read.
        """
        inner = tuple(replace(file, path=f"{skill.name}/{file.path}") for file in skill.files)
        copy = self._copies / skill.sha
        if not self._kept(skill.name, skill.sha):
            remove_tree(copy)
            copy.unlink(missing_ok=True)  # what is no folder
        write_skill(copy, inner)
        self._change(place, skill.name, SkillApproval(place=place, name=skill.name, sha=skill.sha, at=at))
        self._tidy(at)

    def remove(self, place: str, name: str) -> bool:
        """Let no further task have a skill; whether one was approved.  Raises as ``approve`` does."""
        was = any(each.name == name for each in self.approved(place))
        if was:
            self._change(place, name, None)
        return was

    def copy(self, name: str, sha: str) -> Skill:
        """A skill as it was approved.  Raises ``SkillUnusable`` where its copy is gone or is not what was approved."""
        kept = read_skill(self._copies / sha / name)
        if kept.sha != sha:
            raise SkillUnusable("its kept copy was changed; approve the skill again")
        return kept

    def before(self, one: FoundSkill) -> Skill | None:
        """A skill that changed, as it was when somebody approved it; None where it did not change or its copy is gone."""
        if one.approval is None or one.state != "changed":
            return None
        try:
            return self.copy(one.name, one.approval.sha)
        except SkillUnusable:
            return None

    def _kept(self, name: str, sha: str) -> bool:
        try:
            self.copy(name, sha)
        except SkillUnusable:
            return False
        return True

    def used(self, sha: str) -> None:
        """Take note that a task may read a copy: what nobody approves any more goes when no task can read it either."""
        with contextlib.suppress(OSError):
            os.utime(self._copies / sha)

    def _tidy(self, now: datetime) -> None:
        kept = self._read()
        if kept is None:
            return
        needed = {each.sha for each in kept.approved}
        for copy in self._copies.iterdir():
            with contextlib.suppress(OSError):
                if copy.name not in needed and now.timestamp() - copy.stat().st_mtime > KEPT_SECONDS:
                    remove_tree(copy)

    def _change(self, place: str, name: str, approval: SkillApproval | None) -> None:
        with self._lock:
            kept = self._read()
            if kept is None:
                raise SkillUnusable(self.trouble)
            others = tuple(each for each in kept.approved if (each.place, each.name) != (place, name))
            for before in set(kept.approved) - set(others) if self._elsewhere else ():
                self.used(before.sha)  # until now, it may be
            approved = others if approval is None else (*others, approval)
            write_private(self._path, _Approvals(approved=approved).model_dump_json())

    def _read(self) -> _Approvals | None:
        """As it stands on the disk; None where it cannot be read."""
        try:
            return _Approvals.model_validate_json(self._path.read_bytes())
        except FileNotFoundError:
            return _Approvals()
        except (OSError, ValidationError):
            return None
