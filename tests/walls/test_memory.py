"""A sandbox holds no more memory than its limit, however it is taken: shared, in a file without a name."""

from __future__ import annotations

import pytest

from tests.integration.world.rungs import MB, Ground, docker_url, ground, rung_name
from tests.walls.tally import Wall

__all__ = ["docker_url", "ground", "rung_name"]

FORMS = {
    "memfd": (
        "import os,time; f=os.memfd_create('x')\n"
        "try:\n for _ in range(24): os.write(f, b'x'*(16<<20)); time.sleep(.02)\n"
        "except OSError: pass\n"  # a file may be no larger: what it got so far it holds on to
    ),
    "shared": "import mmap,time; m=mmap.mmap(-1, 384<<20)\nfor _ in range(24): m.write(b'x'*(16<<20)); time.sleep(.02)\n",
}


@pytest.mark.wall("limits")
async def test_shared_memory_counts(ground: Ground, wall: Wall) -> None:
    async with ground.open(memory=128 * MB) as sandbox:
        for form, code in FORMS.items():
            done = await sandbox.exec(["python3", "-c", code + "time.sleep(60)"], timeout=20)
            wall.held(f"{ground.rung_name}: {form}", "memory" in done.killed_reason, done.text + done.killed_reason)
