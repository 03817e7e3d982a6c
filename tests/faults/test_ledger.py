"""The ledger itself: a row holds only by tests that ran and passed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.catalogue import rows
from tests.faults.ledger import Ledger, row_of

ROOT = Path(__file__).parents[2]

TESTS = """
import pytest

@pytest.fixture
def broken():
    raise OSError("no disk")

def test_f1_this_holds(): pass

@pytest.mark.parametrize("case", ["a", "b"])
def test_f2_one_case_fails(case): assert case == "a"

def test_f3_this_is_skipped(): pytest.skip("no engine")

def test_f4_its_fixture_is_broken(broken): pass

def test_of_no_row(): assert False

class TestGroup:
    def test_f05_in_a_class(self): pass
"""


def run(folder: Path, tests: str) -> Ledger:
    """The ledger over one file of tests, in this process."""
    (folder / "test_sample.py").write_text(tests)
    ledger = Ledger()
    pytest.main(
        [str(folder), "-q", "-p", "no:cacheprovider", "-p", "no:asyncio", f"--rootdir={folder}", "-c", "/dev/null"],
        plugins=[ledger],
    )
    return ledger


def test_the_catalogue_has_a_hundred_rows_in_order() -> None:
    assert [row.number for row in rows()] == list(range(1, 101))
    assert all(row.fault and row.must_happen and row.section for row in rows())


def test_names_speak_of_rows() -> None:
    assert [row_of(name) for name in ("test_f22_stop", "test_f05_x[a]", "test_f100_down", "test_fold", "test_f_x")] == [
        22,
        5,
        100,
        None,
        None,
    ]


def test_a_row_holds_only_if_all_of_its_tests_ran_and_passed(tmp_path: Path) -> None:
    ledger = run(tmp_path, TESTS)
    lenient = [ledger.verdict(row, strict=False) for row in range(1, 7)]
    strict = [ledger.verdict(row, strict=True) for row in range(1, 7)]
    assert lenient == ["held", "failed", "skipped", "failed", "held", "no test"]
    assert strict == ["held", "failed", "failed", "failed", "held", "no test"]
    assert list(ledger.table(rows(), strict=True))[-1] == "\nfaults held: 2/100"


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    ledger = run(tmp_path, "import nothing_like_this\n")
    assert [Path(name).name for name in ledger.unsound] == ["test_sample.py"]


def test_the_command_prints_each_row_and_ends_with_the_sum(tmp_path: Path) -> None:
    file = tmp_path / "test_sample.py"
    for tests, status, held in ((TESTS, 1, 2), ("def test_f9_holds(): pass\n", 0, 1)):
        file.write_text(tests)
        command = [sys.executable, "-m", "tests.faults", str(file), "-p", "no:cacheprovider"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
        rows_printed = re.findall(r"^ {1,3}\d+  (?:held|failed|skipped|no test) ", done.stdout, flags=re.MULTILINE)
        assert len(rows_printed) == 100
        assert done.stdout.rstrip().splitlines()[-1] == f"faults held: {held}/100"
        assert done.returncode == status
