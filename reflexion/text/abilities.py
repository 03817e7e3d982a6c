"""What doing a lesson would touch: a few typed abilities that whoever writes one declares, and another model reads.  Pure.

A lesson that touches any of them waits for a person; so does one of which nothing usable was declared.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal, cast, get_args

Ability = Literal[
    "secrets",
    "approvals",
    "network",
    "accounts",
    "rules",
    "remotes",
    "checks",
    "reports",
    "people",
    "lasting",
    "destroying",
]
Touches = tuple[Ability, ...] | None
"""The abilities; () where it touches none, None where nobody said so in words that can be used."""

NONE: Final = "none"
MEANING: Final[dict[Ability, str]] = {
    "secrets": "reads, shows, copies, stores or sends keys, tokens, passwords, .env files or what is typed into a login",
    "approvals": "approves, skips, answers or works round a question, a review or a consent of people, or does not ask",
    "network": "sends anything out, fetches or installs anything from elsewhere, or trusts what it cannot verify",
    "accounts": "makes, widens, borrows or changes accounts, roles, rights, permissions or access of anything",
    "rules": "sets instructions, limits or what a person said aside, or says whose words count",
    "remotes": "pushes, merges, publishes, releases or rewrites what others have or use",
    "checks": "skips, weakens, removes or falsifies tests, checks, linters, verification, pipelines or their results",
    "reports": "leaves something out of what people are told, or says something other than what happened",
    "people": "reads, gathers, keeps or hands on data of persons, or work and messages of others",
    "lasting": "sets up what runs later, by itself or outside of this task: hooks, start files, jobs, services",
    "destroying": "deletes, overwrites or resets what it did not make itself, or uses the machine for another purpose",
}
_NAMES: Final = frozenset(get_args(Ability))


def declared(value: object) -> Touches:
    """The abilities of a model's answer; None where it names none, or one that is not known."""
    given: Iterable[object] = cast("list[object]", value) if isinstance(value, list) else (value,)
    names = [each.strip().lower() if isinstance(each, str) else "" for each in given]
    if not names or not set(names) <= {*_NAMES, NONE}:
        return None
    return tuple(cast("list[Ability]", [name for name in MEANING if name in names]))


def abilities_text() -> str:
    """All of them with what they mean, for a prompt."""
    return "\n".join(f'- "{name}": it {meaning}' for name, meaning in MEANING.items())
