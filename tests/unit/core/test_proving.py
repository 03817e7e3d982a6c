"""What the log says of a claimed command or file: found though written otherwise, and proven only by what proves it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.bash.steps import read
from agentic.core.claims.proof import (
    failure_of,
    is_test_run,
    judged,
    last_test_run,
    only_looks,
    touched_tests,
)
from agentic.core.events.values import Claim, FileChange
from agentic.core.state.facts import Deeds, Ran

PASSED = (12, 0, 0)


def modified(path: str, kind: str = "modified", before: str = "1", after: str = "2") -> FileChange:
    return FileChange.model_validate({"path": path, "kind": kind, "sha_before": before, "sha_after": after})


def verdict(claimed: str, ran: Ran, *later: FileChange, exit_code: int | None = None) -> tuple[str, str]:
    said = judged(Claim(text="it is so", command=claimed, exit_code=exit_code), Deeds((ran,), later))
    return said.verdict, said.note


@pytest.mark.parametrize(
    ("claimed", "ran"),
    [
        ("pytest -q", "pytest  -q"),
        ("pytest -q", "cd /workspace/app && pytest -q"),
        ("cd app && pytest -q", "cd /workspace/app; pytest -q"),
        ("pytest -q", "cd app\npytest -q"),
        ("pytest -q", "python -m pytest -q"),
        ("python3 -m pytest -q", "pytest -q 2>&1"),
        ("pytest -q", ".venv/bin/python3.11 -m pytest -q > out.txt 2>&1"),
        ("pytest -q", "PYTHONPATH=. timeout 60 uv run pytest -q"),
        ("pytest -q # all of it", "py.test -q &> /dev/null"),
        ('pytest -k "a or b"', "pytest -k 'a or b'"),
        ("pytest a\\ b", 'pytest "a b"'),
        ('echo "say \\"x\\""', "echo 'say \"x\"'"),
        ("./run.sh", "run.sh"),
        ("pytest -q", "pip install -e . && pytest -q"),
        ("pip install x && pytest", "export A=1 && pip install x && pytest"),
        ("pytest -q", "set -o pipefail; pytest -q | tail -3"),
        ("pytest -q", "pytest -q && echo good"),
        ("pytest \\\n -q", "pytest -q"),
        ("pytest -q", "A=1\npytest -q"),
        ("ls # a\npwd", "ls\npwd"),
        ("echo 2 > x", "echo 2 > y"),
        ("pytest 2>&1", "pytest"),
        ("cat a | wc -l", "cat a | wc -l"),
        ("echo $(date)", "echo  $(date)"),
        ("cat <<E\nx\nE", "cat <<E\nx\nE"),
    ],
)
def test_a_command_is_found_though_it_is_written_otherwise(claimed: str, ran: str) -> None:
    assert verdict(claimed, Ran(ran, 0)) == ("proven", "")


@pytest.mark.parametrize(
    ("claimed", "ran"),
    [
        ("pytest -q", "pytest -q tests/one"),
        ("pytest", "pytest -k fast"),
        ("pytest -q", "echo pytest -q"),
        ("cd app && pytest", "cd lib && pytest"),
        ("A=1 pytest", "A=2 pytest"),
        ("pip install x && pytest", "pip install x; pytest"),
        ("a && b", "b && a"),
        ("echo $(date)", "echo date"),
        ("(cd a && pytest)", "pytest"),
        ('echo "unclosed', "echo unclosed"),
        ('echo "`x`"', "echo x"),
        ("diff <(a) b", "diff a b"),
        ("cd app", "ls"),
        ("x >", "x"),
    ],
)
def test_another_command_is_never_taken_for_it(claimed: str, ran: str) -> None:
    assert verdict(claimed, Ran(ran, 0)) == ("unproven", "this command is not in the log")


def test_the_folder_of_the_call_counts() -> None:
    assert verdict("cd app && make", Ran("make", 0, cwd="app"))[0] == "proven"
    assert verdict("cd app && make", Ran("make", 0))[0] == "unproven"


@pytest.mark.parametrize(
    ("ran", "hides"),
    [
        ("pytest -q | tail -5", "| tail -5"),
        ("pytest -q 2>&1 |& tail", "|& tail"),
        ("pytest -q || true", "|| true"),
        ("pytest -q; echo done", "; echo done"),
        ("pytest -q\necho done", "; echo done"),
        ("pytest -q & sleep 1", "& sleep 1"),
    ],
)
def test_an_exit_code_that_something_else_decides_proves_nothing_but_counted_tests_do(ran: str, hides: str) -> None:
    for claimed in ("pytest -q", ran):
        assert verdict(claimed, Ran(ran, 0)) == ("unproven", f"its exit code is hidden by `{hides}`")
        counted = verdict(claimed, Ran(ran, 0, tests=PASSED))
        assert counted == ("proven", f"by its test count; `{hides}` hides the exit code")
        assert verdict(claimed, Ran(ran, 0, tests=(9, 3, 0))) == (
            "contradicted",
            "in its last run 3 of 12 tests failed",
        )
        assert verdict(claimed, Ran(ran, 0, tests=(9, 3, 0)), exit_code=1)[0] == "proven"


@pytest.mark.parametrize(
    ("ran", "said", "exit_code"),
    [
        (Ran("pytest", 1, tests=(1, 1, 0)), ("contradicted", "in its last run 1 of 2 tests failed"), None),
        (Ran("pytest", 1, tests=(1, 1, 0)), ("proven", ""), 1),
        (Ran("pytest", 1, tests=PASSED), ("contradicted", "its last run ended with 1"), 0),
        (Ran("pytest", 5), ("contradicted", "its last run ended with 5"), None),
        (Ran("pytest", 0, tests=(0, 0, 0)), ("unproven", "it ran no tests"), None),
        (Ran("pytest", 0, tests=(0, 0, 4)), ("unproven", "it ran no tests; 4 skipped"), None),
        (Ran("pytest", 5, tests=(0, 0, 0)), ("proven", ""), 5),
        (Ran("pytest", None), ("contradicted", "its last run did not end by itself"), None),
        (Ran("pytest", None, job="j1"), ("unproven", "it ran in the background, and its end was not seen"), None),
        (Ran("pytest", 0, tests=(2, 0, 3)), ("proven", "3 skipped"), None),
        (Ran("pip install x && pytest", 1), ("unproven", "it ran as a part of a longer command, which ended with 1"), None),
        (Ran("cat r.txt; pytest", 1), ("unproven", "it ran as a part of a longer command, which ended with 1"), None),
    ],
)  # fmt: skip
def test_what_a_run_came_to_decides(ran: Ran, said: tuple[str, str], exit_code: int | None) -> None:
    assert verdict("pytest", ran, exit_code=exit_code) == said


def test_the_last_run_counts() -> None:
    claim = Claim(text="green", command="pytest")
    assert judged(claim, Deeds((Ran("pytest", 0), Ran("pytest", 1)))).verdict == "contradicted"
    assert judged(claim, Deeds((Ran("pytest", 1), Ran("pytest", 0)))).verdict == "proven"


@pytest.mark.parametrize(
    ("command", "later", "stale"),
    [
        ("pytest", modified("cart.py"), "cart.py"),
        ("pytest", modified("data.json"), "data.json"),
        ("pytest", modified("README.md"), ""),
        ("pytest", modified("a/__pycache__/x.pyc"), ""),
        ("uname -a && ls", modified("cart.py"), ""),
        ("cat cart.py", modified("cart.py"), "cart.py"),
        ("python main.py", modified("cart.py"), "cart.py"),
        ("python main.py", modified("out.csv"), ""),
        ("make $(x)", modified("cart.py"), "cart.py"),
    ],
)
def test_a_run_that_is_older_than_a_change_of_what_it_checks_is_stale(
    command: str, later: FileChange, stale: str
) -> None:
    said = verdict(command, Ran(command, 0), later)
    assert said == (("unproven", f"stale: it ran before {stale} changed") if stale else ("proven", ""))
    assert verdict(command, Ran(command, 0, changes=1), later) == ("proven", "")


def test_a_file_that_was_put_back_makes_no_run_stale_and_many_are_not_all_named() -> None:
    back = (modified("a.py"), modified("a.py", before="2", after="1"))
    assert verdict("pytest", Ran("pytest", 0), *back) == ("proven", "")
    gone = (modified("a.py", "added", before=""), modified("a.py", "deleted", after=""))
    assert verdict("pytest", Ran("pytest", 0), *gone) == ("proven", "")
    many = tuple(modified(f"{name}.py") for name in "abcd")
    assert verdict("pytest", Ran("pytest", 0), *many)[1] == "stale: it ran before a.py, b.py, c.py and 1 more changed"


def test_tests_that_it_changed_itself_are_named() -> None:
    changes = (
        modified("tests/test_a.py"), modified("b_test.go", "deleted", after=""),
        modified("tests/test_new.py", "added", before=""),
        modified("a.py"), modified("tests/test_back.py"), modified("tests/test_back.py", before="2", after="1"),
    )  # fmt: skip
    assert touched_tests(Deeds((), changes)) == ("b_test.go (deleted)", "tests/test_a.py")
    said = verdict("pytest", Ran("pytest", 0, tests=(3, 0, 1), changes=9), *changes)
    assert said == ("proven", "1 skipped; the tests themselves were changed: b_test.go (deleted), tests/test_a.py")
    assert verdict("ls", Ran("ls", 0, changes=9), *changes) == ("proven", "")


@pytest.mark.parametrize(
    ("ran", "is_one"),
    [
        (Ran("python -m unittest"), True),
        (Ran("cd a && npm test -- --ci"), True),
        (Ran("make check"), True),
        (Ran("./run_tests.sh"), True),
        (Ran("bash scripts/test.sh"), True),
        (Ran("just verify", tests=(1, 0, 0)), True),
        (Ran("just verify"), False),
        (Ran("cat report.txt", tests=(1, 0, 0)), False),
        (Ran("echo $(x)", tests=(1, 0, 0)), True),
        (Ran("echo pytest"), False),
        (Ran("pip install pytest"), False),
    ],
)
def test_what_a_test_run_is(ran: Ran, is_one: bool) -> None:
    assert is_test_run(ran) is is_one


@pytest.mark.parametrize(
    ("ran", "failure"),
    [
        (Ran("pytest", 1, tests=(8, 2, 0)), "2 of 10 tests failed"),
        (Ran("pytest | tail", 0, tests=(8, 2, 0)), "2 of 10 tests failed"),
        (Ran("pytest", 2), "it ended with exit 2"),
        (Ran("pytest"), "it did not end by itself"),
        (Ran("pytest", 0), ""),
        (Ran("pytest; false", 1), ""),
        (Ran("echo $(x)", 3, tests=(1, 0, 0)), "it ended with exit 3"),
    ],
)
def test_how_a_test_run_failed(ran: Ran, failure: str) -> None:
    assert failure_of(ran) == failure


def test_the_last_test_run_is_the_last_that_has_ended() -> None:
    first = Ran("pytest", 1)
    assert last_test_run(Deeds((first, Ran("ls", 0), Ran("pytest", job="j")))) == first
    assert last_test_run(Deeds((Ran("ls", 0),))) is None


def of_file(file: str, *changes: FileChange, text: str = "it is so", command: str = "") -> tuple[str, str, str]:
    runs = (Ran("ls", 0, changes=9),)
    said = judged(Claim(text=text, file=file, command=command), Deeds(runs, changes))
    return said.verdict, said.note, said.sha


def test_a_file_claim_carries_the_hash_it_has_at_the_end() -> None:
    changes = (modified("a.py"), modified("a.py", before="2", after="3"), modified("docs/x.md", "added", before=""))
    for name in ("a.py", "./a.py", "/workspace/a.py", "docs/../a.py"):
        assert of_file(name, *changes) == ("proven", "", "3")
    assert of_file("docs/", *changes) == ("proven", "", "")
    assert of_file("/workspace", *changes) == ("proven", "", "")
    assert of_file("b.py", *changes) == ("unproven", "no change of this file was seen", "")
    assert of_file("a.py", *changes, command="ls")[0::2] == ("proven", "3")
    assert of_file("b.py", *changes, command="ls")[0] == "unproven"
    assert of_file("a.py", *changes, command="make")[0] == "unproven"


def test_a_file_that_is_gone_or_as_it_was_proves_only_what_says_so() -> None:
    gone = modified("a.py", "deleted", after="")
    assert of_file("a.py", gone) == ("contradicted", "this file was deleted", "")
    assert of_file("a.py", gone, text="removed the old module") == ("proven", "it was deleted", "")
    back = (modified("a.py"), modified("a.py", before="2", after="1"))
    assert of_file("a.py", *back) == ("unproven", "this file is as it was in the beginning", "")
    assert of_file("x", modified("x/y", "deleted", after=""))[0] == "unproven"
    assert judged(Claim(text="good"), Deeds()).note == "no evidence was given"


@given(st.text(alphabet="ab '\"\\|&;<>()$`#\n2", max_size=40), st.text(max_size=30))
def test_any_command_can_be_read(one: str, other: str) -> None:
    line = read(one)
    assert line is None or all(step.words for step in line.steps)
    said = judged(Claim(text="x", command=one or "x"), Deeds((Ran(other or "y", 0),)))
    assert said.note or said.verdict == "proven"
    same = judged(Claim(text="x", command=other or "y"), Deeds((Ran(other or "y", 1),)))
    assert same.verdict != "proven"


@pytest.mark.parametrize(
    ("command", "looks"),
    [
        ("ls 2>&1 | wc", True),
        ("ls >&2", True),
        ("grep '->' a.py > /dev/null", True),
        ("awk '{print $1}' a", True),
        ("awk '{print > \"b\"}' a", False),
        ("ls > a", False),
        ("ls 2> a", False),
        ("ls &>> a", False),
        ("[ a > b ]", False),
        ("test a > b", False),
        ("[[ a > b ]]", False),
        ("{ ls; } > a", False),
        ("cat $(x)", False),
        ("sed -i s/a/b/ x", False),
    ],
)
def test_what_writes_to_no_file_only_looks(command: str, looks: bool) -> None:
    assert only_looks(command) == looks
