"""Events, and what a person reads of them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentic.core.events.execution_events import (
    Asked,
    CallBlock,
    CheckpointSaved,
    Confidence,
    Escalated,
    Event,
    FileRef,
    Finished,
    HandedOver,
    InputReceived,
    Intervened,
    ModelAnswered,
    ModelFailed,
    Noted,
    OwnerChanged,
    Person,
    TextBlock,
    Todo,
    TodoChanged,
    ToolFinished,
    TurnEnded,
    Watched,
    WorkspaceRestored,
)
from agentic.core.events.ids import call_id
from agentic.core.events.values import Level
from agentic.core.fold.fold import fold
from bot.progress.model import STEPS_KEPT, steering, update_of
from bot.progress.text import (
    duration,
    footer,
    money,
    progress_text,
)
from bot.rendering.console_links import ConsoleLinks
from bot.rendering.discord_text import LIMIT, length
from tests.unit.bot.following import ANN, PARTS, REQUESTED, START, STARTED, after, called, ended, log_of


def test_the_turn_is_shown_without_its_limit() -> None:
    text = progress_text(after(STARTED, REQUESTED))
    assert "Thinking" in text
    assert "turn 3 " in text
    assert "20" not in text.replace("<t:", "").split("started")[0]


def test_what_is_shown_leads_to_the_console_where_there_is_one() -> None:
    links, running, over = (
        ConsoleLinks("http://127.0.0.1:8094"),
        after(STARTED, REQUESTED),
        after(STARTED, REQUESTED, Finished(reason="done", answer="ok")),
    )
    details = links.task("15")
    text = progress_text(running, details=details)
    assert "· [turn 3](http://127.0.0.1:8094/t/15#turn-3) ·" in text
    assert text.endswith(" · [details](http://127.0.0.1:8094/t/15)")
    assert progress_text(running, verbosity="quiet", details=details).endswith(f"stops me · [details]({details})")
    assert footer(over, details=links.task("15", "x1")).endswith(" · [details](http://127.0.0.1:8094/t/15/x1)")
    for nowhere in (ConsoleLinks(), ConsoleLinks("http://127.0.0.1:8094", posted=False)):
        assert "details" not in progress_text(running, details=nowhere.task("15")) + footer(over)


def test_a_running_step_is_said_in_plain_words_and_then_what_came_of_it() -> None:
    progress = after(STARTED, REQUESTED, called(1, command="pytest -q"))
    assert "🔧 **Running the tests** (`pytest -q`) · turn 3" in progress_text(progress)
    progress = after(STARTED, REQUESTED, called(1, command="pytest -q"), ended(1, outcome="failed", exit_code=1))
    assert "-# ✖ Ran the tests (`pytest -q`) · exit 1" in progress_text(progress)
    assert "**Using frobnicate**" in progress_text(after(STARTED, called(1, tool="frobnicate")))
    assert "🔧 **Editing** `src/range.py`" in progress_text(after(STARTED, called(1, tool="edit", path="src/range.py")))


def test_what_a_watcher_says_is_one_calm_line_and_nothing_where_it_finds_nothing() -> None:
    noted = Watched(watcher="drift", turn=1, text="It bakes.")
    assert "-# 👁 Drift watcher: It bakes." in progress_text(after(STARTED, REQUESTED, noted))
    assert "-# · Drift watcher: It bakes." in progress_text(after(STARTED, REQUESTED, noted), verbosity="detailed")
    fine = Watched(watcher="drift", turn=1)
    assert progress_text(after(STARTED, REQUESTED, fine)) == progress_text(after(STARTED, REQUESTED))
    assert (update_of(noted), update_of(fine)) == ("tool_execution", None)


def test_what_a_restart_interrupts_says_so_until_it_goes_on() -> None:
    handed = after(STARTED, REQUESTED, HandedOver(worker="w"))
    assert progress_text(handed).startswith("⏸ **Interrupted** by a restart of the bot · resumes by itself · turn 3")
    assert "Interrupted" not in progress_text(
        after(STARTED, REQUESTED, HandedOver(worker="w"), OwnerChanged(worker="v"))
    )


def test_the_time_before_it_was_gone_on_with_is_not_its_own() -> None:
    back = WorkspaceRestored(manifest="m", way="rewind", turn=3)
    went_on = (STARTED, REQUESTED, back, REQUESTED)
    assert f"<t:{int(START.timestamp()) + 40}:R>" in progress_text(after(*went_on))
    assert after(*went_on, Finished(reason="done", answer="")).seconds == 40


def test_a_stop_is_shown_at_once_and_nothing_is_left_to_press() -> None:
    stop = InputReceived(inbox="s", sort="stop", author=Person(id="7", name="Ann"))
    stopping = after(STARTED, called(1), stop)
    assert progress_text(stopping).startswith("🛑 **Stopping**")
    assert progress_text(stopping, verbosity="quiet").startswith("🛑 **Stopping**")
    assert steering(stopping) == ()
    back = WorkspaceRestored(manifest="m", way="rewind", turn=3)
    assert "Stopping" not in progress_text(after(STARTED, called(1), stop, back))


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("cd app && npm test", "Running the tests"),
        ("/workspace/.venv/bin/pytest", "Running the tests"),
        ("cargo build --release", "Building"),
        ("pip install -r requirements.txt", "Installing packages"),
        ("npx tsc --noEmit", "Checking the types"),
        ("git diff HEAD~1", "Looking at the changes"),
        ("grep -rn pytest .", "Searching"),
        ("ls -la", "Looking around"),
        ("ls &", "Running"),
        ("echo pytest", "Running"),
        ("cat log | grep -i error 2>/dev/null | head -5", "Reading"),
        ("cat notes; rm notes", "Running"),
        ("cat a b > c", "Running"),
        ("ls $(rm -rf build)", "Running"),
        ("grep -l x . | xargs sed -i s/x/y/", "Running"),
        ("find . -name '*.pyc' -delete", "Running"),
        ("git log --output=log.txt", "Running"),
    ],
)
def test_what_a_command_is_for_is_said_where_it_can_be_told(command: str, words: str) -> None:
    assert f"🔧 **{words}**" in progress_text(after(STARTED, called(1, command=command)))


def test_a_step_that_takes_long_says_how_long() -> None:
    progress = after(STARTED, called(1, command="pytest"))
    began = progress.latest
    assert began is not None
    shown = [progress_text(progress, now=began + timedelta(seconds=s)).split("\n")[0] for s in (1, 4, 12, 14, 77)]
    times = [line.partition("`) · ")[2].partition(" ·")[0] for line in shown]
    assert times == ["started <t:1767312000:R>", "4 s", "10 s", "10 s", "1 min 15 s"]


def test_what_runs_together_is_counted() -> None:
    assert "**Reading** `a.py` and 1 more" in progress_text(
        after(STARTED, called(1, tool="read", path="a.py"), called(2, tool="read", path="b.py"))
    )


def test_an_unknown_outcome_is_called_so() -> None:
    assert "❔ Ran `rm x` · outcome unknown" in progress_text(
        after(STARTED, called(1, command="rm x"), ended(1, outcome="unknown"))
    )


def test_the_to_do_list_shows_what_is_open_and_done() -> None:
    items = tuple(Todo(text=f"step {n}", state="done" if n < 2 else "open") for n in range(11))
    text = progress_text(after(STARTED, TodoChanged(items=items)))
    assert "✔ step 1" in text
    assert "☐ step 2" in text
    assert "… and 3 more" in text


def test_an_escalation_and_a_failing_model_are_said() -> None:
    assert "stronger model (tier 3): same error" in progress_text(
        after(STARTED, Escalated(from_tier=2, to_tier=3, trigger="same error"))
    )
    failed = ModelFailed(request="r", failure="rate_limited")
    again = "🔁 **Trying the model again**: its provider asks to wait · turn 3"
    assert progress_text(after(STARTED, REQUESTED, failed)).startswith(again)
    assert progress_text(after(STARTED, REQUESTED, failed, REQUESTED)).startswith(again)
    answered = after(STARTED, REQUESTED, failed, REQUESTED, ModelAnswered(request="r", blocks=()))
    assert progress_text(answered).startswith("💭 **Thinking**")
    beside = after(STARTED, REQUESTED.model_copy(update={"purpose": "triage"}), failed)
    assert "Trying the model again" not in progress_text(beside)


def test_an_attachment_that_was_left_out_is_said() -> None:
    started = STARTED.model_copy(update={"files": (FileRef(name="big.iso", skipped="it has 900 MB"),)})
    assert "`big.iso` was skipped: it has 900 MB" in progress_text(after(started))


def test_the_footer_has_role_model_cost_confidence_and_sandbox_and_at_the_end_turns_and_time() -> None:
    answered = ModelAnswered(request="r", blocks=(TextBlock(text="hm"),), usd=0.0123, served_by="scripted/served")
    turned = TurnEnded(turn=3, confidence=Confidence(shown=64, heuristic=64, parts=PARTS))
    events = (STARTED, REQUESTED, answered, turned)
    assert footer(after(*events), whole=False) == (
        "-# python-coder · tier 2 scripted/served · $0.0123 · confidence 64 (estimate) · bubblewrap"
    )
    finished = Finished(reason="done", answer="ok", confidence=71)
    assert footer(after(*events, finished)) == (
        "-# python-coder · tier 2 scripted/served · 3 turns · 1 min 20 s · $0.0123 · confidence 71 (estimate) · bubblewrap"
    )


def test_what_a_request_cost_that_was_cut_off_counts_as_it_was_reserved_as_everywhere_else() -> None:
    answered = ModelAnswered(request="r", blocks=(TextBlock(text="hm"),), usd=0.25)
    asked = REQUESTED.model_copy(update={"reserved_usd": 0.5})
    for failure, cost in (("cancelled", "$0.75"), ("lost", "$0.75"), ("timed_out", "$0.75"), ("rate_limited", "$0.25")):
        failed = ModelFailed(request="s", failure=failure)
        events = (STARTED, REQUESTED, answered, asked, failed)
        assert f" · {cost} · " in footer(after(*events))
        assert money(fold(log_of(*events)).spent.usd) == cost


def test_a_pause_an_approval_and_a_question_are_said_for_what_they_are() -> None:
    pause = InputReceived(inbox="1", sort="pause", author=ANN, text="pause")
    pausing = "⏸ **Pausing** when the current step ends · ▶ resumes · 🛑 stops now\n"
    assert progress_text(after(STARTED, REQUESTED, pause)).startswith(f"{pausing}💭 **Thinking**")
    answered = ModelAnswered(request="r", blocks=())
    assert "⏸ **Paused** · press ▶ to resume" in progress_text(after(STARTED, REQUESTED, answered, pause))
    working = after(STARTED, called(1, command="sleep 60"), pause)
    began = next(step.began for step in working.running)
    assert began is not None
    shown = progress_text(working, now=began + timedelta(seconds=25))
    assert shown.startswith(f"{pausing}🔧 **Running** `sleep 60` · 25 s")
    machine = pause.model_copy(update={"author": Person(id="0", name="Threadwright"), "text": "the thread is locked"})
    assert "⏸ **Paused**: the thread is locked" in progress_text(after(STARTED, machine))
    resume = InputReceived(inbox="2", sort="resume", author=ANN)
    assert "Paused" not in progress_text(after(STARTED, REQUESTED, pause, resume))


def test_what_a_person_paused_stays_paused_when_the_bots_own_reason_is_gone() -> None:
    theirs = InputReceived(inbox="1", sort="pause", author=ANN, text="")
    own = InputReceived(
        inbox="2", sort="pause", author=Person(id="0", name="Threadwright"), text="the thread is locked"
    )
    gone = own.model_copy(update={"sort": "resume", "text": "the reason is gone"})
    answered = ModelAnswered(request="r", blocks=())
    for events in ((own, theirs, gone), (theirs, own, gone), (own, theirs)):
        assert "⏸ **Paused** · press ▶ to resume" in progress_text(after(STARTED, REQUESTED, answered, *events))
    assert "Paused" not in progress_text(after(STARTED, REQUESTED, answered, own, gone))
    lifted = theirs.model_copy(update={"sort": "resume"})
    assert "Paused" not in progress_text(after(STARTED, REQUESTED, answered, own, theirs, lifted))
    assert "💬 **Waiting for your answer**" in progress_text(after(STARTED, Asked(question="q", text="Which?")))


@pytest.mark.parametrize(
    ("level", "who", "words"),
    [
        ("executor", "operator", "🔐 **Waiting for an operator's approval**"),
        ("operator", "operator", "🔐 **Waiting for your approval**"),
        ("operator", "owner", "🔐 **Waiting for an owner's approval**"),
        ("owner", "operator", "🔐 **Waiting for your approval**"),
    ],
)
def test_an_approval_is_asked_of_the_requester_only_where_they_may_give_it(
    level: Level, who: Level, words: str
) -> None:
    started = STARTED.model_copy(update={"requester": ANN.model_copy(update={"level": level})})
    assert words in progress_text(after(started, Asked(question="q", sort="approval", who_may=who)))


def test_what_a_command_prints_is_shown_as_it_is_and_the_models_words_as_a_quotation() -> None:
    printed = "\n".join(f"line {number}" for number in range(20)) + "\n- [1, 2]\n\nFAILED ``` (failures=1)"
    shown = progress_text(after(STARTED, REQUESTED, called(1, command="make")), printed).split("```")
    assert shown[1].strip().splitlines() == [
        *(f"line {n}" for n in range(16, 20)),
        "- [1, 2]",
        "FAILED ˋˋˋ (failures=1)",
    ]
    assert len(shown) == 3
    said = progress_text(after(STARTED, REQUESTED), "First:\n- one\n1. two\n**loud**")
    assert "> First:\n> \\- one\n> 1\\. two\n> \\*\\*loud" in said


def test_a_block_of_code_that_does_not_fit_is_left_out_whole() -> None:
    skipped = tuple(FileRef(name="n" * 80, skipped="*" * 150) for _ in range(5))
    todo = TodoChanged(items=tuple(Todo(text="t" * 80) for _ in range(9)))
    for lines in range(1, 7):
        progress = after(STARTED.model_copy(update={"files": skipped}), REQUESTED, todo, called(1, command="make"))
        text = progress_text(progress, "\n".join(["x" * 60] * lines))
        assert length(text) <= LIMIT
        assert text.count("```") in (0, 2)


def test_quiet_is_one_calm_line_until_something_is_wanted() -> None:
    calls = (called(1, command="pytest"), ended(1), called(2, command="ls"))
    calm = progress_text(after(STARTED, REQUESTED, *calls), "I think", "quiet")
    assert calm == "⏳ **Working** · since <t:1767312000:R> · 🛑 stops me"
    assert calm == progress_text(after(STARTED), "", "quiet"), "it does not change while it works"
    assert "Waiting for your answer" in progress_text(after(STARTED, Asked(question="q", text="?")), "", "quiet")
    assert progress_text(after(STARTED, Finished(reason="done", answer="ok")), "", "quiet").startswith("✅ **Done**")


def test_detailed_has_every_call_with_what_was_expected_and_what_came_of_it() -> None:
    start = called(1, command="pytest").model_copy(update={"expectation": "all of them pass"})
    turned = TurnEnded(turn=3, confidence=Confidence(shown=64, heuristic=64, parts=PARTS))
    events = (
        STARTED, REQUESTED, start, ended(1, outcome="failed", exit_code=1, preview="..F\n1 failed, 2 passed\n"), turned,
        Intervened(rule="snapshot", text="Done so far: the tests were run."), CheckpointSaved(manifest="m", through_seq=1),
    )  # fmt: skip
    lines = progress_text(after(*events), "", "detailed").split("\n")
    assert lines[1:7] == [
        "-# ✖ Ran the tests (`pytest`) · exit 1",
        "-# ↳ expected: all of them pass",
        "-# ↳ `1 failed, 2 passed`",
        "-# · turn 3 ended with confidence 64",
        "-# · Done so far: the tests were run.",
        "-# · saved a checkpoint",
    ]
    assert "expected" not in progress_text(after(*events))


def test_done_that_the_evidence_contradicts_is_shown_until_the_end() -> None:
    told = "You said that the task is done:\n- It works (pytest): in its last run 1 of 2 tests failed\n- more\nMend it."
    events = (STARTED, REQUESTED, Intervened(rule="evidence", text=told))
    shown = "⚠ “Done” does not count yet: It works (pytest): in its last run 1 of 2 tests failed"
    assert shown in progress_text(after(*events)).split("\n")
    assert "does not count" not in progress_text(after(*events, Finished(reason="done", answer="ok")))
    assert "does not count" not in progress_text(after(STARTED, REQUESTED, Intervened(rule="advice", text=told)))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.text(max_size=300), min_size=20, max_size=50))
def test_a_detailed_account_that_is_too_long_keeps_the_newest(texts: list[str]) -> None:
    calls = [e for n, text in enumerate(texts) for e in (called(n, command=text), ended(n, preview=text))]
    text = progress_text(after(STARTED, REQUESTED, *calls, called(99, command="the last")), "", "detailed")
    assert 0 < length(text) <= LIMIT
    assert "the last" in text.splitlines()[0]
    assert "python-coder" in text.splitlines()[-1]


def test_an_end_that_is_no_success_shows_no_confidence_and_zero_is_none() -> None:
    for reason in ("stopped", "failed"):
        assert "confidence" not in footer(after(STARTED, REQUESTED, Finished(reason=reason, answer="", confidence=40)))
    assert "confidence" not in footer(after(STARTED, REQUESTED, Finished(reason="done", answer="", confidence=0)))


def test_the_number_is_no_estimate_once_it_is_fitted() -> None:
    fitted = Confidence(shown=64, heuristic=80, parts=PARTS, calibrator="abc")
    assert "confidence 64 ·" in footer(after(STARTED, REQUESTED, TurnEnded(turn=3, confidence=fitted)))


def test_a_vote_in_the_middle_of_a_run_is_seen_to_move_its_confidence() -> None:
    def vote(text: str) -> InputReceived:
        return InputReceived(inbox="i", sort="feedback", author=ANN, text=text, target="x1/turn:3")

    turned = TurnEnded(turn=3, confidence=Confidence(shown=64, heuristic=64, parts=PARTS))
    events = (STARTED, REQUESTED, vote("up"), turned, vote("down"))
    assert "confidence 44 (64 before votes, estimate)" in progress_text(after(*events))
    assert "-# · 👎 by Ann: confidence 64 → 44" in progress_text(after(*events), "", "detailed")
    back = after(*events, vote("none"))
    assert "confidence 64 (estimate)" in progress_text(back)
    assert update_of(vote("down")) == "turn_complete"


@pytest.mark.parametrize("outcome", ["denied", "refused", "cancelled"])
def test_a_call_that_never_began_is_listed_as_what_became_of_it(outcome: str) -> None:
    answered = ModelAnswered(
        request="r",
        blocks=(
            TextBlock(text="I clean up."),
            CallBlock(provider_id="p", tool="shell", arguments={"command": "rm -rf build"}),
            CallBlock(provider_id="q", tool="edit", arguments={"path": "a.py"}),
        ),
    )
    results = [ToolFinished.model_validate({"call": f"r.{n}", "outcome": outcome, "preview": "no"}) for n in (0, 1)]
    text = progress_text(after(STARTED, REQUESTED, answered, *results))
    assert f"Not done: running `rm -rf build` · {outcome}" in text
    assert f"Not done: editing `a.py` · {outcome}" in text
    begun = progress_text(after(STARTED, REQUESTED, called(1, command="sleep 90"), ended(1, outcome=outcome)))
    if outcome == "cancelled":
        assert "-# ◼ Stopped running `sleep 90`" in begun.splitlines()
    else:
        assert f"Ran `sleep 90` · {outcome}" in begun


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("curl -f http://localhost/a", "✖ Tried to fetch from the network (`curl -f http://localhost/a`) · exit 6"),
        ("pip install x", "✖ Tried to install packages (`pip install x`) · exit 6"),
        ("pytest -q", "✖ Ran the tests (`pytest -q`) · exit 6"),
        ("./deploy", "✖ Ran `./deploy` · exit 6"),
    ],
)
def test_a_call_that_failed_tried_and_the_same_failure_again_is_one_line(command: str, words: str) -> None:
    twice = [
        event
        for number in (1, 2)
        for event in (called(number, command=command), ended(number, outcome="failed", exit_code=6))
    ]
    shown = [line for line in progress_text(after(STARTED, REQUESTED, *twice[:2])).splitlines() if "✖" in line]
    assert shown == [f"-# {words}"]
    other = (called(3, command=command), ended(3, outcome="failed", exit_code=7))
    shown = [line for line in progress_text(after(STARTED, REQUESTED, *twice, *other)).splitlines() if "✖" in line]
    assert shown == [f"-# {words} · ×2", f"-# {words.replace('exit 6', 'exit 7')}"]


def test_a_result_of_a_call_that_nobody_made_is_no_step() -> None:
    assert after(STARTED, REQUESTED, ended(1)).steps == ()


def test_a_limit_of_time_or_money_has_one_neutral_heading_and_one_turn_is_one_turn() -> None:
    text = progress_text(after(STARTED, REQUESTED.model_copy(update={"turn": 1}), Finished(reason="budget", answer="")))
    assert "**Limit reached** · 1 turn ·" in text


def test_what_is_being_said_begins_at_a_word_and_keeps_its_lines() -> None:
    said = "first " * 100 + "\none line\nanother line"
    quoted = [line for line in progress_text(after(STARTED, REQUESTED), said).splitlines() if line.startswith("> ")]
    assert quoted[0].startswith("> …first ")
    assert quoted[1:] == ["> one line", "> another line"]


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


@settings(deadline=None)
@given(st.lists(st.text(max_size=2_000), max_size=30), st.text(max_size=3_000), st.booleans())
def test_the_progress_message_fits_whatever_it_shows(texts: list[str], tail: str, done: bool) -> None:
    calls = [event for n, text in enumerate(texts) for event in (called(n, tool=text[:50], path=text), ended(n))]
    todo = TodoChanged(items=tuple(Todo(text=text) for text in texts))
    end = (Finished(reason="failed", answer=tail),) if done else ()
    text = progress_text(after(STARTED, REQUESTED, *calls, todo, *end), tail)
    assert 0 < length(text) <= LIMIT
    assert done or "python-coder" in text.splitlines()[-1]


def test_time_and_money_are_short() -> None:
    assert [duration(s) for s in (0.44, 12, 59.9, 125, 3_725)] == [
        "0.4 s",
        "12 s",
        "1 min 00 s",
        "2 min 05 s",
        "1 h 02 min",
    ]
    assert [money(usd) for usd in (0, 0.00123, 0.1, 12.345)] == ["$0", "$0.0012", "$0.10", "$12.35"]


def test_a_to_do_that_was_begun_is_open_once_nobody_is_at_it() -> None:
    todo = TodoChanged(items=(Todo(text="read", state="done"), Todo(text="write", state="doing")))
    assert "▶ write" in progress_text(after(STARTED, REQUESTED, todo))
    ended = progress_text(after(STARTED, REQUESTED, todo, Finished(reason="done", answer="")))
    assert "✔ read" in ended
    assert "☐ write" in ended


def test_a_call_that_was_refused_says_why() -> None:
    why = "This call did not run: its arguments are not a JSON object. Send the same call again with valid JSON."
    answered_ = ModelAnswered(
        request="r", blocks=(CallBlock(provider_id="p", tool="edit", arguments={"path": "a.py"}),)
    )
    refused = ToolFinished(call=call_id("r", 0), outcome="refused", preview=why)
    shown = after(STARTED, REQUESTED, answered_, refused)
    for verbosity in ("normal", "detailed"):
        lines = progress_text(shown, verbosity=verbosity).splitlines()
        assert (
            "-# ⊘ Not done: editing `a.py` · refused: This call did not run: its arguments are not a JSON object"
            in lines
        )
        assert sum("JSON" in line for line in lines) == 1
