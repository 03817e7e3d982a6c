"""A process that dies anywhere on the way from a commit to a pull request: nothing is doubled, nothing is lost."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from agentic.ports.failpoints import POINTS
from bot.local_forge import LocalForge
from tests.e2e.living import living

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")

FIX = "test -e fixed || { touch fixed; git add -A; git commit -qm Fix; }"
STEPS = (
    Reply(calls=(("shell", {"command": FIX}),)),
    Reply(calls=(("publish", {"title": "Fix it", "body": "It was broken."}),)),
    Reply(calls=(("comment", {"text": "Here it is."}),)),
    Reply(calls=(("finish", {"answer": "It is done."}),)),
)


def script(request: CapturedRequest) -> Reply:
    """The next step, by how many calls have their results."""
    return STEPS[min(len(request.answers), len(STEPS) - 1)]


@pytest.mark.parametrize("point", [point for point in POINTS if point.startswith("publish.")])
async def test_a_process_that_dies_while_it_publishes_goes_on_with_one_push_one_pull_request_and_one_comment(
    tmp_path: Path, point: str
) -> None:
    async with (
        asyncio.timeout(120),
        LocalForge(tmp_path / "forge") as forge,
        ScriptedEndpoint.start(script) as endpoint,
    ):
        shop = forge.create("ada/shop", {"a.txt": "a\n"})
        settings = {"THREADWRIGHT_FORGES": f"{forge.web}=FORGE_TOKEN:github", "FORGE_TOKEN": forge.token}
        home = tmp_path / "home"
        async with living(home, endpoint, **settings, THREADWRIGHT_FAILPOINT=point) as bot:
            thread = await bot.person.mention("fix it and open a pull request repo:ada/shop")
            assert await bot.running.ended() != 0
        async with living(home, endpoint, **settings) as bot:
            await bot.person.sees(thread, r"It is done\.")
            await bot.person.sees(thread, r"Pull request \d+: Fix it")
            assert await bot.running.end() == 0
        (pull,) = shop.pulls
        assert [name for name, _, _ in shop.pushes] == [pull.head]
        assert len(pull.notes) == 1
