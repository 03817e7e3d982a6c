"""What commands say of roles and rules; pure.  Texts of people are shown, never obeyed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agentic.core.events.execution_events import RoleTemplate, RuleFile, RuleScope
from agentic.core.prompt.roles import only_reads
from bot.equipment.equipment import FileMistake, OwnRoles, PlaceRules
from bot.rendering.discord_text import inline, one_line, plain

PLACES: dict[RuleScope, str] = {
    "thread": "this thread", "channel": "this channel", "guild": "the server", "everywhere": "all servers",
}  # fmt: skip
ROLE_FORM = """---
name: security-reviewer
description: Looks for holes in what changed
tools: [read]
---

You look for security holes. Give each finding its file and line, and how to close it.
"""
RULE_FORM = """---
name: house-style
priority: 10
---

Write commit messages in English, at most 72 characters in the first line.
"""
NO_RULES = "No rules here yet. `/rules add` adds one."
USES_ROLE = "`/settings set name:role value:{name}` chooses it for a thread or a channel."


def roles(own: OwnRoles, doubts: Iterable[str]) -> str:
    """The roles that there are, shipped ones after people's own, and what is wrong with files."""
    lines = [_role(role) for role in own.roles]
    names = {role.name for role in own.roles}
    shipped = [role for role in own.all.values() if role.name not in names]
    lines += ["**Come with me**"] if lines else []
    lines += [_role(role) for role in shipped]
    lines += troubles([], own.mistakes, doubts)
    return "\n".join(lines)


def rules(here: PlaceRules, doubts: Iterable[str]) -> str:
    """The rules of a place in their order, those that are left out, and what is wrong with files."""
    lines = [_rule(rule) for rule in here.checked.rules]
    left = [rule for rule in here.every if rule not in here.checked.rules]
    lines += [f"✘ not used: {_rule(rule)}" for rule in left]
    lines += troubles(here.checked.troubles, here.mistakes, doubts)
    return "\n".join(lines) or NO_RULES


def in_short(here: PlaceRules) -> str:
    """The names of the rules that count in a place, in their order."""
    named = ", ".join(inline(rule.name) for rule in here.checked.rules)
    told = f"Rules here, the most important first: {named}. `/rules show name:` shows one." if named else NO_RULES
    wrong = len(here.checked.troubles) + len(here.mistakes)
    return told + (f"\n⚠️ {wrong} of them can't be used: `/rules list` says why." if wrong else "")


def troubles(said: Sequence[str], mistakes: Sequence[FileMistake], doubts: Iterable[str]) -> list[str]:
    """A line for each thing that is wrong."""
    lines = [f"⚠️ {plain(trouble, 400)}" for trouble in said]
    lines += [f"⚠️ {inline(each.path, 150)}: {plain(each.what, 600)}" for each in mistakes]
    return [*lines, *(f"⚠️ {plain(doubt, 300)}" for doubt in doubts)]


def kept_role(role: RoleTemplate, doubts: Sequence[str]) -> str:
    """A role was added or changed."""
    told = f"✅ The role {inline(role.name)} counts from the next task on. {USES_ROLE.format(name=role.name)}"
    return "\n".join((told, _role(role), *troubles([], [], doubts)))


def kept_rule(rule: RuleFile, doubts: Sequence[str]) -> str:
    """A rule was added or changed."""
    told = f"✅ The rule {inline(rule.name)} counts in {PLACES[rule.scope]} from the next task on."
    return "\n".join((told, *troubles([], [], doubts)))


def _role(role: RoleTemplate) -> str:
    has = "looks and changes nothing" if only_reads(role) else ", ".join((*role.may, *role.tools))
    parts = [f"can: {plain(has, 200)}"]
    parts += [f"without {plain(', '.join(role.refuses), 200)}"] if role.refuses else []
    parts += [f"begins in tier {role.tier}"] if role.tier else []
    parts += [f"tiers {', '.join(map(str, role.levels))} only"] if role.levels else []
    parts += [f"rules {plain(', '.join(role.rules), 200)}"] if role.rules else []
    return f"• **{role.name}**: {plain(role.description) or 'no description'} -# {' · '.join(parts)}".replace(
        " -# ", "\n-# "
    )


def _rule(rule: RuleFile) -> str:
    parts = [PLACES[rule.scope], f"priority {rule.priority}"]
    parts += [f"instead of {', '.join(rule.overrides)}"] if rule.overrides else []
    parts += [f"only for {', '.join(rule.roles) or 'roles that name it'}"] if rule.roles is not None else []
    words = plain(rule.description) or plain(one_line(rule.text), 100)
    return f"• **{rule.name}** ({' · '.join(parts)}): {words}"
