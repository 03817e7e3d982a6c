"""Real processes: a backup beside a running bot, and the same conversation going on from it in another home."""

from __future__ import annotations

import asyncio
import gzip
from pathlib import Path

from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from tests.e2e.living import living
from tests.e2e.processes import Running, environment, started

CANARY = "sk-canary-5f2b8c1d9e7a4063"


async def told(*command: str, home: Path, **settings: str) -> tuple[int, Running]:
    """`threadwright …` to its end."""
    async with started(*command, env=environment(home, {}, **settings), cwd=home.parent) as running:
        return await running.ended(90), running


async def test_a_backup_of_a_running_bot_goes_on_elsewhere_where_it_was(tmp_path: Path) -> None:
    home, there, archive, log = tmp_path / "home", tmp_path / "there", tmp_path / "kept.tar.gz", tmp_path / "x.jsonl"
    go = asyncio.Event()

    async def script(request: CapturedRequest) -> Reply:
        if "write it down" in request.text() and not request.answers:
            return Reply(calls=(("shell", {"command": "echo kept > note.txt"}),))
        if "wait for me" in request.text():
            await go.wait()
        return Reply(calls=(("finish", {"answer": "It is done."}),))

    async with asyncio.timeout(180), ScriptedEndpoint.start(script) as endpoint:
        async with living(home, endpoint, OPENAI_API_KEY=CANARY) as bot:
            first = await bot.person.mention("write it down")
            await bot.person.sees(first, r"It is done\.")
            second = await bot.person.mention("wait for me")
            await bot.person.sees(second, r"wait for me|Working|Turn|Thinking|…")
            code, keeping = await told("backup", str(archive), home=home, OPENAI_API_KEY=CANARY)
            assert code == 0, keeping.output
            code, out = await told("export", "--thread", first, str(log), home=home)
            assert code == 0, out.output
            await bot.running.kill()
        assert CANARY.encode() not in gzip.decompress(archive.read_bytes())
        assert CANARY not in log.read_text()
        code, brought = await told("import", str(archive), "--into", str(there), home=home)
        assert code == 0, brought.output
        async with living(there, endpoint) as bot:
            assert bot.workspace(first).joinpath("note.txt").read_text() == "kept\n"
            go.set()
            await bot.person.sees(second, r"It is done\.")
            said = [message.text for message in await bot.person.reads(first)]
            assert sum("It is done." in text for text in said) == 1, "what had ended is not said again"
            assert await bot.running.end() == 0
        # The other home knows an exported thread as something to read; a bot on it starts and goes on with nothing of it.
        readers = tmp_path / "readers"
        code, brought = await told("import", str(log), home=readers)
        assert code == 0, brought.output
        execution = brought.output.split(" is here, read-only")[0].split()[-1]
        asked = len(endpoint.requests)
        async with living(readers, endpoint) as bot:
            new = await bot.person.mention("something else")
            await bot.person.sees(new, r"It is done\.")
            assert await bot.running.end() == 0
        assert not any("write it down" in request.text() for request in endpoint.requests[asked:])
        code, story = await told("replay", execution, home=readers)
        assert code == 0, story.output
        assert "The log is sound: every check passed." in story.output
