"""How long a checkpoint takes: the first of a workspace, and the next ones when little changed.

python -m bench.checkpoints [FILES]
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from pathlib import Path

from agentic.workspace.snapshots.snapshot_store import Snapshots


async def main(files: int) -> None:
    """Print a line a checkpoint."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder, "workspace")
        for number in range(files):
            path = workspace / f"part{number % 50}" / f"file{number}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"value = {number}\n" * 100)
        await asyncio.sleep(0.05)
        snapshots = Snapshots(Path(folder, "checkpoints"))
        for what in ("first", "nothing changed", "one file changed"):
            if what.startswith("one"):
                (workspace / "part0" / "file0.py").write_text("changed\n")
            begun = time.perf_counter()
            saved = await snapshots.save("1", workspace)
            print(f"{files} files, {what}: {(time.perf_counter() - begun) * 1000:.0f} ms{saved.problem}")


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 5_000))
