"""Requests as they were sent: rebuilt exactly, compared, counted; in a log with secrets too."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from agentic.core.events.execution_events import (
    BlobRef,
    Compacted,
    Event,
    ModelAnswered,
    ModelFailed,
    ModelRequested,
    Perceived,
    Purpose,
    RuleFile,
    StaleFile,
    TextBlock,
)
from bot.console.logs import task_log
from bot.console.views import sent_request
from tests.integration.console.logs import end, guidance, started, triaged, turn
from tests.unit.console.sent_logs import NOTE, SHELL, SPECS, from_store, rebuilt, sent

SECRET = "ghp_" + "a1B2" * 9
STALE = Perceived(stale=(StaleFile(path="src/a.py", diff="-a\n+b"),))


def compacted(log: Sequence[Event]) -> Compacted:
    return Compacted(through_seq=len(log), summary="What was before.", kept=2, head=1, why="length")


async def test_a_request_is_what_was_sent_with_its_answer_and_what_its_calls_gave() -> None:
    log = [started(), triaged(), *turn(1), guidance("Use pytest"), STALE, *turn(2, result="2 passed"), *end()]
    events, requests = await rebuilt(log)
    first, second = requests
    assert [request.exact for request in requests] == [True, True]
    assert first.tools == SPECS
    assert [message.role for message in second.messages] == ["user", "assistant", "user"]
    pieces = sent_request.pieces_of(3, second.messages[2])
    assert [(piece.name, piece.sort) for piece in pieces] == [("m3.0", "result"), ("m3.1", "text")]
    assert pieces[0].text == "1 failed"
    assert pieces[1].text.endswith("Use pytest")
    answer = sent_request.answer_to(events, second)
    assert answer.said is not None
    assert answer.results is not None
    assert answer.said.text == "I look at step 2."
    assert [result.text for result in answer.results.answers] == ["2 passed"]
    assert (
        sent_request.piece_text(second, "m2.2") == "command: python -m pytest -q\nreasoning: to see whether it passes"
    )
    assert sent_request.piece_text(second, "m3.7") is None
    assert sent_request.piece_text(second, "m4.0") is None
    assert "src/a.py changed since you read it" in str(sent_request.piece_text(second, "tail"))
    assert [each.event for each in sent_request.happened(events, first.seq, second.seq)] == [STALE]
    assert sent_request.happened(events, 0, first.seq) == ()


@pytest.mark.parametrize("mark", [2, task_log.MARK])
async def test_a_log_with_a_secret_is_checked_with_it_and_shown_without_it(
    mark: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_log, "MARK", mark)
    log = [started(), triaged(), *turn(1, result=f"the key is {SECRET}"), *turn(2), *end()]
    events, requests = await rebuilt(log)
    assert SECRET not in "".join(envelope.model_dump_json() for envelope in events)
    assert [request.exact for request in requests] == [True, True]


async def test_what_is_deleted_or_worded_otherwise_is_said() -> None:
    made, kept = sent([started(), triaged(), *turn(1), *end()])
    _, (gone,) = await from_store(made, {})
    assert (gone.system, gone.tools, gone.exact) == (None, None, True)
    request = made[2]
    assert isinstance(request, ModelRequested)
    assert request.segments is not None
    other = request.model_copy(update={"segments": request.segments.model_copy(update={"history_sha": "0"})})
    _, (worded,) = await from_store([*made[:2], other, *made[3:]], kept)
    assert worded.exact is False
    _, (bare,) = await from_store([started(), triaged(), *turn(1)], {})
    assert (bare.exact, len(bare.messages)) == (None, 1)
    judged = request.model_copy(update={"purpose": "judge"})
    _, (beside,) = await from_store([*made[:2], judged], kept)
    assert (beside.exact, beside.messages) == (None, ())


async def test_where_the_cache_of_the_request_before_ends_is_said() -> None:
    begun = [started(), triaged(), *turn(1), *turn(2)]
    log = [*begun, *turn(3), compacted([*begun, *turn(3)]), *turn(4)]
    events, (_, second, third, fourth) = await rebuilt(log)
    assert sent_request.cache_breaks(second, third) == ()
    (broken,) = sent_request.cache_breaks(third, fourth)
    assert broken.startswith("Message 2 is the first that differs; 4 of the 5 messages")
    (shortened,) = sent_request.happened(events, third.seq, fourth.seq)
    assert isinstance(shortened.event, Compacted)
    changes = sent_request.difference(third, fourth)
    assert (changes.same, changes.removed, changes.added) == (1, 4, 4)
    assert (changes.system, changes.tools_added, changes.tail) == ((), (), ())
    assert sent_request.difference(second, third).added == 2


async def test_other_prompts_tools_and_models_are_told_line_by_line() -> None:
    ruled = started(rule_files=(RuleFile(name="house", text="Tests first."),))
    made, kept = sent([started(), triaged(), *turn(1)], (SHELL,))
    _, (plain,) = await from_store(made, kept)
    made, kept = sent([ruled, triaged(), STALE, *turn(1)], (SHELL, NOTE))
    made[3] = made[3].model_copy(update={"model": "other/model"})
    _, (other,) = await from_store(made, kept)
    changes = sent_request.difference(plain, other)
    assert "+Tests first." in changes.system
    assert (changes.tools_added, changes.tools_removed) == (("note",), ())
    assert any(line.startswith("+") and "src/a.py" in line for line in changes.tail)
    assert sent_request.cache_breaks(plain, other) == (
        "Another model is asked: other/model instead of anthropic/claude-haiku-4-5.",
        "The system prompt is another one.",
        "The tools are others.",
    )


async def test_sizes_name_what_takes_room() -> None:
    _, (_, second) = await rebuilt([started(), triaged(), *turn(1, result="x" * 500), *turn(2)])
    sizes = dict(sent_request.sizes(second))
    assert sizes["Results"] == 500
    assert sizes["System prompt"] == len(second.system or "")
    assert "Added after the messages" not in sizes


async def test_a_failure_is_the_answer() -> None:
    log = [started(), triaged(), *turn(1)[:1], ModelFailed(request="r1", failure="rate_limited", message="wait")]
    events, (only,) = await rebuilt(log)
    assert sent_request.answer_to(events, only).failure == "rate limited: wait"


async def test_requests_beside_the_turns_are_rebuilt_too() -> None:
    def beside(purpose: Purpose, number: int) -> list[Event]:
        asked = ModelRequested(request=purpose, turn=number, purpose=purpose, tier=1, model="a/small")
        return [asked, ModelAnswered(request=purpose, blocks=(TextBlock(text="It fits."),))]

    log = [started(), *beside("triage", 0), triaged(), *turn(1), *beside("summary", 1), *beside("advice", 1), *turn(2)]
    _, requests = await rebuilt(log)
    assert [request.event.purpose for request in requests] == ["triage", "turn", "summary", "advice", "turn"]
    assert [request.exact for request in requests] == [True] * 5
    assert requests[2].messages[:3] == requests[4].messages[:3]
    assert requests[3].tools == ()


async def test_a_result_that_the_model_saw_in_part_leads_to_the_whole_one() -> None:
    whole = BlobRef(sha="c" * 64, size=9_000_000, media="text/plain")
    first, second = turn(1), turn(2)
    finished = first[3].model_copy(update={"output": whole})
    events, requests = await rebuilt([started(), triaged(), *first[:3], finished, first[4], *second, *end()])
    assert sent_request.whole_outputs(events) == {"p1": (6, 9_000_000)}
    result = sent_request.pieces_of(3, requests[1].messages[2])[0]
    assert result.call == "p1"
    assert sent_request.piece_title(requests[1], "m3.0") == "Result of shell in message 3 of the request of turn 2"
    again = [*events, *(each.model_copy(update={"seq": each.seq + 20}) for each in events)]
    assert sent_request.whole_outputs(again) == {}, "one of two results with the same id"
