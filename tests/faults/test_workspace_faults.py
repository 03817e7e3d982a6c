"""Faults around a thread's files: hostile repositories, and a process that dies while it keeps a workspace."""

from __future__ import annotations

import asyncio
import random
import signal
import subprocess
import sys
from pathlib import Path

from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.workspace.snapshots.snapshot_store import Snapshots
from agentic.workspace.snapshots.undo_plan import plan_undo
from bot.local_discord.local_discord import LocalGuild
from tests.faults.staging import guild
from tests.integration.bot.whole import finishes, uses, whole

__all__ = ["guild"]

SAVING = """
import asyncio, sys
from pathlib import Path
from agentic.workspace.snapshots.snapshot_store import Snapshots

async def main():
    workspace, root = Path(sys.argv[1]), Path(sys.argv[2])
    for number in range(1_000_000):
        (workspace / f"file{number % 40}").write_bytes(str(number).encode() * 3000)
        saved = await Snapshots(root).save("1", workspace)
        assert saved.manifest, saved.problem
        print(saved.manifest, flush=True)

asyncio.run(main())
"""


async def test_f77_kill_during_a_checkpoint_leaves_the_old_one_or_the_new_one(tmp_path: Path) -> None:
    """Whenever it dies, every checkpoint that is listed is whole, all that were announced are there, and work goes on."""
    workspace, root = tmp_path / "work", tmp_path / "checkpoints"
    workspace.mkdir()
    for number in range(40):
        (workspace / f"file{number}").write_bytes(b"begin" * 3000)
    snapshots, seed = Snapshots(root), random.SystemRandom().randrange(1 << 30)
    drawn = random.Random(seed)
    for _ in range(4):
        process = subprocess.Popen([sys.executable, "-c", SAVING, workspace, root], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        for _ in range(drawn.randrange(1, 6)):
            announced = process.stdout.readline().strip()
        for _ in range(drawn.randrange(5_000)):
            await asyncio.sleep(0)
        process.send_signal(signal.SIGKILL)
        announced = (process.stdout.read().strip().splitlines() or [announced])[-1]
        process.wait(60)
        process.stdout.close()
        listed = await snapshots.listed("1")
        assert announced in listed, f"seed {seed}"
        saved = await snapshots.save("1", workspace)
        assert saved.problem == "", f"seed {seed}"
        now = await snapshots.load("1", saved.manifest)
        for name in (listed[-1], announced):  # content is checked against its hash while it is put back
            then = await snapshots.load("1", name)
            done = await snapshots.restore("1", workspace, plan_undo(then, now, now).wanted, now)
            assert done.left == {}, f"seed {seed}"
            now = await snapshots.load("1", (await snapshots.save("1", workspace)).manifest)
            assert all(then.entries[path].same(entry) for path, entry in now.entries.items()), f"seed {seed}"


async def test_f75_hostile_git_hooks_and_conftest_run_in_the_sandbox_only(guild: LocalGuild, tmp_path: Path) -> None:
    """A repository that runs something at every turn, through a task, a commit, a checkpoint, a merge and an undo."""
    canary = tmp_path / "canary"
    evil = f"#!/bin/sh\necho ran >> {canary}; echo ran >> /workspace/inside; cat 2>/dev/null; true\n"
    hooks = ("pre-commit", "post-commit", "post-checkout", "pre-merge-commit", "post-merge", "reference-transaction")
    arm = "git init -q -b main . && echo 1 > f && git add f && git -c user.name=P -c user.email=p@e commit -qm first"
    arm += " && cp evil .git/hooks/x && chmod +x evil .git/hooks/x"
    arm += "".join(f" && cp .git/hooks/x .git/hooks/{hook}" for hook in hooks)
    for setting in (
        "core.fsmonitor",
        "core.pager",
        "core.editor",
        "diff.external",
        "filter.e.clean",
        "filter.e.smudge",
    ):
        arm += f" && git config {setting} /workspace/evil"
    arm += " && echo 'f filter=e' > .git/info/attributes"
    conftest = (
        f"import pathlib\npathlib.Path('inside').write_text('ran')\npathlib.Path({str(canary)!r}).write_text('ran')\n"
    )
    script = [
        uses("write", path="evil", content=evil),
        uses("write", path="conftest.py", content=conftest),
        uses("shell", command=arm),
        finishes("Armed."),
        uses("shell", command="git status; python3 conftest.py; echo 2 > f"),
        uses("commit", message="Two", files=["f"]),
        finishes("Offered."),
    ]
    async with ScriptedEndpoint.start(script) as endpoint, whole(tmp_path / "home", endpoint, guild) as running:
        thread = await running.task("make a repository")
        await running.task("commit on a branch", thread)
        assert (running.workspace(thread) / "inside").read_text(), "it does run, inside"
        offer = await running.says(thread, "A branch for you")
        await guild.react(offer.id, "👍")
        await running.says(thread, "Merged")
        for words, told in (("Offered.", "Left as is: git's commits and branches"), ("Armed.", "Undo that one first")):
            card = await running.says(thread, words)
            button = next(str(b["custom_id"]) for b in card.interactive() if "undo" in str(b["custom_id"]))
            await guild.click(card.id, button)
            await running.says(thread, told)
    assert not canary.exists()
