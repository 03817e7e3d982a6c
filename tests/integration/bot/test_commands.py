"""Slash commands over the local guild: private answers, registration only when they changed."""

from __future__ import annotations

from pathlib import Path

from agentic.sandbox.backends.host import Host
from agentic.sandbox.pool import Choice, Sandboxes
from bot.app.services import Backstage
from bot.workspace.folders import Workspaces
from bot.workspace.sandboxes import Workshop
from tests.integration.bot.talking import Scenery


async def registered(scenery: Scenery) -> None:
    """Wait until the commands are registered."""
    await scenery.until(lambda: scenery.bot.registration.done.is_set())


async def test_status_tells_of_what_an_earlier_start_left_and_cannot_be_ended(scenery: Scenery, tmp_path: Path) -> None:
    class Stuck(Host):
        async def reap(self) -> tuple[str, ...]:
            return ("container 1: it did not exit",)

    async def chosen() -> Choice:
        return Choice(Stuck(tmp_path), "the test says so")

    async def nothing(address: str, _most: int) -> bytes:
        raise OSError(address)

    sandboxes = Sandboxes(tmp_path, chosen)
    workshop = Workshop(sandboxes, Workspaces(tmp_path / "workspaces"), nothing)
    scenery.bot.backstage = Backstage(workshop=workshop)
    await workshop.choice()
    await registered(scenery)
    await scenery.guild.slash(scenery.general, "status")
    shown = await scenery.guild.wait_for(
        lambda g: next(
            (m for m in g.messages(scenery.general) if "1 from an earlier start could not be stopped" in str(m.embeds)),
            None,
        )
    )
    assert "'name': 'Sandbox', 'value': 'host'" in str(shown.embeds)
