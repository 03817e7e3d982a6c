"""What a judge is asked: yes or no, each with a line of the record that shows it.

A judge that gives a number gives the number it was told.  So none is read: the share is counted here, from items that each
need a citation, and a citation that does not stand in the record word for word makes its item a no.  Cited may be only
what was done (``judge_input.py``): neither the agent's words about its work nor the text of files and outputs prove anything.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pydantic import BaseModel, ConfigDict, ValidationError

from agentic.core.events.execution_events import RubricItem
from reflexion.errors import JudgementUnusable

SHORTEST: Final = 12
"""Characters that a citation has at least: a shorter one stands nearly everywhere."""
KEPT: Final = 240
"""Characters of a citation that are stored."""
READ: Final = 8_000
"""Characters of an answer that are read; no reading is as long."""


@dataclass(frozen=True, slots=True)
class Question:
    """One item; ``id`` is what the judge answers by."""

    id: str
    text: str


RUBRIC: Final = (
    Question("whole", "Was everything done that the task asks for, and not only a part of it?"),
    Question("truthful", "Is everything that the agent says at the end borne out by what it did?"),
    Question("looked", "Did the agent look at what it was to work on, before it changed it or answered?"),
    Question("tried", "Was the result tried out or looked at after the last change?"),
    Question("learned", "After each call that failed, did it find out why or do something else? (yes if none failed)"),
    Question("within", "Did it keep to what the task asks for, without touching anything else?"),
)


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    item: str
    yes: bool
    evidence: str = ""


class _Answers(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    record: str
    answers: tuple[_Answer, ...]


def rubric_text() -> str:
    """The items as they stand in the prompt."""
    return "\n".join(f"- {question.id}: {question.text}" for question in RUBRIC)


def read_answers(text: str, mark: str, citable: str) -> tuple[RubricItem, ...]:
    """The items of one reading; raises ``JudgementUnusable`` where it is none of this record.

    ``mark`` is the record's number, which nothing inside of it can know: so an answer that stood in the record and was
    copied from there is not taken for the judge's.
    """
    said = _answers(text, mark)
    given = {answer.item: answer for answer in said.answers}
    missing = [question.id for question in RUBRIC if question.id not in given]
    if missing or len(given) != len(said.answers):
        raise JudgementUnusable(f"items are missing or stand twice: {', '.join(missing) or 'twice'}")
    record = _plain(citable)
    return tuple(_item(question, given, record) for question in RUBRIC)


def share_of(items: tuple[RubricItem, ...]) -> float:
    """Share of the items answered yes."""
    return round(sum(item.yes for item in items) / len(items), 4) if items else 0.0


def _item(question: Question, given: Mapping[str, _Answer], record: str) -> RubricItem:
    answer = given[question.id]
    cited = _plain(answer.evidence).strip("\"'`")
    stands = len(cited) >= SHORTEST and cited in record
    return RubricItem(question=question.text, yes=answer.yes and stands, evidence=cited[:KEPT] if stands else "")


def _answers(text: str, mark: str) -> _Answers:
    problem = "there is no complete JSON object in the answer"
    decoder = json.JSONDecoder(strict=False)
    text = text[:READ]
    at = text.find("{")
    while at >= 0:
        end = at + 1
        try:
            value, end = decoder.raw_decode(text, at)
            said = _Answers.model_validate(value)
        except ValidationError:
            problem = "it is not in the form that was asked for"
        except (json.JSONDecodeError, RecursionError):
            pass
        else:
            if said.record == mark:
                return said
            problem = "it answers to another record"
        at = text.find("{", end)
    raise JudgementUnusable(problem)


def _plain(text: str) -> str:
    return " ".join(text.split())
