"""The forge's checks run behind whichever bubblewrap runs here, and not at all without one."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.local_forge import LocalForge, checks_runner
from bot.local_forge.git_endpoint import tip

WORDS = "#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n"


async def checked(folder: Path, *command: str) -> tuple[bool, str]:
    """Whether a check passed, and its log."""
    async with LocalForge(folder / "forge") as forge:
        shop = forge.create("ada/shop", {"here.txt": "here\n"})
        sha = tip(shop.folder, "main")
        passed = await checks_runner.run_check(shop, sha, "tests", command)
        (run,) = shop.checks[sha]
    return passed, run.log


@pytest.mark.parametrize("system", ["there", "refused", "absent"])
async def test_a_check_runs_whether_or_not_the_system_has_a_bubblewrap_that_runs(
    system: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if system == "refused":
        (tmp_path / "bwrap").write_text(WORDS)
        (tmp_path / "bwrap").chmod(0o755)
        monkeypatch.setattr(checks_runner, "_COMMAND", str(tmp_path / "bwrap"))
    elif system == "absent":
        monkeypatch.setattr(checks_runner, "_COMMAND", "no-such-bwrap")
    assert await checked(tmp_path, "sh", "-c", f"cat here.txt; ls {tmp_path}; false") == (
        False,
        f"here\nls: cannot access '{tmp_path}': No such file or directory\n",
    )
    assert await checked(tmp_path / "again", "grep", "here", "here.txt") == (True, "here\n")


async def test_without_any_nothing_runs_and_the_check_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks_runner, "_COMMAND", "no-such-bwrap")
    monkeypatch.setattr(checks_runner, "_WHEEL", "no_such_package")
    passed, log = await checked(tmp_path, "touch", str(tmp_path / "ran"))
    assert (passed, log) == (False, checks_runner.NO_WALLS)
    assert not (tmp_path / "ran").exists()
