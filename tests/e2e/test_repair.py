"""`threadwright task "The tests fail. Fix the code."` changes real files in a real sandbox, and shows that it did."""

from __future__ import annotations

import asyncio
import hashlib
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from agentic.core.events.execution_events import (
    Finished,
    Started,
    ToolFinished,
    ToolStarted,
)
from agentic.models.scripted.endpoint import ScriptedEndpoint
from tests.e2e import broken_repo
from tests.e2e.processes import MODEL, environment, task
from tests.e2e.solver import repair
from tests.integration.world.rungs import docker_url, rung_name

__all__ = ("docker_url", "rung_name")  # fixtures

SEED = random.SystemRandom().randrange(1_000_000)
ROUTES = ("openai/scripted", MODEL)
"""The second bug is repaired through the other route, whose library is loaded three times as quickly."""


@pytest.mark.parametrize("nth", range(2))
async def test_a_bug_drawn_by_luck_is_repaired_with_evidence(
    rung_name: str, nth: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    seed = SEED + nth
    repo = broken_repo.make(tmp_path / "repo", seed)
    async with asyncio.timeout(150), ScriptedEndpoint.start(repair) as endpoint:
        engine = {"DOCKER_HOST": str(request.getfixturevalue("docker_url"))} if rung_name == "docker" else {}
        env = environment(
            tmp_path / "home", endpoint.environment(), **engine, THREADWRIGHT_SANDBOX=rung_name,
            THREADWRIGHT_TIER_2=ROUTES[nth], THREADWRIGHT_PRICES=f"{ROUTES[nth]}=1/2",
        )  # fmt: skip
        code, events, running = await task(
            "The tests fail. Fix the code.", "--dir", str(repo.folder), env=env, cwd=tmp_path
        )
    said = f"seed {seed}, {repo.kind} in {repo.path}\n{running.output}"
    assert code == 0, said
    assert (repo.folder / repo.path).read_text() == repo.fixed, said
    passed = subprocess.run([sys.executable, "-m", "unittest"], cwd=repo.folder, capture_output=True, timeout=60)
    assert passed.returncode == 0, said

    assert {path.stat().st_uid for path in repo.folder.rglob("*")} == {os.getuid()}, "the folder is the person's again"

    assert isinstance(events[0], Started)
    last = events[-1]
    assert isinstance(last, Finished)
    assert (last.reason, [claim.verdict for claim in last.claims]) == ("done", ["proven", "proven"]), said
    assert last.claims[1].sha == hashlib.sha256(repo.fixed.encode()).hexdigest(), said
    assert [e.tool for e in events if isinstance(e, ToolStarted)] == [
        "shell",
        "grep",
        "read",
        "edit",
        "shell",
        "finish",
    ]
    runs = [e for e in events if isinstance(e, ToolFinished) and e.exit_code is not None]
    assert [run.exit_code == 0 for run in runs] == [False, True], said
