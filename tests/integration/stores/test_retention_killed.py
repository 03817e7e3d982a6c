"""Another process deletes what is old and is killed in the middle of it, again and again, while this one goes on writing."""

from __future__ import annotations

import asyncio
import signal
import sys
from datetime import timedelta
from pathlib import Path

from agentic.stores.checks import blob_ref
from agentic.stores.sqlite.file.connection import connect
from agentic.stores.sqlite.maintenance import integrity
from agentic.stores.sqlite.store import SQLiteStore
from tests.integration.stores.samples import NOW, log_of, sqlite
from tests.integration.stores.test_retention import BEFORE, OLD, ended

DELETING = """
import asyncio, sys
from pathlib import Path
from agentic.stores.sqlite.store import SQLiteStore
from tests.integration.stores.test_retention import BEFORE

async def main() -> None:
    store = SQLiteStore.open(Path(sys.argv[1]))

    def done() -> None:
        print("piece", flush=True)

    while await store.expire(BEFORE, 2):
        done()
        for thread in await store.burials():
            while await store.clear(thread):
                done()
        while await store.sweep_blobs():
            done()
    for thread in await store.burials():
        while await store.clear(thread):
            done()
    while await store.sweep_blobs():
        done()
    await store.close()
    print("whole", flush=True)

asyncio.run(main())
"""
OLD_LOGS, MORE = 6, 110


async def deletes_until_killed(path: Path, pieces: int, told: asyncio.Semaphore) -> bool:
    """Whether the other process came to the end before it was killed, after so many pieces; each is ``told``."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", DELETING, str(path), cwd=Path(__file__).parents[3], stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        for _ in range(pieces):
            async with asyncio.timeout(60):
                if (await process.stdout.readline()) == b"whole\n":
                    return True
            told.release()
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGKILL)
        await process.wait()
    return False


async def writes_again(
    store: SQLiteStore, life: int, going: asyncio.Event, told: asyncio.Semaphore
) -> dict[str, bytes]:
    """Logs that begin meanwhile, one a piece, with contents that old ones had and new ones; each has its own thread."""
    written: dict[str, bytes] = {}
    number = 0
    while going.is_set() or number < 3:
        content = f"content {number % OLD_LOGS}".encode() if number % 2 else f"new {life} {number}".encode()
        name = f"new{life}-{number}"
        await ended(store, name, NOW, name, content)
        written[name] = content
        number += 1
        if going.is_set():
            await told.acquire()
    return written


async def test_a_process_that_is_killed_while_it_deletes_takes_nothing_with_it_that_is_needed(tmp_path: Path) -> None:
    path = tmp_path / "threadwright.db"
    needed: dict[str, bytes] = {}
    async with sqlite(tmp_path) as store:
        for number in range(OLD_LOGS):
            content = f"content {number}".encode()
            await ended(store, f"old{number}", OLD + timedelta(minutes=number), f"t{number % 4}", content, MORE)
        await ended(store, "kept", NOW, "kept", b"content 3")
        needed["kept"] = b"content 3"
    whole, life = False, 0
    while not whole:
        life += 1
        store, going, told = SQLiteStore.open(path), asyncio.Event(), asyncio.Semaphore(0)
        going.set()
        writing = asyncio.create_task(writes_again(store, life, going, told))
        whole = await deletes_until_killed(path, 3**life, told)
        going.clear()
        told.release()
        needed |= await writing
        for number in range(OLD_LOGS):
            assert len(await log_of(store, f"old{number}")) in (0, MORE + 3)
        for name, content in needed.items():
            assert len(await log_of(store, name)) == 3
            assert await store.get_blob(blob_ref(content, "").sha) == content, f"{name}, life {life}"
        await store.close()
        assert integrity.whole(path) == ()
    assert life > 2, "it was killed more than once"
    async with sqlite(tmp_path) as store:
        assert not await store.expire(BEFORE)
        assert {row.execution for row in await store.newest_executions(1_000)} == needed.keys()
        for number in range(OLD_LOGS):
            content = f"content {number}".encode()
            left = await store.get_blob(blob_ref(content, "").sha)
            assert (left is not None) == (content in needed.values())
    assert connect(str(path)).execute("SELECT count(*) FROM events").get == 3 * len(needed)
