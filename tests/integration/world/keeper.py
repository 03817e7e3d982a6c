"""An owner of a pool in a process of its own, so that a test can kill it in the middle of a command.

    python -m tests.integration.world.keeper RUNG FOLDER DOCKER_URL

Runs a command under the key "ended", says which diary it stands in, and begins one under the key "began" that goes on.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from agentic.sandbox.pool import Choice, Sandboxes
from agentic.workspace.workspace import RealWorld
from tests.integration.world.rungs import SMALL, build_rung


async def main(rung_name: str, folder: Path, docker_url: str) -> None:
    """Own a sandbox until killed."""
    rung = build_rung(rung_name, folder / "state", docker_url)

    async def chosen() -> Choice:
        return Choice(rung, "the test says so")

    world = RealWorld(Sandboxes(folder / "state", chosen, SMALL), "kept", folder / "workspace")
    await world.exec("echo said; echo x > file; exit 3", timeout=30, key="ended")
    print(world.diary, flush=True)
    await world.exec("echo x > began; sleep 600", timeout=600, key="began")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3]))
