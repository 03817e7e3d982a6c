"""Which rows of the catalogue hold: what the tests named after a row came to.

A row holds only if at least one test of it ran, none was skipped or failed, and all passed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import pytest

from tests.faults.catalogue import Row

Verdict = Literal["held", "failed", "skipped", "no test"]
Outcome = Literal["passed", "failed", "skipped"]

_NAME = re.compile(r"^test_f(\d{1,3})_")


def row_of(test: str) -> int | None:
    """The row that a test's name speaks of."""
    match = _NAME.match(test)
    return int(match[1]) if match else None


@dataclass(slots=True, eq=False)
class Ledger:
    """A pytest plugin that keeps only tests named after a row, and the outcome of each."""

    outcomes: dict[int, Counter[Outcome]] = field(default_factory=dict)
    unsound: list[str] = field(default_factory=list)
    """Files that could not be read: the tests in them are missing."""

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Leave the others out."""
        others = [item for item in items if row_of(item.name) is None]
        items[:] = [item for item in items if row_of(item.name) is not None]
        config.hook.pytest_deselected(items=others)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file that cannot be imported hides its tests."""
        if report.failed:
            self.unsound.append(report.nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count each test once: what failed or was skipped in any phase, else its call."""
        row = row_of(report.nodeid.rsplit("::", 1)[-1])
        if row is None or (report.passed and report.when != "call"):
            return
        self.outcomes.setdefault(row, Counter())[report.outcome] += 1

    def verdict(self, row: int, *, strict: bool) -> Verdict:
        """What is known of a row; ``strict`` counts a skipped test as one that did not hold."""
        outcomes = self.outcomes.get(row)
        if not outcomes:
            return "no test"
        if outcomes["failed"] or (strict and outcomes["skipped"]):
            return "failed"
        if outcomes["skipped"]:
            return "skipped"
        return "held"

    def table(self, rows: Sequence[Row], *, strict: bool) -> Iterator[str]:
        """A line a row, and the sum last."""
        section = ""
        for row in rows:
            if row.section != section:
                section = row.section
                yield f"\n{section}"
            counts = ", ".join(
                f"{count} {outcome}" for outcome, count in sorted(self.outcomes.get(row.number, {}).items())
            )
            verdict = self.verdict(row.number, strict=strict)
            yield f"{row.number:>4}  {verdict:<8} {row.fault} -> {row.must_happen}" + (
                f"  ({counts})" if counts else ""
            )
        held = sum(self.verdict(row.number, strict=strict) == "held" for row in rows)
        untested = [str(row.number) for row in rows if self.verdict(row.number, strict=strict) == "no test"]
        if untested:
            yield f"\nwithout a test: {', '.join(untested)}"
        yield f"\nfaults held: {held}/{len(rows)}"
