"""What does not fit into a model: cut before it is sent, or at once when it was refused; at last a visible end."""

from __future__ import annotations

from agentic.core.events.execution_events import Escalated, ModelFailed, Tier
from agentic.core.fold.compacted_turns import trimmed
from agentic.core.fold.prompt_size import characters
from agentic.core.prompt.summary import HEADING
from agentic.core.rules.decide import decide
from agentic.core.state.actions import Finish, Think
from agentic.core.state.conversation import Message, ToolAnswer
from tests.unit.core.compacting_logs import Long, overflow

SMALL = (Tier(number=2, models=("small-a",)), Tier(number=4, models=("large",)))


def test_a_request_that_was_too_long_is_cut_at_once_and_asked_once_more_of_the_same_model() -> None:
    log = Long(history="replay_all")
    for _ in range(20):
        log.turn()
    overflow(log)
    before = log.execution.history
    action = log.go_on()
    assert isinstance(action, Think)
    assert action.model == "small-a"
    (done,) = log.compactions
    assert (done.why, done.longest) == ("overflow", 0)
    assert characters(log.execution.history) < characters(before) / 2
    assert log.execution.history[-6:] == before[-6:]  # the last three turns as they were
    log.add(ModelFailed(request=log.request(), failure="context_overflow", message="too long"))
    ended = decide(log.execution)
    assert isinstance(ended, Finish)
    assert "too long for this model" in ended.finished.answer


def test_after_an_answer_a_later_overflow_is_cut_again() -> None:
    log = Long(history="replay_all")
    for _ in range(2):
        for _ in range(12):
            log.turn()
        overflow(log)
        assert isinstance(log.go_on(), Think)
    assert [done.why for done in log.compactions] == ["overflow", "overflow"]


def test_results_that_alone_are_too_long_are_cut_to_their_ends() -> None:
    log = Long()
    log.turn("BEGIN" + "x" * 90_000 + "END")
    overflow(log)
    assert isinstance(log.go_on(), Think)
    sent = log.sent()
    assert len(sent) < 50_000
    assert "BEGINxx" in sent
    assert "xxEND" in sent
    assert "characters are left out here, because the request was too long" in sent


def test_what_cannot_be_made_shorter_ends_visibly() -> None:
    log = Long()
    overflow(log)
    assert isinstance(decide(log.execution), Finish)


def test_a_task_that_alone_is_too_long_is_cut_too() -> None:
    log = Long("T" * 40_000)
    overflow(log)
    assert isinstance(log.go_on(), Think)
    assert characters(log.execution.history) < 20_000


def test_what_was_left_of_a_long_task_stays_as_it_is_at_the_next_cut() -> None:
    log = Long("T" * 30_000, history="replay_all")
    overflow(log)
    for _ in range(60):
        log.turn(f"{log.turns} " + "x" * 900)
    overflow(log)
    assert isinstance(log.go_on(), Think)
    first, second = log.compactions
    assert first.opening == second.opening < 8_000
    assert log.execution.history[0].text.count(HEADING) == 1


def test_it_is_cut_before_it_overflows_a_window_that_is_known() -> None:
    log = Long(history="replay_all", windows={"small-a": 4_000}, tiers=SMALL)
    for _ in range(60):
        log.turn()
    assert log.compactions
    assert {done.why for done in log.compactions} == {"window"}
    assert max(log.execution.extent.history, 0) / 4 < 4_000


def test_handing_over_to_a_model_that_reads_less_cuts_first() -> None:
    log = Long(history="replay_all", windows={"small-a": 100_000, "large": 3_000}, tiers=SMALL)
    for _ in range(30):
        log.turn()
    log.go_on()
    assert log.compactions == []
    log.add(Escalated(from_tier=2, to_tier=4, trigger="it said so"))
    assert isinstance(log.go_on(), Think)
    assert [done.why for done in log.compactions] == ["window"]


def test_results_that_wait_are_cut_where_the_window_has_no_room_for_them() -> None:
    log = Long(windows={"small-a": 2_000}, tiers=SMALL)
    log.turn()
    log.turn("BEGIN" + "x" * 30_000 + "END")
    assert isinstance(log.go_on(), Think)
    assert log.compactions[-1].longest > 0
    assert len(log.sent()) < 9_000
    log.request()
    assert "BEGIN" in log.execution.history[-1].answers[0].text
    assert log.execution.turn.longest == 0  # and the results of the next turn are whole again


def test_a_message_without_long_results_stays_the_same_object() -> None:
    short = Message("user", "go", answers=(ToolAnswer("c1", "look", "x" * 50),))
    assert trimmed(short, 50) is short
    assert len(trimmed(short, 10).answers[0].text) > 10
