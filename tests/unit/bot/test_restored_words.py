"""What is said of files that were restored."""

from __future__ import annotations

import pytest

from bot.actions.restore_files import counted


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (["a.py"], "1 file was restored: `a.py`"),
        (["a.py", "b.py"], "2 files were restored: `a.py`, `b.py`"),
        ([".git"], "git's commits and branches were restored"),
        ([".git", "shop/a.py"], "1 file was restored (`shop/a.py`) and git's commits and branches"),
        ([".git", "a.py", "b.py"], "2 files were restored (`a.py`, `b.py`) and git's commits and branches"),
    ],
)
def test_the_verb_goes_by_the_number_of_files(files: list[str], said: str) -> None:
    assert counted(files, became="restored") == said
