"""A gateway and two workers on one home: what one hears the others do, wherever it is done and whoever dies."""

from __future__ import annotations

import asyncio
import shutil
import time
from pathlib import Path

import pytest

from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from tests.e2e.several import Several, several

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")

FINISH = Reply(calls=(("finish", {"answer": "It is done."}),))
PROMISED = 2.0
"""Seconds from a stop to its end."""


def script(request: CapturedRequest) -> Reply:
    """What the task's words say."""
    text = request.text()
    if "choose" in text and len(request.messages) == 1:
        return Reply(calls=(("ask_user", {"question": "Which one?", "options": ["this", "that"]}),))
    if "hello" in text or "choose" in text:
        return FINISH
    if not request.answers:
        return Reply(calls=(("shell", {"command": "echo once >> runs.txt; sleep 120", "timeout": 300}),))
    return FINISH


async def begun(them: Several, thread: int) -> Path:
    """The file that the task's command wrote first."""
    file = them.home / "workspaces" / str(thread) / "runs.txt"
    await them.until(file.exists, "the command runs")
    return file


async def test_what_the_gateway_hears_the_workers_do(tmp_path: Path) -> None:
    async with asyncio.timeout(120), ScriptedEndpoint.start(script) as endpoint, several(tmp_path, endpoint) as them:
        thread = await them.mention("hello")
        await them.says(thread, r"It is done\.")
        asking = await them.mention("choose")
        question = await them.says(asking, r"Which one\?")
        await them.guild.click(question.id, question.custom_ids()[0])
        await them.says(asking, r"It is done\.")

        long = await them.mention("wait long")
        await begun(them, long)
        shown = await them.guild.slash("status", channel_id=long)
        await them.guild.post(long, "use the blue one")
        await them.until(lambda: True, "")
        stopped = time.monotonic()
        await them.guild.react(long, "🛑")
        await them.says(long, r"[Ss]topped")
        assert time.monotonic() - stopped < PROMISED
        assert "wait long" in str(shown)
