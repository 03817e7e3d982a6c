"""Spans of logs: of every log that releases wrote, and of small ones made for the purpose."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from agentic.core.events.execution_events import (
    Asked,
    CallBlock,
    DeadlinePassed,
    Envelope,
    Event,
    Finished,
    HandedOver,
    ModelAnswered,
    ModelFailed,
    ModelRequested,
    Noted,
    OwnerChanged,
    Person,
    Started,
    ToolFinished,
    ToolRef,
    ToolStarted,
    Triaged,
    Usage,
    WorkspaceRestored,
)
from agentic.core.events.ids import child_id, span_id, trace_id
from agentic.core.events.upcasting import read_envelope
from bot.telemetry import names
from bot.telemetry.execution_spans import EndedSpan, ExecutionSpans, asked_of
from bot.telemetry.span_measures import measures_of

RUNS = sorted((Path(__file__).parents[2] / "golden").glob("*/runs/*.jsonl"))
BEGUN = datetime(2026, 11, 26, tzinfo=UTC)
ANN = Person(id="1", name="Ann")


def nobody(_parent: str, _child: str) -> str:
    return ""


def spans_of(*events: Event, execution: str = "x1", spans: ExecutionSpans | None = None) -> list[EndedSpan]:
    """What ends in a log with an event a second."""
    spans = spans or ExecutionSpans(execution, nobody)
    told: list[EndedSpan] = []
    for seq, event in enumerate(events, 1):
        at = BEGUN + timedelta(seconds=seq)
        told += spans.saw(Envelope(execution=execution, seq=seq, at=at, fence=1, event=event))
    return told


def began(**more: object) -> Started:
    return Started.model_validate(
        {"thread": "100", "task": "Go.", "requester": ANN, "tools": (ToolRef(name="look"),), **more}
    )


@pytest.mark.parametrize("path", RUNS, ids=lambda path: f"{path.parent.parent.name}-{path.stem}")
def test_every_log_of_a_release_becomes_whole_spans(path: Path) -> None:
    log = [read_envelope(line) for line in path.read_text(encoding="utf-8").splitlines()]
    spans = ExecutionSpans(log[0].execution, nobody)
    told = [span for envelope in log for span in spans.saw(envelope)]
    kinds = [envelope.event.kind for envelope in log]
    assert len({span.id for span in told}) == len(told)
    agents = [span for span in told if span.kind == "agent"]
    assert {span.parent for span in told} <= {"", *(span.id for span in agents)}
    assert all(BEGUN.min.replace(tzinfo=UTC) < span.begun <= span.ended for span in told)
    assert all(set(span.attributes) <= set(names.ATTRIBUTES) for span in told)
    if "finished" in kinds and "workspace_restored" not in kinds:
        requests = [span for span in told if span.kind == "inference"]
        assert len(requests) == kinds.count("model_requested")
        assert sum(span.requests for span in agents) == len([one for one in requests if one.error != "unfinished"])
        assert sum(span.calls for span in agents) == kinds.count("tool_finished")
        assert (
            agents[-1].attributes[names.USD]
            == pytest.approx(sum(e.event.usd or 0.0 for e in log if isinstance(e.event, ModelAnswered | ModelFailed)))
            or len(agents) > 1
        )
    for span in told:
        for metric, value, attributes in measures_of(span):
            assert value >= 0
            assert metric in names.METRICS
            assert not {names.CONVERSATION, names.EXECUTION, names.REQUEST, names.CALL, names.QUESTION} & set(
                attributes
            )


def test_a_request_counts_cached_tokens_as_sent_and_says_whose_model_it_was() -> None:
    requested = ModelRequested(request="r1", turn=2, tier=2, model="xai/grok-4", attempt=3)
    used = Usage(input=10, output=5, cache_read=100, cache_write=7, reasoning=2)
    answered = ModelAnswered(request="r1", blocks=(), stop="length", usage=used, usd=0.5, served_by="grok-4-0709")
    [span] = spans_of(began(), requested, answered)
    expected = {
        names.PROVIDER: "x_ai", names.ASKED_MODEL: "grok-4", names.ANSWERING_MODEL: "grok-4-0709", names.INPUT_TOKENS: 117,
        names.OUTPUT_TOKENS: 5, names.CACHE_READ: 100, names.CACHE_WRITE: 7, names.REASONING: 2, names.USD: 0.5,
        names.FINISH_REASONS: ("length",), names.TURN: 2, names.ATTEMPT: 3, names.CONVERSATION: "100",
    }  # fmt: skip
    assert {name: span.attributes[name] for name in expected} == expected
    assert (span.name, span.seconds, span.parent) == ("chat grok-4", 1.0, span_id("x1", 1))
    values = {metric.name: value for metric, value, _ in measures_of(span)}
    assert values[names.CHAT_INPUT.name] == 117
    assert values[names.SPEND.name] == 0.5
    failed = ModelFailed(request="r1", failure="rate_limited", usage=Usage(input=4), usd=None)
    [span] = spans_of(began(), requested, failed)
    assert (span.error, span.attributes[names.INPUT_TOKENS], span.attributes[names.FINISH_REASONS]) == (
        "rate_limited", 4, ("error",),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("model", "asked"),
    [
        ("claude-haiku-4-5", ("anthropic", "claude-haiku-4-5")), ("gpt-5.4", ("openai", "gpt-5.4")),
        ("gemini/gemini-3", ("gcp.gemini", "gemini-3")), ("openrouter/a/b", ("openrouter", "a/b")),
        ("bedrock/x", ("aws.bedrock", "x")), ("nobody/x", ("nobody", "x")),
    ],
)  # fmt: skip
def test_providers_are_called_as_the_conventions_call_them(model: str, asked: tuple[str, str]) -> None:
    assert asked_of(model) == asked


def test_a_name_that_a_model_made_up_is_not_told() -> None:
    call = CallBlock(provider_id="p", tool="rm -rf everything of Ann's")
    answered = ModelAnswered(request="r1", blocks=(call, call.model_copy(update={"tool": "look"})))
    refused = [ToolFinished(call=f"r1.{n}", outcome="refused", preview="no") for n in range(2)]
    told = spans_of(began(), ModelRequested(request="r1", turn=1, tier=2, model="m"), answered, *refused)
    assert [(span.name, span.seconds, span.error) for span in told[1:]] == [
        (f"execute_tool {names.OTHER}", 0.0, "refused"), ("execute_tool look", 0.0, "refused"),
    ]  # fmt: skip


def test_a_child_is_part_of_the_call_that_has_it_in_its_root_s_trace() -> None:
    parent = ExecutionSpans("x1", nobody)
    call = ToolStarted(call="r1.0", provider_id="p", tool="subagent", effect="keyed", arguments={}, args_sha="")
    spans_of(began(), call, spans=parent)
    child = child_id("r1.0", 1)
    own = ExecutionSpans(child, lambda _, name: parent.of_child(name))
    told = spans_of(
        began(root="x1", parent="x1", child=True), Triaged(talk=False, role="coder"), Finished(reason="done", answer=""),
        execution=child, spans=own,
    )  # fmt: skip
    [span] = told
    assert (span.trace, span.parent, span.name) == (trace_id("x1"), span_id("x1", 2), "invoke_agent coder")
    assert span.attributes[names.PARENT] == "x1"
    assert parent.of_child("c-of-nobody") == span_id("x1", 1)


def test_what_follows_on_another_execution_is_linked_to_it() -> None:
    for more in ({"forked_from": ("x0", 3)}, {"trial_of": "x0"}, {"parent": "x0", "root": "x0", "side": True}):
        [span] = spans_of(began(**more), Finished(reason="stopped", answer=""))
        assert (span.trace, span.links, span.error) == (trace_id("x1"), ((trace_id("x0"), span_id("x0", 1)),), "")


def test_a_copied_beginning_is_not_told_again() -> None:
    asked = Asked(question="q1", text="Which?")
    rewound = WorkspaceRestored(manifest="m", way="rewind")
    told = spans_of(began(), asked, rewound, OwnerChanged(worker="w"), Finished(reason="done", answer=""))
    [span] = told
    assert (span.kind, span.begun, span.attributes[names.TAKEN_UP]) == (
        "agent",
        BEGUN + timedelta(seconds=4),
        "handover",
    )


def test_a_question_that_runs_out_and_what_never_ends_are_told_as_that() -> None:
    call = ToolStarted(call="r1.0", provider_id="p", tool="look", effect="read", arguments={}, args_sha="")
    asked = Asked(question="q1", sort="approval", call="r1.0")
    told = spans_of(began(), call, asked, DeadlinePassed(ref="q1"), Finished(reason="limit", answer=""))
    assert [(span.kind, span.error, span.attributes.get(names.OUTCOME)) for span in told] == [
        ("wait", "", "expired"), ("tool", "unfinished", None), ("agent", "limit", "limit"),
    ]  # fmt: skip


def test_who_goes_on_in_the_same_process_after_leaving_has_a_span_of_their_own() -> None:
    told = spans_of(began(), HandedOver(), Noted(text="again"), Finished(reason="done", answer=""))
    assert [(span.attributes[names.OUTCOME], span.links) for span in told] == [
        ("handed_over", ()), ("done", ((trace_id("x1"), span_id("x1", 1)),)),
    ]  # fmt: skip


def test_the_table_says_what_every_name_means() -> None:
    constants = {
        value for name, value in vars(names).items() if name.isupper() and isinstance(value, str) and "." in value
    }
    assert constants == set(names.ATTRIBUTES)
    assert len({metric.name for metric in names.METRICS}) == len(names.METRICS)
    guide = (Path(__file__).parents[3] / "docs" / "observability.md").read_text(encoding="utf-8")
    rows = {*names.ATTRIBUTES.items(), *((metric.name, metric.meaning) for metric in names.METRICS)}
    assert [name for name, meaning in sorted(rows) if f"| `{name}` |" not in guide or meaning not in guide] == []
