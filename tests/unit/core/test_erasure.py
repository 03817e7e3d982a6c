"""A person's words and name leave a log: nothing else of it changes, and the rules decide again what they decided."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentic.core.audit.erasure import (
    ERASED,
    Erasure,
    erased,
    share_of,
    unsaid,
    without,
)
from agentic.core.audit.verification import verify
from agentic.core.events.execution_events import (
    EVENT,
    Asked,
    Decided,
    Envelope,
    FeedbackGiven,
    Finished,
    InputReceived,
    Option,
    OutboxItem,
    Part,
    Person,
    QuotedMessage,
    Started,
    ToolStarted,
    Triaged,
)
from agentic.core.rules.decide import RULES_VERSION
from tests.unit.core.building import BEGUN, BOSS, YOU, Log
from tests.unit.core.simulating import simulate
from tests.unit.core.test_verifying import changed_at, stamped

SECRET = "the vault code is 4711"
ALIAS = "erased-1"


def erasure(log: Sequence[Envelope], person: Person) -> Erasure:
    share = share_of(log, (), person.id)
    return Erasure(person.id, ALIAS, share.names, share.texts)


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(st.data())
def test_the_rules_decide_again_what_they_decided_in_a_log_without_a_person(data: st.DataObject) -> None:
    log = stamped(simulate(data).log.envelopes)
    clean = erased(log, erasure(log, BOSS))
    assert verify(clean).divergence is None
    assert verify(clean).decisions == verify(log).decisions
    places = [[(e.seq, e.at, e.fence, e.event.kind) for e in each] for each in (clean, log)]
    assert places[0] == places[1]
    assert not share_of(clean, (), BOSS.id).any


def test_what_is_a_persons_is_counted() -> None:
    log = Log(task=SECRET)
    log.say("guidance", "use the blue one", by=BOSS)
    log.say("feedback", "down", by=BOSS)
    log.say("stop", by=BOSS)
    log.add(Finished(reason="stopped", answer=""))
    vote = [
        Envelope(execution="x1", seq=1, at=BEGUN, fence=1, event=FeedbackGiven(by=BOSS, vote="up", why="it was slow"))
    ]
    mine, theirs = share_of(log.envelopes, (), YOU.id), share_of(log.envelopes, vote, BOSS.id)
    assert (mine.asked, mine.ended, mine.messages, mine.votes, mine.texts) == (True, True, 0, 0, {SECRET})
    assert (theirs.asked, theirs.messages, theirs.votes, theirs.names) == (False, 1, 2, {"boss"})
    assert theirs.texts == {"use the blue one", "it was slow"}
    assert theirs.since == BEGUN
    assert not share_of(log.envelopes, (), "nobody").any


def test_words_go_wherever_they_stand_and_short_ones_only_where_they_were_said() -> None:
    log = Log(task="look at it")
    log.say("guidance", SECRET, by=BOSS)
    log.say("guidance", "ok", by=BOSS)
    log.answer(f"You said {SECRET}, ok")
    clean = erased(log.envelopes, erasure(log.envelopes, BOSS))
    said = [e.event for e in clean if isinstance(e.event, InputReceived)]
    assert [each.text for each in said] == [ERASED, ERASED]
    assert {each.author for each in said} == {Person(id=ALIAS, name=ERASED, level="operator")}
    text = "".join(e.model_dump_json() for e in clean)
    assert "4711" not in text
    assert f"You said {ERASED}, ok" in text
    assert clean[0].event == log.envelopes[0].event, "what is another person's stays"


@pytest.mark.parametrize("said", ["finished", "guidance", "input_received", "operator"])
def test_a_word_that_is_one_of_ours_too_goes_where_it_was_said_and_the_log_stays_one(said: str) -> None:
    log = Log(task="look at it")
    log.say("guidance", said, by=BOSS)
    log.answer(f"They said {said}.")
    log.add(Finished(reason="done", answer=""))
    clean = erased(log.envelopes, erasure(log.envelopes, BOSS))
    assert [EVENT.validate_json(e.event.model_dump_json()) for e in clean] == [e.event for e in clean]
    assert [e.event.kind for e in clean] == [e.event.kind for e in log.envelopes]
    (words,) = [e.event for e in clean if isinstance(e.event, InputReceived)]
    assert (words.sort, words.text, words.author.level) == ("guidance", ERASED, "operator")
    assert f"They said {ERASED}." in "".join(e.model_dump_json() for e in clean)


def test_what_was_posted_loses_their_words_and_their_name_as_a_word() -> None:
    said = f"Ann: “{SECRET}”. Ask Ann, not Anna."
    options = (Option(id="a", label=SECRET),)
    item = OutboxItem(key="x1.2.Ann", thread="1", execution="x1", sort="question", text=said, options=options)
    clean = unsaid(item, Erasure("7", ALIAS, frozenset({"Ann"}), frozenset({SECRET, "Ask"})))
    assert clean.text == f"{ERASED}: “{ERASED}”. Ask {ERASED}, not Anna."
    assert clean.options == (Option(id="a", label=ERASED),)
    assert (clean.key, clean.sort) == (item.key, "question")


def test_a_long_id_goes_wherever_it_stands_and_quoted_messages_by_their_name() -> None:
    ben = Person(id="123456789012345678", name="Ben")
    quoted = (QuotedMessage(author="Ben", text="hi"), QuotedMessage(author="Ada", text="ask <@123456789012345678>"))
    started = Started(thread="1", task="look", requester=YOU, quoted=quoted)
    log = [Envelope(execution="x1", seq=1, at=BEGUN, fence=1, event=started)]
    (clean,) = without(log, Erasure(ben.id, ALIAS, frozenset({"Ben"})))
    assert isinstance(clean.event, Started)
    assert clean.event.quoted == (
        QuotedMessage(author=ERASED, text=ERASED), QuotedMessage(author="Ada", text=f"ask <@{ALIAS}>"),
    )  # fmt: skip


@pytest.mark.parametrize("said", ["5 dollars, but not a cent more", "the second"])
def test_an_answer_that_the_rules_went_by_keeps_its_words_and_loses_its_name(said: str) -> None:
    log = Log(saved=False, max_usd=0.001)
    log.settle()
    log.answer(("look", {}), usd=0.01)
    log.settle()
    asked = log.execution.question
    assert asked is not None
    log.say("answer", said, target=asked.question, by=BOSS)
    log.settle()
    envelopes = stamped(log.envelopes, RULES_VERSION)
    assert verify(envelopes).divergence is None
    clean = erased(envelopes, erasure(envelopes, BOSS))
    assert verify(clean).divergence is None
    assert not share_of(clean, (), BOSS.id).any


def test_a_log_that_the_rules_did_not_decide_so_loses_their_words_all_the_same() -> None:
    log = Log(task="look")
    log.settle()
    log.say("guidance", SECRET, by=BOSS)
    triaged = next(e for e in log.envelopes if isinstance(e.event, Triaged))
    other = triaged.event.model_copy(update={"complexity": "simple", "why": SECRET})
    envelopes = changed_at(stamped(log.envelopes), triaged.seq, other)
    assert verify(envelopes).divergence is not None
    clean = erased(envelopes, erasure(envelopes, BOSS))
    assert clean[triaged.seq - 1].event == other.model_copy(update={"why": ERASED}), "what was decided is left as it is"
    assert "4711" not in "".join(e.model_dump_json() for e in clean)


def test_words_go_out_of_the_arguments_of_a_call_however_deep() -> None:
    call = ToolStarted(
        call="c", provider_id="p", tool="look", effect="read", args_sha="a", arguments={"at": [{"it": SECRET}, 3, None]}
    )
    log = [Envelope(execution="x1", seq=1, at=BEGUN, fence=1, event=call)]
    (clean,) = without(log, Erasure("7", ALIAS, frozenset({"Ann"}), frozenset({SECRET})))
    assert isinstance(clean.event, ToolStarted)
    assert clean.event.arguments == {"at": [{"it": ERASED}, 3, None]}


def test_what_was_decided_in_words_goes_too() -> None:
    log = Log(task="look")
    log.add(Asked(question="q1", text="Which one?", options=(Option(id="a", label="A"),)))
    log.add(Decided(question="q1", by=BOSS, choice="", text="neither of the two", answers={"p": "none at all"}))
    log.add(
        Asked(
            question="q2", text="Again?", parts=(Part(id="p", text="?", options=(Option(id="b", label="B b b b b"),)),)
        )
    )
    log.add(Decided(question="q2", by=BOSS, choice="", answers={"p": "B b b b b"}))
    *_, clean, _, chosen = without(log.envelopes, erasure(log.envelopes, BOSS))
    assert isinstance(chosen.event, Decided)
    assert chosen.event.answers == {"p": "B b b b b"}, "what was chosen is nobody's words"
    assert isinstance(clean.event, Decided)
    assert (clean.event.by.name, clean.event.text, clean.event.answers) == (ERASED, ERASED, {"p": ERASED})
