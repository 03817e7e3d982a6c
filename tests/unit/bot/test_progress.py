"""Events, and what a person reads of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.core.events import (
    Asked,
    CheckpointSaved,
    Claim,
    Confidence,
    ConfidenceParts,
    Envelope,
    Escalated,
    Event,
    FileChange,
    FileRef,
    Finished,
    ModelAnswered,
    ModelFailed,
    ModelRequested,
    Noted,
    Option,
    Person,
    Policy,
    Reason,
    Started,
    TextBlock,
    Todo,
    TodoChanged,
    ToolFinished,
    ToolStarted,
    TurnEnded,
)
from bot.progress import STEPS_KEPT, Progress, update_of
from bot.render import LIMIT, length
from bot.wording import WITHOUT_FINISH, answer_text, duration, footer, money, progress_text, question_text

START = datetime(2026, 1, 2, tzinfo=UTC)
ANN = Person(id="7", name="Ann")
STARTED = Started(thread="50", task="fix", requester=ANN, role="python-coder", sandbox="bubblewrap", policy=Policy())
REQUESTED = ModelRequested(request="r", turn=3, tier=2, model="scripted/plain")
PARTS = ConfidenceParts(self_report=70, tool_ok=1, same_error=0, tests=0.5, progress=1, corrections=0)


def after(*events: Event) -> Progress:
    progress = Progress("x1")
    for number, event in enumerate(events):
        at = START + timedelta(seconds=number * 20)
        progress.take(Envelope(execution="x1", seq=number + 1, at=at, fence=1, event=event))
    return progress


def called(number: int, tool: str = "shell", **arguments: str) -> ToolStarted:
    return ToolStarted(
        call=f"c{number}", provider_id="p", tool=tool, effect="unkeyed", arguments=dict(arguments), args_sha="0"
    )


def ended(number: int, **more: object) -> ToolFinished:
    return ToolFinished.model_validate({"call": f"c{number}", "outcome": "ok", "preview": "", **more})


def test_the_turn_is_shown_without_its_limit() -> None:
    text = progress_text(after(STARTED, REQUESTED))
    assert "Thinking" in text
    assert "turn 3 " in text
    assert "20" not in text.replace("<t:", "").split("started")[0]


def test_a_running_step_is_said_in_plain_words_and_then_what_came_of_it() -> None:
    progress = after(STARTED, REQUESTED, called(1, command="pytest -q"))
    assert "**Running `pytest -q`**" in progress_text(progress)
    progress = after(STARTED, REQUESTED, called(1, command="pytest -q"), ended(1, outcome="failed", exit_code=1))
    assert "-# ✖ Ran `pytest -q` (exit 1)" in progress_text(progress)
    assert "Using frobnicate" in progress_text(after(STARTED, called(1, tool="frobnicate")))


def test_what_runs_together_is_counted() -> None:
    assert "**Reading `a.py`** and 1 more" in progress_text(
        after(STARTED, called(1, tool="read", path="a.py"), called(2, tool="read", path="b.py"))
    )


def test_an_unknown_outcome_is_called_so() -> None:
    assert "❔ Ran `rm x` (outcome unknown)" in progress_text(
        after(STARTED, called(1, command="rm x"), ended(1, outcome="unknown"))
    )


def test_the_to_do_list_shows_what_is_open_and_done() -> None:
    items = tuple(Todo(text=f"step {n}", state="done" if n < 2 else "open") for n in range(11))
    text = progress_text(after(STARTED, TodoChanged(items=items)))
    assert "☑ step 1" in text
    assert "☐ step 2" in text
    assert "… and 3 more" in text


def test_an_escalation_and_a_failing_model_are_said() -> None:
    assert "stronger model (tier 3): same error" in progress_text(
        after(STARTED, Escalated(from_tier=2, to_tier=3, trigger="same error"))
    )
    failed = ModelFailed(request="r", failure="rate_limited")
    assert "rate limited" in progress_text(after(STARTED, REQUESTED, failed))


def test_an_attachment_that_was_left_out_is_said() -> None:
    started = STARTED.model_copy(update={"files": (FileRef(name="big.iso", skipped="it has 900 MB"),)})
    assert "`big.iso` was left out: it has 900 MB" in progress_text(after(started))


def test_the_footer_has_role_model_cost_confidence_and_sandbox_and_at_the_end_turns_and_time() -> None:
    answered = ModelAnswered(request="r", blocks=(TextBlock(text="hm"),), usd=0.0123, served_by="scripted/served")
    turned = TurnEnded(turn=3, confidence=Confidence(shown=64, heuristic=64, parts=PARTS))
    events = (STARTED, REQUESTED, answered, turned)
    assert footer(after(*events), whole=False) == (
        "-# python-coder · tier 2 scripted/served · $0.0123 · confidence 64 · bubblewrap"
    )
    finished = Finished(reason="done", answer="ok", confidence=71)
    assert footer(after(*events, finished)) == (
        "-# python-coder · tier 2 scripted/served · 3 turns · 1 min 20 s · $0.0123 · confidence 71 · bubblewrap"
    )


@pytest.mark.parametrize("reason", ["stopped", "failed", "stuck", "limit", "budget", "cancelled"])
def test_an_end_that_is_no_success_says_so_first(reason: Reason) -> None:
    progress = after(STARTED, Finished(reason=reason, answer="Text."))
    head, body, *_ = answer_text("Text.", progress).split("\n\n")
    assert body == "Text."
    assert head in progress_text(progress)
    assert "Done" not in head


def test_the_answer_says_how_it_is_known_and_what_changed() -> None:
    claims = (
        Claim(text="tests pass", command="pytest", exit_code=0, verdict="proven"),
        Claim(text="built", file="dist/a.whl", verdict="contradicted", note="no such file"),
        Claim(text="it is fast"),
    )
    change = FileChange(path="a.py", kind="modified")
    gone = FileChange(path="b.py", kind="deleted")
    progress = after(
        STARTED, called(1), ended(1, changes=(change, gone)), Finished(reason="done", answer="", claims=claims)
    )
    text = answer_text("Fixed.", progress)
    assert text.splitlines() == [
        "Fixed.",
        "",
        "**How I know**",
        "✔ tests pass — `pytest` → exit 0",
        "✖ contradicted: built — `dist/a.whl` (no such file)",
        "◻ unproven: it is fast",
        "",
        "**Files changed:** `a.py`",
    ]


def test_an_end_that_is_no_success_shows_no_confidence_and_zero_is_none() -> None:
    for reason in ("stopped", "failed"):
        assert "confidence" not in footer(after(STARTED, REQUESTED, Finished(reason=reason, answer="", confidence=40)))
    assert "confidence" not in footer(after(STARTED, REQUESTED, Finished(reason="done", answer="", confidence=0)))


def test_a_limit_of_time_or_money_has_one_neutral_heading_and_one_turn_is_one_turn() -> None:
    text = progress_text(after(STARTED, REQUESTED.model_copy(update={"turn": 1}), Finished(reason="budget", answer="")))
    assert "**Limit reached** · 1 turn ·" in text


def test_an_answer_without_evidence_says_so_in_plain_words() -> None:
    claim = Claim(text=WITHOUT_FINISH, note="no evidence was given")
    text = answer_text("42.", after(STARTED, Finished(reason="done", answer="42.", claims=(claim,))))
    assert text.endswith("◻ I gave no evidence for this answer.")
    assert "finish" not in text


def test_what_is_being_said_begins_at_a_word_and_keeps_its_lines() -> None:
    said = "first " * 100 + "\none line\nanother line"
    quoted = [line for line in progress_text(after(STARTED, REQUESTED), said).splitlines() if line.startswith("> ")]
    assert quoted[0].startswith("> …first ")
    assert quoted[1:] == ["> one line", "> another line"]


def test_a_question_recommends_its_first_option_and_takes_words_too() -> None:
    text = question_text("Which?", (Option(id="1", label="A", description="why"), Option(id="2", label="B")))
    assert "**1.** A (recommended) – why" in text
    assert "**2.** B" in text
    assert "write your answer" in text
    assert "Choose" not in question_text("Which?", ())


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        (REQUESTED, "turn_start"),
        (Finished(reason="done", answer=""), "turn_complete"),
        (called(1), "tool_execution"),
        (CheckpointSaved(manifest="m", through_seq=1), "checkpoint"),
        (Escalated(from_tier=1, to_tier=2, trigger="t"), "escalation"),
        (Asked(question="q"), "clarification_request"),
        (Noted(text="n"), None),
        (REQUESTED.model_copy(update={"purpose": "triage"}), None),
    ],
)
def test_each_event_is_one_kind_of_update_or_none(event: Event, kind: str | None) -> None:
    assert update_of(event) == kind


def test_steps_are_bounded() -> None:
    assert len(after(STARTED, *(called(number) for number in range(50))).steps) == STEPS_KEPT


@given(st.lists(st.text(max_size=2_000), max_size=30), st.text(max_size=3_000), st.booleans())
def test_the_progress_message_fits_whatever_it_shows(texts: list[str], tail: str, done: bool) -> None:
    calls = [event for n, text in enumerate(texts) for event in (called(n, tool=text[:50], path=text), ended(n))]
    todo = TodoChanged(items=tuple(Todo(text=text) for text in texts))
    end = (Finished(reason="failed", answer=tail),) if done else ()
    text = progress_text(after(STARTED, REQUESTED, *calls, todo, *end), tail)
    assert 0 < length(text) <= LIMIT
    assert "python-coder" in text.splitlines()[-1]


def test_time_and_money_are_short() -> None:
    assert [duration(s) for s in (0.44, 12, 59.9, 125, 3_725)] == [
        "0.4 s",
        "12 s",
        "1 min 00 s",
        "2 min 05 s",
        "1 h 02 min",
    ]
    assert [money(usd) for usd in (0, 0.00123, 0.1, 12.345)] == ["$0", "$0.0012", "$0.10", "$12.35"]
