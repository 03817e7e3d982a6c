"""An owner of a sandbox in a process of its own, so that a test can freeze or kill it.

    python -m tests.integration.world.owner RUNG FOLDER DOCKER_URL COMMAND

Opens a sandbox over FOLDER/workspace, starts COMMAND, says "running", and waits for its end.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from agentic.sandbox.hidden_files import adopt
from agentic.sandbox.limits import Limits
from tests.integration.world.rungs import build_rung


async def main(rung_name: str, folder: Path, docker_url: str, command: str) -> None:
    """Own a sandbox until the command ends."""
    rung = build_rung(rung_name, folder / "state", docker_url)
    for name in ("workspace", "home"):
        adopt(folder / name, *rung.owner)
    sandbox = await rung.start("owned", folder / "workspace", folder / "home", Limits(heartbeat=1.5))
    print("running", flush=True)
    await sandbox.exec(command, timeout=600)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3], sys.argv[4]))
