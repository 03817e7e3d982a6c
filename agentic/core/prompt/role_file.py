"""A role as a file: Markdown whose head says what the role may do and where it works, and whose text the model is told."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import get_args

from agentic.core.events.execution_events import Permission, RoleTemplate
from agentic.prompts.roles import FILES
from agentic.text.head_fields import HeadFields

EVERYTHING: tuple[Permission, ...] = get_args(Permission)
FIELDS = ("name", "description", "tools", "refuse", "tier", "levels", "rules", "other_family")
TEXT_CHARACTERS = 8_000
TIERS = (1, 4)
FINISH = "finish"


def read_role(text: str) -> RoleTemplate:
    """The role of a file.  Raises ``HeadMistakes``, with every mistake in it."""
    head = HeadFields(text, FIELDS)
    has, lacks = head.words("tools"), head.words("refuse") or ()
    permissions, named = _parted(has if has is not None else EVERYTHING)
    barred, refuses = _parted(lacks)
    may: tuple[Permission, ...] = tuple([one for one in permissions if one not in barred])
    if has is not None and not has:
        head.wrong("tools", f"it names none; name some of {', '.join(EVERYTHING)} or tools, or leave it out for all")
    elif not may and not named:
        head.wrong("refuse", "nothing is left; refuse less")
    for tool in (*named, *refuses):
        if "*" in tool[:-1]:
            head.wrong("tools" if tool in named else "refuse", f"“{tool}”: a * stands only at the end of a name")
    if both := [tool for tool in named if tool in refuses]:
        head.wrong("refuse", f"“{both[0]}” is in tools as well; take it out of one of them")
    if FINISH in refuses:
        head.wrong("refuse", f"every role needs {FINISH}; take it out")
    levels, tier = head.numbers("levels", *TIERS), head.number("tier", *TIERS)
    if tier and levels and tier not in levels:
        head.wrong("tier", f"it begins in tier {tier}, which is none of its levels; add {tier} to them")
    if not head.body or len(head.body) > TEXT_CHARACTERS:
        size = f"has {len(head.body):,} characters" if head.body else "is missing"
        head.wrong("text", f"what the model is told {size}; write 1 to {TEXT_CHARACTERS:,} below the head")
    role = RoleTemplate(
        name=head.name(),
        text=head.body,
        description=head.line("description", 200),
        may=may,
        tools=named,
        refuses=refuses,
        tier=tier,
        levels=levels,
        rules=head.names("rules") or (),
        other_family=head.flag("other_family"),
    )
    head.done()
    return role


@cache
def shipped() -> dict[str, RoleTemplate]:
    """The roles that ship with the code, by name; their heads are read once."""
    return {name: read_role(text) for name, text in FILES.items()}


def _parted(words: Sequence[str]) -> tuple[tuple[Permission, ...], tuple[str, ...]]:
    """Permissions, and names of tools."""
    named = tuple(word for word in words if word not in EVERYTHING)
    return tuple([permission for permission in EVERYTHING if permission in words]), named
