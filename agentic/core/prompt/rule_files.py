"""Rule files: what people want of every task in a place; which of them count, in which order, and which contradict others.

A rule with a higher priority comes first; of two alike, the one for the nearer place.  A rule of the same name for a nearer
place takes the place of a wider one.  Nothing is chosen silently: rules that contradict each other are left out and named.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple, get_args

from agentic.core.events.execution_events import RuleFile, RuleScope
from agentic.text.head_fields import HeadFields

FIELDS = ("name", "description", "priority", "overrides", "roles")
TEXT_CHARACTERS = 4_000
ALL_CHARACTERS = 12_000
"""Of all rules that count in one place: about 3,000 tokens of each request."""
PRIORITY = 1_000
SCOPES: tuple[RuleScope, ...] = get_args(RuleScope)
"""From the nearest to the widest."""


class CheckedRules(NamedTuple):
    """The rules of one place that can be used, in order, and what is wrong with them, in words for people."""

    rules: tuple[RuleFile, ...]
    troubles: tuple[str, ...]


def read_rule(text: str, scope: RuleScope) -> RuleFile:
    """The rule of a file.  Raises ``HeadMistakes``, with every mistake in it."""
    head = HeadFields(text, FIELDS)
    name, overrides = head.name(), head.names("overrides") or ()
    if name in overrides:
        head.wrong("overrides", "it names itself; take that out")
    if not head.body or len(head.body) > TEXT_CHARACTERS:
        size = f"has {len(head.body):,} characters" if head.body else "is missing"
        head.wrong("text", f"the rule {size}; write 1 to {TEXT_CHARACTERS:,} below the head")
    rule = RuleFile(
        name=name, text=head.body, description=head.line("description", 200),
        priority=head.number("priority", -PRIORITY, PRIORITY), overrides=overrides, roles=head.names("roles"), scope=scope,
    )  # fmt: skip
    head.done()
    return rule


def checked(files: Iterable[RuleFile]) -> CheckedRules:
    """The rules of a place, ordered, without those that contradict each other."""
    files = tuple(files)
    alone, doubles = _without_doubles(files)
    nearest: dict[str, RuleFile] = {}
    for rule in sorted(alone, key=lambda rule: SCOPES.index(rule.scope)):
        nearest.setdefault(rule.name, rule)
    circles = _circles(nearest)
    round_and_round = [
        f"The rules {', '.join(circle)} override each other, so none of them is used. Take one out of the `overrides` of "
        "another."
        for circle in circles
    ]
    usable = {name: rule for name, rule in nearest.items() if not any(name in circle for circle in circles)}
    lower = [
        (rule, nearest[name]) for rule in usable.values() for name in rule.overrides if _is_higher(nearest, name, rule)
    ]
    beneath = [
        f"The rule {rule.name} (priority {rule.priority}) overrides {other.name} (priority {other.priority}), which comes "
        f"first, so {rule.name} is not used. Give it at least priority {other.priority}, or take {other.name} out of its "
        "`overrides`."
        for rule, other in lower
    ]
    known = {rule.name for rule in files}
    nothing = [
        f"The rule {rule.name} overrides {name}, which is no rule here. Correct the name in its `overrides`, or take it out."
        for rule in nearest.values()
        for name in rule.overrides
        if name not in known
    ]
    out = {rule.name for rule, _ in lower}
    rules, size = _within(ordered(rule for name, rule in usable.items() if name not in out))
    return CheckedRules(rules, (*doubles, *round_and_round, *beneath, *nothing, *size))


def ordered(rules: Iterable[RuleFile]) -> tuple[RuleFile, ...]:
    """The highest priority first; of two alike, the nearer place."""
    return tuple(sorted(rules, key=lambda rule: (-rule.priority, SCOPES.index(rule.scope), rule.name)))


def in_force(rules: Sequence[RuleFile], role: str, named: Sequence[str]) -> tuple[RuleFile, ...]:
    """The rules that count for a role, which may name some itself; what one of these overrides is left out."""
    applying = [rule for rule in rules if rule.roles is None or role in rule.roles or rule.name in named]
    overridden = {name for rule in applying for name in rule.overrides}
    return tuple(rule for rule in applying if rule.name not in overridden)


_PLACES: dict[RuleScope, str] = {
    "thread": "this thread", "channel": "this channel", "guild": "the server", "everywhere": "all servers",
}  # fmt: skip


def _without_doubles(files: tuple[RuleFile, ...]) -> tuple[list[RuleFile], list[str]]:
    """The rules whose name stands once in its place, and what is said of the others."""
    counted: Counter[tuple[str, RuleScope]] = Counter((rule.name, rule.scope) for rule in files)
    told = [
        f"There are {count} rules {name} for {_PLACES[scope]}, so none of them is used. Rename or remove all but one."
        for (name, scope), count in counted.items()
        if count > 1
    ]
    return [rule for rule in files if counted[rule.name, rule.scope] == 1], told


def _is_higher(rules: dict[str, RuleFile], name: str, than: RuleFile) -> bool:
    return name in rules and rules[name].priority > than.priority


def _within(rules: tuple[RuleFile, ...]) -> tuple[tuple[RuleFile, ...], list[str]]:
    """The rules that have room, the first ones, and what is said of the others."""
    size = 0
    for place, rule in enumerate(rules):
        size += len(rule.text)
        if size > ALL_CHARACTERS:
            left = ", ".join(each.name for each in rules[place:])
            return rules[:place], [
                f"The rules here have more than {ALL_CHARACTERS:,} characters together, so the last ones are not used: "
                f"{left}. Shorten or remove some."
            ]
    return rules, []


def _circles(rules: dict[str, RuleFile]) -> list[tuple[str, ...]]:
    """The names of rules that override each other, directly or through others; each circle once."""
    reached: dict[str, set[str]] = {}
    for name in rules:
        seen, left = set[str](), [name]
        while left:
            for other in rules[left.pop()].overrides:
                if other in rules and other not in seen:
                    seen.add(other)
                    left.append(other)
        reached[name] = seen
    circles = {
        tuple(sorted(other for other in seen if name in reached[other]))
        for name, seen in reached.items()
        if name in seen
    }
    return sorted(circles)
