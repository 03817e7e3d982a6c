"""A fork whose process is killed in the middle of it, twice: there is one, it is whole, and what was forked is as it was."""

from __future__ import annotations

import re
from pathlib import Path

from agentic.core.events.execution_events import Started
from bot.cli.replay.invariants import broken_promises
from tests.chaos.house import House, house
from tests.chaos.nursery import Nursery
from tests.stores import kept_store


async def died(place: House, failpoint: str) -> None:
    """A life that ends at a point, with whatever lies there."""
    dying = await place.live(failpoint)
    await place.until(dying.ended.is_set)
    assert dying.killed_at == failpoint.partition(":")[0]


async def test_a_fork_is_made_once_whatever_kills_the_process_in_the_middle_of_it(tmp_path: Path) -> None:
    async with Nursery.open() as nursery, house(tmp_path / "home", nursery) as place:
        first = await place.live()
        await place.guild.wait_for(lambda guild: guild.online, timeout=60.0)
        thread = await place.give("work", "one")
        await place.says(thread, "answer to one.")
        await place.rest()
        await first.end()
        await place.guild.wait_for(lambda guild: not guild.online, timeout=60.0)
        await place.guild.post(thread, "!fork")
        await died(place, "discord.thread.after")
        await died(place, "fork.copies")
        await died(place, "fork.log")
        await place.live()
        receipt = await place.says(thread, "Forked as it was")
        fork = int(re.findall(r"<#(\d+)>", receipt.content)[0])
        await place.says(fork, f"This is a fork of <#{thread}>")
        await place.rest()
        assert [m.id for m in place.said(place.general) if "forked" in m.content] == [fork]
        assert sum("Forked as it was" in m.content for m in place.said(thread)) == 1
        assert sum("This is a fork of" in m.content for m in place.said(fork)) == 1
        source, copy = (place.home / "workspaces" / str(one) for one in (thread, fork))
        assert {path.name: path.read_text() for path in copy.iterdir()} == {
            path.name: path.read_text() for path in source.iterdir()
        }
        assert await place.lives[-1].end() == 0
        async with kept_store(place.database) as store:
            (row,) = await store.executions(str(fork))
            log = [envelope async for envelope in store.read(row.execution)]
            started = log[0].event
            assert isinstance(started, Started)
            assert started.forked_from is not None
            assert broken_promises(log, await store.read_outcome(row.execution)) == ()
            (before,) = await store.executions(str(thread))
            assert started.forked_from == (before.execution, before.head)
            assert row.finished == before.finished == "done"
