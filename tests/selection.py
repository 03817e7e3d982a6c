"""What `make test` runs and what it leaves to `make check`, and one line at the end on what was skipped and left, and why.

`make test` is ``-m "not rest"``: everything of the product that a change can break, with what `make setup` brought.  The rest
is ``-m rest``; `make check` runs both.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import pytest

from tests.aws.accounts import mark_aws

ROOT = Path(__file__).parents[1]
REST = {
    "tests/aws": "a local AWS",
    "tests/chaos": "kills and simulated days",
    "tests/conformance": "what Discord does",
    "tests/e2e": "processes and pages",
    "tests/faults/test_failpoint_faults.py": "kills",
    "tests/faults/test_killed_gap_faults.py": "kills",
    "tests/integration/console": "the console's own",
    "tests/integration/local_discord": "the local Discord's own",
    "tests/integration/local_forge": "the local forge's own",
    "tests/integration/mcp/test_others_servers.py": "MCP servers of others",
    "tests/integration/test_benches.py": "benches",
    "tests/unit/console": "the console's own",
    "tests/unit/deploy": "images and templates",
    "tests/unit/test_house.py": "rules of the whole tree",
    "tests/unit/test_patterns_of_the_product.py": "rules of the whole tree",
    "tests/unit/test_rooms.py": "rules of the whole tree",
    "tests/walls": "attacks",
}
"""Folders and files of which nothing belongs to `make test`."""
NEEDS = {"aws": "the extra aws and a local AWS", "docker": "a Docker engine", "chromium": "a browser", "needs": ""}
"""Markers of single tests that need more than `make setup` brings; ``needs`` names it itself."""
PRODUCT = "not rest"
_LEFT, _SKIPPED = "left", "skipped"


def rest_of(path: Path) -> str:
    """What of the rest stands there, '' for a part of the product."""
    place = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else ""
    return next((what for folder, what in REST.items() if f"{place}/".startswith(f"{folder}/")), "")


def needed_by(item: pytest.Item) -> str:
    """What a test needs that `make setup` does not bring, '' for nothing."""
    for name, what in NEEDS.items():
        if mark := item.get_closest_marker(name):
            return what or str(mark.args[0])
    return ""


class Selection:
    """The plugin.  Counts also what other processes of the same run left and skipped."""

    def __init__(self, config: pytest.Config) -> None:
        self._product = config.option.markexpr == PRODUCT
        self.left = Counter[str]()
        self.skipped = Counter[str]()

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Do not read what will not run."""
        return True if self._product and rest_of(collection_path) else None

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Mark the rest; leave out what takes long where nobody asked for it, and AWS where its extra is not installed."""
        self.left.clear()
        elsewhere = set(mark_aws(items))
        for item in items:
            needed = needed_by(item)
            if needed or rest_of(item.path):
                item.add_marker("rest")
            self.left[needed] += self._product and bool(needed)
        if elsewhere:
            config.hook.pytest_deselected(items=list(elsewhere))
            items[:] = [item for item in items if item not in elsewhere]
        late = [
            item for item in items if (long := item.get_closest_marker("long")) and not os.environ.get(long.args[0])
        ]
        if late and len(late) == len(items):
            names = sorted({str(cast("pytest.Mark", item.get_closest_marker("long")).args[0]) for item in late})
            raise pytest.UsageError(f"that takes long: it runs where {' and '.join(names)} is set in the environment")
        if late:
            config.hook.pytest_deselected(items=late)
            items[:] = [item for item in items if item not in late]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count a skipped test by its reason."""
        if report.skipped and not hasattr(report, "wasxfail") and isinstance(report.longrepr, tuple):
            self.skipped[str(report.longrepr[2]).removeprefix("Skipped: ")] += 1

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Hand over what this process left; each of them reads all tests, so one of them counts."""
        if (output := getattr(session.config, "workeroutput", None)) is not None:
            output[_LEFT] = dict(self.left)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object) -> None:
        """What a process of the run left."""
        told = cast("Mapping[str, Mapping[str, int]]", getattr(node, "workeroutput", {}))
        self.left = Counter(told.get(_LEFT, {})) or self.left

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say it in a line each."""
        if self.skipped:
            terminalreporter.write_line(f"skipped {_counted(self.skipped)}")
        if self._product:
            terminalreporter.write_line(
                f"left to make check {_counted(+self.left)}; and the folders of tests/selection.py"
            )


def _counted(by_reason: Counter[str]) -> str:
    reasons = ", ".join(f"{reason} ({count})" for reason, count in by_reason.most_common())
    return f"{by_reason.total()}: {reasons}" if by_reason else "0"
