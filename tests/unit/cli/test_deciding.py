"""What is printed of a log over which the rules were run again."""

from __future__ import annotations

from agentic.core.audit.verification import verify
from agentic.core.events.execution_events import (
    Asked,
    CancelRequested,
    CheckpointSaved,
    Envelope,
    Event,
    Finished,
    Intervened,
    ModelRequested,
    Triaged,
)
from agentic.core.rules.decide import RULES_VERSION
from bot.cli.replay.decision_check import verdict_of
from tests.unit.core.building import Log
from tests.unit.core.test_verifying import changed_at, stamped

ASKED = ModelRequested(request="r", turn=9, tier=2, model="small-a")


def told(log: Log, *events: Event) -> str:
    log.add(*events)
    return verdict_of(verify(stamped(log.envelopes)))


def begun(**policy: object) -> Log:
    return Log(saved=False, **policy)


def test_a_log_that_the_rules_decide_again_is_verified() -> None:
    assert told(begun()) == f"Verified: the rules (version {RULES_VERSION}) decide again the one decision in it."
    log = begun()
    log.request()
    assert "all 2 decisions in it" in told(log)


def test_the_first_decision_that_is_another_is_told_with_what_differs() -> None:
    log = begun()
    log.say("stop")
    said = told(log, Finished(reason="stopped", answer="I stopped."))
    assert "The rules decide otherwise, first at event 4:" in said
    assert "the log says:  stopped: I stopped." in said
    assert "the rules say: stopped: Stopped by you." in said
    assert "answer: 'I stopped.' in the log, 'Stopped by you.' by the rules" in said
    assert "reason:" not in said, "what is the same is not told"


def test_what_the_rules_would_do_is_told_in_words() -> None:
    asks = "the rules say: ask small-a (tier 2, attempt 1) for turn 1"
    assert asks in told(begun(), ASKED)
    waits = begun()
    waits.request()
    said = told(waits, Finished(reason="done", answer="It works."))
    assert "the rules say: wait for what runs and for people, or until minutes" in said
    calls = begun()
    calls.answer(("look", {}), ("look", {}))
    assert "the rules say: begin look (r3.0), look (r3.1)" in told(calls, ASKED)
    saves = begun()
    saves.answer(("shell", {}))
    assert "the rules say: save the workspace (first change)" in told(saves, ASKED)
    stops = begun()
    stops.request()
    stops.say("stop")
    said = told(stops, CancelRequested(refs=("r3",), reason="because"))
    assert "the log says:  stopping what runs: because" in said
    assert "the rules say: end what runs: stopped by you" in said


def test_a_question_and_a_fact_of_the_rules_are_told_as_in_the_story() -> None:
    log = begun(turns_medium=1)
    log.answer("I think.")
    log.settle()
    asked = log.execution.question
    assert asked is not None
    other = changed_at(log.envelopes, log.execution.seq, asked.model_copy(update={"text": "?"}))
    assert "the rules say: asked the person (extension): I've used my 1 turns" in verdict_of(verify(stamped(other)))
    ends = begun()
    ends.answer("I think.")
    assert "the rules say: turn 1 ended, confidence" in told(ends, Intervened(rule="mine", text="?"))


def test_what_other_rules_decided_is_told_as_not_verified() -> None:
    log = begun().envelopes
    said = verdict_of(verify(stamped(log, 0)))
    assert "events 1 to 2, decided by rules from before their version was recorded" in said
    assert said.endswith("Nothing was verified.")
    assert "event 1, decided by rules of version 7" in verdict_of(verify(stamped(log[:1], 7)))


def test_every_event_has_words() -> None:
    from bot.cli.replay.decision_check import said
    from tests.golden.writing import ending, first_turn, middle, outcome, started

    events: list[Event] = [started(), *first_turn(), *middle(), *ending(), *outcome()]
    assert all(said(event) for event in events)
    assert isinstance(Log().envelopes[0], Envelope)
    kinds = (
        Triaged(talk=True),
        CheckpointSaved(manifest="", through_seq=1, problem="the disk is full"),
        Asked(question="q"),
    )
    assert [said(each) for each in kinds] == [
        "treated as a question (by rule)", "workspace not saved (first change): the disk is full",
        "asked the person (question):",
    ]  # fmt: skip
