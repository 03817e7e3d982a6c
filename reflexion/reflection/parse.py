"""From a model's text to a validated reflection; what cannot be used is named so that the model can do better."""

from __future__ import annotations

import json
import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from reflexion.errors import ReflectionUnusable
from reflexion.lessons.lesson import Insight
from reflexion.text.abilities import Touches, declared
from reflexion.text.hidden_text import visible
from reflexion.text.secrets import redact

FIELD_CHARACTERS = 500
_NOTHING = frozenset(("na", "none", "null", "nil", "unknown", "nothing", "tbd", "todo", "undefined", "string", ""))
_TEMPLATE = re.compile(r"^(?:\{.*\}|<.*>|\[.*\])$", re.DOTALL)
_QUOTED = re.compile(r"`([^`]{12,})`|\"([^\"]{12,})\"|“([^“”]{12,500})”")
_LEFT_OUT = re.compile(r"…|\.\.\.|\[redacted\]")
_LETTERS = re.compile(r"[^a-z]")


def _meaningful(text: str) -> str:
    text = " ".join(visible(text).split())
    if _LETTERS.sub("", text.lower()) in _NOTHING or _TEMPLATE.match(text):
        raise ValueError("it says nothing: write a sentence that rests on the record")
    return redact(text)[:FIELD_CHARACTERS]


Said = Annotated[str, AfterValidator(_meaningful)]


class _Answered(BaseModel):
    """The five fields as a model writes them."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")

    what_worked: Said
    what_failed: Said
    root_cause: Said
    strategy_change: Said
    key_insight: Said


def touched_in(text: str) -> Touches:
    """What a model's answer says that its lesson touches; None where it says nothing that can be used."""
    return declared(first_object(text, "root_cause").get("touches"))


def parse_insight(text: str) -> Insight:
    """The reflection in a model's answer, inside fences or prose too; raises ``ReflectionUnusable``."""
    try:
        answered = _Answered.model_validate(first_object(text, "root_cause"))
    except ValidationError as error:
        problems = (f"{'.'.join(map(str, each['loc'])) or 'answer'}: {each['msg']}" for each in error.errors())
        raise ReflectionUnusable("; ".join(problems)) from error
    return Insight(**answered.model_dump())


def resting_on(insight: Insight, record: str) -> Insight:
    """The insight, if what it quotes of the failure stands in the record; raises ``ReflectionUnusable``.

    A quotation is a text between quotation marks or backticks that is long enough to be no name.  What the next attempt is
    to do may quote what nobody has run yet.
    """
    there = _flat(record)
    for field in ("what_failed", "root_cause"):
        for quoted in _QUOTED.findall(getattr(insight, field)):
            parts = [_flat(part) for part in _LEFT_OUT.split(next(filter(None, quoted)))]
            if not all(part in there for part in parts):
                raise ReflectionUnusable(f"{field} quotes {parts[0][:80]!r}, which the record does not hold")
    return insight


def _flat(text: str) -> str:
    return " ".join(text.split()).casefold().rstrip(".,;")


def first_object(text: str, field: str) -> dict[str, object]:
    """The first JSON object of a text with this field, else the first one at all; raises ``ReflectionUnusable``."""
    found: list[dict[str, object]] = []
    decoder = json.JSONDecoder(strict=False)
    at = text.find("{")
    while at >= 0:
        try:
            value, end = decoder.raw_decode(text, at)
        except (json.JSONDecodeError, RecursionError):
            end = at + 1
        else:
            found.append(value)
        at = text.find("{", end)
    if not found:
        raise ReflectionUnusable("there is no complete JSON object in the answer")
    return next((value for value in found if field in value), found[0])
