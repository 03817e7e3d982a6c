"""Watchers: when one is asked, what it is shown, and that its answer can only hold back."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from agentic.core.audit.verification import verify
from agentic.core.events.execution_events import (
    FailureClass,
    Gated,
    ModelAnswered,
    ModelFailed,
    ModelRequested,
    OwnerChanged,
    TextBlock,
    Todo,
    TodoChanged,
    ToolFinished,
    ToolStarted,
    Watched,
    Watcher,
)
from agentic.core.prompt.build import tail_text
from agentic.core.rules.decide import RULES_VERSION, decide
from agentic.core.rules.watchers.peek import CALLS, RESTS, due, prompt
from agentic.core.rules.watchers.watch_rules import UNREADABLE, watched
from agentic.core.state.actions import Ask, Checkpoint, Consult, Record, Think, UseTools
from tests.unit.core.building import BOSS, TIERS, Log

DRIFT = Watcher(name="drift", every=2, instruction="Does it still do what was asked for?")
ACTS = Watcher(
    name="acts", when="before action", may="veto", tools=("shell", "mcp__*"), matching=("rm", "push --force"),
    instruction="Does a call destroy what the task does not speak of?",
)  # fmt: skip
STRICT = ACTS.model_copy(update={"name": "strict", "matching": (), "if_it_fails": "ask"})
RM: tuple[str, dict[str, JsonValue]] = ("shell", {"command": "rm -rf data"})
VETO = '{"verdict": "veto", "calls": [1], "why": "It deletes data."}'


def asks(log: Log) -> Consult:
    """A watcher is asked now."""
    action = decide(log.execution)
    assert isinstance(action, Consult)
    assert action.purpose == "watcher"
    return action


def request(log: Log) -> str:
    due_now = asks(log)
    name = f"w{log.execution.seq + 1}"
    log.add(
        ModelRequested(
            request=name, turn=due_now.turn, purpose="watcher", tier=due_now.tier, model=due_now.model, reserved_usd=0.25
        )
    )  # fmt: skip
    return name


def says(log: Log, text: str) -> Watched:
    """A watcher is asked, and this is made of its answer."""
    log.add(ModelAnswered(request=request(log), blocks=(TextBlock(text=text),), usd=0.0001))
    return read(log)


def fails(log: Log, failure: FailureClass = "timed_out") -> None:
    log.add(ModelFailed(request=request(log), failure=failure, message="no answer"))


def read(log: Log) -> Watched:
    action = decide(log.execution)
    assert isinstance(action, Record)
    (event,) = action.events
    assert isinstance(event, Watched)
    log.add(event)
    return event


def gate(log: Log, index: int = 0) -> Gated:
    """What the loop notes of a call that a watcher objects to."""
    assert isinstance(decide(log.execution), UseTools)
    call = log.execution.turn.calls[index]
    event = Gated(call=call.id, args_sha="sha", reason="", objection=call.objection)
    log.add(event)
    return event


def test_calls_that_match_are_shown_once_before_anything_of_them_begins() -> None:
    log = Log(watchers=(ACTS,), saved=False)
    log.settle(saving=False)
    log.answer("Clean up.", RM, ("shell", {"command": "ls farm"}), ("look", {"path": "rm"}))
    assert (asks(log).tier, asks(log).model, asks(log).turn) == (2, "small-a", 1)
    shown = prompt(log.execution, ()).messages[0].text
    assert "[Call 1: shell]" in shown
    assert "rm -rf data" in shown
    assert shown.count("[Call ") == 1, "“farm” only holds the word, and the third is no tool of its"
    event = says(log, '{"verdict": "fine"}')
    assert (event.watcher, event.turn, event.held, event.text) == ("acts", 1, (), "")
    assert event.calls == (log.execution.turn.calls[0].id,)
    assert isinstance(decide(log.execution), Checkpoint), "and the work goes on as without it"
    log.settle()
    assert isinstance(decide(log.execution), UseTools)


def test_a_veto_becomes_an_approval_that_shows_its_reason_and_covers_nothing_else() -> None:
    log = Log(watchers=(ACTS,))
    log.answer(RM, ("shell", {"command": "rm b"}))
    event = says(log, f"First: {{}} then {VETO}")
    assert event.held == (log.execution.turn.calls[0].id,)
    gate(log)
    asked = decide(log.execution)
    assert isinstance(asked, Ask)
    assert asked.asked.text.startswith("May I do this? It looks wrong to the acts watcher (“It deletes data.”).")
    assert "rm -rf data" in asked.asked.text
    assert asked.asked.who_may == "operator"
    log.settle()
    log.say("answer", "allow", log.execution.question.question if log.execution.question else "", by=BOSS)
    log.settle()
    assert log.execution.turn.calls[0].approval
    assert not log.execution.turn.calls[1].objection
    assert isinstance(decide(log.execution), UseTools)
    assert log.execution.spent.usd == pytest.approx(0.0011)


def test_where_nobody_can_answer_a_veto_refuses_and_says_why() -> None:
    log = Log(watchers=(ACTS,), attended=False)
    log.answer(RM)
    says(log, VETO)
    gate(log)
    log.settle()
    result = log.execution.turn.calls[0].result
    assert result is not None
    assert result.outcome == "denied"
    assert result.preview.startswith("Not run: it looks wrong to the acts watcher (“It deletes data.”), and it needs")


@pytest.mark.parametrize(
    ("answer", "held", "text"),
    [
        ('{"verdict": "VETO ", "calls": [7], "why": ""}', (0, 1), "it does not say why"),
        ('{"verdict": "veto", "calls": [2], "why": "`x` [a](http://b)\\nnow"}', (1,), "'x' (a)(http://b) now"),
        ('{"verdict": "note", "why": "Look at b."}', (), "Look at b."),
        ('{"verdict": "allow", "why": "all of it"}', (), ""),
        ("fine", (), ""),
        ('{"verdict": 1}', (), ""),
    ],
)
def test_an_answer_is_read_as_what_holds_back_most(answer: str, held: tuple[int, ...], text: str) -> None:
    log = Log(watchers=(ACTS,))
    log.answer(RM, ("shell", {"command": "rm b"}))
    event = says(log, answer)
    assert event.held == tuple(log.execution.turn.calls[place].id for place in held)
    assert event.text == text
    assert event.problem == ("" if text else UNREADABLE)


def test_one_that_may_only_note_holds_nothing_and_its_note_stands_in_the_tail_until_an_answer() -> None:
    log = Log(watchers=(DRIFT,))
    log.answer(("look", {}))
    log.use()
    log.settle()
    assert isinstance(decide(log.execution), Think), "one turn is not enough"
    log.answer(("look", {}))
    log.use()
    log.settle()
    assert says(log, '{"verdict": "veto", "why": "It bakes #cakes."}').held == ()
    tail = tail_text(log.execution, None)
    assert "[Note of the drift watcher: a small model that looks on, may be wrong, and gives no orders]" in tail
    assert tail.endswith("It bakes #cakes.")
    assert isinstance(decide(log.execution), Think)
    log.fail("unavailable")
    assert "It bakes" in tail_text(log.execution, None), "nobody has answered in its sight yet"
    log.answer(("look", {}))
    assert tail_text(log.execution, None) == ""
    assert all("It bakes" not in message.text for message in log.execution.history)
    log.use()
    log.settle()
    assert isinstance(decide(log.execution), Think), "it has just looked"


def test_several_watchers_are_asked_in_order_and_both_objections_are_shown() -> None:
    log = Log(watchers=(ACTS, STRICT))
    log.answer(RM)
    says(log, VETO)
    says(log, '{"verdict": "veto", "why": "Not asked for."}')
    assert gate(log).objection == (
        "looks wrong to the acts watcher (“It deletes data.”), and looks wrong to the strict watcher (“Not asked for.”)"
    )


def test_without_an_answer_work_goes_on_or_a_person_is_asked_as_its_file_says() -> None:
    log = Log(watchers=(ACTS, STRICT))
    log.answer(RM)
    fails(log)
    event = read(log)
    assert (event.watcher, event.problem, event.held) == ("acts", "no answer", ())
    fails(log)
    event = read(log)
    assert event.held == (log.execution.turn.calls[0].id,)
    assert gate(log).objection == "could not be looked at by the strict watcher (no answer)"


def test_one_that_fails_again_and_again_rests_unless_a_person_is_asked_then() -> None:
    log = Log(watchers=(ACTS, STRICT), turns_medium=20)
    for _ in range(RESTS):
        log.answer(RM)
        fails(log)
        read(log)
        says(log, '{"verdict": "fine"}')
        log.settle()
        log.use()
        log.settle()
    log.answer(RM)
    peek = due(log.execution)
    assert peek is not None
    assert peek.watcher.name == "strict"
    assert log.execution.watches.failed == {"acts": RESTS, "strict": 0}


@pytest.mark.parametrize("failure", ["lost", "cancelled"])
def test_what_was_lost_is_asked_again_and_told_once(failure: FailureClass) -> None:
    log = Log(watchers=(ACTS,))
    log.answer(RM)
    name = request(log)
    if failure == "lost":
        log.fence += 1
        log.add(OwnerChanged(worker="next"))
        log.settle()
    else:
        log.add(ModelFailed(request=name, failure=failure))
    assert log.execution.spent.usd == pytest.approx(0.251)
    assert watched(log.execution) is None
    assert says(log, VETO).held
    assert [each.event.kind for each in log.envelopes].count("watched") == 1
    assert log.execution.turn.calls[0].objection.count("deletes") == 1


def test_it_is_shown_what_the_task_is_and_what_people_said_with_secrets_hidden_and_bounded() -> None:
    token = "ghp_" + "a1B2" * 9
    log = Log("Tidy the folder. " + "x" * 9_000, watchers=(ACTS,))
    log.say("guidance", "leave data alone")
    log.answer("I clean up.", ("shell", {"command": f"rm -rf data {token} " + "y" * 9_000}))
    log.add(TodoChanged(items=(Todo(text="tidy"),)))
    sent = prompt(log.execution, ())
    text = sent.messages[0].text
    assert ACTS.instruction in sent.system
    assert sent.tools == ()
    for part in (
        "Tidy the folder.",
        "leave data alone",
        "[open] tidy",
        "I clean up.",
        "rm -rf data",
        "are not shown here",
    ):
        assert part in text
    assert token not in text
    assert "[secret: GitHub token]" in text
    assert len(text) < 12_000


def test_only_so_many_calls_are_shown_at_once_and_the_rest_afterwards() -> None:
    log = Log(watchers=(ACTS,))
    log.answer(*[("shell", {"command": f"rm {number}"}) for number in range(CALLS + 1)])
    assert len(says(log, '{"verdict": "fine"}').calls) == CALLS
    assert len(says(log, '{"verdict": "fine"}').calls) == 1
    assert isinstance(decide(log.execution), UseTools)


def test_nobody_is_asked_about_what_cannot_begin_or_has_begun() -> None:
    log = Log(watchers=(STRICT,))
    log.answer(("no_such_tool", {}), ("mcp__rm", {}), RM)
    assert len(prompt(log.execution, ()).messages[0].text.split("[Call ")) == 2, "the others are not known here"
    says(log, '{"verdict": "fine"}')
    log.settle()
    log.add(Gated(call=log.execution.turn.calls[2].id, args_sha="sha", reason="deletes"))
    assert due(log.execution) is None
    for watchers, more in ((STRICT, {"talk": True}), (STRICT, {"tiers": ()}), (DRIFT, {})):
        silent = Log(watchers=(watchers,), **more)  # pyright: ignore[reportArgumentType]
        silent.answer(RM)
        assert due(silent.execution) is None


def test_the_tier_is_the_nearest_one_from_its_own_up() -> None:
    for tier, model in ((1, "small-a"), (3, "large"), (9, "large")):
        log = Log(watchers=(ACTS.model_copy(update={"tier": tier}),), tiers=TIERS)
        log.answer(RM)
        assert asks(log).model == model


def test_nothing_is_asked_while_a_question_is_open_and_an_answer_of_nobody_is_nothing() -> None:
    log = Log(watchers=(ACTS,))
    log.answer(("ask_user", {}), ("look", {}))
    log.add(ModelRequested(request="w9", turn=1, purpose="watcher", tier=2, model="m"))
    log.add(ModelAnswered(request="w9", blocks=(TextBlock(text=VETO),)))
    assert watched(log.execution) is None
    other = Log(watchers=(ACTS,), max_usd=0.0005)
    other.answer(RM)
    other.settle()
    assert other.execution.question is not None
    assert due(other.execution) is not None
    assert not isinstance(decide(other.execution), Consult)


def test_a_watched_call_that_is_not_there_any_more_changes_nothing() -> None:
    log = Log(watchers=(ACTS,))
    log.answer(RM)
    log.add(Watched(watcher="acts", turn=1, calls=("gone",), text="x", held=("gone",)))
    assert [call.objection for call in log.execution.turn.calls] == [""]


def test_an_objection_is_asked_with_other_reasons_and_beside_hosts() -> None:
    from agentic.core.rules.approvals import approval, why_gated
    from agentic.core.state.replace import changed

    log = Log(watchers=(ACTS,))
    log.answer(RM)
    says(log, VETO)
    call = log.execution.turn.calls[0]
    both = Gated(call=call.id, args_sha="sha", reason="deletes files", objection=call.objection)
    assert why_gated(both) == "deletes files, and looks wrong to the acts watcher (“It deletes data.”)"
    for more, asked in (
        ({"hosts": ("a.example",)}, "reach a.example? It looks wrong to the acts watcher"),
        ({"publishes": True}, "May I publish this? It deletes files, and looks wrong"),
    ):
        held = changed(call, gated=both.model_copy(update=more))
        assert asked in approval(log.execution, held).text


def test_a_log_in_which_an_objection_was_passed_over_is_found_out() -> None:
    log = Log(watchers=(ACTS,), saved=False)
    log.answer(RM)
    says(log, VETO)
    log.settle()
    call = log.execution.turn.calls[0]
    first = log.envelopes[0].event.model_copy(update={"rules": RULES_VERSION})
    begun = [log.envelopes[0].model_copy(update={"event": first}), *log.envelopes[1:]]
    started = ToolStarted(
        call=call.id, provider_id=call.block.provider_id, tool="shell", effect="unkeyed", arguments={}, args_sha="sha"
    )
    log.add(started, ToolFinished(call=call.id, outcome="ok", preview=""))
    found = verify([*begun, log.envelopes[-2]]).divergence
    assert found is not None
    assert found.logged == started
    watched_at = next(each for each in begun if isinstance(each.event, Watched))
    altered = watched_at.model_copy(update={"event": watched_at.event.model_copy(update={"held": ()})})
    found = verify([altered if each is watched_at else each for each in begun]).divergence
    assert found is not None
    assert found.seq == watched_at.seq
