"""What the network refused is told in the result of the call in which it happened, and recorded."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest

from agentic.ports.runtime import Observation, Prepared
from agentic.tools.toolbox import StandardToolbox
from agentic.workspace.workspace import RealWorld
from tests.integration.egress.test_doors import HOST, Town, town_on
from tests.integration.world.rungs import Ground, docker_url, ground

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
    fetch = f"curl -s -o /dev/null http://{HOST}/ http://{HOST}/b; curl -s https://evil.test/ ; curl -s http://10.0.0.5/; true"
    seen = await called(toolbox, "shell", command=fetch)
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


async def test_what_is_reached_is_not_told(town: Town) -> None:
    town.world("one").lend((HOST,))
    seen = await called(toolbox_of(town.world("one")), "shell", command=f"curl -s http://{HOST}/")
    assert "refused" not in seen.preview
    assert "ok" in seen.preview
