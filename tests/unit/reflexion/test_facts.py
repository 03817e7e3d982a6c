"""Facts that are remembered: one by their words, replaced by newer ones, bounded, and let go."""

from __future__ import annotations

from datetime import datetime, timedelta

from agentic.core.events.execution_events import Level, Person
from reflexion.lessons.fact import (
    MOST_WAITING,
    SOURCES,
    UNDECIDED,
    UNUSED,
    Fact,
    FactScope,
    FactSource,
    alike,
    approved,
    fact_id,
    foreign,
    forgotten,
    living,
    names,
    recalled,
    remembered,
    used,
    without_person,
)
from tests.unit.reflexion.logs import EPOCH

HERE = FactScope(guild="g1")
SUNDAY = "The staging database is reset every Sunday."


def fact(text: str, call: str = "c1", at: datetime = EPOCH, by: str = "7", level: Level = "executor",
         read: tuple[str, ...] = (), **fields: object) -> Fact:  # fmt: skip
    source = FactSource(
        call=call, execution="x1", thread="900", turn=2, asked_by=by, asked_level=level, read=read, at=at
    )  # fmt: skip
    known = {"id": fact_id(HERE, text), "scope": HERE, "text": text, "sources": (source,), "created": at}
    return Fact.model_validate({**known, **fields})


def by_text(facts: tuple[Fact, ...], text: str) -> Fact:
    return next(each for each in facts if each.text == text)


def test_the_same_words_are_one_fact_and_the_same_call_counts_once() -> None:
    known = remembered((), fact(SUNDAY))
    assert remembered(known, fact(SUNDAY)) == known
    for number in range(9):
        known = remembered(known, fact("the staging database is reset every `Sunday`", f"d{number}", private=True))
    [one] = known
    assert [source.call for source in one.sources] == ["c1", "d5", "d6", "d7", "d8"]
    assert len(one.sources) == SOURCES
    assert one.private, "what was private once stays it"
    assert fact_id(HERE, "It runs Python 3") != fact_id(HERE, "It runs Python 4")
    assert fact_id(HERE, "Deploys are on Friday") != fact_id(HERE, "Deploys are not on Friday")
    assert fact_id(HERE, SUNDAY) != fact_id(FactScope(guild="g2"), SUNDAY)


def test_a_newer_fact_takes_the_place_of_what_it_says_the_opposite_of_and_both_say_so() -> None:
    old, new = fact("Run deploys on Fridays."), fact("Never run deploys on Fridays.", "c2")
    both = remembered(remembered((), old), new)
    assert (by_text(both, old.text).status, by_text(both, old.text).replaced_by) == ("replaced", new.id)
    assert by_text(both, new.text).replaces == old.id
    assert recalled(both, "deploys", EPOCH) == (by_text(both, new.text),)
    again = remembered(both, fact(old.text, "c3"))
    assert by_text(again, old.text).status == "active", "said anew it counts again"
    assert by_text(again, new.text).replaced_by == old.id
    [back] = forgotten(both, new.id)
    assert (back.status, back.replaced_by) == ("active", "")


def test_a_fact_that_is_about_the_same_is_shown_and_replaced_only_where_it_is_named() -> None:
    old, new = fact("The staging database is db1."), fact("The staging database is db2.", "c2")
    both = remembered(remembered((), old), new)
    assert [each.status for each in both] == ["active", "active"]
    assert alike(both, new) == (old,)
    named = remembered(both, new.model_copy(update={"replaces": old.id, "sources": fact("x", "c3").sources}))
    assert by_text(named, old.text).replaced_by == new.id
    assert alike(named, by_text(named, new.text)) == ()


def test_an_agents_word_waits_where_a_person_approved_the_opposite() -> None:
    old = fact("Run deploys on Fridays.")
    known = approved(remembered((), old), old.id, "8", EPOCH)
    new = fact("Never run deploys on Fridays.", "c2")
    both = remembered(known, new)
    assert by_text(both, old.text).status == "active"
    assert by_text(both, new.text).status == "waiting"
    assert old.id in by_text(both, new.text).note
    decided = approved(both, new.id, "8", EPOCH)
    assert (by_text(decided, old.text).status, by_text(decided, new.text).status) == ("replaced", "active")


def test_what_waits_replaces_nothing_until_it_is_approved_and_is_never_recalled() -> None:
    old = fact("The staging database is db1.")
    new = fact("The staging database is db2.", "c2", status="waiting", note="it read a page", replaces=old.id)
    both = remembered(remembered((), old), new)
    assert by_text(both, old.text).status == "active"
    assert recalled(both, "staging database", EPOCH) == (old,)
    assert by_text(remembered(both, fact(new.text, "c4")), new.text).status == "waiting", "one clean task is no yes"
    worse = remembered(both, fact(old.text, "c5", status="waiting", note="it read a page", replaces=new.id))
    assert by_text(worse, old.text).status == "active"
    assert by_text(worse, old.text).replaces == "", "what strangers say replaces nothing"


def test_few_wait_and_what_is_not_used_goes_unless_a_person_approved_it() -> None:
    known: tuple[Fact, ...] = ()
    for number in range(MOST_WAITING + 5):
        known = remembered(known, fact(f"Machine number {number} is red.", f"w{number}", status="waiting"))
    assert len(known) == MOST_WAITING
    mine = remembered(known, fact(SUNDAY))
    assert len(mine) == MOST_WAITING + 1, "what waits takes no room of what is used"
    late = EPOCH + UNDECIDED + timedelta(days=1)
    assert [each.text for each in living(mine, late)] == [SUNDAY]
    later = EPOCH + UNUSED + timedelta(days=1)
    assert living(mine, later) == ()
    assert len(living(used(mine, [fact_id(HERE, SUNDAY)], late), later)) == 1
    assert len(living(approved(mine, fact_id(HERE, SUNDAY), "8", EPOCH), later)) == 1


def test_facts_are_found_by_their_words_best_first() -> None:
    texts = (SUNDAY, "Releases go out on Tuesdays.", "The staging server runs Python 3.")
    known = tuple(fact(text) for text in texts)
    assert [each.text for each in recalled(known, "when is the staging database reset?", EPOCH)] == [SUNDAY, texts[2]]
    assert [each.text for each in recalled(known, "release day", EPOCH)] == [texts[1]]
    assert recalled(known, "who pays", EPOCH) == ()


def test_a_person_is_taken_out_and_what_only_they_had_said_goes() -> None:
    mine, shared = fact(SUNDAY, by="1"), remembered((fact("Releases go out on Tuesdays.", by="1"),),
                                                    fact("Releases go out on Tuesdays.", "c2", by="2"))  # fmt: skip
    known = approved((mine, *shared), shared[0].id, "1", EPOCH)
    [left] = without_person(known, "1")
    assert [source.asked_by for source in left.sources] == ["2"]
    assert not names(left, "1")
    assert left.approved_by


def test_words_are_vouched_for_by_their_own_person_by_whoever_is_trusted_and_by_who_approved_them() -> None:
    reader, boss = Person(id="7", name="you"), Person(id="8", name="boss", level="owner")
    assert foreign(fact(SUNDAY), boss)
    assert not foreign(fact(SUNDAY), reader)
    assert not foreign(fact(SUNDAY, by="8", level="owner"), reader)
    assert not foreign(fact(SUNDAY, by="9", level="operator"), reader)
    assert not foreign(fact(SUNDAY, approved_by="8"), boss)
    old = Fact.model_validate_json(
        fact(SUNDAY, by="8", level="owner").model_dump_json(exclude={"sources": {"__all__": {"asked_level"}}})
    )
    assert foreign(old, reader), "of an old one nobody knows which right they had"
    assert not foreign(old, boss)


def test_an_owners_task_that_was_told_a_strangers_word_does_not_vouch_for_it_by_saying_it_again() -> None:
    reader = Person(id="8", name="boss", level="owner")
    [both] = remembered((fact(SUNDAY),), fact(SUNDAY, "c2", by="8", level="owner", read=("a stranger's word",)))
    assert (both.status, foreign(both, reader)) == ("active", True)
    [left] = without_person((both,), "7")
    assert foreign(left, reader), "also when who had said it first was erased"
