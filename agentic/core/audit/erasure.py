"""What in a log is one person's, and the log without it; pure.

A log is not changed by anything else.  Here its events stay in their places, with their kinds, times and numbers, and only
words and the person's name and id are taken out, wherever they stand: also in what was derived from them.  What the rules
decided must still be what they decide.  Where it hangs on the words of an answer (an amount, say), those stay and only the
name goes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from types import NoneType
from typing import Literal, cast, get_args, get_origin

from pydantic import BaseModel

from agentic.core.audit.verification import verify
from agentic.core.events.execution_events import (
    Asked,
    Decided,
    Envelope,
    Event,
    FeedbackGiven,
    Finished,
    InputReceived,
    OutboxItem,
    Person,
    QuotedMessage,
    Sort,
    Started,
)

ERASED = "[erased]"
WORDS: frozenset[Sort] = frozenset(
    ("task", "guidance", "answer", "correction", "queue", "side", "edited", "fork", "extend")
)
"""Sorts of input whose text is what somebody wrote; that of others is a vote or a number."""
LEAST = 8
"""So long a text is taken out wherever it stands; a shorter one only where the person said it."""
LEAST_ID = 15
"""Ids of Discord are no shorter; a shorter one may be any number."""
_PERSON = {"id", "name", "level"}
_TOLD = {"answer", "text", "summary", "remembered", "preview"}
"""What the rules say in words."""


@dataclass(frozen=True, slots=True)
class Share:
    """What a person has in one log and its outcome."""

    asked: bool = False
    """It is their task."""
    ended: bool = False
    messages: int = 0
    """What they said to it, the task not included."""
    votes: int = 0
    since: datetime | None = None
    names: frozenset[str] = field(default_factory=frozenset[str])
    texts: frozenset[str] = field(default_factory=frozenset[str])

    @property
    def any(self) -> bool:
        """There is something of theirs."""
        return bool(self.names)


def share_of(log: Sequence[Envelope], outcome: Sequence[Envelope], person: str) -> Share:
    """What a person has in a log and in what came after it."""
    asked, messages, votes = False, 0, 0
    names: set[str] = set()
    texts: set[str] = set()
    at: list[datetime] = []
    for envelope in (*log, *outcome):
        event = envelope.event
        found = {each["name"] for each in _people(event) if each["id"] == person}
        if not found:
            continue
        names |= found
        at.append(envelope.at)
        texts.update(_said_by(event, person))
        asked = asked or (isinstance(event, Started) and event.requester.id == person)
        votes += isinstance(event, FeedbackGiven) or (isinstance(event, InputReceived) and event.sort == "feedback")
        messages += isinstance(event, InputReceived) and event.sort in WORDS
    ended = any(isinstance(each.event, Finished) for each in log)
    said = frozenset(texts - _offered(log))
    return Share(asked, ended, messages, votes, min(at, default=None), frozenset(names), said)


def _offered(log: Sequence[Envelope]) -> set[str]:
    """What was put to people as an answer: whoever chose it said it in words that are not theirs."""
    asked = [each.event for each in log if isinstance(each.event, Asked)]
    options = [option for each in asked for part in (each, *each.parts) for option in part.options]
    return {words for option in options for words in (option.id, option.label)}


@dataclass(frozen=True, slots=True)
class Erasure:
    """Whose name and words are to go; ``alias`` takes the place of their id, the same in all logs."""

    person: str
    alias: str
    names: frozenset[str] = field(default_factory=frozenset[str])
    texts: frozenset[str] = field(default_factory=frozenset[str])


def erased(log: Sequence[Envelope], erasure: Erasure) -> list[Envelope]:
    """The log of another person's task without a person's name, id and words; the log of their own is deleted."""
    clean = _told_anew(without(log, erasure))
    if verify(clean).divergence is None or verify(log).divergence is not None:
        return clean
    return _told_anew([_without(envelope, erasure, answers=False) for envelope in log])


def _told_anew(log: list[Envelope]) -> list[Envelope]:
    """What the rules say of somebody by name, they say of nobody: words that they derive are derived again."""
    while (found := verify(log).divergence) is not None and _only_words_differ(found.logged, found.expected):
        log[found.seq - 1] = log[found.seq - 1].model_copy(update={"event": found.expected})
    return log


def _only_words_differ(one: Event, other: Event | None) -> bool:
    if other is None or one.kind != other.kind:
        return False
    before, after = one.model_dump(), other.model_dump()
    return all(before[key] == after[key] for key in before.keys() - _TOLD)


def without(stream: Sequence[Envelope], erasure: Erasure) -> list[Envelope]:
    """Any stream without them, whatever rules went by: what came after an end, say."""
    return [_without(envelope, erasure, answers=True) for envelope in stream]


def unsaid(item: OutboxItem, erasure: Erasure) -> OutboxItem:
    """What was said in Discord, as it is kept here, without them; there a name stands among the words."""
    cleaning = _Cleaning(erasure, _long(erasure), ())
    text = cleaning.value(item.text)
    for name in sorted(erasure.names, key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", ERASED, cast("str", text))
    return item.model_copy(
        update={"text": text, "options": cleaning.value(item.options), "parts": cleaning.value(item.parts)}
    )


def _long(erasure: Erasure) -> list[str]:
    return [text for text in sorted(erasure.texts, key=len, reverse=True) if len(text) >= LEAST]


def _without(envelope: Envelope, erasure: Erasure, *, answers: bool) -> Envelope:
    event = envelope.event
    own = frozenset(_said_by(event, erasure.person)) & erasure.texts
    kept: Collection[str] = ()
    if not answers:
        kept = erasure.texts if _answers(event) else ()
    cleaned = _Cleaning(erasure, [text for text in _long(erasure) if text not in kept], own - set(kept)).value(event)
    return envelope.model_copy(update={"event": cleaned})


def _answers(event: Event) -> bool:
    """What an answer says may be what the rules went by."""
    return isinstance(event, Decided) or (isinstance(event, InputReceived) and event.sort in ("answer", "extend"))


@dataclass(frozen=True, slots=True)
class _Cleaning:
    erasure: Erasure
    long: Sequence[str]
    """Texts that go wherever they stand, the longest first."""
    own: Collection[str]
    """Texts of this event that go where they are all that stands there."""

    def value(self, value: object) -> object:
        match value:
            case str():
                return self._text(value)
            case tuple():
                return tuple([self.value(each) for each in cast("tuple[object, ...]", value)])
            case list():
                return [self.value(each) for each in cast("list[object]", value)]
            case dict():
                return {key: self.value(each) for key, each in cast("dict[str, object]", value).items()}
            case Person(id=self.erasure.person):
                return value.model_copy(update={"id": self.erasure.alias, "name": ERASED})
            case QuotedMessage() if value.author in self.erasure.names:
                return value.model_copy(update={"author": ERASED, "text": ERASED})
            case BaseModel():
                free = {name: getattr(value, name) for name in _free(type(value))}
                return value.model_copy(
                    update={
                        name: self._named(each) if name == "by" else self.value(each) for name, each in free.items()
                    }
                )
            case _:
                return value

    def _named(self, by: object) -> object:
        """Who did it, as a person or by their id."""
        return self.erasure.alias if by == self.erasure.person else self.value(by)

    def _text(self, text: str) -> str:
        if text in self.own:
            return ERASED
        for each in self.long:
            text = text.replace(each, ERASED)
        person = self.erasure.person
        return text.replace(person, self.erasure.alias) if len(person) >= LEAST_ID else text


@cache
def _free(model: type[BaseModel]) -> tuple[str, ...]:
    """The fields of a model but those that hold one of our own words: a person may have said just that word."""
    return tuple(name for name, each in model.model_fields.items() if not _is_fixed(each.annotation))


def _is_fixed(annotation: object) -> bool:
    if get_origin(annotation) is Literal or annotation in (None, NoneType, ...):
        return True
    inside = get_args(annotation)
    return bool(inside) and all(map(_is_fixed, inside))


def _said_by(event: Event, person: str) -> Iterator[str]:
    """What a person wrote, in their words."""
    match event:
        case InputReceived() if event.author.id == person and event.sort in WORDS:
            yield from filter(None, (event.text,))
        case Decided() if event.by.id == person:
            yield from filter(None, (event.text, *event.answers.values()))
        case FeedbackGiven() if event.by.id == person:
            yield from filter(None, (event.why,))
        case Started() if event.requester.id == person:
            yield event.task
        case _:
            return


def _people(event: Event) -> Iterator[Mapping[str, str]]:
    """Everybody whom an event names, wherever in it."""
    yield from _people_in(event.model_dump(mode="json"))


def _people_in(value: object) -> Iterator[Mapping[str, str]]:
    if isinstance(value, list):
        for each in cast("list[object]", value):
            yield from _people_in(each)
    elif isinstance(value, dict):
        known = cast("dict[str, object]", value)
        if known.keys() == _PERSON:
            yield cast("Mapping[str, str]", known)
        for each in known.values():
            yield from _people_in(each)
