"""Nudges: what each says, when, in which order, and that none says the same for ever."""

from __future__ import annotations

import pytest

from agentic.core.events.execution_events import Intervened, Todo, TodoChanged
from agentic.core.prompt.recap import open_steps, steps_told
from agentic.core.rules.decide import decide
from agentic.core.rules.nudges import (
    INTERVENTIONS,
    intervene,
    productivity,
    snapshot,
)
from agentic.core.state.actions import Record
from agentic.core.text.announced_intent import announces
from tests.unit.core.building import Log
from tests.unit.core.working import Work

QUIET = {"snapshots": 0}


def spoken(log: Log) -> list[Intervened]:
    return [envelope.event for envelope in log.envelopes if isinstance(envelope.event, Intervened)]


def rules(log: Log) -> list[str]:
    return [event.rule for event in spoken(log)]


def ended(log: Log) -> bool:
    from agentic.core.state.actions import Finish

    return isinstance(decide(log.execution), Finish)


def test_they_speak_in_this_order() -> None:
    assert [name for name, _ in INTERVENTIONS] == [
        "evidence", "premature", "empty_answer", "truncated_answer", "productivity", "unfinished_intent",
        "act_or_finish", "repetition", "snapshot",
    ]  # fmt: skip


def test_two_empty_answers_get_two_different_texts_the_second_with_what_was_planned_and_done() -> None:
    log = Log(**QUIET)
    log.answer(("shell", {"command": "make"}))
    log.use(0, "failed", error="e")
    log.add(
        TodoChanged(items=(Todo(text="read it", state="done"), Todo(text="mend it"), Todo(text="now", state="doing")))
    )
    log.settle()
    for _ in range(2):
        log.answer()
        log.settle()
    first, second = spoken(log)
    assert "call ask_user" in first.text
    assert "go on with what you planned: now" in second.text
    assert "(shell make FAILED)" in second.text
    assert "report with status stuck" in second.text


def test_an_empty_answer_at_the_very_start_still_names_ways_on() -> None:
    log = Log()
    for _ in range(2):
        log.answer()
        log.settle()
    assert "planned" not in spoken(log)[1].text
    assert "call list" in spoken(log)[1].text


def test_an_answer_cut_off_twice_is_told_so_in_other_words() -> None:
    log = Log(**QUIET)
    texts: list[str] = []
    for _ in range(2):
        log.answer("half of it", stop="length")
        log.settle()
        texts.append(spoken(log)[-1].text)
    assert "smaller steps" in texts[0]
    assert "piece by piece" in texts[1]


def test_three_turns_with_notes_and_words_only_are_asked_for_an_act_an_end_or_the_blocker() -> None:
    log = Log(**QUIET, low_confidence=0)
    for _ in range(2):
        log.answer(("finish", {"wrong": 1}))
        log.use(0, "failed", error="e")
        log.settle()
    assert rules(log) == []
    log.answer(("finish", {"wrong": 1}))
    log.use(0, "failed", error="e")
    log.settle()
    assert rules(log) == ["productivity"]
    assert "For 3 turns you used no tool that looks or acts" in spoken(log)[0].text
    for _ in range(3):
        log.answer(("finish", {"wrong": 1}))
        log.use(0, "failed", error="e")
        log.settle()
    assert rules(log) == ["productivity"] * 2


def test_an_announcement_without_a_call_is_asked_for_the_call_and_is_no_answer() -> None:
    log = Log(**QUIET)
    said: list[str] = []
    for number in range(5):
        log.answer(f"I found cause {number}. Let me fix the test now.")
        log.settle()
        said.append(rules(log)[-1])
        assert not ended(log) or len(said) == 5
    assert said[:4] == ["unfinished_intent", "act_or_finish", "productivity", "unfinished_intent"]
    assert ended(log)
    assert "you are about to do" in spoken(log)[0].text


def test_an_announcement_with_its_call_and_a_real_answer_are_left_alone() -> None:
    log = Log(**QUIET)
    log.answer("Let me look.", ("look", {}))
    log.use(0)
    log.settle()
    assert rules(log) == []
    log.answer("The cause is a missing import.")
    log.settle()
    assert rules(log) == ["act_or_finish"]


def test_talk_is_never_nudged_to_act() -> None:
    log = Log(talk=True)
    log.answer("I will look at it now.")
    assert all(intervention(log.execution) == "" for _, intervention in INTERVENTIONS)
    assert snapshot(Work(talk=True).looked("a", "b").execution) == ""
    log = Work(talk=True)
    for _ in range(3):
        log.answer("Hm.")
        log.end()
    assert productivity(log.execution) == ""


def test_repetition_is_told_once_and_again_only_after_a_while() -> None:
    log = Work(repeats_escalate=99, stale_turns_escalate=99, snapshots=0)
    for _ in range(8):
        log.looked("a")
        log.settle()
    turns = [turn for rule, turn in log.execution.judged.nudges if rule == "repetition"]
    assert turns == [3, 7]
    assert "You repeat yourself: the same step with the same result 3 times." in spoken(log)[0].text


def test_a_snapshot_comes_in_turns_2_4_6_8_10_and_tells_the_last_five_steps_and_the_next() -> None:
    log = Work()
    for number in range(14):
        log.looked(f"part {number}")
        log.settle()
    assert [turn for rule, turn in log.execution.judged.nudges if rule == "snapshot"] == [2, 4, 6, 8, 10]
    last = spoken(log)[-1].text
    assert last.startswith("[Note from Threadwright] So far: look part 5 OK; look part 6 OK;")
    assert last.endswith("What is the next step to the goal? Take it.")
    assert last.count(" OK") == 5
    assert len(last) < 300


def test_a_snapshot_names_the_next_step_of_the_list_and_what_failed() -> None:
    log = Work()
    log.add(TodoChanged(items=(Todo(text="x " * 60),)))
    log.looked("a")
    log.did("shell", "exit 1", "failed", error="e", command="make -j4")
    log.settle()
    text = spoken(log)[-1].text
    assert "shell make -j4 FAILED" in text
    assert "Next on your list: x x" in text
    assert "…" in text


def test_a_turn_without_calls_gets_no_snapshot() -> None:
    log = Log()
    log.answer(("look", {}))
    log.use(0)
    log.settle()
    log.answer("The cause is a missing import.")
    log.settle()
    assert rules(log) == ["act_or_finish"]


def test_what_has_no_result_and_no_telling_argument_is_told_all_the_same() -> None:
    log = Log()
    log.answer(("look", {"depth": 3}), ("look", {}))
    log.use(0)
    assert steps_told(log.execution) == ["look OK"]
    assert open_steps(log.execution) == []


def test_one_nudge_a_turn_and_none_before_its_end() -> None:
    log = Work(stale_turns_nudged=1)
    log.looked("a")
    log.looked("a")
    first = intervene(log.execution)
    assert isinstance(first, Record)
    log.add(*first.events)
    assert intervene(log.execution) is None
    log.request()
    assert intervene(log.execution) is None


@pytest.mark.parametrize(
    "text",
    [
        "Let me check the file.",
        "I found it.\n\nNow, let me run the tests:",
        "Okay, I will now fix the test.",
        "I'll start by reading src/app.py…",
        "Next, I am going to search for the function",
        "The tests fail. I need to look at the log first.",
        "- Let's run it again.",
        "Ich werde jetzt die Datei öffnen.",
        "Gut. Lass mich die Tests starten.",
        "Ich prüfe nun die Konfiguration.",
        "D'accord. Je vais lancer les tests.",
        "Laissez-moi vérifier le fichier.",
        "Ahora voy a ejecutar las pruebas.",
        "Déjame revisar el archivo:",
    ],
)
def test_these_announce(text: str) -> None:
    assert announces(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "It works now: 12 tests pass.",
        "Let me know if you want more.",
        "I will be happy to fix more.",
        "Shall I run the tests?",
        "Let me check the file. It holds 12 lines and no error.",
        "If you want, I will run it again.",
        "I need to know which server you mean.",
        "Let me explain: the cache is never emptied.",
        "I'll summarize: nothing is wrong.",
        "I fixed the test by letting me check less.",
        "Let me look " + "at this and that " * 20,
        "Ich habe die Datei geändert.",
        "Je vais résumer: tout est bon.",
        "Si quieres, voy a ejecutarlo.",
    ],
)
def test_these_announce_nothing(text: str) -> None:
    assert not announces(text)
