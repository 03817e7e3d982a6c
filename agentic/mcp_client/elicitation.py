"""What a server asks before it goes on, as a question to a person, and the answer as the server reads it.

The question is durable, so the call is not held open for it: it ends with the question, and begins again with the answer.  A
server of today's protocol gets its own opaque state back with it; one of an older protocol asks again from the start, and is
given what was answered before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast
from urllib.parse import urlsplit

import mcp_types as types
from pydantic import BaseModel, ConfigDict, JsonValue, TypeAdapter, ValidationError

from agentic.core.state.execution import CallReply
from agentic.core.text.foreign_text import one_line
from agentic.mcp_client.server_connection import Elicited, InputWanted
from agentic.ports.runtime import Question, QuestionPart

MOST_PARTS = 4
MOST_OPTIONS = 5
MOST_ROUNDS = 8
STATE_CHARACTERS = 64_000
"""Of what a server wants to have back."""
MESSAGE_CHARACTERS = 800
LABEL_CHARACTERS = 80
YES, NO, DONE, DECLINE = "Yes", "No", "Done", "Decline"
_DECLINES = frozenset(("decline", "no thanks", "refuse", "cancel"))
Value = str | int | float | bool | list[str] | None
_FORM = TypeAdapter[Elicited](Elicited)


class CannotAsk(Exception):
    """What a server asks cannot be put to a person; the message says why."""


class AnswerUnusable(Exception):
    """A person's answer is not what was asked for; the message says how."""


class _Left(BaseModel):
    """What a call leaves with its question."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    requests: dict[str, JsonValue]
    state: str | None = None
    afresh: bool = False


@dataclass(frozen=True, slots=True)
class _Part:
    """One thing to be asked: of which request, for which field ('' for a yes to the whole), and how."""

    key: str
    field: str
    text: str
    options: tuple[str, ...]
    kind: str


def question_of(server: str, tool: str, wanted: InputWanted) -> Question:
    """The question; raises ``CannotAsk``."""
    resume = _Left(
        requests={key: _FORM.dump_python(each, mode="json", by_alias=True) for key, each in wanted.requests.items()},
        state=wanted.state,
        afresh=wanted.afresh,
    ).model_dump_json()
    if len(resume) > STATE_CHARACTERS:
        raise CannotAsk("it sent more with its question than is kept")
    parts = _parts(wanted.requests)
    said = " ".join(one_line(each.message, MESSAGE_CHARACTERS) for each in wanted.requests.values())
    how = "" if any(DECLINE in part.options for part in parts) else f" Write “{DECLINE.lower()}” to refuse."
    lead = f"The MCP server `{server}` asks, before it goes on with `{tool}`: “{said}”{how}"
    if len(parts) == 1:
        only = parts[0]
        return Question(f"{lead}\n{only.text}".rstrip(), only.options, resume=resume)
    return Question(lead, parts=tuple(QuestionPart(part.text, part.options) for part in parts), resume=resume)


@dataclass(frozen=True, slots=True)
class GoesOn:
    """How a call begins again."""

    state: str | None = None
    responses: Mapping[str, types.ElicitResult] | None = None
    given: tuple[tuple[str, types.ElicitResult], ...] = ()


def goes_on(replies: Sequence[CallReply]) -> GoesOn:
    """What people answered, as the server reads it; raises ``AnswerUnusable``."""
    if not replies:
        return GoesOn()
    read = [(_Left.model_validate_json(reply.resume), reply) for reply in replies]
    last, reply = read[-1]
    if not last.afresh:
        return GoesOn(last.state, _responses(last, reply))
    given: list[tuple[str, types.ElicitResult]] = []
    for left, said in read:
        requests = _requests(left)
        given += [(requests[key].message, result) for key, result in _responses(left, said).items()]
    return GoesOn(given=tuple(given))


def declined(wanted: InputWanted) -> GoesOn:
    """Where nobody can answer, the answer is no."""
    no = types.ElicitResult(action="decline")
    if wanted.afresh:
        return GoesOn(given=tuple((each.message, no) for each in wanted.requests.values()))
    return GoesOn(wanted.state, dict.fromkeys(wanted.requests, no))


def _requests(left: _Left) -> dict[str, Elicited]:
    return {key: _FORM.validate_python(each) for key, each in left.requests.items()}


def _responses(left: _Left, reply: CallReply) -> dict[str, types.ElicitResult]:
    requests = _requests(left)
    parts = _parts(requests)
    if len(parts) == 1:
        said = {0: reply.text.strip() or reply.choice}
    else:
        said = {number: reply.answers.get(str(number + 1), "").strip() for number in range(len(parts))}
    content: dict[str, dict[str, Value]] = {key: {} for key in requests}
    refused: set[str] = set()
    for number, part in enumerate(parts):
        answer = said[number]
        if answer.casefold().strip(" .!") in _DECLINES:
            refused.add(part.key)
        elif part.field:
            content[part.key][part.field] = _value(part, answer)
    return {
        key: types.ElicitResult(action="decline")
        if key in refused
        else types.ElicitResult(
            action="accept", content=content[key] if isinstance(request, types.ElicitRequestFormParams) else None
        )
        for key, request in requests.items()
    }


def _parts(requests: Mapping[str, Elicited]) -> tuple[_Part, ...]:
    parts: list[_Part] = []
    for key, request in requests.items():
        parts += _of_url(key, request) if isinstance(request, types.ElicitRequestURLParams) else _of_form(key, request)
    if not parts:
        raise CannotAsk("it says neither what it wants to know nor what it goes on with")
    if len(parts) > MOST_PARTS:
        raise CannotAsk(f"it wants to know {len(parts)} things at once; at most {MOST_PARTS} can be asked")
    return tuple(parts)


def _of_url(key: str, request: types.ElicitRequestURLParams) -> list[_Part]:
    host = urlsplit(request.url).hostname or "?"
    if not request.url.startswith("https://") or not request.url.isprintable() or len(request.url) > 1_000:
        raise CannotAsk("it wants somebody to open an address that is no https:// one")
    text = f"It wants you to open an address at `{one_line(host, 200)}`, outside of Discord: `{request.url}`"
    return [_Part(key, "", text, (DONE, DECLINE), "url")]


def _of_form(key: str, request: types.ElicitRequestFormParams) -> list[_Part]:
    properties = request.requested_schema.get("properties")
    if not isinstance(properties, dict) or not properties:
        return [_Part(key, "", "", (YES, DECLINE), "yes")]
    return [_part(key, name, schema) for name, schema in cast(dict[str, object], properties).items()]


def _part(key: str, name: str, written: object) -> _Part:
    schema = cast(dict[str, object], written) if isinstance(written, dict) else {}
    title, what = schema.get("title"), schema.get("description")
    text = one_line(title if isinstance(title, str) and title else name, 120)
    if isinstance(what, str) and what:
        text += f": {one_line(what, 300)}"
    kind = schema.get("type")
    choices = _choices(schema)
    options: tuple[str, ...] = tuple(choices) if len(choices) <= MOST_OPTIONS else ()
    if kind == "boolean":
        options = (YES, NO)
    elif choices and not options:
        text += f" (one of: {', '.join(choices[:40])})"
    elif kind in ("number", "integer"):
        text += " (a number)"
    return _Part(key, name, text, options if kind != "array" else (), kind if isinstance(kind, str) else "string")


def _choices(schema: Mapping[str, object]) -> list[str]:
    """The values to choose from, by ``enum``, or by ``const`` of ``oneOf``; also those of a list."""
    items = schema.get("items")
    if schema.get("type") == "array" and isinstance(items, dict):
        return _choices(cast(dict[str, object], items))
    listed = schema.get("enum")
    if isinstance(listed, list):
        return [each[:LABEL_CHARACTERS] for each in cast(list[object], listed) if isinstance(each, str)]
    offered = schema.get("oneOf") or schema.get("anyOf")
    if not isinstance(offered, list):
        return []
    consts = [cast(dict[str, object], one).get("const") for one in cast(list[object], offered) if isinstance(one, dict)]
    return [each[:LABEL_CHARACTERS] for each in consts if isinstance(each, str)]


def _value(part: _Part, said: str) -> Value:
    """An answer as its field wants it."""
    try:
        if part.kind == "boolean":
            return {"yes": True, "true": True, "y": True, "no": False, "false": False, "n": False}[said.casefold()]
        if part.kind == "integer":
            return int(said.replace(",", ""))
        if part.kind == "number":
            return float(said.replace(",", ""))
    except (KeyError, ValueError):
        wants = "yes or no" if part.kind == "boolean" else "a number"
        raise AnswerUnusable(f"“{said[:100]}” is not {wants}, which {part.field!r} needs") from None
    if part.kind == "array":
        return [each.strip() for each in said.split(",") if each.strip()]
    return said


def readable(resume: str) -> bool:
    """Whether a call of this version can go on from what was left."""
    try:
        _Left.model_validate_json(resume)
    except ValidationError:
        return False
    return True
