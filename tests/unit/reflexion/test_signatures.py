"""By what a failure is recognised: what went wrong, and not only that something did."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.tools.base.error_fingerprint import normal_error
from reflexion.evaluation.trajectory import read_trajectory
from reflexion.reflection.error_excerpt import error_signature
from reflexion.reflection.error_signature import normalised
from tests.unit.reflexion.logs import Did, Log

TAX = 'RATES = {"de": 0.19}\n\ndef test_tax():\n    assert round(10 * RATES["fr"]) == 2\n'
ROWS = "def rows(n):\n    return 10 / n\n\ndef test_rows():\n    assert rows(0) == 0\n"
SUMS = "def test_sum():\n    assert 1 + 1 == {}\n"


def signature(output: str, exit_code: int = 1, command: str = "make test") -> str:
    """Of a failing command as the shell tells it."""
    error = normal_error(output, f"exit {exit_code}")
    told = Did(command, exit_code, f"exit {exit_code} after 0.4 s\n{output}", error=error)
    return error_signature(read_trajectory(Log().does(told).ends("failed").events))


EACH = """import os, sys, pytest
for folder in sys.argv[1:]:
    os.chdir(folder)
    options = open("options").read().split()
    pytest.main(["-p", "no:cacheprovider", "--import-mode=importlib", "--rootdir", folder, *options])
    print("\\f", flush=True)
"""


def printed(root: Path, *runs: tuple[str, str, str]) -> list[str]:
    """What pytest prints of each (folder, tests, options), one process for all."""
    for folder, source, options in runs:
        (root / folder).mkdir(parents=True)
        (root / folder / f"test_{folder[0]}.py").write_text(source)
        (root / folder / "options").write_text(options)
    env = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", EACH, *(str(root / folder) for folder, _, _ in runs)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.split("\f")[: len(runs)]


def test_failures_of_real_pytest_runs_are_recognised_by_what_failed(tmp_path: Path) -> None:
    tax, moved, short, both = printed(
        tmp_path,
        ("a", TAX, ""),
        ("b/elsewhere", f"\n\nX = 1\n{TAX}\ndef test_fine(): pass\n", "-q"),
        ("c", ROWS, "-q --tb=no"),
        ("d", SUMS.format(3) + SUMS.replace("sum", "total").format(4), ""),
    )
    assert signature(tax) == signature(moved) == "shell: KeyError: 'fr'"
    assert signature(short) == "shell: ZeroDivisionError: division by zero"
    assert signature(short.strip().splitlines()[-1]) == "", "a summary alone recognises nothing"
    assert signature(both) == "shell: test_total: assert (# + #) == #"
    other = both.replace("test_total", "test_else")
    assert signature(other) == "shell: test_else: assert (# + #) == #", "an assertion belongs to its test"


CARGO = """\
running 2 tests
test tests::adds ... FAILED

---- tests::adds stdout ----

thread 'tests::adds' (3261) panicked at src/lib.rs:5:17:
assertion `left == right` failed
  left: -1
 right: 3
stack backtrace:
   0: __rustc::rust_begin_unwind
             at /rustc/59807616e1fa2540724bfbac14d7976d7e4a3860/library/std/src/panicking.rs:689:5
note: Some details are omitted, run with `RUST_BACKTRACE=full` for a verbose backtrace.


failures:
    tests::adds

test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.28s

error: test failed, to rerun pass `--lib`
"""
RUSTC = """\
   Compiling shop v0.1.0 (/tmp/u/r)
error[E0425]: cannot find value `c` in this scope
 --> src/lib.rs:1:41
  |
1 | pub fn add(a: i32, b: i32) -> i32 { a - c }
  |                                         ^
For more information about this error, try `rustc --explain E0425`.
error: could not compile `shop` (lib test) due to 1 previous error
warning: build failed, waiting for other jobs to finish...
"""
GO = """\
--- FAIL: TestTax (0.00s)
    shop_test.go:9: tax(10) = 3, want 2
FAIL
FAIL\texample.org/shop\t0.004s
FAIL
"""
GO_PANIC = """\
--- FAIL: TestRows (0.00s)
panic: runtime error: index out of range [5] with length 3 [recovered]
\tpanic: runtime error: index out of range [5] with length 3

goroutine 18 [running]:
testing.tRunner.func1.2({0x5129a0, 0xc0000b6000})
FAIL\texample.org/shop\t0.006s
FAIL
"""
JEST = """\
 FAIL  src/shop.test.js
  ● tax › adds vat

    expect(received).toBe(expected) <path> Object.is equality

    Expected: 2
    Received: 3

      at Object.toBe (src/shop.test.js:5:19)

Test Suites: 1 failed, 1 total
Tests:       1 failed, 4 passed, 5 total
Snapshots:   0 total
Time:        0.512 s
Ran all test suites.
"""
TSC = """\
src/a.ts(3,5): error TS2345: Argument of type 'string' is not assignable to parameter of type 'number'.
Found 1 error in src/a.ts:3
"""
LINKER = """\
/usr/bin/ld: x.o: in function `main':
x.c:(.text+0x9): undefined reference to `foo'
collect2: error: ld returned 1 exit status
make: *** [Makefile:9: all] Error 1
"""
MAKE = """\
Traceback (most recent call last):
  File "<string>", line 1, in <module>
ModuleNotFoundError: No module named 'nomod'
make: *** [Makefile:2: test] Error 1
"""
NPM = """\
TypeError: Cannot read properties of null (reading 'x')
    at runScriptInThisContext (node:internal/vm:209:10)
npm ERR! Test failed.  See above for more details.
npm error code 1
npm error path /srv/app
npm error command failed
npm error command sh -c node --test
"""
UNITTEST = """\
FAIL: test_tax (tests.test_shop.TestShop.test_tax)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "/srv/tests/test_shop.py", line 5, in test_tax
    self.assertEqual(tax(10), 2)
AssertionError: 3 != 2

----------------------------------------------------------------------
Ran 1 test in 0.001s

FAILED (failures=1)
"""
TAP = """\
not ok 1 - adds
  ---
  duration_ms: 20.399809
  location: '/tmp/u/m/a.test.mjs:2:1'
  failureType: 'testCodeFailure'
  error: |-
    Expected values to be strictly equal:
  name: 'AssertionError'
  ...
1..1
# tests 1
# pass 0
# fail 1
# duration_ms 649.887064
"""
RECORDED = {
    "cargo": (CARGO, "thread 'tests::adds' (#) panicked at <path>:#:#: assertion `left == right` failed"),
    "rustc": (RUSTC, "error[E0425]: cannot find value `c` in this scope"),
    "go": (GO, "TestTax: tax(#) = #, want #"),
    "go panic": (GO_PANIC, "panic: runtime error: index out of range [#] with length #"),
    "jest": (JEST, "tax › adds vat: expect(received).toBe(expected) <path> Object.is equality"),
    "tsc": (TSC, "error TS2345: Argument of type 'string' is not assignable to parameter of type 'number'."),
    "linker": (LINKER, "x.c:(.text+#): undefined reference to `foo'"),
    "make": (MAKE, "ModuleNotFoundError: No module named 'nomod'"),
    "npm": (NPM, "TypeError: Cannot read properties of null (reading 'x')"),
    "unittest": (UNITTEST, "test_tax: AssertionError: # != #"),
    "tap": (TAP, "adds: Expected values to be strictly equal:"),
    "gcc": ("x.c:3:5: error: 'foo' undeclared\nmake: *** [x.o] Error 1", "error: 'foo' undeclared"),
    "mypy": ('a/b.py:7: error: Name "x" is not defined\nFound 1 error in 1 file', 'error: Name "x" is not defined'),
    "ruff": ("a.py:1:8: F401 [*] `os` imported but unused\nFound 1 error.", "F401 [*] `os` imported but unused"),
    "bash": ("bash: line 1: pyttest: command not found", "bash: line #: pyttest: command not found"),
    "one line": ("row 3 of the export has no date", "row # of the export has no date"),
}


@pytest.mark.parametrize("name", RECORDED)
def test_a_failure_is_recognised_by_the_line_that_says_what_failed(name: str) -> None:
    output, line = RECORDED[name]
    assert signature(output) == f"shell: {line}"


def test_failures_that_have_nothing_to_do_with_each_other_differ() -> None:
    assert len({signature(output) for output, _ in RECORDED.values()}) == len(RECORDED)


@pytest.mark.parametrize("name", RECORDED)
def test_the_same_failure_at_another_line_and_time_and_place_is_the_same(name: str) -> None:
    output, _ = RECORDED[name]
    moved = output.replace(":5:17", ":91:3").replace("(3,5)", "(77,1)").replace(":3:5:", ":8:1:").replace(":7:", ":70:")
    moved = (
        moved.replace("0.004s", "2.9s").replace("src/", "lib/deep/").replace("/tmp/u/", "/srv/").replace("0.28s", "7s")
    )
    assert signature(f"warming up\n{moved}" if name != "one line" else moved) == signature(output)


@pytest.mark.parametrize(
    "output",
    [
        "", "1 failed, 2 passed in 0.03s", "===== 3 failed, 1 error in 12.30s (0:00:12) =====",
        "make: *** [Makefile:4: q] Error 1",
        "npm ERR! Test failed.  See above for more details.", "FAIL\nexit status 1\nFAIL\texample.org/shop\t0.004s",
        "test result: FAILED. 0 passed; 1 failed; 0 ignored\n\nerror: test failed, to rerun pass `--lib`",
        "Tests:       1 failed, 4 passed, 5 total\nTime:        0.512 s", "FAILED (failures=1)", "Found 2 errors in 1 file.",
        "error Command failed with exit code 1.", "Error: Process completed with exit code 1.",
        "npm error Lifecycle script `test` failed with error:\nnpm error code 1",
    ],
)  # fmt: skip
def test_a_line_that_every_failure_ends_with_recognises_none(output: str) -> None:
    assert signature(output) == ""
    assert signature(output, 2) == ""


def test_the_check_that_failed_comes_before_what_failed_beside_it() -> None:
    log = Log().does(Did("pytest", 1, "E   KeyError: 'fr'"), Did("ls x", 2, "ls: x: No such file or directory"))
    assert error_signature(read_trajectory(log.ends("failed").events)) == "shell: KeyError: 'fr'"


def test_what_failed_on_the_way_to_work_that_was_called_wrong_is_not_what_was_wrong() -> None:
    log = Log().does(Did("ls x", 2, "ls: x: No such file or directory")).ends("done")
    assert error_signature(read_trajectory(log.hears("correction", "It has to be ISO dates.").events)) == ""


@given(st.text(alphabet="aE0<n>x:.-/TS12345 ", max_size=60))
def test_a_signature_is_stable_under_itself(text: str) -> None:
    assert normalised(normalised(text)) == normalised(text)
