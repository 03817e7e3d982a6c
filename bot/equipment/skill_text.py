"""Skills in words, for chats and terminals: what there is, what is wrong with it and what to do; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice

from agentic.text.line_diff import unified_diff
from bot.equipment.skill_folder import Skill, SkillFile
from bot.equipment.skill_store import HOME, FoundSkill, SkillState
from bot.rendering.discord_text import inline, one_line, plain
from bot.rendering.unicode_safety import revealed

NONE = (
    "No skills. They are folders with a `SKILL.md`: in `skills/` in the bot's home, or in `.agents/skills/` of a thread's "
    "workspace (look there from its thread)."
)
SIGNS: Mapping[SkillState, str] = {"approved": "✅", "new": "⚠️", "changed": "⚠️", "damaged": "⚠️", "unusable": "✖"}
MEANING: Mapping[SkillState, str] = {
    "approved": "used where it fits",
    "new": "not approved yet",
    "changed": "changed since it was approved",
    "damaged": "its kept copy is damaged",
    "unusable": "can't be used",
}
WITHOUT = "⚠️ This task works without these skills:"
LISTED, TOLD = 60, 8
DIFFERENT_LINES = 400
SHOWN_CHARACTERS = 1_000_000
"""Of all files together; the others are only named."""


def said(one: FoundSkill) -> str:
    """What is to be said of one: whether it is used, else why not and what to do."""
    meaning = MEANING[one.state]
    if one.state == "approved":
        return meaning
    return f"{meaning}: {plain(one.problem, 300)}" if one.problem else f"{meaning}; {_how(one)}"


def _how(one: FoundSkill) -> str:
    if one.place == HOME:
        return f"whoever runs the bot can approve it: `threadwright skills approve {one.name}`"
    if one.place.startswith("folder:"):
        return f"you can approve it: `threadwright skills approve {one.name} --dir {one.place.removeprefix('folder:')}`"
    return f"an owner can look at it and approve it: `/skills approve name:{one.name}`"


def listed(found: Sequence[FoundSkill]) -> str:
    """A line for each, those that are used first."""
    ordered = sorted(found, key=lambda each: (each.state != "approved", each.name))
    lines = [f"{SIGNS[one.state]} **{plain(one.name, 64)}**{_purpose(one)}\n-# {said(one)}" for one in ordered[:LISTED]]
    more = [f"and {len(found) - LISTED} more"] if len(found) > LISTED else []
    return "\n".join((*lines, *more)) or NONE


def notice(found: Sequence[FoundSkill]) -> str:
    """What a thread is told of the skills that its task goes without; '' where there are none."""
    without = [one for one in found if one.state != "approved"]
    lines = [f"- {inline(one_line(one.name, 64))}: {said(one)}" for one in without[:TOLD]]
    more = [f"- and {len(without) - TOLD} more: `/skills`"] if len(without) > TOLD else []
    return "\n".join((WITHOUT, *lines, *more)) if lines else ""


def whole(one: FoundSkill, before: Skill | None) -> str:
    """All that whoever approves it should have seen: what it is for, what changed, its files, and what they say.

    A character that hides is written as its number.
    """
    skill = one.skill
    if skill is None:
        return revealed(f"{one.where}\n{MEANING[one.state]}: {one.problem}\n")
    parts = [f"{skill.name}: {MEANING[one.state]}\n{one.where}\n\nWhat it is for: {skill.description}"]
    if before is not None:
        parts.append("What changed since it was approved:\n" + "\n".join(_changed(before, skill)))
    parts.append("Its files:\n" + "\n".join(map(_row, skill.files)))
    room = SHOWN_CHARACTERS
    for file in skill.files:
        text = _text(file.content)
        room -= len(text or "")
        told = text if text is not None and room >= 0 else "(not shown: it is no text, or too long)"
        parts.append(f"----- {file.path} -----\n{told}")
    return revealed("\n\n".join(parts)) + "\n"


def _changed(before: Skill, now: Skill) -> list[str]:
    """The difference, file by file."""
    old, new = ({file.path: file for file in skill.files} for skill in (before, now))
    lines = [f"- {path} is gone" for path in old if path not in new] + [
        f"- {path} is new" for path in new if path not in old
    ]
    for path in (path for path in new if path in old and new[path] != old[path]):
        if new[path].runs != old[path].runs:
            lines.append(f"- {path} can {'now' if new[path].runs else 'no longer'} be executed")
        was, then = _text(old[path].content), _text(new[path].content)
        if was is None or then is None:
            lines.append(f"- {path} changed")
        elif was != then:
            lines.append(f"- {path} changed:")
            lines += islice(unified_diff(was.splitlines(), then.splitlines(), "approved", "now"), DIFFERENT_LINES)
    return lines


def _purpose(one: FoundSkill) -> str:
    return f": {plain(one.skill.description, 160)}" if one.skill is not None else ""


def _row(file: SkillFile) -> str:
    return f"- {file.path} ({len(file.content):,} bytes{', can be executed' if file.runs else ''})"


def _text(content: bytes) -> str | None:
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None
