"""The final card: what it says, and what it leaves out."""

from __future__ import annotations

import pytest

from agentic.core.claims.completion import NOTHING_DONE
from agentic.core.events.execution_events import (
    CheckpointSaved,
    ChosenLesson,
    Claim,
    FileChange,
    Finished,
    Gated,
    ModelAnswered,
    ModelFailed,
    Reason,
    Triaged,
)
from agentic.core.text.last_note import LAST_NOTE
from bot.history.attempts import Tried
from bot.messages.file_changes import difference
from bot.messages.final_card import WITHOUT_FINISH, card, undoable
from bot.outbound.live.answer_messages import below_answer
from bot.progress.model import Changed
from bot.progress.text import footer, progress_text
from tests.unit.bot.following import REQUESTED, STARTED, after, called, ended


@pytest.mark.parametrize("reason", ["failed", "stuck", "limit", "budget", "cancelled"])
def test_an_end_that_is_no_success_says_so_first(reason: Reason) -> None:
    progress = after(STARTED, Finished(reason=reason, answer="Text."))
    head, body, *_ = card("Text.", progress).split("\n\n")
    assert body == "Text."
    assert head in progress_text(progress)
    assert "Done" not in head


def test_a_stop_is_said_once() -> None:
    progress = after(STARTED, REQUESTED, Finished(reason="stopped", answer="Stopped by Ann."))
    assert card("Stopped by Ann.", progress) == "🛑 Stopped by Ann."
    assert progress_text(progress).startswith("🛑 **Stopped** · ")


@pytest.mark.parametrize(("seconds", "words"), [(0.05, ""), (1.9, ""), (2.5, "stopped in 2.5 s")])
def test_how_long_a_stop_took_is_said_only_where_one_waited(seconds: float, words: str) -> None:
    progress = after(STARTED, REQUESTED, Finished(reason="stopped", answer="Stopped by Ann."))
    progress.stopped_in = seconds
    assert [part for part in footer(progress).split(" · ") if "stopped" in part] == ([words] if words else [])


def test_a_last_note_has_no_line_that_is_shown_elsewhere() -> None:
    end = Finished(reason="failed", answer="", last_words=True)
    said = "title: Fix the parser\nI looked at the parser.\nstatus: stuck\nconfidence: 30"
    assert card(said, after(STARTED, end)).split("\n\n")[1:] == [f"{LAST_NOTE}\n> I looked at the parser."]


def test_the_answer_says_how_it_is_known_and_what_changed() -> None:
    claims = (
        Claim(text="tests pass.", command="pytest", exit_code=0, verdict="proven"),
        Claim(text="built", file="dist/a.whl", sha="0123456789abcdef", verdict="contradicted", note="no such file"),
        Claim(text="it is fast"),
    )
    changes = [
        FileChange(path="a.py", kind="modified", sha_before="1", sha_after="2"),
        FileChange(path="b.py", kind="deleted", sha_before="3"),
    ]
    lessons = (ChosenLesson(id="l", kind="pitfall", text="Off by one at the end of a range"),)
    progress = after(
        STARTED.model_copy(update={"lessons": lessons}), called(1), ended(1, changes=changes),
        Finished(reason="done", answer="", claims=claims),
    )  # fmt: skip
    differences = [
        difference(progress.changed[0], b"one\ntwo\n", b"one\nTWO\n"),
        difference(progress.changed[1], b"gone\n", b""),
    ]
    assert card("Fixed.", progress, differences).splitlines() == [
        "Fixed.",
        "",
        "**What I changed**",
        "- `a.py` +1 −1",
        "- `b.py` deleted −1",
        "```diff",
        " one",
        "-two",
        "+TWO",
        "```",
        "",
        "**How I know**",
        "✔ tests pass — `pytest` → exit 0",
        "✖ **contradicted:** built — `dist/a.whl` · sha256 01234567 (no such file)",
        "◻ unproven: it is fast",
        "",
        "-# 📖 used: Off by one at the end of a range (`l`)",
    ]


def test_nothing_is_said_of_what_is_empty_and_talk_is_the_answer_alone() -> None:
    end = Finished(reason="done", answer="42.")
    assert card("42.", after(STARTED, end)) == "42."
    claim = Claim(text=WITHOUT_FINISH, note="no evidence was given")
    talk = after(STARTED, Triaged(talk=True), end.model_copy(update={"claims": (claim,)}))
    assert talk.plain
    assert card("42.", talk) == "42."
    assert not after(STARTED, Triaged(talk=True), Finished(reason="failed", answer="")).plain


def test_a_file_that_is_as_it_was_is_no_change_and_a_new_one_that_was_deleted_neither() -> None:
    there = FileChange(path="a.py", kind="modified", sha_before="1", sha_after="2")
    back = FileChange(path="a.py", kind="modified", sha_before="2", sha_after="1")
    new, gone = FileChange(path="t", kind="added", sha_after="9"), FileChange(path="t", kind="deleted", sha_before="9")
    progress = after(STARTED, called(1), ended(1, changes=[there, new]), called(2), ended(2, changes=[back, gone]))
    assert progress.changed == ()
    one = after(STARTED, called(1), ended(1, changes=[there, new]))
    assert [(change.path, change.kind) for change in one.changed] == [("a.py", "modified"), ("t", "added")]


def test_undo_is_offered_where_something_changed_and_a_checkpoint_was_saved_before() -> None:
    saved, failed = (
        CheckpointSaved(manifest="m", through_seq=1),
        CheckpointSaved(manifest="", through_seq=1, problem="full"),
    )
    change = ended(1, changes=[FileChange(path="a.py", kind="added", sha_after="1")])
    end = Finished(reason="done", answer="ok")
    assert undoable(after(STARTED, saved, called(1), change, end))
    assert not undoable(after(STARTED, called(1), change, end))
    assert not undoable(after(STARTED, saved, called(1), ended(1), end))
    assert not undoable(after(STARTED, failed, called(1), change, end))
    assert "-# Can't be undone: full" in card("ok", after(STARTED, failed, called(1), change, end))
    later = after(STARTED, saved, called(1), change, failed, end)
    assert undoable(later), "what could not be saved at the end does not matter for going back to the beginning"


def test_a_difference_is_told_without_content_where_there_is_none_to_compare() -> None:
    change = Changed("a.bin", "1", "2")
    for before, after_ in ((None, b"x"), (b"x", None), (b"\xff\0", b"x")):
        found = difference(change, before, after_)
        assert (found.added, found.removed, found.lines) == (None, None, ())


def test_an_answer_without_evidence_says_so_in_plain_words() -> None:
    claim = Claim(text=WITHOUT_FINISH, note="no evidence was given")
    text = card("42.", after(STARTED, Finished(reason="done", answer="42.", claims=(claim,))))
    assert text.endswith("⚠ Not verified")
    assert "finish" not in text


def test_what_nobody_knows_the_outcome_of_is_said_in_the_answer_too() -> None:
    calls = [
        event
        for number, command in enumerate(("a", "b", "c", "a", "d", "e"), 1)
        for event in (called(number, command=command), ended(number, outcome="unknown"))
    ]
    progress = after(STARTED, *calls, called(7), ended(7), Finished(reason="done", answer=""))
    line = card("Done.", progress).splitlines()[-1]
    assert line.startswith("-# ❔ Outcome unknown: `")
    assert line.count("`") == 6
    assert "and 2 more. I was interrupted there and didn't repeat it." in line


def test_a_task_that_asked_for_a_change_and_got_mere_words_says_so_first() -> None:
    claims = (NOTHING_DONE, Claim(text=WITHOUT_FINISH, note="no evidence was given"))
    end = Finished(reason="failed", answer="", claims=claims, confidence=20, last_words=True, unchanged=True)
    progress = after(STARTED, REQUESTED, end)
    text = card("hello.txt is there.", progress)
    assert text.splitlines() == [
        "⚠ **Answered, nothing was changed**",
        "",
        "**Last note** (the model's own words, not checked)",
        "> hello.txt is there.",
        "",
        "-# ⚠ Not verified",
    ]
    assert progress_text(progress).startswith("⚠ **Answered, nothing was changed**")
    assert "confidence 20 (estimate)" in footer(progress)


def test_an_answer_after_looking_that_changed_nothing_is_done_and_says_so() -> None:
    end = Finished(reason="done", answer="It was fixed already.", unchanged=True)
    assert card("It was fixed already.", after(STARTED, end)).splitlines() == [
        "It was fixed already.", "", "-# ⚠ Nothing was changed.",
    ]  # fmt: skip


def test_the_last_words_of_a_task_that_is_not_done_are_quoted_as_the_models() -> None:
    end = Finished(reason="failed", answer="", last_words=True)
    progress = after(STARTED, end)
    assert card("All green!\nReally.", progress).endswith("not checked)\n> All green!\n> Really.")
    assert card("See:\n```\nx\n```", progress).endswith("not checked)\nSee:\n```\nx\n```")
    assert card("", progress).endswith("*(No answer was given.)*")


def test_where_the_provider_did_not_say_what_was_used_the_card_says_that_the_cost_is_an_estimate() -> None:
    asked = REQUESTED.model_copy(update={"reserved_usd": 0.5})
    refused = ModelFailed(request="r", failure="unavailable")
    known = ModelAnswered(request="r", blocks=(), usd=0.1)
    guessed = known.model_copy(update={"estimated": True})
    cut_off = ModelFailed(request="r", failure="cancelled", begun=True, usd=0.2)
    stopped = Finished(reason="stopped", answer="")
    line = "-# Cost estimated: the provider didn't report usage for"
    assert line not in card("Text.", after(STARTED, asked, refused, asked, known, stopped))
    assert f"{line} 1 request." in card("Text.", after(STARTED, asked, known, asked, cut_off, stopped))
    assert f"{line} 2 requests." in card("Text.", after(STARTED, asked, guessed, asked, cut_off, stopped))


def test_what_was_put_back_and_denied_stands_on_the_card_and_what_was_let_does_not() -> None:
    ran = called(1, command="make fresh")
    back = Gated(call=ran.call, args_sha="s", reason="deleted 12 files", put_back=True)
    denied = after(STARTED, ran, back, ended(1, outcome="denied"), Finished(reason="done", answer="Done."))
    line = "-# ⊘ Denied afterwards: `make fresh`. It had destroyed files; I restored them."
    assert line in card("Done.", denied).splitlines()
    assert "-# ⊘ Built (`make fresh`) · restored" in progress_text(after(STARTED, ran, back)), (
        "nobody has denied it yet"
    )
    let = after(STARTED, ran, back, ran, ended(1), Finished(reason="done", answer="Done."))
    assert "⊘" not in card("Done.", let)


def test_refused_hosts_stand_on_the_card_each_once() -> None:
    first = ended(1).model_copy(update={"refused_hosts": ("evil.example", "data.example")})
    again = ended(2).model_copy(update={"refused_hosts": ("data.example",)})
    working = after(STARTED, called(1, command="pip install x"), first, called(2, command="curl y"), again)
    line = "-# 🌐 refused: `evil.example`, `data.example`"
    assert line in progress_text(working).splitlines()
    done = after(
        STARTED, called(1, command="pip install x"), first, called(2, command="curl y"), again,
        Finished(reason="done", answer="Done."),
    )  # fmt: skip
    assert line in card("Done.", done).splitlines()
    assert "🌐" not in card("Done.", after(STARTED, called(1), ended(1), Finished(reason="done", answer="Done.")))


def test_what_was_denied_stands_on_the_card_whatever_the_answer_says() -> None:
    denied = (called(1, command="rm -rf build"), ended(1, outcome="denied"))
    progress = after(STARTED, *denied, Finished(reason="done", answer="The build is gone."))
    assert "-# ⊘ Denied, did not run: `rm -rf build`" in card("The build is gone.", progress).splitlines()
    allowed = (called(2, command="rm -rf build"), ended(2))
    progress = after(STARTED, *denied, *allowed, Finished(reason="done", answer="The build is gone."))
    assert "Denied" not in card("The build is gone.", progress), "it ran after all"


def test_what_was_used_is_not_offered_again_under_the_answer() -> None:
    failed, stopped = (after(STARTED, Finished(reason=reason, answer="")) for reason in ("failed", "stopped"))
    offer = Tried(offered="2 of 3")
    assert [below_answer(failed, offer, rerun=used).again for used in (False, True)] == ["2 of 3", ""]
    assert [below_answer(stopped, Tried(), since=used).steer for used in (False, True)] == [("continue",), ()]
