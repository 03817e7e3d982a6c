"""Servers that nobody here wrote, as they come from their registries, in a real sandbox."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pydantic import JsonValue

from .odd_bench import McpBench, open_mcp_bench

OTHERS = Path(__file__).parents[3] / "build" / "mcp-servers"
PACKAGES = "/home/agent/node_modules/@modelcontextprotocol"
PYTHON: dict[str, JsonValue] = {"PYTHONPATH": "/home/agent/site"}


@pytest.fixture
async def bench() -> AsyncIterator[McpBench]:
    """They lie in the home of the sandbox, as what an agent installs does."""
    if not list(OTHERS.glob(".installed-*")) or shutil.which("node") is None:
        assert os.environ.get("CI") is None, "make servers installs them"
        pytest.skip("not installed: make servers")
    async with open_mcp_bench() as opened:
        home = opened.folder / "homes" / hashlib.sha256(b"t1").hexdigest()[:24]
        for name in ("node_modules", "site"):
            shutil.copytree(OTHERS / name, home / name, symlinks=True)
        yield opened


async def test_each_of_them_works_in_the_sandbox(bench: McpBench) -> None:
    servers: dict[str, JsonValue] = {
        "everything": {"command": "node", "args": [f"{PACKAGES}/server-everything/dist/index.js"], "readOnly": ["*"]},
        "files": {"command": "node", "args": [f"{PACKAGES}/server-filesystem/dist/index.js", "/workspace"]},
        "git": {"command": "python3", "args": ["-m", "mcp_server_git"], "env": PYTHON},
        "time": {"command": "python3", "args": ["-m", "mcp_server_time"], "env": PYTHON, "readOnly": ["*"]},
    }
    await bench.serve(servers, look=False)
    seen = await bench.servers.look()
    assert [(each.server, each.problem) for each in seen] == [(name, "") for name in servers]
    bench.again()
    assert [spec.name for spec in bench.toolbox.specs][-4:] == [
        "mcp_prompt",
        "mcp_resource",
        "describe_tools",
        "call_tool",
    ]

    async def call(name: str, **arguments: JsonValue) -> tuple[str, str]:
        came = await bench.call("call_tool", tool=f"mcp__{name}", arguments=arguments)
        return came.outcome, came.preview

    assert "message" in (await bench.call("describe_tools", names=["mcp__everything__echo"])).preview
    assert "Echo: hi" in (await call("everything__echo", message="hi"))[1]
    assert "'message' is missing" in bench.refused("call_tool", tool="mcp__everything__echo", arguments={})
    picture = await bench.call("call_tool", tool="mcp__everything__get-tiny-image", arguments={})
    assert [file.media for file in picture.files] == ["image/png"]
    asked = await bench.call("call_tool", tool="mcp__everything__trigger-elicitation-request", arguments={})
    assert asked.question is not None or "cannot be put" in asked.preview, asked.preview
    assert (
        "Paris"
        in (
            await bench.call("mcp_prompt", server="everything", name="args-prompt", arguments={"city": "Paris"})
        ).preview
    )
    assert "://" in (await bench.call("mcp_resource", server="everything")).preview

    written = await bench.call(
        "call_tool", tool="mcp__files__write_file", arguments={"path": "/workspace/a.txt", "content": "A"}
    )
    assert [change.path for change in written.changes] == ["a.txt"]
    assert "A" in (await call("files__read_text_file", path="/workspace/a.txt"))[1]
    outcome, denied = await call("files__read_text_file", path="/etc/passwd")
    assert (outcome, "denied" in denied.lower()) == ("failed", True)

    await bench.call(
        "shell",
        command="git init -q repo && cd repo && git config user.email a@b.c && git config user.name A && echo 1 > f",
    )
    assert "f" in (await call("git__git_status", repo_path="/workspace/repo"))[1]
    assert (await call("git__git_add", repo_path="/workspace/repo", files=["f"]))[0] == "ok"
    outcome, committed = await call("git__git_commit", repo_path="/workspace/repo", message="First")
    assert outcome == "ok", committed
    assert "First" in (await bench.call("shell", command="git -C repo log --oneline")).preview

    assert (
        "2026"
        in (await call("time__convert_time", source_timezone="UTC", time="12:00", target_timezone="Asia/Tokyo"))[1]
    )
    assert (await call("time__get_current_time", timezone="Nowhere/None"))[0] == "failed"
