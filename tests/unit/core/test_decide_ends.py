"""The rules by which an execution is extended, escalated, nudged and ended."""

from __future__ import annotations

import pytest

from agentic.core.display.outbox_items import visible
from agentic.core.events.execution_events import (
    DeadlinePassed,
    Decided,
    Escalated,
    Finished,
    ModelFailed,
    ModelRequested,
    PolicyChanged,
    Reported,
    Tier,
)
from agentic.core.events.values import TOUR, FailureClass
from agentic.core.rules import questions
from agentic.core.rules.decide import decide
from agentic.core.state.actions import Consult, Finish, Think, Wait
from tests.unit.core.building import TIERS, YOU, Log


def _at_limit(**policy: object) -> Log:
    log = Log(turns_medium=1, **policy)
    log.answer("working", ("look", {}))
    log.use(0)
    log.settle()
    return log


def test_at_the_limit_the_person_is_asked_and_may_extend_it() -> None:
    log = _at_limit()
    assert log.execution.question is not None
    assert log.execution.question.sort == "extension"
    log.say("answer", "20 more turns")
    log.settle()
    assert log.execution.turn_limit == 21
    assert isinstance(decide(log.execution), Think)


def test_at_the_limit_the_person_may_say_how_many_in_words_of_their_own() -> None:
    log = _at_limit()
    log.say("answer", "go on for 5")
    log.settle()
    assert log.execution.turn_limit == 6
    other = _at_limit()
    other.say("answer", "sure, go on")
    other.settle()
    assert other.execution.turn_limit == 11


@pytest.mark.parametrize("word", ["stop", "Stop here", "no"])
def test_at_the_limit_the_person_may_end_it(word: str) -> None:
    log = _at_limit()
    log.say("answer", word)
    log.settle()
    ended = decide(log.execution)
    assert isinstance(ended, Finish)
    assert ended.finished.reason == "limit"
    assert "> working" in ended.finished.answer


def test_where_nobody_can_answer_the_limit_ends_the_execution() -> None:
    log = _at_limit(attended=False)
    ended = decide(log.execution)
    assert isinstance(ended, Finish)
    assert ended.finished.reason == "limit"


@pytest.mark.parametrize(
    "failure", ["key_refused", "quota_used_up", "context_overflow", "content_filtered", "bad_request", "model_unknown"]
)
def test_a_failure_that_cannot_pass_ends_the_execution_with_what_to_do(failure: FailureClass) -> None:
    log = Log(attended=False)
    log.fail(failure)
    if failure == "model_unknown":
        log.fail(failure)  # by the tier's other model, too
    ended = decide(log.execution)
    assert isinstance(ended, Finish)
    assert ended.finished.reason == "failed"
    assert "> it says" in ended.finished.answer


def test_a_model_whose_window_does_not_hold_the_first_request_is_said_to_read_too_little() -> None:
    log = Log(attended=False)
    log.fail("context_overflow")
    ended = decide(log.execution)
    assert isinstance(ended, Finish)
    assert "context window is too small" in ended.finished.answer
    assert "16,000 tokens" in ended.finished.answer


@pytest.mark.parametrize(("failure", "words"), [("key_refused", "set a valid key"), ("quota_used_up", "add credit")])
def test_an_account_out_of_order_rests_until_somebody_has_put_it_in_order(failure: FailureClass, words: str) -> None:
    log = Log()
    log.fail(failure)
    log.settle()
    asked = log.execution.question
    assert asked is not None
    assert (asked.what, [option.label for option in asked.options]) == ("account", ["Try again", "Stop here"])
    assert words in asked.text
    assert "> it says" in asked.text
    log.say("answer", "the key is set now")
    log.settle()
    again = decide(log.execution)
    assert isinstance(again, Think)
    assert (again.attempt, again.model, again.turn) == (1, "small-a", 1)
    assert not any("the key is set now" in text for text in log.execution.told.texts)
    log.fail(failure)
    log.settle()
    log.say("answer", "Stop here")
    log.settle()
    ended = decide(log.execution)
    assert isinstance(ended, Finish)
    assert ended.finished.reason == "failed"


def test_a_model_that_its_provider_does_not_know_gives_way_to_others_of_its_tier_and_then_to_a_choice() -> None:
    log = Log()
    log.fail("model_unknown")
    other = decide(log.execution)
    assert isinstance(other, Think)
    assert other.model == "small-b"
    log.fail("model_unknown")
    log.settle()
    asked = log.execution.question
    assert asked is not None
    assert [option.label for option in asked.options] == ["Use large", "Stop here"]
    assert "doesn't know the model small-b" in asked.text
    assert "`THREADWRIGHT_TIER_2`" in asked.text
    log.say("answer", "the name is right")
    log.settle()
    again = decide(log.execution)
    assert isinstance(again, Think)
    assert again.tier == 2
    for _ in range(2):
        log.fail("model_unknown")
    log.settle()
    log.say("answer", "Use large")
    log.settle()
    higher = decide(log.execution)
    assert isinstance(higher, Think)
    assert (higher.tier, higher.model) == (4, "large")
    log.fail("model_unknown")
    ended = decide(log.execution)
    assert isinstance(ended, Finish), "there is no other one"
    assert "know the model large" in ended.finished.answer
    assert "`THREADWRIGHT_TIER_4`" in ended.finished.answer


def thinks(log: Log) -> tuple[int, str]:
    """The tier and the model that are asked next."""
    action = decide(log.execution)
    assert isinstance(action, Think)
    return action.tier, action.model


def test_a_model_that_is_not_known_is_asked_once_in_an_execution() -> None:
    log = Log(tiers=(Tier(number=2, models=("typo", "good")), Tier(number=4, models=("large",))))
    assert thinks(log) == (2, "typo")
    log.fail("model_unknown")
    assert thinks(log) == (2, "good")
    log.fail("rate_limited")
    action = decide(log.execution)
    assert isinstance(action, Wait), "the one that is left is waited for"
    log.add(DeadlinePassed(ref=action.timers[0].ref))
    assert thinks(log) == (2, "good")
    log.answer("I look.", ("look", {}))
    log.use(0)
    log.settle()
    assert thinks(log) == (2, "good"), "nor in a later turn"


def test_what_a_person_says_is_known_now_is_asked_again() -> None:
    log = Log(tiers=(Tier(number=2, models=("small",)), Tier(number=3, models=("large",))))
    log.fail("model_unknown")
    log.settle()
    log.say("answer", "I pulled it")
    log.settle()
    assert thinks(log) == (2, "small")
    assert log.execution.unknown == frozenset()


def _stuck(log: Log) -> None:
    log.answer("I look.", ("look", {}))
    log.add(Reported(status="stuck", confidence=20))
    log.use(0)
    log.settle()


@pytest.mark.parametrize("attended", [True, False])
def test_where_the_models_of_the_tier_that_takes_over_are_not_known_the_one_below_goes_on(attended: bool) -> None:
    log = Log(tiers=(*TIERS[:1], Tier(number=4, models=("typo",))), attended=attended, advise_first=False)
    _stuck(log)
    assert thinks(log) == (4, "typo")
    log.fail("model_unknown")
    before = log.execution
    log.settle()
    assert thinks(log) == (2, "small-a")
    (notice,) = visible(before, log.envelopes[-1])
    assert notice.text == (
        "⬇ Back to small-a (tier 2): the provider doesn't know typo. Whoever runs the bot can correct its name in "
        "`THREADWRIGHT_TIER_4`."
    )
    assert any(
        "You take over here, because the provider doesn't know typo." in text for text in log.execution.told.texts
    )
    log.say("escalate")
    log.settle()
    assert thinks(log) == (2, "small-a"), "nobody hands over to it again"
    log.answer(("finish", {"answer": "All good."}))
    log.use(0)
    log.settle()
    assert isinstance(decide(log.execution), Finish), "what it says in that turn is its own"


def test_advice_is_not_followed_by_a_model_that_was_not_known_when_it_was_asked_for_it() -> None:
    log = Log(
        tiers=(*TIERS[:1], Tier(number=4, models=("typo",)), Tier(number=5, models=("typo", "best"))), advise_first=True
    )
    _stuck(log)
    asked = decide(log.execution)
    assert isinstance(asked, Consult)
    assert asked.model == "typo"
    log.add(ModelRequested(request="a", turn=1, tier=4, model="typo", purpose="advice"))
    log.add(ModelFailed(request="a", failure="model_unknown"))
    log.settle()
    assert thinks(log) == (5, "best")
    changed = log.envelopes[-1].event
    assert isinstance(changed, Escalated)
    assert changed.to_model == "best"


def test_who_stops_where_a_model_is_not_known_reads_that() -> None:
    log = Log(tiers=(Tier(number=2, models=("small",)), Tier(number=3, models=("large",))))
    log.fail("model_unknown")
    log.settle()
    log.say("answer", "Stop here")
    log.settle()
    ended = decide(log.execution)
    assert isinstance(ended, Finish)
    assert ended.finished.answer.startswith("The provider doesn't know the model. Ended here, as you chose.")


def test_an_account_question_without_models_or_words_of_the_provider_is_asked_as_well() -> None:
    log = Log(tiers=())
    request = log.request()
    log.add(ModelFailed(request=request, failure="key_refused"))
    log.settle()
    assert log.execution.question is not None
    assert "for the model." in log.execution.question.text


def test_a_passing_failure_backs_off_then_moves_within_the_tier_and_at_last_ends() -> None:
    log = Log()
    waits: list[float] = []
    for number, model in enumerate(("small-b", "small-a", "small-b", "small-a"), start=2):
        log.fail("timed_out", retry_after=20.0 if number == 2 else None)
        action = decide(log.execution)
        assert isinstance(action, Wait)
        assert [timer.ref.partition(":")[0] for timer in action.timers] == ["retry", "minutes"]
        waits.append((action.timers[0].at - log.now).total_seconds())
        log.add(DeadlinePassed(ref=action.timers[0].ref))
        again = decide(log.execution)
        assert isinstance(again, Think)
        assert (again.model, again.attempt, again.turn) == (model, number, 1)
    assert all(0.75 * base <= waited <= 1.25 * base for base, waited in zip((1, 1, 2, 2), waits, strict=True))
    assert len(set(waits)) == 4
    log.fail("unavailable")
    ended = decide(log.execution)
    assert isinstance(ended, Finish)
    assert ended.finished.reason == "failed"


def test_a_provider_that_says_when_to_come_back_is_waited_for() -> None:
    log = Log(tiers=({"number": 2, "models": ("only",)},))
    log.fail("rate_limited", retry_after=30.0)
    action = decide(log.execution)
    assert isinstance(action, Wait)
    assert (action.timers[0].at - log.now).total_seconds() == 30.0


def test_the_finish_tool_ends_the_execution_unless_guidance_was_not_seen() -> None:
    log = Log()
    log.answer(("finish", {"answer": "All good.", "claims": [{"text": "it works"}]}))
    log.use(0)
    log.settle()
    ended = decide(log.execution)
    assert isinstance(ended, Finish)
    assert (ended.finished.reason, ended.finished.answer) == ("done", "All good.")
    assert [claim.verdict for claim in ended.finished.claims] == ["unproven"]
    log.say("guidance", "wait")
    assert isinstance(decide(log.execution), Think)


def test_text_in_talk_is_the_answer() -> None:
    log = Log("hello", talk=True)
    log.answer("Hello!")
    log.settle()
    ended = decide(log.execution)
    assert isinstance(ended, Finish)
    assert ended.finished.answer == "Hello!"


def test_text_without_a_call_is_asked_once_to_act_and_then_ends_as_unproven() -> None:
    log = Log()
    log.answer("I think it works.")
    log.settle()
    assert any("You answered without acting" in text for text in log.execution.told.texts)
    log.answer("It does.")
    log.settle()
    ended = decide(log.execution)
    assert isinstance(ended, Finish)
    assert [claim.verdict for claim in ended.finished.claims] == ["unproven"]


def test_content_that_the_provider_refused_ends_the_execution_visibly() -> None:
    log = Log()
    log.answer(stop="filtered")
    log.settle()
    ended = decide(log.execution)
    assert isinstance(ended, Finish)
    assert ended.finished.reason == "failed"


def test_the_same_error_three_times_moves_up_a_tier_once() -> None:
    log = Log(advise_first=False)
    for _ in range(3):
        log.answer(("shell", {}))
        log.use(0, "failed", error="it broke")
        log.settle()
    assert log.execution.tier == 4
    assert log.execution.judged.same_error == 0
    assert any("take over" in text for text in log.execution.told.texts)


def test_a_report_of_being_stuck_moves_up_a_tier_and_rests_for_two_turns() -> None:
    log = Log(attended=False, advise_first=False)
    for turn in range(1, 5):
        log.answer(("look", {}))
        log.add(Reported(status="stuck", confidence=20))
        log.use(0)
        log.settle()
        assert log.execution.tier == 4
        if turn < 4:
            assert isinstance(decide(log.execution), Think)
    ended = decide(log.execution)
    assert isinstance(ended, Finish)
    assert ended.finished.reason == "stuck"


def _stuck_at_the_top(said: str = "I tried the cache.") -> Log:
    log = Log(tiers=({"number": 2, "models": ("only",)},))
    log.answer(said, ("look", {}))
    log.add(Reported(status="stuck", confidence=20))
    log.use(0)
    log.settle()
    return log


def test_stuck_at_the_top_the_person_is_asked_and_a_hint_goes_into_the_next_request() -> None:
    log = _stuck_at_the_top()
    assert log.execution.question is not None
    assert "> I tried the cache." in log.execution.question.text
    log.say("answer", "look at the log")
    log.settle()
    assert isinstance(decide(log.execution), Think)
    assert any("look at the log" in text for text in log.execution.told.texts)


def test_stuck_without_a_word_the_question_quotes_nothing() -> None:
    question = _stuck_at_the_top(" ").execution.question
    assert question is not None
    assert "Where I am" not in question.text


def test_stuck_at_the_top_the_person_may_let_it_try_again_or_end_it() -> None:
    again = _stuck_at_the_top()
    again.say("answer", "1")
    again.settle()
    assert any("in another way" in text for text in again.execution.told.texts)
    ended = _stuck_at_the_top()
    ended.say("answer", "stop")
    ended.settle()
    action = decide(ended.execution)
    assert isinstance(action, Finish)
    assert action.finished.reason == "stuck"
    assert "Ended here, as you chose." in action.finished.answer


@pytest.mark.parametrize(("word", "told"), [("2", "Thanks, ending here."), ("1", "Thanks, continuing.")])
def test_who_chooses_to_end_it_is_not_told_that_it_goes_on(word: str, told: str) -> None:
    log = _stuck_at_the_top()
    before = log.execution
    log.say("answer", word)
    assert [item.text for item in visible(before, log.envelopes[-1])] == [told]


def test_empty_answers_are_nudged_twice_then_escalated_then_end_visibly() -> None:
    log = Log(attended=False)
    for _ in range(2):
        log.answer()
        log.settle()
        assert any("answer was empty" in text for text in log.execution.told.texts)
        assert log.execution.tier == 2
    for tier in (4, 4, 4):
        log.answer()
        log.settle()
        assert log.execution.tier == tier
    log.answer()
    log.settle()
    ended = decide(log.execution)
    assert isinstance(ended, Finish)
    assert ended.finished.reason == "stuck"


def test_a_truncated_answer_is_told() -> None:
    log = Log()
    log.answer("half", ("look", {}), stop="length")
    log.use(0)
    log.settle()
    assert any("cut off" in text for text in log.execution.told.texts)


def test_one_nudge_a_turn() -> None:
    log = Log()
    log.answer(stop="length")
    log.settle()
    assert len(log.execution.told.texts) == 1


def test_a_decision_is_acted_on_once() -> None:
    log = _at_limit()
    question = log.execution.question
    assert question is not None
    log.add(Decided(question=question.question, by=YOU, choice="10"))
    log.settle()
    assert [e.event.add_turns for e in log.envelopes if isinstance(e.event, PolicyChanged)] == [10]
    assert questions.STOP == "stop"


TOURING = {"tiers": ({"number": 2, "models": (TOUR,)},)}


def test_without_a_model_the_end_is_the_tours_with_no_claim_and_no_confidence() -> None:
    log = Log(**TOURING)
    log.answer("Scripted.", ("look", {}))
    log.use(0)
    log.settle()
    assert isinstance(decide(log.execution), Think), "the tour goes on"
    log.answer(("finish", {"answer": "A tour.", "claims": [{"text": "it works"}], "files": ["a.md"]}))
    log.use(0)
    log.settle()
    ended = decide(log.execution)
    assert isinstance(ended, Finish)
    assert ended.finished == Finished(reason="tour", answer="A tour.", files=("a.md",))


def test_without_a_model_talk_is_answered_by_the_tour_too() -> None:
    log = Log("hello", talk=True, **TOURING)
    log.answer("A tour.")
    log.settle()
    ended = decide(log.execution)
    assert isinstance(ended, Finish)
    assert ended.finished == Finished(reason="tour", answer="A tour.")
