"""State of `threadwright task`: so much of it is kept, and copies of workspaces less long."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bot.config.home import (
    CHECKPOINTS,
    KEPT_COPIES,
    KEPT_TASKS,
    new_task_folder,
)
from bot.retention.expiry import Retention
from tests.stores import fresh_store


def test_old_tasks_go_and_their_copies_of_workspaces_before_them(tmp_path: Path) -> None:
    begun = datetime(2026, 1, 1, tzinfo=UTC)
    made: list[Path] = []
    for number in range(KEPT_TASKS + 3):
        made.append(new_task_folder(tmp_path, begun + timedelta(minutes=number)))
        (made[-1] / CHECKPOINTS / "1").mkdir(parents=True)
        (made[-1] / "threadwright.sqlite").write_text("kept")
    assert [folder.exists() for folder in made] == [False] * 3 + [True] * KEPT_TASKS
    assert [(folder / CHECKPOINTS).exists() for folder in made[-KEPT_COPIES - 2 :]] == [False] * 2 + [
        True
    ] * KEPT_COPIES
    assert all((folder / "threadwright.sqlite").exists() for folder in made[3:])


async def test_state_of_tasks_goes_with_the_age_of_logs(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    old, young = (new_task_folder(tmp_path, now - timedelta(days=days)) for days in (40, 1))
    for folder in (old, young):
        (folder / "threadwright.sqlite").write_text("kept")
    long_ago = (now - timedelta(days=40)).timestamp()
    os.utime(old / "threadwright.sqlite", (long_ago, long_ago))
    await Retention(fresh_store(), 0, home=tmp_path).round()
    assert old.exists()
    await Retention(fresh_store(), 30, home=tmp_path).round()
    assert (old.exists(), young.exists()) == (False, True)
