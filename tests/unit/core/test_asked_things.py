"""What a task asks for by name and is not there at its end denies that it is done."""

from __future__ import annotations

import re

import pytest

from agentic.core.claims.asked_things import FOREIGN
from agentic.core.events.execution_events import (
    CommitCreated,
    Event,
    Finished,
    ModelAnswered,
    ModelRequested,
    Policy,
    PullRequestOpened,
    Started,
    TextBlock,
    Triaged,
)
from agentic.core.events.values import FileChange
from agentic.core.rules.decide import decide
from agentic.core.rules.triage import triage
from agentic.core.state.actions import Finish
from agentic.core.text.asked_by_name import asked
from tests.unit.core.building import TIERS, TOOLS, YOU, Log

PULL = PullRequestOpened(
    host="h", repository="ada/shop", number=3, url="u", title="t", branch="threadwright/fix-1", base="main", commit="c"
)


@pytest.mark.parametrize(
    ("text", "things"),
    [
        ("Fix the failing test and open a pull request.", ("pull request",)),
        ("fix it, then create a PR for main", ("pull request",)),
        ("Can you please make me a draft pull request?", ("pull request",)),
        ("Mend the total. Open the PR when you are done.", ("pull request",)),
        ("Publish the fix as a PR", ("pull request",)),
        ("I want a pull request with the fix", ("pull request",)),
        ("fix it. PR please", ("pull request",)),
        ("Behebe den Fehler und öffne einen Pull Request", ("pull request",)),
        ("Behebe den Fehler und stelle ihn als PR", ()),
        ("Korrigiere den Fehler und erstelle bitte einen neuen Branch namens fix-1", ()),
        ("Erstelle einen neuen Branch namens fix-1.", ("branch fix-1",)),
        ("Create a branch called fix, then repair it", ("branch fix",)),
        ("create a new branch fix/price-2 for it", ("branch fix/price-2",)),
        ("Create a branch for the fix and commit there", ("branch",)),
        ("Create hello.txt with one line", ("file hello.txt",)),
        ("write docs/a.md, docs/b.md and tests", ("file docs/a.md", "file docs/b.md")),
        ("Create a small Python script called tools/fib.py", ("file tools/fib.py",)),
        ("Count the words and save the result to `out.json`.", ("file out.json",)),
        ("Lege eine Datei notizen.md an", ("file notizen.md",)),
        ("Speichere das Ergebnis als bericht.csv", ("file bericht.csv",)),
        # spoken of, not asked for
        ("Don't open a pull request, just fix it", ()),
        ("Fix it without a pull request", ()),
        ("If the tests pass, open a pull request", ()),
        ("How do I open a pull request?", ()),
        ("Explain how to create a PR", ()),
        ("Review the pull request", ()),
        ("List open pull requests: what do they change?", ()),
        ("open pull request #12 and tell me what it does", ()),
        ("Create a pull request template", ()),
        ("make the PR green", ()),
        ("Should I open a PR?", ()),
        ("Create a branch protection rule", ()),
        ("write tests for price.py", ()),
        ("Write a summary of notes.txt", ()),
        ("Convert the service to Node.js", ()),
        ("create /tmp/x.txt", ()),
        ("The form says ```\nopen a pull request\n``` and should not", ()),
        # forbidden, asked about, or wished by somebody for themselves
        ("Don't commit, push and open a pull request. Only fix price.py.", ()),
        ("How do I commit my work and open a pull request?", ()),
        ("Why does the bot first push and then open a pull request?", ()),
        ("Wie erstelle ich einen Branch und öffne einen Pull Request?", ()),
        ("You must not write a file, create a branch, and open a PR", ()),
        ("fix it. No PR please", ()),
        ("Fix it and open a pull request. Not that pull request of yesterday.", ()),
        ("Create a branch?", ()),
        ("I want to create a branch and open a pull request. Which commands?", ()),
        # described or quoted
        ("Add a GitHub workflow to bump versions, create a branch and open a pull request", ()),
        (
            "Write CONTRIBUTING.md that explains how to fork, create a branch and open a pull request",
            ("file contributing.md",),
        ),
        ("Fix this bug:\n1. Create a file input.csv\n2. Run main.py", ()),
        ("Fix the crash\nSteps to reproduce\n1. Create a file input.csv\n2. Run main.py", ()),
        ("Steps to reproduce: 1. Create a file input.csv 2. Run main.py", ()),
        ("Shorten this\n# Contributing\nCreate a branch.", ()),
        ("Update AGENTS.md: agents must run tests, create a branch and open a pull request", ()),
        ("Explain the script: it should read a.csv and write b.csv", ()),
        ("Fix the function which should read a.csv and write b.csv", ()),
        ("Translate: create a pull request", ()),
        ("Translate “Well done. Create a pull request.”", ()),
        ("Add support for 'create a branch and open a pull request'", ()),
        ("Add support for `create a branch and open a pull request`", ()),
        ("Answer this:\n\n> Create a pull request", ()),
        ("Write an example, e.g. create a pull request", ()),
        ("Write a script to fetch data and save it to data.csv", ()),
        ("Write a function to convert a.csv to b.json", ()),
        ("Schreibe eine Anleitung: 1. Erstelle einen Branch 2. öffne einen Pull Request", ()),
        # another noun, another verb
        ("Open the pull request and tell me what the reviewers said", ()),
        ("Open the PR and check why the build fails", ()),
        ("Open the merge request and review it", ()),
        ("Fix price.py. Open the PR and check why the build fails", ()),
        ("Add a branch for the empty case in parse()", ()),
        ("add a branch to the switch statement", ()),
        ("Create a branch for the empty case in parse()", ()),
        ("Add config.json to .gitignore", ()),
        ("Add index.html to the navigation in app.js", ()),
        ("Add main.py to setup.cfg", ()),
        ("Make README.md and docs/intro.md agree", ()),
        ("Make foo.py, bar.py and baz.py use the new logger", ()),
        ("add your PR to the changelog", ()),
        ("Add a PR to the sheet", ()),
        ("I want a pull request to be merged", ()),
        # orders that stay orders
        ("1. Fix the total\n2. Open a pull request", ("pull request",)),
        ("Fix the total and open the PR", ("pull request",)),
        ("Run the tests, create a branch and open a pull request", ("branch", "pull request")),
        ("Create a.md, b.md and open a pull request", ("file a.md", "file b.md", "pull request")),
    ],
)
def test_only_plain_orders_name_what_is_asked_for(text: str, things: tuple[str, ...]) -> None:
    assert asked(text) == things


def test_a_part_of_another_task_is_asked_for_nothing_by_name() -> None:
    started = Started(
        thread="1",
        task="Fix it and open a pull request",
        requester=YOU,
        policy=Policy(tiers=TIERS),
        tools=TOOLS,
        inbox="1",
    )
    assert triage(started).asks_for == ("pull request",)
    assert triage(started.model_copy(update={"child": True})).asks_for == ()


def test_what_a_model_reads_of_a_task_that_the_rules_cannot_place_names_no_less() -> None:
    """What is asked for by name is read in the words alone, whoever reads the rest."""
    log = Log(task="lorem ipsum dolor. PR please", triaged=False)
    log.add(ModelRequested(request="r9", turn=0, purpose="triage", tier=1, model="m"))
    said = '{"kind": "task", "complexity": "medium", "changes_files": true}'
    log.add(ModelAnswered(request="r9", blocks=(TextBlock(text=said),)))
    log.settle()
    assert log.execution.triage is not None
    assert (log.execution.triage.by, log.execution.triage.asks_for) == ("model", ("pull request",))


def ends(
    thing: str, *events: Event, answer: str = "All done.", guided: str = "", tool: str = "shell", command: str = "sed -i 1d a",
    path: str = "price.py", exit_code: int = 0,
) -> Finished:  # fmt: skip
    """How a task ends that asked for a thing, changed a file, did this besides, and says twice that it is done."""
    log = Log(task="Fix it", triaged=False, starting_tier=4)
    log.add(Triaged(talk=False, changes_files=True, asks_change=True, asks_for=(thing,)))
    log.settle()
    log.answer((tool, {"command": command}))
    change = FileChange(path=path, kind="deleted" if path == "gone.md" else "modified", sha_after="1")
    log.use(0, exit_code=exit_code, changes=(change,))
    log.add(*events)
    log.settle()
    if guided:
        log.say("guidance", guided)
    for _ in range(3):
        log.answer(("finish", {"answer": answer}))
        log.use(0)
        log.settle()
        action = decide(log.execution)
        if isinstance(action, Finish):
            return action.finished
    raise AssertionError("it did not end")


@pytest.mark.parametrize("thing", ["pull request", "branch", "branch fix-1", "file notes.md"])
def test_what_was_asked_for_by_name_and_is_not_there_goes_back_once_and_is_no_success_then(thing: str) -> None:
    ended = ends(thing)
    assert ended.reason == "failed"
    assert ended.confidence <= 20
    assert "was asked for by name, and is not there" in ended.claims[0].note


def offer(branch: str) -> CommitCreated:
    return CommitCreated(offer="o1", branch=branch, commit="c", base="main")


@pytest.mark.parametrize(
    ("thing", "events", "ran"),
    [
        ("pull request", (PULL,), {}),
        ("pull request", (), {"command": "gh pr create --fill"}),
        ("pull request", (), {"tool": "swap", "path": "a"}),
        ("branch", (PULL,), {}),
        ("branch", (offer("agent/x"),), {}),
        ("branch fix-1", (PULL,), {}),
        ("branch fix-1", (offer("fix-1"),), {}),
        ("branch fix-1", (), {"command": "cd shop && git checkout -q -b Fix-1"}),
        ("branch", (), {"command": "git branch other"}),
        ("file notes.md", (), {"path": "docs/Notes.md"}),
        ("file docs/notes.md", (), {"path": "docs/notes.md"}),
        ("file notes.md", (), {"command": "make notes.md"}),
    ],
)
def test_what_is_there_or_may_be_denies_nothing(
    thing: str, events: tuple[Event, ...], ran: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if ran.get("tool") == "swap":  # a tool of some server
        monkeypatch.setattr("agentic.core.claims.asked_things.FOREIGN", re.compile("swap"))
    assert ends(thing, *events, **ran).reason == "done"  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("thing", "ran"),
    [
        ("branch fix-1", {"command": "git checkout -b other"}),
        ("branch", {"command": "git branch --list"}),
        ("branch", {"command": "git checkout -b x", "exit_code": 128}),
        ("file notes.md", {"command": "cat notes.md"}),
        ("file notes.md", {"path": "my-notes.md"}),
        ("file gone.md", {"path": "gone.md"}),
        ("pull request", {"command": "gh pr list"}),
    ],
)
def test_what_is_something_else_is_not_what_was_asked_for(thing: str, ran: dict[str, str]) -> None:
    assert ends(thing, **ran).reason == "failed"  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("thing", "answer", "reason"),
    [
        ("pull request", "Fixed. Pull request 12 was open already.", "done"),
        ("pull request", "Der PR war bereits offen.", "done"),
        ("file notes.md", "docs/notes.md already says so.", "done"),
        ("branch", "The branch exists.", "done"),
        ("pull request", "The tests passed already.", "failed"),
        ("pull request", "I could not open the pull request.", "failed"),
        ("pull request", "The pull request is open.", "failed"),
    ],
)
def test_an_answer_that_says_that_it_was_there_is_believed(thing: str, answer: str, reason: str) -> None:
    assert ends(thing, answer=answer).reason == reason


@pytest.mark.parametrize(
    ("guided", "reason"),
    [("No pull request after all, please.", "done"), ("Don't forget the docs.", "failed"), ("Go on.", "failed")],
)
def test_what_a_person_takes_back_is_not_asked_for_any_more(guided: str, reason: str) -> None:
    assert ends("pull request", guided=guided).reason == reason


@pytest.mark.parametrize(
    "name", ["mcp__forge__create_pull_request", "gitlab_merge-request", "open-pr", "pr_create", "compare"]
)
def test_tools_of_servers_that_open_pull_requests_are_known_by_their_names(name: str) -> None:
    assert bool(FOREIGN.search(name)) is (name != "compare")


def test_an_old_log_asks_for_nothing_by_name() -> None:
    assert Triaged(talk=False).asks_for == ()
