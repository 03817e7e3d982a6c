"""Approaches whose process is killed between their ends and the comparison, and in the middle of the merge.

Each is carried out once and shown once, and what was chosen is there.
``THREADWRIGHT_ALL_KILLS=1`` kills it at more points.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pydantic import JsonValue

from agentic.core.events.execution_events import Asked, InputReceived, SubagentFinished, ToolFinished
from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from bot.cli.replay.invariants import broken_promises
from bot.local_discord.local_discord import LocalGuild
from tests.chaos.house import House
from tests.chaos.mind import Mind
from tests.chaos.nursery import Nursery
from tests.e2e.test_forking import died
from tests.stores import kept_store

WAYS = ("WAY-ONE", "WAY-TWO")
DOING: tuple[JsonValue, ...] = tuple(f"{way}: do it so" for way in WAYS)
MORE = bool(os.environ.get("THREADWRIGHT_ALL_KILLS"))
KILLS = (
    (("children.ended",), ("restore.file",)),
    (("restore.after:2", "tool.effect.after"), ("restore.before", "tool.effect.after")),
)[: 2 if MORE else 1]
"""Before the person is asked, the first in the middle of the copies; and while what was chosen is merged. After a third crash
in a row a task is left alone.
"""


def script(request: CapturedRequest) -> Reply:
    """Each way leaves its line once for each time it is carried out."""
    own = request.messages[0].text.partition("Your way (")[2].partition("\n")[0]
    done = len(request.answers)
    if own:
        way = next(way for way in WAYS if way in own)
        run = Reply(calls=(("shell", {"command": f"echo {way} >> done.txt; echo {way} > {way}.txt"}),))
        return run if not done else Reply(calls=(("finish", {"answer": f"{way} is done."}),))
    if not done:
        return Reply(calls=(("approaches", {"ways": [*DOING]}),))
    return Reply(calls=(("finish", {"answer": "All is merged."}),))


@pytest.mark.parametrize(("before", "after"), KILLS)
async def test_each_way_is_carried_out_and_shown_once_whatever_kills_the_process(
    before: tuple[str, ...], after: tuple[str, ...], tmp_path: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    async with (
        Nursery.open() as nursery,
        ScriptedEndpoint.start(script) as endpoint,
        await LocalGuild.start() as guild,
    ):
        place = House(home, guild, endpoint, Mind(), nursery, {"THREADWRIGHT_TRIAGE": "rules"})
        try:
            first = await place.live(before[0])
            await guild.wait_for(lambda guild: guild.online, timeout=60.0)
            thread = (await guild.post(place.general, f"{guild.bot.mention} try 2 ways: write done.txt")).id
            await place.until(first.ended.is_set)
            assert first.killed_at == before[0].partition(":")[0]
            for point in before[1:]:
                await died(place, point)
            dying = await place.live(after[0])
            shown = await place.says(thread, "I tried 2 approaches.")
            await guild.click(shown.id, shown.custom_ids()[1])
            await place.until(dying.ended.is_set)
            assert dying.killed_at == after[0].partition(":")[0]
            for point in after[1:]:
                await died(place, point)
            await place.live()
            await place.says(thread, "All is merged.")
            await place.rest()
            assert sum("I tried 2 approaches." in message.content for message in place.said(thread)) == 1
            folder = home / "workspaces" / str(thread)
            assert {path.name: path.read_text() for path in folder.iterdir()} == {
                "done.txt": "WAY-TWO\n", "WAY-TWO.txt": "WAY-TWO\n"
            }  # fmt: skip
            assert await place.lives[-1].end() == 0
        finally:
            for child in place.lives:
                await child.kill()
    async with kept_store(place.database) as store:
        (row,) = await store.executions(str(thread))
        assert row.finished == "done"
        logs = {
            each.execution: [envelope async for envelope in store.read(each.execution)]
            async for each in store.all_executions()
        }
        assert len(logs) == 3
        for log in logs.values():
            assert broken_promises(log, ()) == ()
        events = [envelope.event for envelope in logs[row.execution]]
        assert [type(event) for event in events if isinstance(event, Asked | SubagentFinished)] == [
            SubagentFinished, SubagentFinished, Asked
        ]  # fmt: skip
        assert len([event for event in events if isinstance(event, InputReceived)]) == 1
        [taken] = [event for event in events if isinstance(event, ToolFinished) and "is taken" in event.preview]
        assert sorted(change.path for change in taken.changes) == ["WAY-TWO.txt", "done.txt"]
