"""What the network refused is told in the result of the call in which it happened, and recorded."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import replace

import pytest

from agentic.ports.runtime import Observation, Prepared
from agentic.tools.toolbox import StandardToolbox
from agentic.workspace.workspace import RealWorld
from tests.integration.egress.test_doors import HOST, Town, town_on
from tests.integration.world.rungs import Ground, docker_url, ground
from tests.scripts import fetch

__all__ = ["docker_url", "ground"]


@pytest.fixture
def rung_name() -> str:
    """One rung is enough here."""
    return "bubblewrap"


@pytest.fixture
async def town(ground: Ground) -> AsyncGenerator[Town]:
    async with town_on(ground) as made:
        yield made


def toolbox_of(world: RealWorld) -> StandardToolbox:
    async def source() -> RealWorld:
        return world

    return StandardToolbox(source)


async def called(toolbox: StandardToolbox, tool: str, **arguments: str) -> Observation:
    prepared = toolbox.prepare(tool, dict(arguments))
    assert isinstance(prepared, Prepared)
    return await toolbox.run(tool, f"call-{len(arguments)}", prepared, lambda _: None)


async def test_a_refused_host_is_told_once_with_what_to_do(town: Town) -> None:
    toolbox = toolbox_of(town.world("one"))
    command = fetch(f"http://{HOST}/", f"http://{HOST}/b", "https://evil.test/", "http://10.0.0.5/")
    seen = await called(toolbox, "shell", command=command)
    assert seen.outcome == "ok"
    assert seen.refused_hosts == (HOST, "evil.test", "10.0.0.5")
    assert (
        f"The network refused {HOST}: it's not on this channel's list. If you need it, call `network` with it."
        in seen.preview
    )
    assert (
        seen.preview.count(f"The network refused {HOST}: it's not on this channel's list. If you need it, call `") == 1
    )
    assert "'10.0.0.5' is an address; hosts are named." in seen.preview
    assert (await called(toolbox, "shell", command="true")).refused_hosts == ()


async def test_what_a_task_was_let_reach_goes_with_each_call_also_under_another_owner(town: Town) -> None:
    """It comes from the log each time, so nothing has to be remembered; and it ends when the task is settled."""
    for toolbox in (toolbox_of(town.world("one")), toolbox_of(town.world("one"))):
        prepared = toolbox.prepare("shell", {"command": fetch(f"http://{HOST}/")})
        assert isinstance(prepared, Prepared)
        seen = await toolbox.run("shell", "c", replace(prepared, reach=(HOST,)), lambda _: None)
        assert seen.refused_hosts == ()
        assert seen.preview.endswith("\nok")
        await toolbox.settle()
        assert (await called(toolbox, "shell", command=fetch(f"http://{HOST}/"))).refused_hosts == (HOST,)
