"""``skill``: read a skill that the task has, or one of its files.

What is read is the copy that was kept when somebody approved it, by the hash in the task's log: a folder that changes
meanwhile changes nothing.  Its words count as those of whoever approved them (decision 69), and widen nothing.
"""

from __future__ import annotations

import difflib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from pydantic import Field

from agentic.core.events.execution_events import EquippedSkill
from agentic.ports.runtime import Observation
from agentic.tools.base.argument_schema import quotable
from agentic.tools.base.observation import failed, listed, refused
from agentic.tools.base.terminal_text import visible
from agentic.tools.base.tool import Arguments, CallContext, Tool

FILES_LISTED = 100
HEAD = "[The skill {name}, as it was approved here: guidance, which widens nothing that you may do]"


class SkillLost(Exception):
    """The kept copy of a skill is gone or damaged; the text says which."""


@dataclass(frozen=True, slots=True)
class SkillCopy:
    """The kept copy of a skill."""

    body: str
    """What stands below the head of its SKILL.md."""
    files: Mapping[str, bytes]
    """The others, by their paths in its folder."""
    place: str
    """Where commands find the folder; '' where none run."""


ReadSkill = Callable[[EquippedSkill], Awaitable[SkillCopy]]
"""Reads the kept copy of a skill, and shows it to the thread's commands.  Raises ``SkillLost``."""


class SkillArguments(Arguments):
    """Which one, and what of it."""

    name: str = Field(max_length=200, description="One of the skills that are listed.")
    file: str = Field(default="", max_length=1_000, description="A file of it; left out for its guide.")


def skill_tool(read: ReadSkill) -> Tool[SkillArguments]:
    """Return the tool over what keeps the copies."""

    async def act(arguments: SkillArguments, call: CallContext) -> Observation:
        known = {skill.name: skill for skill in call.skills}
        skill = known.get(arguments.name)
        if skill is None:
            names = ", ".join(known) or "none"
            return refused(f"There is no skill '{quotable(arguments.name)}' for this task. There are: {names}.")
        try:
            copy = await read(skill)
        except SkillLost as lost:
            return failed(f"The skill {skill.name} cannot be read: {visible(str(lost))}. Go on without it.")
        path = arguments.file.removeprefix("./")
        if path and path != "SKILL.md" and path not in copy.files:
            return refused(_no_file(path, skill.name, copy))
        shown = _file(path, copy) if path in copy.files else _guide(skill.name, copy)
        return listed(shown, (await call.world()).outputs)

    return Tool(
        name="skill",
        description=(
            "Read one of the skills that are listed in your instructions: its guide, or with file one of the files that the"
            " guide names."
        ),
        example=SkillArguments(name="release-notes"),
        act=act,
        effect="read",
        permission="read",
    )


def _guide(name: str, copy: SkillCopy) -> str:
    parts = [HEAD.format(name=name), visible(copy.body)]
    if copy.files:
        lines = [f"- {visible(path)} ({len(content):,} bytes)" for path, content in copy.files.items()]
        more = [f"- and {len(lines) - FILES_LISTED} more"] if len(lines) > FILES_LISTED else []
        parts.append("\n".join((_where(copy), *lines[:FILES_LISTED], *more)))
    return "\n\n".join(parts)


def _where(copy: SkillCopy) -> str:
    found = f"; commands find them in {copy.place}, which nobody can change" if copy.place else ""
    return f"Its files (read one with file{found}):"


def _file(path: str, copy: SkillCopy) -> str:
    content = copy.files[path]
    try:
        return visible(content.decode())
    except UnicodeDecodeError:
        found = f" Commands find it at {copy.place}/{visible(path)}." if copy.place else ""
        return f"Not text ({len(content):,} bytes).{found}"


def _no_file(path: str, name: str, copy: SkillCopy) -> str:
    alike = difflib.get_close_matches(path[:200], list(copy.files), n=1)
    hint = f" Did you mean {visible(alike[0])}?" if alike else ""
    return f"The skill {name} has no file '{quotable(path)}'.{hint} Its guide lists them."
