"""What metrics count of an ended span; pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bot.telemetry import names
from bot.telemetry.execution_spans import EndedSpan, Value
from bot.telemetry.names import Metric

Measure = tuple[Metric, float, Mapping[str, Value]]
_OF_CHAT = (names.OPERATION, names.PROVIDER, names.ASKED_MODEL, names.ANSWERING_MODEL)
_COUNTED = (
    (names.CHAT_INPUT, names.INPUT_TOKENS),
    (names.CHAT_OUTPUT, names.OUTPUT_TOKENS),
    (names.CHAT_READ, names.CACHE_READ),
    (names.CHAT_WRITE, names.CACHE_WRITE),
    (names.CHAT_REASONING, names.REASONING),
)


def measures_of(span: EndedSpan) -> Iterator[Measure]:
    """The values, each with the few attributes that a metric is split by: no thread, execution or question."""
    match span.kind:
        case "inference":
            yield from _of_request(span)
        case "tool":
            yield names.TOOL_SECONDS, span.seconds, _only(span, names.TOOL, names.TOOL_TYPE, names.AGENT, names.ERROR)
        case "wait":
            yield names.WAIT_SECONDS, span.seconds, _only(span, names.QUESTION_SORT, names.OUTCOME)
        case "agent":
            yield (
                names.AGENT_SECONDS,
                span.seconds,
                _only(span, names.OPERATION, names.AGENT, names.OUTCOME, names.ERROR),
            )
            yield names.AGENT_REQUESTS, span.requests, _only(span, names.AGENT)
            yield names.AGENT_CALLS, span.calls, _only(span, names.AGENT)


def _of_request(span: EndedSpan) -> Iterator[Measure]:
    asked, failed = _only(span, *_OF_CHAT), _only(span, *_OF_CHAT, names.ERROR)
    yield names.CHAT_SECONDS, span.seconds, failed
    for metric, name in _COUNTED:
        yield metric, _number(span, name), {**asked, names.MODALITY: "unknown"}
    yield names.EACH_INPUT, _number(span, names.INPUT_TOKENS), failed
    yield names.EACH_OUTPUT, _number(span, names.OUTPUT_TOKENS), failed
    yield names.SPEND, _number(span, names.USD), {**asked, **_only(span, names.PURPOSE)}


def _only(span: EndedSpan, *wanted: str) -> dict[str, Value]:
    return {name: span.attributes[name] for name in wanted if name in span.attributes}


def _number(span: EndedSpan, name: str) -> float:
    value = span.attributes.get(name, 0)
    return value if isinstance(value, int | float) else 0
