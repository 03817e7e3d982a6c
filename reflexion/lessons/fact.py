"""Facts that an agent was to remember: of a server, or of a repository in it.  Pure.

A fact is one sentence with where it is from: thread, execution, turn, who had asked, and what strangers' words had been
read by then.  With such words, or with words that a lesson would be kept apart for, it waits until a person approves it.
The same words are the same fact.  A newer one takes the place of one that it says the opposite of, or that it names, and
both say so; what a person approved stands against an agent's word.  The facts of a scope are few, so that each change is
a function of all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from agentic.core.events.execution_events import Frozen, Level, Person
from agentic.core.events.ids import digest
from agentic.core.fold.exposure import vouched_for
from reflexion.lessons.contradictions import opposed
from reflexion.text.words import stem, terms_of, weight

FactStatus = Literal["active", "waiting", "replaced"]
MOST, MOST_WAITING = 200, 30
"""Facts of one scope that are used, and those that wait for a person."""
ROOM: dict[FactStatus, int] = {"active": MOST, "waiting": MOST_WAITING, "replaced": MOST}
SOURCES = 5
"""So many of the tasks that said it are kept, the first and the latest."""
UNUSED, UNDECIDED = timedelta(days=180), timedelta(days=30)
"""A fact that is not used for so long goes, unless a person approved it; one that waits or was replaced goes sooner."""
RECALLED, ALIKE = 5, 0.5
ERASED = "erased"
"""In place of a person who approved a fact."""
_WORD = re.compile(r"[^\W_]+")
_ARTICLES = frozenset(("a", "an", "the"))


class FactScope(Frozen):
    """Where a fact holds: in a server, or of one ``repository`` in it.  Direct messages: in their ``thread`` alone."""

    guild: str = ""
    thread: str = ""
    repository: str = ""


@dataclass(frozen=True, slots=True)
class Workplace:
    """The repository of a thread."""

    repository: str
    """Its key: ``host/owner/name``."""
    private: bool


class FactSource(Frozen):
    """A call that said it; ``read``: what strangers' words its task had read, in words."""

    call: str
    execution: str
    thread: str
    turn: int = 0
    asked_by: str = ""
    """The id of the person whose task it was."""
    asked_level: Level = "viewer"
    """The right they had then; the least where that was not recorded."""
    read: tuple[str, ...] = ()
    at: datetime


class Fact(Frozen):
    """One sentence that is remembered."""

    id: str
    scope: FactScope
    text: str
    status: FactStatus = "active"
    note: str = ""
    """Why it waits."""
    sources: tuple[FactSource, ...]
    private: bool = False
    """Its task had something private at hand."""
    replaces: str = ""
    replaced_by: str = ""
    approved_by: str = ""
    """The id of the person who approved it; '' where nobody had to."""
    created: datetime
    used: datetime | None = None
    """When it was last said, recalled or approved."""


def fact_id(scope: FactScope, text: str) -> str:
    """The same words in the same scope give the same id."""
    words = [word for word in _words(text) if word not in _ARTICLES]
    return "f" + digest("fact", scope.guild, scope.thread, scope.repository, " ".join(words), length=7)


def remembered(known: Sequence[Fact], new: Fact) -> tuple[Fact, ...]:
    """All facts of the scope with this one; without it where there is no room.  The same call twice changes nothing."""
    facts = living(known, new.created)
    before = next((fact for fact in facts if fact.id == new.id), None)
    if before is not None and any(source.call == new.sources[0].call for source in before.sources):
        return facts
    others = [fact for fact in facts if fact.id != new.id]
    fact = new if before is None else _said_again(before, new)
    if before is None and sum(each.status == new.status for each in others) >= ROOM[new.status]:
        return facts
    against = [each for each in others if _gives_way(each, fact)]
    vouched = next((each.id for each in against if each.approved_by), "")
    if vouched and not fact.approved_by and fact.status == "active":
        note = f"it says something else than {vouched}, which a person approved"
        fact = fact.model_copy(update={"status": "waiting", "note": note, "replaces": vouched})
    elif against and not fact.replaces:
        fact = fact.model_copy(update={"replaces": against[0].id})
    return _standing(others, fact) if fact.status == "active" else (*others, fact)


def _said_again(before: Fact, new: Fact) -> Fact:
    """A fact that one more task says; what waits goes on waiting, and what was replaced is judged as if it were new."""
    first, *later = (*before.sources, *new.sources)
    known = new if before.status == "replaced" else before
    update = {
        "sources": (first, *later[-(SOURCES - 1) :]), "private": before.private or new.private, "created": before.created,
        "used": new.created, "replaced_by": "",
        "replaces": (new.status == "active" and new.replaces) or known.replaces,
    }  # fmt: skip
    return known.model_copy(update=update)


def approved(known: Sequence[Fact], id: str, by: str, at: datetime) -> tuple[Fact, ...]:
    """A person lets a fact be used; what it replaces is replaced from then on."""
    fact = next(fact for fact in known if fact.id == id)
    update = {"status": "active", "note": "", "approved_by": by, "used": at, "replaced_by": ""}
    return _standing([each for each in known if each.id != id], fact.model_copy(update=update))


def forgotten(known: Sequence[Fact], id: str) -> tuple[Fact, ...]:
    """The facts without one; one that it had replaced counts again."""
    back = {"status": "active", "replaced_by": ""}
    return tuple(fact.model_copy(update=back) if fact.replaced_by == id else fact for fact in known if fact.id != id)


def without_person(known: Sequence[Fact], person: str) -> tuple[Fact, ...]:
    """The facts without those that only tasks of one person said, and without the person in the others."""
    left: list[Fact] = []
    for fact in known:
        sources = tuple(source for source in fact.sources if source.asked_by != person)
        if sources:
            by = ERASED if fact.approved_by == person else fact.approved_by
            left.append(fact.model_copy(update={"sources": sources, "approved_by": by}))
    return tuple(left)


def names(fact: Fact, person: str) -> bool:
    """Whether a fact is from a task of a person, or approved by them."""
    return fact.approved_by == person or any(source.asked_by == person for source in fact.sources)


def foreign(fact: Fact, reader: Person) -> bool:
    """Whether some task that said it was neither the reader's nor of somebody trusted, or had read strangers' words.

    What a person approved is no stranger's word, whoever said it.
    """
    return not fact.approved_by and not all(
        not source.read and vouched_for(Person(id=source.asked_by, name="", level=source.asked_level), reader)
        for source in fact.sources
    )


def living(known: Iterable[Fact], now: datetime) -> tuple[Fact, ...]:
    """The facts that have not expired."""
    return tuple(fact for fact in known if not _is_over(fact, now))


def used(known: Sequence[Fact], ids: Iterable[str], now: datetime) -> tuple[Fact, ...]:
    """The facts, with those of these ids used now."""
    told = frozenset(ids)
    return tuple(fact.model_copy(update={"used": now}) if fact.id in told else fact for fact in known)


def recalled(known: Iterable[Fact], query: str, now: datetime) -> tuple[Fact, ...]:
    """The few facts in use that share most with a question, best first, newer ones before older ones."""
    asked = frozenset((*terms_of(query), *map(stem, _words(query))))
    scored = [(_shared(fact.text, asked), fact) for fact in living(known, now) if fact.status == "active"]
    found = sorted((pair for pair in scored if pair[0] > 0), key=lambda pair: (-pair[0], -pair[1].created.timestamp()))
    return tuple(fact for _, fact in found[:RECALLED])


def alike(known: Iterable[Fact], fact: Fact) -> tuple[Fact, ...]:
    """Other facts in use that are about much the same, which it may contradict."""
    return tuple(
        other
        for other in known
        if other.id not in (fact.id, fact.replaces) and other.status == "active" and _likeness(other, fact) >= ALIKE
    )[:3]


def _standing(others: Iterable[Fact], fact: Fact) -> tuple[Fact, ...]:
    """The facts where this one is used: those that it replaces are no longer."""
    gone = {"status": "replaced", "replaced_by": fact.id}
    return (*(other.model_copy(update=gone) if _gives_way(other, fact) else other for other in others), fact)


def _gives_way(other: Fact, fact: Fact) -> bool:
    """Whether a fact in use is the one that another was said to replace, or says the opposite of it."""
    if other.status != "active":
        return False
    return other.id == fact.replaces or (_likeness(other, fact) >= ALIKE and opposed(other.text, fact.text))


def _likeness(one: Fact, other: Fact) -> float:
    mine, theirs = ({stem(word) for word in _words(fact.text)} - _ARTICLES for fact in (one, other))
    return len(mine & theirs) / max(len(mine | theirs), 1)


def _shared(text: str, asked: frozenset[str]) -> float:
    return sum(weight(word) for word in asked & {*terms_of(text), *map(stem, _words(text))})


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _is_over(fact: Fact, now: datetime) -> bool:
    if fact.status == "active":
        return not fact.approved_by and (fact.used or fact.created) < now - UNUSED
    return (fact.used or fact.created) < now - UNDECIDED
