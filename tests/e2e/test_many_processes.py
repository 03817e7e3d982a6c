"""A gateway and two workers on one home: what one hears the others do, wherever it is done and whoever dies."""

from __future__ import annotations

import asyncio
import json
import signal
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from agentic.core.events.execution_events import Envelope, Event, Finished, HandedOver, InputReceived
from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from bot.cli.run import DOOR, NoGateway, at_the_gateway
from bot.config.settings import Settings
from tests.e2e.living import ADDRESS
from tests.e2e.person import person
from tests.e2e.processes import environment, started
from tests.e2e.several import ONLINE, WORKS, Several, several
from tests.waiting import eventually

FINISH = Reply(calls=(("finish", {"answer": "It is done."}),))
PROMISED = timedelta(seconds=2)
"""From a stop to its end."""


def script(request: CapturedRequest) -> Reply:
    """What the task's words say."""
    text = request.text()
    if "choose" in text and len(request.messages) == 1:
        return Reply(calls=(("ask_user", {"question": "Which one?", "options": ["this", "that"]}),))
    if "wait" in text and not request.answers:
        return Reply(calls=(("shell", {"command": "echo once >> runs.txt; sleep 120", "timeout": 300}),))
    return FINISH


async def waits(them: Several, words: str) -> tuple[int, Path]:
    """A task whose command runs, and the file that it wrote first."""
    thread = await them.mention(f"wait {words}")
    file = them.home / "workspaces" / str(thread) / "runs.txt"
    await them.until(file.exists, "the command runs")
    return thread, file


async def noted(them: Several, thread: int, kind: type[Event]) -> Envelope:
    """The first event of a kind in the log of a thread, once it is there."""

    async def found() -> list[Envelope]:
        return [envelope for envelope in await them.log(thread) if isinstance(envelope.event, kind)]

    return (await eventually(found, f"{kind.__name__} is in the log"))[0]


async def goes_on_elsewhere(them: Several, thread: int, file: Path, before: str) -> None:
    """Another worker takes the task up and ends it; its command did not run again, and nothing was told twice."""
    await them.says(thread, r"It is done\.")
    log = await them.log(thread)
    assert len({envelope.fence for envelope in log}) == 2
    assert file.read_text() == "once\n"
    said = [message.content for message in them.said(thread)]
    assert sum("It is done." in text for text in said) == 1
    assert len(said) == len(set(said)), said
    assert sum("changed by a step that was cut off: `runs.txt`" in text for text in said) == 1, said
    assert before not in await them.owners_of(thread)


async def test_what_the_gateway_hears_the_workers_do(tmp_path: Path) -> None:
    async with asyncio.timeout(180), ScriptedEndpoint.start(script) as endpoint, several(tmp_path, endpoint) as them:
        talk = await them.mention("hello")
        await them.says(talk, r"It is done\.")

        asking = await them.mention("choose")
        question = await them.says(asking, r"Which one\?")
        await them.guild.click(question.id, question.custom_ids()[0])
        await them.says(asking, r"It is done\.")

        long, _ = await waits(them, "here")
        status = await them.slash(long, "status")
        assert "wait here" in status
        assert "Working" in status
        await them.guild.post(long, "use the blue one")
        assert (await noted(them, long, InputReceived)).event.text == "use the blue one"  # type: ignore[attr-defined]
        progress = next(message for message in them.said(long))
        await them.guild.react(progress.id, "▶️")
        await them.says(long, r"Nothing is paused here; I'm working")
        given = datetime.now(UTC)
        await them.guild.react(progress.id, "🛑")
        ended = await noted(them, long, Finished)
        assert ended.event.reason == "stopped"  # type: ignore[attr-defined]
        assert ended.at - given < PROMISED

        crashes, file = await waits(them, "for a crash")
        owner = await them.owner(crashes)
        await them.running[owner].kill()
        await goes_on_elsewhere(them, crashes, file, owner)

        await them.start("worker", "worker 2")
        hands_over, file = await waits(them, "to be handed over")
        owner = await them.owner(hands_over)
        them.running[owner].process.send_signal(signal.SIGTERM)
        assert await them.running[owner].ended() == 0
        await goes_on_elsewhere(them, hands_over, file, owner)
        assert any(isinstance(envelope.event, HandedOver) for envelope in await them.log(hands_over))


@pytest.mark.long("THREADWRIGHT_ALL_KILLS")  # it waits for Discord's five seconds
async def test_a_spare_gateway_takes_over_the_shard_of_a_dead_one(tmp_path: Path) -> None:
    async with (
        asyncio.timeout(180),
        ScriptedEndpoint.start(script) as endpoint,
        several(tmp_path, endpoint, shards=2) as them,
    ):
        spare = await them.start("gateway", "spare", ready=False)
        await eventually(lambda: "stands by" in spare.output)
        await them.says(await them.mention("hello"), r"It is done\.")
        home = them.guild.guild_id >> 22
        holder = await them.store.holder(f"shard: {home % 2}/2")
        hearing = next(one for one in them.running.values() if str(one.process.pid) == holder.split("/")[2])
        await hearing.kill()
        meanwhile = await them.mention("hello, is nobody there?")
        await spare.until_said(ONLINE)
        await them.says(meanwhile, r"It is done\.")
        await them.says(await them.mention("hello again"), r"It is done\.")
        last = await them.start("gateway", "last", ready=False)
        await eventually(lambda: "stands by" in last.output)
        assert await last.end() == 0, "one that stands by can be ended"
        left = them.guild._api.ratelimits.session_start_limit()["remaining"]
        assert left == 1_000 - 3, "no start was wasted on a turn that came too early"


async def test_without_a_token_workers_join_the_gateways_own_server_and_a_bot_that_is_alone_keeps_out(
    tmp_path: Path,
) -> None:
    async with asyncio.timeout(120), ScriptedEndpoint.start(lambda _: FINISH) as endpoint:
        env = environment(
            tmp_path, endpoint.environment(), THREADWRIGHT_SANDBOX="bubblewrap", THREADWRIGHT_EMBEDDINGS="off",
            THREADWRIGHT_TIER_2="anthropic/claude-haiku-4-5",
        )  # fmt: skip
        with pytest.raises(NoGateway):
            at_the_gateway(Settings(home=tmp_path))
        (tmp_path / "guild").mkdir()  # as a gateway that was killed leaves it
        left = {"api": "http://127.0.0.1:1/api/v10", "token": "t", "operators": [], "viewers": []}
        (tmp_path / "guild" / DOOR).write_text(json.dumps(left))
        async with started("worker", env=env, cwd=tmp_path) as early:
            assert await early.ended() == 1
            assert "Start `threadwright gateway` first" in early.output
        async with started("gateway", env={**env, "THREADWRIGHT_STORE": "memory"}, cwd=tmp_path) as forgetful:
            assert await forgetful.ended() == 1
            assert "Set it to 'sqlite'" in forgetful.output
        async with started("gateway", env=env, cwd=tmp_path) as gateway, AsyncExitStack() as stack:
            url = (await gateway.until_said(ADDRESS))[1]
            worker = await stack.enter_async_context(started("worker", env=env, cwd=tmp_path))
            somebody = await stack.enter_async_context(person(url))
            await worker.until_said(WORKS)
            alone = await stack.enter_async_context(started("run", env=env, cwd=tmp_path))
            assert await alone.ended() == 1
            assert f"already runs on {tmp_path} (process {gateway.process.pid})" in alone.output
            page = await stack.enter_async_context(started("page", env=env, cwd=tmp_path))
            assert await page.ended() == 0
            thread = await somebody.mention("hello")
            await somebody.sees(thread, r"It is done\.")
            await worker.until_said("local server of the gateway")
            assert await worker.end() == 0
            assert await gateway.end() == 0
        assert not list(tmp_path.rglob(DOOR)), "the key to the server goes with it"
