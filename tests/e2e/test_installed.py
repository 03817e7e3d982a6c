"""Threadwright without a clone: a wheel is made, and what was installed from it alone works, by uvx and by pip's way."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from bot import BUILD
from tests.e2e.living import ADDRESS
from tests.e2e.person import person
from tests.e2e.processes import started

ROOT = Path(__file__).parents[2]
BIN, CACHE, PINS = ROOT / ".venv/bin", ROOT / "build/uv", ROOT / "requirements/run.txt"
NOT_SHIPPED = {"bot/local_discord/README.md", "agentic/sandbox/image"}

pytestmark = [
    pytest.mark.skipif(
        not os.environ.get("CI") and not list(CACHE.parent.glob(".uv-filled-*")),
        reason="its packages are not there: make bare",
    ),
]


def ran(*command: str | Path, env: Mapping[str, str], cwd: Path = ROOT) -> str:
    """Standard output of a command that succeeds."""
    done = subprocess.run(command, env=env, cwd=cwd, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def listed(*folders: str) -> set[str]:
    """The files of the repository below some folders."""
    return set(ran("git", "ls-files", *folders, env=os.environ).splitlines())


async def test_a_wheel_holds_all_and_works_from_an_empty_folder_by_uvx_and_by_pip(tmp_path: Path) -> None:
    bare = {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home"), "UV_CACHE_DIR": str(CACHE), "UV_OFFLINE": "1"}
    (empty := tmp_path / "empty").mkdir()
    ran("make", "-s", "-o", "setup", "wheel", f"DIST={tmp_path / 'dist'}", env=os.environ)
    (wheel,) = (tmp_path / "dist").glob("threadwright-*-py3-none-any.whl")
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    image = {f"agentic/sandbox/image/{Path(name).name}" for name in listed("deploy/sandbox")}
    assert packed == listed("agentic", "bot", "reflexion") - NOT_SHIPPED | image

    uvx = (BIN / "uvx", "--python", BIN / "python", "--constraints", PINS, "--from", wheel, "threadwright")
    async with (
        asyncio.timeout(120),
        started("run", env=bare, cwd=empty, program=[str(each) for each in uvx]) as running,
        person((await running.until_said(ADDRESS, 60))[1]) as somebody,
    ):
        thread = await somebody.mention("Please write a greeting.")
        await somebody.sees(thread, r"Tour, no model is configured(.|\n)*hello-\w+\.md")
        assert await running.end() == 0, running.output
    components = json.loads(ran(*uvx, "doctor", "--json", env=bare, cwd=empty))["components"]
    states = {row["name"]: row["state"] for row in components}
    assert states.pop("models") == "limited", "a tour"
    assert states.pop("web search") == "limited", "an extra"
    assert set(states.values()) == {"ok"}, components

    venv = tmp_path / "venv"
    ran(BIN / "uv", "venv", "--python", BIN / "python", venv, env=bare)
    install = (BIN / "uv", "pip", "install", "--python", venv / "bin/python")
    ran(*install, "--require-hashes", "-r", tmp_path / "dist/requirements.txt", env=bare)
    ran(*install, "--no-deps", wheel, env=bare)
    ran(BIN / "uv", "pip", "check", "--python", venv / "bin/python", env=bare)
    assert ran(venv / "bin/threadwright", "--version", env=bare, cwd=empty) == f"threadwright {BUILD}\n"

    lacking = {row["name"]: row for row in components if "is not installed" in row["why"]}
    assert {"code search", "web search"} <= lacking.keys()
    assert lacking["web search"]["todo"] == "for the web: `pip install 'threadwright[web]'`"
    on_aws = {
        **bare, "THREADWRIGHT_STORE": "aws", "DYNAMODB_EXECUTIONS_TABLE": "threads", "S3_ARTIFACT_BUCKET": "artifacts",
        "AWS_REGION": "eu-central-1",
    }  # fmt: skip
    for settings in (on_aws, {**bare, "GEMINI_API_KEY": "k", "THREADWRIGHT_TIER_2": "gemini/gemini-2.5-flash"}):
        task = (venv / "bin/threadwright", "task", "say hello")
        refused = subprocess.run(
            task, env=settings, cwd=empty, capture_output=True, text=True, timeout=120, check=False
        )
        assert refused.returncode == 64
        assert "is not installed. Add it: `pip install 'threadwright[" in refused.stderr
        assert "Traceback" not in refused.stderr

    assert list(empty.iterdir()) == []
    assert {path.name for path in (tmp_path / "home").iterdir()} - {".local", ".cache"} == {".threadwright"}
