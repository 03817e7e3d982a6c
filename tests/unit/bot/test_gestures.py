"""Signs, words and presses as tables: what each means in each state of the thread, for each level, own and another's."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Literal, cast, get_args

import pytest

from agentic.core.events.execution_events import (
    Asked,
    InboxItem,
    Level,
    Option,
    Part,
    Sort,
)
from bot.access.denials import ENDED, NO_ANSWER
from bot.access.permissions import (
    ORDER,
    Act,
    Speaker,
    act_of,
    limited,
    may,
    needed,
)
from bot.inbound.emoji import SIGNS, WORDS, command
from bot.inbound.events import BotIdentity, ClickEvent, Ignore, Outcome, ReactionEvent, Reply, ThreadView
from bot.inbound.interpret_reaction import CONTINUE, translate_click, translate_reaction
from bot.ports.conversation import ThreadState
from bot.progress.model import MACHINE

AT = datetime(2026, 1, 2, tzinfo=UTC)
ANN = Speaker("7", "Ann")
YES, NO = Option(id="a", label="Yes"), Option(id="b", label="No")
ASKED = Asked(question="q1", text="Really?", options=(YES, NO))
APPROVAL = ASKED.model_copy(update={"sort": "approval", "who_may": "operator"})
SCENES: dict[ThreadState, ThreadView] = {
    "idle": ThreadView("idle", requester="7"),
    "busy": ThreadView("busy", requester="7"),
    "asking": ThreadView("asking", "q1", "7", ASKED),
    "paused": ThreadView("paused", requester="7"),
}


def give(
    sign: str, state: ThreadState = "busy", *, speaker: Speaker = ANN, scene: ThreadView | None = None, **more: object
) -> Outcome:
    reacted = ReactionEvent("r1", "61", "50", sign, AT, speaker, target="x1/result")
    return translate_reaction(replace(reacted, **more), scene or SCENES[state], BotIdentity())  # type: ignore[arg-type]


def sort_of(outcome: Outcome) -> str:
    return outcome.sort if isinstance(outcome, InboxItem) else "told" if isinstance(outcome, Reply) else "ignored"


# --- every sign in every state ------------------------------------------------------------------------------------

MEANINGS: list[tuple[str, str, str, str, str]] = [
    # sign, idle, busy, asking, paused
    ("🛑", "stop", "stop", "stop", "stop"),
    ("⏸", "told", "pause", "told", "told"),
    ("▶", "told", "told", "told", "resume"),
    ("👍", "feedback", "feedback", "feedback", "feedback"),
    ("👎", "feedback", "feedback", "feedback", "feedback"),
    ("❌", "correction", "correction", "correction", "correction"),
    ("🔄", "retry", "told", "told", "told"),
    ("🚀", "told", "escalate", "escalate", "escalate"),
    ("✅", "task", "told", "answer", "resume"),
    ("💬", "told", "ask", "told", "ask"),
]


@pytest.mark.parametrize("row", MEANINGS, ids=[row[0] for row in MEANINGS])
def test_each_sign_means_one_thing_in_each_state(row: tuple[str, ...]) -> None:
    states: tuple[ThreadState, ...] = ("idle", "busy", "asking", "paused")
    assert tuple(sort_of(give(row[0], state)) for state in states) == row[1:]


def test_the_table_holds_every_sign() -> None:
    assert {row[0] for row in MEANINGS} == set(SIGNS)


@pytest.mark.parametrize("sign", sorted(SIGNS))
@pytest.mark.parametrize("variant", ["\ufe0f", "🏽"])
def test_variants_of_a_sign_are_the_sign(sign: str, variant: str) -> None:
    assert sort_of(give(sign + variant)) == sort_of(give(sign))
    assert command(sign + variant) == SIGNS[sign]


@pytest.mark.parametrize("word", sorted(WORDS))
def test_a_word_is_a_command_only_alone(word: str) -> None:
    assert command(f" {word.title()}! ") == WORDS[word]
    assert command(f"{word} it now") is None
    assert command(f"please {word}") is None


def test_a_person_may_pause_what_was_paused_because_of_its_place() -> None:
    by_nobody, by_ann = replace(SCENES["paused"], paused=MACHINE), replace(SCENES["paused"], paused="7")
    assert sort_of(give("⏸", scene=by_nobody)) == "pause"
    assert sort_of(give("⏸", scene=by_ann)) == "told"


def test_continue_begins_a_task_where_nothing_runs_and_takes_the_advice_where_it_asks() -> None:
    task, answer = give("✅", "idle"), give("✅", "asking")
    assert isinstance(task, InboxItem)
    assert isinstance(answer, InboxItem)
    assert (task.text, task.target) == (CONTINUE, "")
    assert (answer.text, answer.target) == ("1", "q1")


def test_continue_answers_each_of_several_questions_and_none_that_has_no_advice() -> None:
    parts = (Part(id="p", text="?", options=(YES,)), Part(id="r", text="?", options=(NO,)))
    several = ASKED.model_copy(update={"options": (), "parts": parts})
    answer = give("✅", scene=replace(SCENES["asking"], asked=several))
    assert isinstance(answer, InboxItem)
    assert answer.text == "1: 1\n2: 1"
    open_ended = several.model_copy(update={"parts": (*parts, Part(id="s", text="Why?"))})
    assert sort_of(give("✅", scene=replace(SCENES["asking"], asked=open_ended))) == "told"
    assert (
        sort_of(give("✅", scene=replace(SCENES["asking"], asked=ASKED.model_copy(update={"options": ()})))) == "told"
    )


def test_continue_approves_only_at_the_approval_itself_and_only_by_who_may() -> None:
    scene = replace(SCENES["asking"], asked=APPROVAL)
    chief = replace(ANN, level="operator")
    assert sort_of(give("✅", scene=scene, speaker=chief)) == "told"
    assert sort_of(give("✅", scene=scene, speaker=chief, question="q1")) == "answer"
    assert sort_of(give("✅", scene=scene, question="q1")) == "ignored"


def test_a_thumb_on_an_open_question_is_neither_its_answer_nor_a_vote_and_says_so() -> None:
    for sign in ("👍", "👎"):
        assert give(sign, "asking", question="q1") == Reply(NO_ANSWER)
        assert sort_of(give(sign, "asking", question="q1", added=False)) == "ignored"
        assert sort_of(give(sign, "asking", question="an older one")) == "feedback"
        assert sort_of(give(sign, "asking", question="q1", speaker=replace(ANN, level="viewer"))) == "ignored"


def test_a_vote_on_an_offered_branch_merges_or_deletes_it_and_nothing_takes_that_back() -> None:
    chief = replace(ANN, level="operator")
    assert sort_of(give("👍", "idle", speaker=chief, offer="o1")) == "merge"
    rejected = give("👎", "idle", speaker=chief, offer="o1")
    assert isinstance(rejected, InboxItem)
    assert (rejected.sort, rejected.target) == ("reject", "o1")
    assert sort_of(give("👍", "idle", offer="o1")) == "ignored"
    assert sort_of(give("👍", "idle", speaker=chief, offer="o1", added=False)) == "ignored"


@pytest.mark.parametrize("sign", sorted(set(SIGNS) - {"👍", "👎"}))
def test_what_is_no_vote_stays_when_the_sign_is_taken_back(sign: str) -> None:
    assert sort_of(give(sign, added=False)) == "ignored"


# --- rights: every level, every act, own and another's --------------------------------------------------------------

LEAST: dict[Act, tuple[Level, Level]] = {
    # act: (for one's own, for another's), as behaviour says
    "see": ("viewer", "viewer"), "start": ("executor", "executor"), "stop": ("executor", "executor"),
    "steer": ("executor", "operator"), "rate": ("executor", "operator"), "undo": ("executor", "operator"),
    "approve": ("operator", "operator"), "merge": ("operator", "operator"), "budget": ("operator", "operator"),
    "verbosity": ("operator", "operator"), "lessons": ("owner", "owner"), "settings": ("owner", "owner"),
    "model": ("owner", "owner"), "network": ("owner", "owner"),
}  # fmt: skip


def test_the_table_of_rights_is_whole() -> None:
    assert set(LEAST) == set(get_args(Act))


@pytest.mark.parametrize("act", sorted(LEAST))
@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("level", ORDER)
def test_f40_each_level_may_what_the_table_says_and_only_where_both_may_write(
    level: Level, act: Act, own: bool
) -> None:
    least = LEAST[act][not own]
    granted = ORDER.index(level) >= ORDER.index(least)
    assert may(level, act, own=own) is granted
    assert needed(act, own=own) == least
    assert may(level, act, own=own) is granted
    assert may(limited(level, writes=False), act, own=own) is (act == "see")


SIGN_OF: dict[Act, tuple[str, ThreadView, str]] = {
    "stop": ("🛑", SCENES["busy"], ""), "steer": ("⏸", SCENES["busy"], ""), "rate": ("👎", SCENES["idle"], ""),
    "merge": ("👍", SCENES["idle"], "o1"),
}  # fmt: skip
PRESS_OF: dict[Act, tuple[dict[str, object], ThreadView]] = {
    "stop": ({"steer": "stop"}, SCENES["asking"]), "steer": ({"question": "q1"}, SCENES["asking"]),
    "rate": ({"vote": "up", "target": "x1/result"}, SCENES["idle"]), "undo": ({"undo": "x1"}, SCENES["idle"]),
    "approve": ({"question": "q1"}, replace(SCENES["asking"], asked=APPROVAL)),
    "merge": ({"offer": "o1", "verdict": "merge"}, SCENES["idle"]),
}  # fmt: skip


@pytest.mark.parametrize("level", ORDER)
@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("act", sorted(SIGN_OF))
def test_f40_a_sign_counts_for_whom_the_table_allows_it(act: Act, own: bool, level: Level) -> None:
    sign, scene, offer = SIGN_OF[act]
    speaker = Speaker("7" if own else "8", "Somebody", level)
    done = isinstance(give(sign, scene=scene, speaker=speaker, offer=offer), InboxItem)
    assert done is may(level, act, own=own)
    assert sort_of(give(sign, scene=scene, speaker=replace(speaker, writes=False), offer=offer)) == "ignored"
    if act != "stop":
        assert sort_of(give(sign, scene=replace(scene, bot_writes=False), speaker=speaker, offer=offer)) == "ignored"


@pytest.mark.parametrize("level", ORDER)
@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("act", sorted(PRESS_OF))
def test_f40_a_press_counts_for_whom_the_table_allows_it_and_others_are_told_why(
    act: Act, own: bool, level: Level
) -> None:
    fields, scene = PRESS_OF[act]
    speaker = Speaker("7" if own else "8", "Somebody", level)
    clicked = replace(ClickEvent("c1", "61", "50", AT, speaker), **fields)  # type: ignore[arg-type]
    assert isinstance(translate_click(clicked, scene), InboxItem if may(level, act, own=own) else Reply)
    assert isinstance(translate_click(replace(clicked, speaker=replace(speaker, writes=False)), scene), Reply)


def test_the_sign_that_merges_means_nothing_but_on_an_offered_branch() -> None:
    assert command("🔀") is None
    assert sort_of(give("🔀", scene=SCENES["idle"], speaker=replace(ANN, level="owner"))) == "ignored"
    assert sort_of(give("🔀", scene=SCENES["idle"], speaker=replace(ANN, level="owner"), offer="o1")) == "merge"


@pytest.mark.parametrize("steer", ["stop", "pause", "resume"])
def test_a_button_of_an_earlier_task_does_nothing_to_the_one_that_runs_now(
    steer: Literal["stop", "pause", "resume"],
) -> None:
    scene = replace(SCENES["paused" if steer == "resume" else "busy"], execution="x2")
    pressed = ClickEvent("c1", "61", "50", AT, ANN, steer=steer, execution="x1")
    told = translate_click(pressed, scene)
    assert isinstance(told, Reply)
    assert told.text == ENDED
    assert isinstance(translate_click(replace(pressed, execution="x2"), scene), InboxItem)


def test_an_approval_is_never_less_than_an_operators_whatever_the_question_says() -> None:
    scene = replace(SCENES["asking"], asked=APPROVAL.model_copy(update={"who_may": "executor"}))
    told = translate_click(ClickEvent("c1", "61", "50", AT, ANN, "q1"), scene)
    assert isinstance(told, Reply)
    assert "Only an operator" in told.text
    owners = replace(SCENES["asking"], asked=APPROVAL.model_copy(update={"who_may": "owner"}))
    told = translate_click(ClickEvent("c1", "61", "50", AT, replace(ANN, level="operator"), "q1"), owners)
    assert isinstance(told, Reply)
    assert "Only an owner" in told.text


def test_a_press_names_the_option_by_number_and_the_part_by_id() -> None:
    item = translate_click(ClickEvent("c1", "61", "50", AT, ANN, "q1", 2, part="db"), SCENES["asking"])
    assert isinstance(item, InboxItem)
    assert (item.sort, item.text, item.target) == ("answer", "3", "q1#db")


def test_every_sort_of_item_has_an_act() -> None:
    acts = {sort: act_of(sort) for sort in cast("tuple[Sort, ...]", get_args(Sort))}
    assert (acts["stop"], acts["pause"], acts["merge"], acts["undo"]) == ("stop", "steer", "merge", "undo")
    assert (acts["feedback"], acts["correction"], acts["task"]) == ("rate", "rate", "start")


def test_bots_are_ignored_and_unknown_signs_too() -> None:
    assert isinstance(give("🛑", speaker=replace(ANN, bot=True)), Ignore)
    assert isinstance(give("🎉"), Ignore)
