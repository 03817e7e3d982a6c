"""What is called done before it is: beside calls nobody saw the results of, with an intention, or with nothing changed."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from agentic.core.claims.completion import unmarked
from agentic.core.events.execution_events import (
    CallBlock,
    CommitCreated,
    Finished,
    Intervened,
    Reported,
    ToolFinished,
    Triaged,
)
from agentic.core.events.values import Claim, FileChange
from agentic.core.rules.decide import decide
from agentic.core.state.actions import Finish, Think, UseTools
from tests.unit.core.building import Log, Said

BUILT: Said = ("finish", {"answer": "Everything is built."})
BUILD: Said = ("shell", {"command": "make build"})
HELLO = FileChange(path="hello.txt", kind="added", sha_after="1")


def following(log: Log) -> tuple[str, ...]:
    """The tools that the rules would have begin now."""
    action = decide(log.execution)
    return tuple(call.block.tool for call in action.calls) if isinstance(action, UseTools) else ()


def end(log: Log) -> Finished | None:
    """The end as the rules see it, where it is one."""
    log.settle()
    action = decide(log.execution)
    return action.finished if isinstance(action, Finish) else None


def refusals(log: Log) -> list[str]:
    """What was refused, as the model reads it."""
    finished = [e.event for e in log.envelopes if isinstance(e.event, ToolFinished)]
    return [event.preview for event in finished if event.outcome == "refused"]


@pytest.mark.parametrize("said", [(BUILT, BUILD), (BUILD, BUILT)])
def test_calls_beside_a_finish_run_first_and_then_it_is_refused_with_what_came_of_them(said: tuple[Said, ...]) -> None:
    log = Log()
    log.answer(*said)
    log.settle()
    assert following(log) == ("shell",)
    log.use(said.index(BUILD), "failed", exit_code=2)
    assert end(log) is None
    (refused,) = refusals(log)
    assert "shell make build: failed, exit 2" in refused
    assert isinstance(decide(log.execution), Think)


def test_a_finish_beside_calls_of_which_none_failed_is_asked_for_again() -> None:
    log = Log()
    log.answer(BUILT, BUILD, ("look", {"path": "a"}))
    log.use(1, exit_code=0)
    log.use(2)
    assert end(log) is None
    (refused,) = refusals(log)
    assert "- shell make build: ok, exit 0\n- look a: ok" in refused
    log.answer(BUILT)
    log.use(0)
    ended = end(log)
    assert ended is not None
    assert (ended.reason, ended.answer) == ("done", "Everything is built.")


def test_a_call_that_could_not_even_be_tried_beside_a_finish_is_named() -> None:
    log = Log()
    log.answer(BUILT, ("no_such_tool", {}), CallBlock(provider_id="p9", tool="shell", problem="malformed", raw="{"))
    assert end(log) is None
    refused = refusals(log)
    assert len(refused) == 3
    assert "- no_such_tool: refused\n- shell: refused" in refused[-1]


def test_what_the_agent_notes_for_itself_beside_a_finish_holds_nothing_up() -> None:
    log = Log(tools=("report",))
    log.answer(BUILT, ("report", {"status": "done", "confidence": 90}))
    log.settle()
    assert following(log) == ("report",)
    log.start(1)
    log.add(Reported(status="done", confidence=90))
    log.finish(1)
    assert following(log) == ("finish",)
    log.use(0)
    assert end(log) is not None


def test_a_question_beside_a_finish_is_answered_first() -> None:
    log = Log()
    log.answer(BUILT, ("ask_user", {"question": "Which one?"}))
    log.use(1)
    assert end(log) is None
    assert len(refusals(log)) == 1


def test_only_so_many_results_are_named_in_a_refusal() -> None:
    log = Log()
    log.answer(BUILT, *[("look", {"path": f"f{number}"}) for number in range(12)])
    for index in range(1, 13):
        log.use(index)
    log.settle()
    assert "look f7: ok\n- … and 4 more" in refusals(log)[0]


def test_the_marker_beside_calls_is_no_end_and_the_model_is_told_so() -> None:
    log = Log()
    log.answer("THREADWRIGHT DONE: Everything is built.", BUILD)
    log.use(0, "failed", exit_code=2)
    assert end(log) is None
    assert nudges(log)[0][0] == "premature"
    assert "shell make build: failed, exit 2" in nudges(log)[0][1]


def nudges(log: Log) -> list[tuple[str, str]]:
    return [(e.event.rule, e.event.text) for e in log.envelopes if isinstance(e.event, Intervened)]


@pytest.mark.parametrize(
    "text", ["THREADWRIGHT DONE: I am going to fix it.", "Found it.\nTHREADWRIGHT DONE: Let me run the tests now."]
)
def test_the_marker_before_an_intention_is_no_end(text: str) -> None:
    log = Log()
    for _ in range(2):
        log.answer(text)
        assert end(log) is None
    assert nudges(log)[0][0] == "unfinished_intent"


def test_a_finish_that_only_announces_is_refused_and_one_with_evidence_is_not() -> None:
    log = Log(starting_tier=4)
    log.answer(("finish", {"answer": "I am going to fix it."}))
    assert end(log) is None
    assert "what you are about to do" in refusals(log)[0]
    log.answer(("finish", {"answer": "I could not: I need to install gcc.", "success": False}))
    log.use(0)
    ended = end(log)
    assert ended is not None
    assert ended.reason == "failed"


def wanting(*, changes: bool = True, **policy: object) -> Log:
    """A task that asks for a change, at the top of the models."""
    log = Log(task="Create hello.txt", triaged=False, starting_tier=4, **policy)
    log.add(Triaged(talk=False, changes_files=True, asks_change=changes))
    return log


def said_done(
    log: Log, *, times: int = 2, claims: list[JsonValue] | None = None, answer: str = "Created hello.txt."
) -> Finished | None:
    """It calls that done, and again where it is sent back."""
    ended = None
    for _ in range(times):
        log.answer(("finish", {"answer": answer, "claims": claims or []}))
        log.use(0)
        ended = end(log)
        if ended is not None:
            break
    return ended


def test_a_change_that_was_asked_for_and_not_begun_goes_back_once_and_is_no_success_then() -> None:
    log = wanting()
    ended = said_done(log, claims=[{"text": "It is there", "file": "hello.txt"}])
    assert [rule for rule, _ in nudges(log)] == ["evidence"]
    assert "nothing was changed" in nudges(log)[0][1]
    assert ended is not None
    assert (ended.reason, ended.unchanged) == ("failed", True)
    assert ended.confidence <= 20
    assert "contradicted" in {claim.verdict for claim in ended.claims}


def test_mere_text_for_a_change_is_no_success_either() -> None:
    log = wanting()
    log.answer("Sure! Here is hello.txt: hello")
    assert end(log) is None
    log.answer("hello.txt is there now.")
    ended = end(log)
    assert ended is not None
    assert (ended.reason, ended.unchanged) == ("failed", True)
    assert ended.confidence <= 20


def test_the_marker_for_a_change_that_was_not_begun_is_no_success() -> None:
    log = wanting()
    for _ in range(2):
        log.answer("THREADWRIGHT DONE: hello.txt is there.")
        ended = end(log)
    assert ended is not None
    assert (ended.reason, ended.unchanged) == ("failed", True)


def only(log: Log, *looks: Said) -> Log:
    """It has done only this."""
    for look in looks:
        log.answer(look)
        log.use(0)
        log.settle()
    return log


LOOKS: tuple[Said, ...] = (
    ("look", {"path": "."}),
    ("shell", {"command": "cd src && ls -la 2>/dev/null | grep hello; git status"}),
    ("shell", {"command": "cat a.txt 2>&1", "fallback": "find . -name 'a*'"}),
)


@pytest.mark.parametrize("look", LOOKS)
def test_who_only_looked_where_a_change_was_asked_for_is_asked_once_and_is_no_success_then(look: Said) -> None:
    log = only(wanting(), look)
    ended = said_done(log)
    assert [rule for rule, _ in nudges(log)] == ["evidence"]
    assert "nothing was changed" in nudges(log)[0][1]
    assert "say so in the answer, and why" in nudges(log)[0][1]
    assert ended is not None
    assert (ended.reason, ended.unchanged) == ("failed", True)
    assert ended.confidence <= 20


def test_mere_text_after_looking_is_no_success_either() -> None:
    log = only(wanting(), LOOKS[0])
    for _ in range(2):
        log.answer("hello.txt is there now.")
        ended = end(log)
    assert ended is not None
    assert (ended.reason, ended.unchanged) == ("failed", True)


@pytest.mark.parametrize(
    "answer",
    [
        "There is no typo in it.",
        "It was fixed already, in the last commit.",
        "Nothing had to be changed: the file is there.",
        "Die Datei ist schon da.",
        "C'est déjà fait.",
        "El archivo ya existe.",
    ],
)
@pytest.mark.parametrize("look", LOOKS[:2])
def test_who_looked_and_says_why_nothing_had_to_be_changed_is_done(answer: str, look: Said) -> None:
    log = only(wanting(), look)
    log.answer(("finish", {"answer": answer}))
    log.use(0)
    ended = end(log)
    assert ended is not None
    assert (ended.reason, ended.unchanged) == ("done", True)
    assert nudges(log) == []
    assert ended.confidence > 50


def test_who_says_to_have_made_it_already_says_nothing_of_why_it_was_not_made() -> None:
    ended = said_done(only(wanting(), LOOKS[0]), answer="I have already created hello.txt.")
    assert ended is not None
    assert ended.reason == "failed"


def test_an_answer_in_words_may_say_so_too() -> None:
    log = only(wanting(), LOOKS[0])
    for _ in range(2):
        log.answer("Nothing had to be changed: it is there.")
        ended = end(log)
    assert ended is not None
    assert (ended.reason, ended.unchanged) == ("done", True)


def test_a_question_answered_after_looking_is_done_where_no_change_was_asked_for() -> None:
    ended = said_done(only(wanting(changes=False), LOOKS[0]))
    assert ended is not None
    assert (ended.reason, ended.unchanged) == ("done", False)
    assert ended.confidence > 50


@pytest.mark.parametrize(
    "command",
    ["sed -i s/a/b/ a", "find . -delete", "echo a > /tmp/x", "git push", "cat $(rm a)", "tee a", "ls | xargs rm"],
)
def test_a_command_that_may_do_more_than_look_counts_as_a_deed(command: str) -> None:
    ended = said_done(only(wanting(), ("shell", {"command": command})))
    assert ended is not None
    assert (ended.reason, ended.unchanged) == ("done", False)


def test_where_all_that_could_have_changed_something_failed_it_is_no_success() -> None:
    log = wanting()
    log.answer(("shell", {"command": "make hello.txt"}))
    log.use(0, "failed", exit_code=2)
    log.settle()
    ended = said_done(log)
    assert "every step that could have changed one failed" in nudges(log)[0][1]
    assert ended is not None
    assert (ended.reason, ended.unchanged) == ("failed", False), "it may have done a part of it"


def test_what_failed_at_first_and_went_well_then_is_a_success() -> None:
    log = wanting()
    for outcome in ("failed", "ok"):
        log.answer(("shell", {"command": "make hello.txt"}))
        log.use(0, outcome, exit_code=0 if outcome == "ok" else 2)
        log.settle()
    ended = said_done(log)
    assert ended is not None
    assert ended.reason == "done"


def test_a_file_that_is_said_to_be_written_and_nothing_ran_that_could_have_is_contradicted() -> None:
    for text, verdict in (
        ("Created hello.txt", "contradicted"),
        ("It greets", "unproven"),
        ("Not created", "unproven"),
    ):
        log = wanting()
        log.answer(("look", {"path": "."}))
        log.use(0)
        log.settle()
        ended = said_done(log, claims=[{"text": text, "file": "hello.txt"}], answer="It is there already.")
        assert ended is not None
        assert ended.claims[0].verdict == verdict
        assert ended.reason == ("failed" if verdict == "contradicted" else "done")


@pytest.mark.parametrize("did", ["command", "unknown", "change", "branch"])
def test_whatever_may_have_changed_something_counts(did: str) -> None:
    log = wanting()
    log.answer(("shell", {"command": "./deploy"}) if did in ("command", "unknown") else ("look", {}))
    outcome = "unknown" if did == "unknown" else "ok"
    log.use(0, outcome, changes=(HELLO,) if did == "change" else ())
    if did == "branch":
        log.add(CommitCreated(offer="o", branch="b", commit="c", base="a", message="m"))
    log.settle()
    ended = said_done(log)
    assert ended is not None
    assert (ended.reason, ended.unchanged) == ("done", False)


@pytest.mark.parametrize("outcome", ["denied", "refused", "cancelled"])
def test_what_did_not_run_changed_nothing(outcome: str) -> None:
    log = wanting()
    log.answer(("shell", {"command": "touch hello.txt"}))
    log.finish(0, outcome)  # pyright: ignore[reportArgumentType]
    log.settle()
    ended = said_done(log)
    assert ended is not None
    assert (ended.reason, ended.unchanged) == ("failed", True)


def test_who_says_that_it_cannot_be_done_has_not_claimed_a_change() -> None:
    log = wanting()
    log.answer(("finish", {"answer": "There is no disk left.", "success": False}))
    log.use(0)
    ended = end(log)
    assert ended is not None
    assert (ended.reason, ended.unchanged, ended.claims) == ("failed", False, ())


def test_a_stronger_model_takes_over_from_one_that_did_nothing() -> None:
    log = Log(task="Create hello.txt", triaged=False)
    log.add(Triaged(talk=False, asks_change=True))
    assert said_done(log) is None
    assert log.execution.tier == 4


def test_a_claim_is_read_of_an_old_log_as_it_was() -> None:
    """An end of an earlier version says nothing of what was changed."""
    assert Finished(reason="done", answer="x", claims=(Claim(text="y"),)).unchanged is False


def test_the_marker_is_for_us_and_nobody_reads_it() -> None:
    assert unmarked("I looked.\nTHREADWRIGHT DONE: I am going to fix it.") == "I looked.\nI am going to fix it."
    assert unmarked("It says THREADWRIGHT DONE: there.") == "It says THREADWRIGHT DONE: there."
