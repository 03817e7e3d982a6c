"""``python -m tests.faults``: run every test named after a row of the catalogue, and print each row with its verdict.

Further arguments go to pytest; files and folders among them are run instead of all tests.  With CI set, a skipped
test is one that did not hold.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.faults.catalogue import rows
from tests.faults.ledger import Ledger

TESTS = Path(__file__).parents[1]


def main(arguments: list[str]) -> int:
    """0 if no row with tests failed and every test file could be read."""
    ledger = Ledger()
    strict = bool(os.environ.get("CI"))
    places = [] if any(Path(argument).exists() for argument in arguments) else [str(TESTS)]
    ended = pytest.main([*places, "-q", "--continue-on-collection-errors", *arguments], plugins=[ledger])
    broke = ended in (pytest.ExitCode.INTERRUPTED, pytest.ExitCode.INTERNAL_ERROR, pytest.ExitCode.USAGE_ERROR)
    if broke:
        print("the tests did not run to their end")
    for file in ledger.unsound:
        print(f"could not be read: {file}")
    for line in ledger.table(rows(), strict=strict):
        print(line)
    failed = any(ledger.verdict(row.number, strict=strict) == "failed" for row in rows())
    return 1 if failed or broke or ledger.unsound else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
