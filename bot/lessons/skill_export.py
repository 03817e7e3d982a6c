"""A proven lesson as the folder of a skill: when it fits, what to do, and what it was measured to bring; pure.

Whoever gets the folder sees how far to trust it: the uplift with its interval stands in the head and in the guide.  Secrets of
known form are removed, and the folder has to pass our own reader.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from bot.equipment.skill_folder import DESCRIPTION_CHARACTERS, GUIDE, Skill, SkillFile, skill_from
from reflexion.lessons.lesson import Lesson
from reflexion.lessons.lifecycle import Showing, is_proven
from reflexion.measurement.uplift import Uplift, uplift_of
from reflexion.text.secrets import redact

SCOPES = {"thread": "one thread", "guild": "one Discord server", "global": "all servers of one bot"}
SLUG_CHARACTERS = 40
_NOT_OF_A_NAME = re.compile(r"[^a-z0-9]")


class NotExported(Exception):
    """Why a lesson is not exported, in words."""


def skill_of(lesson: Lesson, showings: Sequence[Showing]) -> Skill:
    """The skill.  Raises ``NotExported`` unless the lesson is proven, and measured against tasks without it."""
    if lesson.status != "active":
        raise NotExported(f"its status is {lesson.status}, and only an active one is proven")
    if not is_proven(lesson.life, lesson.author_trust):
        raise NotExported("too few tasks show that it helps; it was told in " + _times(lesson.life.shown, "task"))
    uplift = uplift_of(showings)
    if uplift is None:
        raise NotExported("it was never left out for comparison, so what it brings is not known yet")
    name = _name(lesson)
    return skill_from(name, (SkillFile(GUIDE, _guide(name, lesson, uplift).encode("utf-8", "replace")),))


def _name(lesson: Lesson) -> str:
    words = [word for word in _NOT_OF_A_NAME.sub(" ", lesson.trigger.lower()[:400]).split() if len(word) > 1]
    slug = ""
    for word in words:
        if len(slug) + len(word) >= SLUG_CHARACTERS:
            break
        slug = f"{slug}-{word}" if slug else word
    own = _NOT_OF_A_NAME.sub("", lesson.id.lower())[:16]
    return f"{slug}-{own}" if slug else f"lesson-{own}"


def _guide(name: str, lesson: Lesson, uplift: Uplift) -> str:
    trigger, action = (_one_line(redact(text)) for text in (lesson.trigger, lesson.action))
    found = _points(uplift)
    description = f"{action[:500]} Use when: {trigger[:400]}"[:DESCRIPTION_CHARACTERS]
    measured = {
        "uplift": found,
        "uplift-interval": f"95% from {_signed(uplift.low)} to {_signed(uplift.high)} points",
        "told": f"{uplift.shown_ok} of {uplift.shown} tasks went well with it",
        "left-out": f"{uplift.held_back_ok} of {uplift.held_back} tasks went well without it",
        "scope": SCOPES[lesson.scope.kind],
        "source": f"Threadwright lesson {lesson.id}",
    }
    head = [f"name: {name}", f"description: {_quoted(description)}", "metadata:"]
    head += [f"  {field}: {_quoted(value)}" for field, value in measured.items()]
    sure = "" if uplift.low > 0 else " The interval holds zero: it may bring nothing."
    error = (
        f"\n\nIt is recognised by this error: {_one_line(redact(lesson.error_signature))}"
        if lesson.error_signature
        else ""
    )
    return (
        "---\n" + "\n".join(head) + "\n---\n"
        f"# {trigger[:200]}\n\n## When\n\n{trigger}{error}\n\n## What to do\n\n{action}\n\n## What it brings\n\n"
        f"{measured['told'].capitalize()}; {measured['left-out']}, from which it was held back at random. That is {found}, "
        f"{measured['uplift-interval']}.{sure}\n\n## Where it comes from\n\n"
        f"A {lesson.kind} that Threadwright learned on {lesson.created:%Y-%m-%d} in {SCOPES[lesson.scope.kind]}, from "
        f"{_times(len(lesson.executions), 'task')} (lesson {lesson.id}{_by(lesson)}). Elsewhere it may do less.\n"
    )


def _by(lesson: Lesson) -> str:
    return {"model": ", in a model's words", "person": ", in a person's words", "operator": ", approved by a person"}[
        lesson.author_trust
    ]


def _quoted(text: str) -> str:
    """As YAML reads a text in double quotes, which JSON in ASCII is."""
    return json.dumps(text)


def _one_line(text: str) -> str:
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def _points(uplift: Uplift) -> str:
    return f"{_signed(uplift.difference)} points"


def _signed(share: float) -> str:
    return f"{round(100 * share):+d}"


def _times(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
