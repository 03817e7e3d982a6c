"""Writes the golden log of this release: ``python -m tests.golden.writing`` (once, before the release).

One execution with every kind of event and every shape inside them, no field left at its default where another value
makes sense: so a field that is later renamed or dropped shows as a difference.  Files of releases that are out are
never written again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pydantic import BaseModel

from agentic.core.events import execution_events as e
from agentic.core.events import values
from bot import BUILD
from reflexion.lessons.lesson import (
    Change,
    Insight,
    Lesson,
    LifeWith,
    Reflection,
    Scope,
)
from reflexion.lessons.lifecycle import Life

FOLDER = Path(__file__).parent
NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
LATER = NOON + timedelta(hours=1)
ANN = e.Person(id="100000000000000001", name="ann", level="operator")
BLOB = e.BlobRef(sha="ab" * 32, size=70_000, media="text/markdown")
CHANGE = e.FileChange(path="src/range.py", kind="modified", sha_before="11" * 32, sha_after="22" * 32)
FILE = e.FileRef(name="data.csv", path="attachments/data.csv", size=12)
PARTS = e.ConfidenceParts(self_report=80, tool_ok=0.75, same_error=1, tests=0.5, progress=1.0, corrections=1)
SURE = e.Confidence(shown=71, heuristic=74, parts=PARTS, calibrator="isotonic-1")
OPTION = e.Option(id="1", label="Go on", description="10 more turns")
BEST = e.Option(id="2", label="Stop", who_may="operator", recommended=True)


def started() -> e.Started:
    """The beginning, with everything an execution can know before its first turn."""
    policy = e.Policy(
        version=1, turns_simple=11, turns_medium=21, turns_complex=36, max_usd=4.5, attended=True, history="append",
        tiers=(e.Tier(number=2, models=("openai/small",)), e.Tier(number=3, models=("claude-x", "openai/large"))),
    )  # fmt: skip
    return e.Started(
        thread="900", task="The tests of src/range.py fail. Fix the code.", requester=ANN, root="xroot0000000",
        parent="xparent00000", forked_from=("xfork0000000", 12), trial_of="xtrial000000", attempt=2, role="python-coder",
        complexity="complex", policy=policy,
        tools=(e.ToolRef(name="shell"), e.ToolRef(name="note", effect="keyed", permission="read", cognitive=True)),
        files=(FILE, e.FileRef(name="big.iso", size=9_000_000_000, skipped="too large")),
        earlier=(e.EarlierResult(execution="xearlier0000", task="Set it up.", reason="done", answer="Ready.", files=("a",)),),
        quoted=(e.QuotedMessage(author="ben", text="It broke yesterday."),),
        lessons=(e.ChosenLesson(id="r00000000001", kind="reflection", text="Run the tests first.", why="this thread"),),
        withheld=(e.WithheldLesson(id="l00000000009", arm="held_back", why="by chance"),),
        workspace="manifest-0", sandbox="bubblewrap, no network", inbox="900", rules=1,
        exposure=e.Exposure(untrusted=("the log of a check",), private=("acme/shop",), reach=("example.org",), fetches=True),
        own_roles=(e.RoleTemplate(name="poet", text="You write verse.", may=("read",), refuses=("shell",), levels=(2, 3)),),
        rule_files=(e.RuleFile(name="tone", text="Write plainly.", priority=5, overrides=("old",), roles=("poet",)),),
        guides=(e.WorkspaceGuide(path="AGENTS.md", text="Run make.", cut=True),),
        watchers=(
            e.Watcher(
                name="acts", when="before action", may="veto", tools=("shell",), matching=("rm",), tier=2, if_it_fails="ask",
                instruction="Look for what destroys.",
            ),
        ),
        skills=(e.EquippedSkill(name="release-notes", description="How notes are written.", sha="9f" * 32),),
        approaches=3,
    )  # fmt: skip


def first_turn() -> Iterable[e.Event]:
    """Triage, what is perceived, a provider that fails and then answers, two calls."""
    yield e.Triaged(talk=False, role="python-coder", complexity="complex", by="model")
    yield e.Perceived(
        stale=(e.StaleFile(path="a.py", diff="-1\n+2"),), changes=("b.py by ben",), environment="Python 3.12"
    )
    segments = e.Segments(
        system=BLOB, tools=BLOB, history_from=1, history_through=3, history_sha="cd" * 32, tail="[Perceived now]"
    )
    yield e.BudgetReserved(scope="execution", usd=0.2)
    asked = {
        "turn": 1,
        "tier": 2,
        "model": "openai/small",
        "segments": segments,
        "reserved_usd": 0.2,
        "deadline": LATER,
    }
    yield e.ModelRequested.model_validate({"request": "req00001", **asked})
    yield e.ModelFailed(request="req00001", failure="rate_limited", message="slow down", retry_after=1.5)
    yield e.ModelRequested.model_validate({"request": "req00002", "attempt": 2, **asked})
    usage = e.Usage(input=1000, output=80, cache_read=600, cache_write=200, reasoning=30)
    blocks: tuple[e.Block, ...] = (
        e.ReasoningBlock(text="First the tests.", opaque="c2lnbmVk", provider="anthropic"),
        e.TextBlock(text="I run the tests.\nconfidence: 80"),
        e.CallBlock(provider_id="p1", tool="shell", arguments={"command": "pytest -q", "timeout": 60}),
        e.CallBlock(provider_id="p2", tool="note", problem="malformed", raw="{oops"),
    )
    yield e.ModelAnswered(
        request="req00002", blocks=blocks, stop="tool_use", usage=usage, usd=0.012, served_by="small-2026"
    )
    yield e.BudgetSettled(scope="execution", usd=0.012)
    departure = e.Departure(
        to="acme/shop at github.com", untrusted=("the log of a check",), private=("attached files",)
    )
    yield e.Gated(
        call="req00002.0", args_sha="33" * 32, reason="deletes src", who_may="operator", state_sha="55" * 32,
        leaving=departure,
    )  # fmt: skip
    yield e.Asked(
        question="q00000000001", sort="approval", text="May I?", options=(OPTION,), call="req00002.0",
        args_sha="33" * 32, who_may="operator", expires=LATER,
    )  # fmt: skip
    yield e.Decided(question="q00000000001", by=ANN, choice="allow", text="yes")
    yield e.ToolStarted(
        call="req00002.0", provider_id="p1", tool="shell", effect="unkeyed",
        arguments={"command": "pytest -q", "timeout": 60, "more": [1, None, {"deep": True}]}, args_sha="33" * 32,
        version=2, batch="batch001", key="key-1", approval="q00000000001", expectation="one test fails", deadline=LATER,
    )  # fmt: skip
    yield e.ToolFinished(
        call="req00002.0", outcome="failed", preview="exit 1\nE  assert 3 == 4 ✗", output=BLOB, output_ref="out-1",
        exit_code=1, signal=9, changes=(CHANGE,), tests_passed=2, tests_failed=1, seconds=0.8, error="exit 1 assert",
        tests_skipped=1, expected="missed", job="job-1",
        attempts=(e.Attempt(command="pytest -q", exit_code=1, tests_passed=2, tests_failed=1, tests_skipped=1),),
    )  # fmt: skip
    yield e.ToolFinished(
        call="req00002.1", outcome="refused", preview="'.env' was refused: it is hidden by .aiignore", barred="hidden",
        place=".env",
    )  # fmt: skip
    yield e.Reported(status="progressing", confidence=80, note="one test fails")
    yield e.StrongerWanted(reason="the cause is in a library that I do not know")
    yield e.TurnEnded(turn=1, confidence=SURE)


def middle() -> Iterable[e.Event]:
    """What people, rules and subagents add."""
    yield e.InputReceived(
        inbox="901", sort="guidance", author=ANN, message="901", edit_version="2", text="Mind the end.", files=(FILE,),
        target="x/turn:1",
    )  # fmt: skip
    yield e.PolicyChanged(by=ANN.id, add_turns=10, add_tokens=5000, add_usd=1.5, add_minutes=15)
    yield e.HandedOver(worker="host-1")
    yield e.OwnerChanged(worker="host-2", reason="the other one ended", lost=("what lies in /tmp",))
    yield e.WorkspaceFound(changes=(CHANGE,), problem="not all of it could be read")
    yield e.RulesChanged(rules=1)
    yield e.Quarantined(worker="host-2", reason="three crashes")
    yield e.CancelRequested(refs=("req00002.0",), reason="a person stopped it")
    yield e.Asked(
        question="q00000000002", text="Two things:", call="req00002.0", attached=BLOB,
        parts=(e.Part(id="1", text="Which?", options=(BEST,)), e.Part(id="2", text="When?")),
    )  # fmt: skip
    yield e.Decided(
        question="q00000000002", by=ANN, choice="text", text="1: Go on, 2: now", answers={"1": "Go on", "2": "now"}
    )
    yield e.InputReceived(
        inbox="902", sort="pause", author=e.Person(id="0", name="Threadwright"), text="the thread is locked"
    )
    yield e.InputReceived(inbox="903", sort="resume", author=ANN)
    yield e.DeadlinePassed(ref="q00000000001")
    yield e.Intervened(rule="repetition", text="You repeat yourself.")
    yield e.Escalated(
        from_tier=2, to_tier=3, trigger="the same error came 3 times", rule="same_error", from_model="openai/small",
        to_model="claude-x", turn=2, confidence=27, usd=0.012, tokens=9_000, counted={"same_error": 3},
    )  # fmt: skip
    yield e.Compacted(
        through_seq=9, summary="The tests were run.", kept=3, head=1, why="window", remembered="Port 80.", notes=2,
        longest=900, opening=8_000,
    )  # fmt: skip
    yield e.Noted(text="The range is half open.")
    yield e.TodoChanged(items=(e.Todo(text="fix range", state="doing"), e.Todo(text="run tests")))
    yield e.PlanEntered()
    yield e.PlanExited(plan="Fix, then test.")
    yield e.CheckpointSaved(manifest="manifest-1", through_seq=20, problem="one file could not be read")
    yield e.CommitCreated(
        offer="o00000000001", branch="threadwright/fix-range", commit="ab" * 20, base="main", base_commit="cd" * 20,
        message="Fix the end of range", files=("src/range.py",), insertions=2, deletions=1,
        diffstat=" src/range.py | 3 ++-", repository="lib", diff=BLOB,
    )  # fmt: skip
    yield e.CommitCreated(offer="o00000000002", branch="threadwright/other", commit="ab" * 20, base="main")
    yield e.PullRequestOpened(
        host="github.com", repository="ann/range", number=7, url="https://github.com/ann/range/pull/7", title="Fix range",
        branch="threadwright/fix-range", base="main", commit="ab" * 20, draft=True, commits=1, files=("src/range.py",),
    )  # fmt: skip
    yield e.SubagentStarted(child="xchild000000", call="req00002.0", grant_usd=0.5)
    yield e.SubagentFinished(child="xchild000000", spent_usd=0.1, result="Nothing found.")


def allowed(call: str, block: e.CallBlock) -> Iterable[e.Event]:
    """Something is allowed for the whole task, used, and ended."""
    act = e.Act(kind="delete", path="src")
    found = (e.Finding(text="deletes src", acts=(act,)),)
    yield e.Gated(call=call, args_sha="66" * 32, reason="deletes src", findings=found)
    yield e.Asked(
        question="q00000000003", sort="approval", text="May I?", options=(OPTION,), call=call, args_sha="66" * 32,
        allows=(act,),
    )  # fmt: skip
    yield e.Decided(question="q00000000003", by=ANN, choice="for_task")
    used = e.AllowanceUsed(call=call, question="q00000000003", by=ANN, acts=(act,))
    yield used
    yield e.ToolStarted(
        call=call, provider_id=block.provider_id, tool=block.tool, effect="unkeyed", arguments=block.arguments,
        args_sha="66" * 32, allowed=used,
    )  # fmt: skip
    yield e.ToolFinished(call=call, outcome="ok", preview="")
    yield e.AllowancesEnded(person=ANN.id, why="ann may no longer allow this")


def ending() -> Iterable[e.Event]:
    """A last turn with a proven claim."""
    yield e.ModelRequested(request="req00003", turn=2, tier=3, model="claude-x")
    finish = {"answer": "Fixed.", "claims": [{"text": "the tests pass", "command": "pytest -q", "exit_code": 0}]}
    removal = e.CallBlock(provider_id="p4", tool="shell", arguments={"command": "rm -rf src"})
    blocks = (e.CallBlock(provider_id="p3", tool="finish", arguments=finish), removal)
    yield e.ModelAnswered(request="req00003", blocks=blocks, stop="tool_use", usd=0.03)
    yield from allowed("req00003.1", removal)
    yield e.ToolStarted(
        call="req00003.0", provider_id="p3", tool="finish", effect="read", arguments=finish, args_sha="44" * 32
    )
    yield e.ToolFinished(call="req00003.0", outcome="ok", preview="")
    yield e.TurnEnded(turn=2, confidence=SURE)
    claim = e.Claim(
        text="the tests pass", command="pytest -q", exit_code=0, file="src/range.py", sha="22" * 32, verdict="proven",
        note="turn 2",
    )  # fmt: skip
    yield e.WakeRequested(wake="w0123456789ab", at=NOON + timedelta(hours=1), why="see whether the import has ended")
    yield e.Watched(watcher="acts", turn=2, calls=("req00003.0",), text="It deletes all", held=("req00003.0",))
    yield e.BudgetRefused(whose="guild", day="2026-11-21", cap_usd=5.0, spent_usd=4.95, needed_usd=0.12)
    yield e.Finished(reason="done", answer="Fixed.", claims=(claim,), files=("report.md",), confidence=71)


def outcome() -> Iterable[e.Event]:
    """What was said, done and learned afterwards."""
    yield e.WorkspaceRestored(manifest="manifest-1", lost="interpreters, /tmp", files=("src/range.py",), by=ANN)
    yield e.BranchMerged(offer="o00000000001", branch="threadwright/fix-range", commit="ef" * 20, by=ANN)
    yield e.BranchRejected(offer="o00000000002", branch="threadwright/other", commit="ab" * 20, by=ANN)
    yield e.FeedbackGiven(by=ANN, vote="down", target="x/result", why="The last day is missing.")
    item = e.RubricItem(question="Does the answer rest on what was run?", yes=True, evidence="1 passed")
    yield e.Judged(
        requests=("req00009",), model="openai/large", shares=(0.5, 1.0, 1.0), share=1.0, items=(item,), problem=""
    )
    yield e.Evaluated(
        score=40, parts={"verifier": 40.0, "user": 0.0}, caps=("voted_down",), verifier="pass", check="pytest -q",
        judge_weight=0.4, flags=("judge",),
    )  # fmt: skip
    yield e.Reflected(reflection="r00000000002", problem="")
    yield e.TrialDecided(way="again", attempt=2, why="`pytest -q` still fails")


def learned() -> tuple[Reflection, Lesson]:
    """One reflection and one lesson as they are stored."""
    insight = Insight(
        what_worked="The tests.", what_failed="The end.", root_cause="Half open.", strategy_change="Add one.",
        key_insight="Ends count.",
    )  # fmt: skip
    reflection = Reflection(
        id="r00000000002", thread="900", guild="g1", execution="xgolden00000", task="Fix.", cause="a 👎",
        insight=insight, evidence=("E  assert 3 == 4 ✗",), error_signature="shell: assert # == #", model="claude-x",
        score=40, said=("The last day is missing.",), created=NOON,
    )  # fmt: skip
    life = Life(
        shown=3, shown_ok=2, held_back=1, held_back_ok=1, crowded=2, crowded_ok=1, evidence=0.5, last_shown=LATER
    )
    lesson = Lesson(
        id="l00000000001", scope=Scope(kind="thread", guild="g1", thread="900"), kind="pitfall", trigger="ranges",
        action="add one", error_signature="shell: assert # == #", evidence=("E  assert 3 == 4 ✗",),
        executions=("xgolden00000", "x2"), author_trust="operator", status="probation", note="seen twice",
        life=life, by_model=(LifeWith(model="claude-x", life=life),), model="claude-x", supersedes="l00000000000",
        contradicts=("l00000000002",),
        history=(Change(at=NOON, by="ann", what="amended"),), created=NOON,
    )  # fmt: skip
    return reflection, lesson


def required_fields() -> dict[str, list[str]]:
    """What each shape cannot do without; a shape only ever loses from its list."""
    shapes = {
        name: shape
        for module in (values, e)
        for name, shape in vars(module).items()
        if isinstance(shape, type) and issubclass(shape, BaseModel)
    }
    return {
        name: sorted(field for field, about in shape.model_fields.items() if about.is_required())
        for name, shape in sorted(shapes.items())
    }


def lines(events: Iterable[e.Event], fence: int) -> str:
    """Envelopes, one JSON object a line."""
    envelopes = (
        e.Envelope(
            execution="xgolden00000", seq=seq, at=NOON + timedelta(seconds=seq), fence=fence, event=event,
            cause="req00002", build="0.1.0+golden",
        )
        for seq, event in enumerate(events, 1)
    )  # fmt: skip
    return "".join(envelope.model_dump_json() + "\n" for envelope in envelopes)


def main() -> None:
    """Write the files of this version."""
    folder = FOLDER / BUILD
    folder.mkdir(exist_ok=True)
    log = lines([started(), *first_turn(), *middle(), *ending()], fence=4)
    (folder / "log.jsonl").write_text(log, encoding="utf-8")
    (folder / "outcome.jsonl").write_text(lines(outcome(), fence=0), encoding="utf-8")
    required = json.dumps(required_fields(), indent=1)
    (folder / "required.json").write_text(required + "\n", encoding="utf-8")
    stored = {type(each).__name__.lower(): each.model_dump(mode="json") for each in learned()}
    (folder / "learned.json").write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
