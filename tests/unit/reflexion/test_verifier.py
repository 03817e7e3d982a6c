"""Which check counts: one the task names, one the repository declares, one the agent ran; and what its last run said."""

from __future__ import annotations

import pytest

from agentic.core.events.execution_events import UNEXPOSED, Event, Exposure, Perceived, Started, ToolFinished, ToolRef
from reflexion.evaluation.score import evaluate
from reflexion.evaluation.trajectory import read_trajectory
from reflexion.evaluation.verifier import NOT_RUN, STALE, Verified
from tests.unit.reflexion.logs import Did, Log, edit

PLAIN = "Tidy up the cart."


def ran(*commands: str | tuple[str, int] | Did, task: str = PLAIN) -> Verified:
    log = Log(task=task)
    for command in commands:
        if isinstance(command, Did):
            log.does(command)
        else:
            text, code = command if isinstance(command, tuple) else (command, 0)
            log.does(Did(text, code))
    return read_trajectory(log.ends().events).verified


@pytest.mark.parametrize(
    ("task", "commands", "verdict", "check"),
    [
        ("Make `node check.mjs --strict` succeed.", ["node check.mjs --strict"], "pass", "node check.mjs --strict"),
        ("Make `node check.mjs --strict` succeed.", ["node check.mjs", "pytest"], "none", "node check.mjs --strict"),
        ("`ruff check .` and `pytest -q` should pass.", ["ruff check .", ("pytest", 1)], "fail", "pytest"),
        ("`ruff check .` and `pytest -q` should pass.", ["ruff check .", "cd app && pytest"], "pass", "ruff check ."),
        ("`ruff check .` and `pytest -q` should pass.", ["pytest"], "none", "ruff check ."),
        ("Tidy up! `ruff check . --fix` must pass; then stop.", ["mypy ."], "none", "ruff check . --fix"),
        ("Tidy up! `ruff check . --fix` must pass; then stop.", ["ruff check . --fix"], "pass", "ruff check . --fix"),
        ("Fix it until `make check` is green.", [("make check", 2), "make -j2 check"], "pass", "make -j2 check"),
        ("Make the tests in tests/cart pass.", ["pytest tests/cart -q"], "pass", "pytest tests/cart -q"),
        ("Make the tests in tests/cart pass.", ["pytest -q"], "pass", "pytest -q"),
        ("Make the tests in tests/cart pass.", ["pytest tests/cart/a.py::b"], "pass", "pytest tests/cart/a.py::b"),
        ("Make the tests in tests/cart pass.", ["pytest tests/shop"], "none", "the tests in tests/cart"),
        ("Make the tests in tests/cart pass.", ["ruff check ."], "none", "the tests in tests/cart"),
        ("Make test_cart pass.", ["python3 -m unittest test_cart"], "pass", "python3 -m unittest test_cart"),
        ("Make test_cart pass.", ["python3 -m unittest tests.test_cart"], "pass", "python3 -m unittest tests.test_cart"),
        ("Fix the failing tests.", ["mypy ."], "none", "the tests"),
        ("Fix the failing tests.", [("npm test", 1), "npm test"], "pass", "npm test"),
    ],
)  # fmt: skip
def test_a_check_that_the_task_names_is_the_one_that_counts(
    task: str, commands: list[str], verdict: str, check: str
) -> None:
    found = ran(*commands, task=task)
    assert (found.verdict, found.check) == (verdict, check)
    assert (NOT_RUN in found.flags) == (verdict == "none")


@pytest.mark.parametrize(
    "task",
    [
        "Do not run `npm test`, it takes an hour. Rename the module.",
        "Rename `cart.total` to `cart.sum`.",
        "Add a line to `README.md`.",
        "Explain what the tests in tests/cart are about.",
        "Please don't run the tests: they pass already.",
    ],
)
def test_what_is_only_mentioned_is_no_check_that_had_to_run(task: str) -> None:
    assert ran("ls", task=task) == Verified()
    assert ran("mypy .", task=task) == Verified("pass", "mypy .")


def test_what_failed_instead_of_the_named_check_still_failed() -> None:
    assert ran(("pytest", 1), task="Make `make check` pass.") == Verified("fail", "pytest")


def test_a_passing_type_check_does_not_outweigh_failing_tests() -> None:
    assert ran(("pytest", 1), "ruff check .", "mypy .") == Verified("fail", "pytest")
    assert ran("mypy .", ("mypy .", 1)) == Verified("fail", "mypy .")


def test_the_last_run_that_says_something_counts() -> None:
    cut = Did("pytest", None)
    assert ran("pytest", ("pytest", 1), cut).verdict == "fail"
    assert ran(("pytest", 1), "pytest", cut).verdict == "pass"
    assert ran(cut) == Verified("none", "pytest")
    assert ran() == Verified()


def test_a_pass_that_is_older_than_a_change_of_what_it_checked_proves_nothing() -> None:
    assert ran("pytest", edit("cart.py")) == Verified("none", "pytest", (STALE,))
    assert ran("pytest", edit("NOTES.md")).verdict == "pass"
    assert ran(("pytest", 1), edit("cart.py")).verdict == "fail"
    assert ran("pytest", edit("cart.py"), "pytest").verdict == "pass"


SCRIPTS = '1\t{\n2\t  "scripts": {"lint": "eslint .", "test": "node spec/all.mjs"}\n3\t}'
REPOSITORIES = [
    (Did("package.json", None, SCRIPTS, tool="read"), "npm test", "yarn test"),
    (Did("package.json", None, SCRIPTS, tool="read"), "npm test", "node spec/all.mjs"),
    (Did("cat Makefile", 0, "build:\n\tcc x.c\ntest: build\n\t./x --self-test\n"), "make test", "make test"),
    (Did(".", None, "pyproject.toml  90 bytes\nconftest.py  3 bytes", tool="list"), "pytest", "python3 -m pytest"),
    (edit("pytest.ini", ""), "pytest", "pytest -q"),
    (Did("git ls-files", 0, "Cargo.toml\nsrc/main.rs"), "cargo test", "cargo test --all"),
    (Did("cd app && cat '../Makefile'", 0, "check: x\n"), "make check", "make check"),
    (Did(".", None, "go.mod  9 bytes\nmain.go  70 bytes", tool="list"), "go test", "go test ./..."),
]


@pytest.mark.parametrize(("shows", "name", "command"), REPOSITORIES)
def test_the_repositorys_own_tests_count_before_what_the_agent_made_up(shows: Did, name: str, command: str) -> None:
    assert ran(shows) == Verified("none", name, (NOT_RUN,))
    assert ran(shows, (command, 1), "node --test scratch.mjs") == Verified("fail", command)
    assert ran(shows, command, ("./test_scratch.sh", 1)) == Verified("pass", command)
    assert ran(shows, "node --test scratch.mjs").verdict == "pass"


def test_a_script_that_tests_nothing_declares_nothing() -> None:
    for script in ('echo \\"Error: no test specified\\" && exit 1', "true", "echo fine"):
        shows = Did("package.json", None, f'1\t{{"scripts": {{"test": "{script}"}}}}', tool="read")
        assert ran(shows) == Verified()
    assert ran(Did(".", None, "pyproject.toml  90 bytes", tool="list")) == Verified()


def test_files_of_a_folder_below_and_words_of_other_files_declare_nothing() -> None:
    assert ran(Did("vendor", None, "Cargo.toml  3 bytes", tool="list")) == Verified()
    assert ran(Did("cd vendor && ls", 0, "Cargo.toml")) == Verified()
    assert ran(Did("vendor/package.json", None, SCRIPTS, tool="read")) == Verified()
    assert ran(Did("notes.txt", None, '1\t"test": "node x.mjs"\n2\ttest:\n3\t[tool.pytest]', tool="read")) == Verified()


def test_what_others_changed_declares_too() -> None:
    log = Log(task=PLAIN).add(Perceived(changes=("modified Cargo.toml by other, 5 s ago",))).does(Did("ls"))
    assert read_trajectory(log.ends().events).verified == Verified("none", "cargo test", (NOT_RUN,))


def test_the_score_says_which_check_it_rests_on_and_that_a_named_one_never_ran() -> None:
    done = evaluate(
        read_trajectory(Log(task="Make `make check` pass.").does(edit("a.py")).does(Did("mypy .")).ends().events)
    )
    assert (done.verifier, done.check, done.flags, done.caps) == (
        "none",
        "make check",
        (NOT_RUN,),
        ("nothing_verified",),
    )


def test_a_secret_in_a_check_does_not_stand_beside_the_score() -> None:
    assert "hunter2hunter2" not in ran("API_KEY=hunter2hunter2 pytest -q").check


FAILED = Did("pytest -q", 1, tests=(5, 3))


@pytest.mark.parametrize("command", ["pytest --version", "pytest --co -q", "python -m pytest --help", "make -n test"])
def test_what_only_looks_like_a_run_lifts_no_failure(command: str) -> None:
    assert ran(FAILED, command) == Verified("fail", "pytest -q")
    assert ran(FAILED, edit("cart.py"), command).verdict == "fail"
    done = evaluate(read_trajectory(Log(task=PLAIN).does(edit("a.py")).does(FAILED).does(Did(command)).ends().events))
    assert (done.verifier, "verifier_failed" in done.caps) == ("fail", True)


def test_a_run_without_counts_does_not_lift_failures_that_were_counted() -> None:
    assert ran(FAILED, "pytest -qq").verdict == "fail", "the work is the same"
    assert ran(FAILED, edit("cart.py"), "python -m pytest -qq").verdict == "none"
    assert ran(FAILED, edit("cart.py"), Did("pytest -q", 0, tests=(8, 0)), "pytest -qq").verdict == "pass"
    assert ran(FAILED, edit("cart.py"), "npm test").verdict == "pass", "another runner"
    assert ran(("pytest", 1), "pytest").verdict == "pass", "neither counts"


def test_what_the_rule_of_two_knows_to_be_words_of_strangers_was_read_by_a_lessons_task_too() -> None:
    """By what is recorded: what earlier tasks had read, a host that was reached, what a tool is declared as."""
    host, log = "what came from pypi.org", "the log of a check"

    def read_by(
        *, exposure: Exposure = UNEXPOSED, tools: tuple[ToolRef, ...] = (), more: tuple[Event, ...] = ()
    ) -> object:
        told = Log().does(Did("ls")).add(*more)
        first = told.events[0]
        assert isinstance(first.event, Started)
        begun = first.event.model_copy(update={"exposure": exposure, "tools": tools})
        told.events[0] = first.model_copy(update={"event": begun})
        return read_trajectory(told.ends().events).untrusted

    reached = Exposure(untrusted=(host,), fetches=True)
    assert read_by() == ()
    assert read_by(exposure=Exposure(untrusted=(log,), private=("attached files",))) == (log,)
    assert read_by(more=(Perceived(exposure=reached),)) == (host,)
    assert read_by(more=(ToolFinished(call="c", outcome="ok", preview="", exposure=reached),)) == (host,)
    assert read_by(tools=(ToolRef(name="shell", untrusted=True),)) == ("what shell answered",)
