"""An agent searches the code of its workspace, through the whole bot: what the model reads, what is kept, what goes."""

from __future__ import annotations

from pathlib import Path

from agentic.core.events.execution_events import ToolFinished
from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from bot.config.home import CODE_INDEX
from bot.local_discord.local_discord import LocalGuild
from tests.integration.bot.whole import finishes, uses, whole
from tests.waiting import eventually

TOOL = "codebase_search"
WRITES = "mkdir src && printf 'def round_price(x):\\n    return x\\n' > src/cart.py && printf 'build/\\n' > .gitignore"


async def test_a_question_finds_code_and_its_index_goes_with_the_thread(guild: LocalGuild, tmp_path: Path) -> None:
    tools: list[tuple[str, ...]] = []
    shown: list[str] = []
    script = [
        uses("shell", command=WRITES),
        uses(TOOL, query="where is the price of a cart rounded"),
        uses("shell", command="mkdir build && mv src/cart.py build/"),
        uses(TOOL, query="where is the price of a cart rounded"),
        finishes(),
    ]
    replies = [*script, finishes()]

    async def mind(request: CapturedRequest) -> Reply:
        tools.append(request.tools)
        shown.append(request.text())
        return replies.pop(0)

    async with ScriptedEndpoint.start(mind) as endpoint:
        async with whole(tmp_path, endpoint, guild, triage="rules") as running:
            thread = await running.task("round the price to cents in src/cart.py")
            (name,) = await running.executions(thread)
            found = [each for each in await running.log(name) if isinstance(each, ToolFinished)]
            assert [each.outcome for each in found] == ["ok"] * 5
            assert found[1].preview.startswith(
                "src/cart.py:1-2  (round_price)\n1\tdef round_price(x):\n2\t    return x\n"
            )
            assert found[1].preview.endswith("… 2 files were searched.")
            assert found[3].preview.startswith("Nothing has to do with this query.")
            assert f'{TOOL} {{"query": "where is the price' in shown[0]
            index = tmp_path / CODE_INDEX / f"{thread}.sqlite"
            assert index.is_file()
            assert index.parent.stat().st_mode & 0o077 == 0
            await running.guild.delete_channel(thread)
            await eventually(lambda: not index.exists(), "the index is gone")
        async with whole(tmp_path, endpoint, guild, triage="rules", code_search="off") as running:
            await running.task("round the price to cents in src/cart.py")
    assert TOOL in tools[0]
    assert TOOL not in tools[-1]
