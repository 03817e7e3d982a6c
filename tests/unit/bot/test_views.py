"""What the logs say, for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from agentic.core.claims.confidence import told
from agentic.core.events.execution_events import (
    CheckpointSaved,
    Confidence,
    ConfidenceParts,
    Envelope,
    Escalated,
    Evaluated,
    Event,
    FeedbackGiven,
    Finished,
    Intervened,
    ModelAnswered,
    ModelRequested,
    Moment,
    Noted,
    Person,
    Policy,
    Started,
    TurnEnded,
    Usage,
    WorkspaceRestored,
)
from agentic.core.fold.fold import fold
from agentic.ports.runtime import SessionRow
from bot.history import summaries
from bot.history.checkpoint_list import Kept
from bot.history.summaries import Trend
from bot.messages import report_text
from bot.messages.embeds import status_embed
from bot.messages.escalation_text import escalation, rises, turns_by_tier
from bot.ports.conversation import StatusView
from bot.progress.model import Progress
from bot.progress.text import footer

ANN, BOB = Person(id="1", name="ann"), Person(id="2", name="bob")
BEGAN = datetime(2026, 1, 2, tzinfo=UTC)


def logged(*events: Event, execution: str = "x1") -> list[Envelope]:
    return [
        Envelope(execution=execution, seq=seq, at=BEGAN + timedelta(seconds=seq), fence=1, event=event)
        for seq, event in enumerate(events, 1)
    ]


def asked(turn: int, model: str = "a/small") -> ModelRequested:
    return ModelRequested(request=f"r{turn}", turn=turn, tier=2, model=model)


def answered(turn: int, usd: float) -> ModelAnswered:
    return ModelAnswered(request=f"r{turn}", blocks=(), usage=Usage(input=10, output=5), usd=usd)


def ended(turn: int, shown: int) -> TurnEnded:
    parts = ConfidenceParts(self_report=70, tool_ok=1, same_error=0, tests=0.5, progress=1, corrections=0)
    return TurnEnded(turn=turn, confidence=Confidence(shown=shown, heuristic=shown, parts=parts))


def started(by: Person = ANN, thread: str = "7", task: str = "do it") -> Started:
    return Started(thread=thread, task=task, requester=by)


def test_a_cost_is_told_by_model_and_in_all() -> None:
    log = logged(started(), asked(1), answered(1, 0.25), ended(1, 80), asked(2, "a/large"), answered(2, 1.0))
    cost = summaries.cost_of(log)
    assert cost is not None
    assert (cost.usd, cost.tokens, cost.models) == (1.25, 30, (("a/large", 1.0), ("a/small", 0.25)))
    assert "**$1.25** in 1 task" in report_text.cost_of_thread([cost])


def test_costs_are_summed_by_person_and_thread_the_dearest_first() -> None:
    costs = [
        summaries.cost_of(logged(started(by, thread), asked(1), answered(1, usd)))
        for by, thread, usd in ((ANN, "7", 1.0), (BOB, "8", 1.5), (ANN, "8", 1.0))
    ]
    known = [cost for cost in costs if cost]
    assert summaries.by_person(known) == [(ANN, 2, 2.0), (BOB, 1, 1.5)]
    assert summaries.by_thread(known) == [("8", 2, 2.5), ("7", 1, 1.0)]


def test_a_log_without_a_beginning_costs_nothing_known() -> None:
    assert summaries.cost_of([]) is None
    assert summaries.cost_of(logged(Noted(text="x"))) is None


def test_rises_know_their_turn() -> None:
    log = logged(started(), asked(1), asked(2), Escalated(from_tier=2, to_tier=3, trigger="stuck"))
    assert [(rise.turn, rise.to_tier, rise.trigger) for rise in rises(log)] == [(2, 3, "stuck")]


def test_an_escalation_tells_what_it_was_decided_on_and_what_came_of_it() -> None:
    parts = ConfidenceParts(self_report=20, tool_ok=0, same_error=3, tests=0.5, progress=0, corrections=0)
    low, high = (Confidence(shown=shown, heuristic=shown, parts=parts) for shown in (24, 91))
    answer = ModelAnswered(request="r1", blocks=(), usd=0.25)
    up = Escalated(
        from_tier=2, to_tier=3, trigger="it is stuck", from_model="a/small", to_model="a/large", turn=1, confidence=24,
        usd=0.25,
    )  # fmt: skip
    log = logged(
        started(), asked(1), answer, TurnEnded(turn=1, confidence=low), Intervened(rule="advice", text="look there"), up,
        asked(2), answer, TurnEnded(turn=2, confidence=high), Finished(reason="done", answer=""),
    )  # fmt: skip
    said = escalation(rises(log), StatusView("idle"), ())
    assert "turn 1: a stronger model gave advice" in said
    assert "tier 2 (small) → tier 3 (large): it is stuck" in said
    assert "confidence 24, $0.25 spent by then · after that: 1 turn, $0.25, confidence 91, done" in said


def test_a_table_puts_turns_together_that_one_tier_answered() -> None:
    def turn(number: int, tier: int, shown: int) -> tuple[Event, ...]:
        return asked(number).model_copy(update={"tier": tier}), answered(number, 0.25), ended(number, shown)

    log = logged(
        started(task="break ```\nout " + "x" * 80), *turn(1, 2, 55), *turn(2, 2, 30), *turn(3, 3, 91), asked(4)
    )
    fence, head, title, first, second, end = turns_by_tier([log]).splitlines()
    assert (fence, end) == ("```", "```")
    assert [head.split(), first.split(), second.split()] == [
        ["turns", "tier", "confidence", "US$"],
        ["1–2", "2", "55", "→", "30", "0.50"],
        ["3", "3", "91", "0.25"],
    ]
    assert title.startswith("break ˋˋˋ out xxx")
    assert turns_by_tier([logged(started(), asked(1))]) == ""


def test_what_an_execution_was_copied_with_was_paid_for_where_it_was_copied_from() -> None:
    log = logged(started(), asked(1), answered(1, 0.5), asked(2), answered(2, 0.25))
    first = log[0].event
    assert isinstance(first, Started)
    fork = first.model_copy(update={"forked_from": ("x0", 3)})
    whole, own = summaries.cost_of(log), summaries.cost_of([log[0].model_copy(update={"event": fork}), *log[1:]])
    assert whole is not None
    assert own is not None
    assert (whole.usd, own.usd) == (0.75, 0.25)
    assert sum(usd for _, usd in own.models) == 0.25


def test_a_trend_knows_the_end_the_score_and_the_last_vote_of_each() -> None:
    log = logged(started(), asked(1), ended(1, 90), ended(2, 20), Finished(reason="done", answer="", confidence=60))
    votes: Sequence[Event] = (
        FeedbackGiven(by=ANN, vote="up"), FeedbackGiven(by=BOB, vote="down"), FeedbackGiven(by=ANN, vote="down"),
        FeedbackGiven(by=BOB, vote="none"), Evaluated(score=41, parts={}),
    )  # fmt: skip
    found = summaries.trend(log, logged(*votes))
    assert (found.scores, found.shown, found.evaluated, found.votes) == ((90, 20), 60, 41, ("down",))
    said = report_text.confidence([found])
    assert "turn by turn: 90 → 20 of 100, falling" in said
    assert "**60** of 100, moderate\n" in said
    assert "An estimate from tools, tests and reports" in said


def test_a_calibrated_confidence_says_what_it_was_held_against() -> None:
    told = Trend("a", "task", (64,), heuristics=(88,), labels=132)
    assert "Checked against how 132 tasks turned out; without that it would be 88." in report_text.confidence([told])
    same = replace(told, heuristics=(64,), labels=1)
    assert "Checked against how 1 task turned out." in report_text.confidence([same])


def test_one_number_is_shown_of_an_execution_wherever_people_look() -> None:
    """On the card, by /confidence and by /sessions; never 100, also of an earlier version's log."""
    log = logged(started(), asked(1), ended(1, 90), ended(2, 100), Finished(reason="done", answer="", confidence=100))
    progress = Progress("x1")
    for envelope in log:
        progress.take(envelope)
    status = StatusView("idle", confidence=told(fold(log).confidence, fold(log).finished))
    row = SessionRow("7", "1", "2", "a title", BEGAN, BEGAN)
    assert "confidence 99 (estimate)" in footer(progress)
    assert "**99** of 100" in report_text.confidence([summaries.trend(log)])
    assert "confidence 99 (estimate)" in report_text.sessions([report_text.ThreadLine(row, status)], asker="1")
    (shown,) = [field.value for field in status_embed(status).fields if field.name == "Confidence"]
    assert shown == "99 (estimate)"


def test_an_end_without_success_has_no_number_anywhere_and_its_turns_are_told() -> None:
    log = logged(started(), asked(1), ended(1, 90), Finished(reason="failed", answer="", confidence=90))
    said = report_text.confidence([summaries.trend(log)])
    assert said.startswith("No number: the last task was small talk, or did not succeed.")
    assert "90" in said
    assert report_text.confidence([]).startswith("Not known yet")


def test_the_numbers_of_a_threads_tasks_stand_beside_each_other() -> None:
    trends = [Trend("a", "one", (80,), 80), Trend("b", "two", (40,), None, "failed"), Trend("c", "three", (30,), 30)]
    line = "This thread, task by task: 80 → 30 of 100, falling"
    assert line in report_text.confidence(trends)


def test_of_many_turns_the_newest_are_shown_and_whether_they_rise() -> None:
    """One turn goes nowhere."""
    said = report_text.confidence([Trend("a", "one", (*range(20, 50, 2),), 48), Trend("b", "two", (81,), 81)])
    assert "turn by turn: … → 26 → 28" in said
    assert "→ 46 → 48 of 100, rising" in said
    assert "turn by turn: 81 of 100" in said


def test_the_sum_of_costs_is_the_sum_of_what_is_shown_and_a_side_question_is_no_task() -> None:
    """0.09 and 0.2649 would be $0.0900 and $0.26, and their sum $0.35; 0.00014 and 0.00014 would add up to $0.0003."""
    log = logged(started(), asked(1), answered(1, 0.09))
    one = summaries.cost_of(log)
    assert one is not None
    side = replace(one, usd=0.2649, side=True)
    told = report_text.cost_of_thread([one, side])
    assert "$0.0900 · " in told
    assert "$0.2649 · " in told
    assert "side question `do it` by" in told
    assert "**$0.3549** in 1 task and 1 side question" in told
    small = [replace(one, usd=0.00014), replace(one, usd=0.00014, thread="8")]
    assert "**$0.0002** in" in report_text.cost_by_thread(small)
    assert summaries.by_person([one, side])[0][1] == 1


def test_what_was_asked_for_a_lesson_after_the_end_is_counted() -> None:
    one = summaries.cost_of(logged(started(), asked(1), answered(1, 0.25)))
    assert one is not None
    all_of_it = summaries.with_learning(one, logged(asked(1, "a/large"), answered(1, 0.5)))
    assert (all_of_it.usd, all_of_it.tokens) == (0.75, 2 * one.tokens)
    assert all_of_it.models == (("a/large", 0.5), ("a/small", 0.25))


def test_foreign_words_are_shown_and_not_obeyed() -> None:
    log = logged(started(), asked(1), Escalated(from_tier=2, to_tier=3, trigger="@everyone **[x](http://evil)**"))
    said = escalation(rises(log), StatusView("idle"), ())
    assert "**[x](" not in said
    assert "```" not in report_text.log(["```break out"]).strip("`\n")


def test_the_rules_name_every_cap() -> None:
    said = report_text.rules(Policy(max_usd=2.5, max_minutes=30, turns_simple=4))
    assert all(word in said for word in ("$2.50", "30 min", "4, 20 or 35 turns", ".aiignore"))


def test_a_list_of_threads_tells_who_is_waited_for_and_what_is_quarantined() -> None:
    row = SessionRow("7", "1", "2", "a title", BEGAN, BEGAN)
    asking = StatusView("asking", task="do it", requester="1")
    asking = replace(asking, confidence=72, fitted=True)
    listed = report_text.sessions([report_text.ThreadLine(row, asking)], asker="1")
    assert "<#7> 💬 waits for you · started <t:" in listed
    assert "confidence 72\n" in listed
    assert "do it" in listed
    others = report_text.sessions([report_text.ThreadLine(row, asking)], asker="2", more=2)
    assert "waits for an answer" in others
    assert "There are more: `page:2`" in others
    left = StatusView("busy", task="do it", crashes=3)
    assert "set aside" in report_text.sessions([report_text.ThreadLine(row, left)], asker="1")


def test_a_list_of_checkpoints_tells_why_what_changed_and_what_is_gone() -> None:
    def kept(id: str, why: Moment, seq: int, *, there: bool = True, problem: str = "") -> Kept:
        saved = CheckpointSaved(manifest=id, through_seq=1, why=why, problem=problem, not_kept=("files in /tmp",))
        return Kept(id, "x1", "do it", "1", saved, BEGAN, seq, 5, 2, there, "stopped")

    told = report_text.checkpoints([
        kept("aaaaaa", "end", 0), kept("bbbbbb", "turns", 9), kept("cccccc", "first_change", 3, there=False),
        kept("dddddd", "question", 2, problem="the disk is full"),
    ])  # fmt: skip
    assert "**do it** (stopped)" in told
    assert "`aaaaaa`" in told
    assert "at the end, after turn 5 · 2 files changed" in told
    assert "○ `cccccc`" in told
    assert "no longer there" in told
    assert "could not be saved (the disk is full)" in told
    assert told.count("Not in any of them: files in /tmp.") == 1
    assert "None yet" in report_text.checkpoints([])


def test_the_time_between_a_position_and_going_on_from_it_is_known() -> None:
    began = Started(thread="5", task="t", requester=ANN, policy=Policy())
    back = WorkspaceRestored(manifest="m", way="rewind")
    assert summaries.away(logged(began, asked(1))) == 0
    late = [
        each.model_copy(update={"at": each.at + timedelta(days=each.seq > 2)}) for each in logged(began, asked(1), back)
    ]
    assert summaries.away(late) == 86_401
