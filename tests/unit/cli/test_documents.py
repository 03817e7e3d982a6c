"""What documents name is there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_what_is_said_of_security_names_only_tests_that_exist() -> None:
    missing: list[str] = []
    for row in (ROOT / "docs" / "security.md").read_text().splitlines():
        folder = Path()
        for name in re.findall(r"`((?:[\w/]+/)?test_\w+\.py)`", row):
            folder = Path(name).parent if "/" in name else folder
            path = folder / Path(name).name
            missing += [] if (ROOT / path).is_file() else [str(path)]
    assert missing == []
