"""What another version wrote, older or newer: read, or refused in a line that says what to do."""

from __future__ import annotations

import asyncio
import json
import sys
import zlib
from pathlib import Path

import apsw
import pytest

from agentic.core.events.execution_events import SCHEMA, Event, Noted
from agentic.core.events.upcasting import READER, UPCASTERS, ReaderVersion
from agentic.core.fold.fold import fold
from agentic.ports.errors import StoreTooNew
from agentic.stores.sqlite.store import SQLiteStore
from bot.cli.replay.invariants import broken_promises
from tests.golden.test_golden import RELEASES, envelopes, runs
from tests.integration.stores.samples import begin, log_of, notes, sqlite
from tests.integration.stores.samples import envelopes as numbered

ROOT = Path(__file__).parents[2]


def rewrite(path: Path, seq: int, event: str, version: int, execution: str = "x1") -> None:
    """Put a row into the log as a process of that version would have written it."""
    connection = apsw.Connection(str(path))
    row = connection.execute("SELECT at, fence, cause, build FROM events WHERE seq = ?", (seq,)).fetchone()
    assert row is not None
    at, fence, cause, build = row
    head = f"{execution}\0{seq}\0{at}\0{fence}\0{version}\0{cause}\0{build}\0"
    checksum = zlib.crc32(event.encode(), zlib.crc32(head.encode()))
    connection.execute(
        "UPDATE events SET event = ?, version = ?, checksum = ? WHERE seq = ?", (event, version, checksum, seq)
    )
    connection.close()


async def test_f91_rows_of_an_older_version_are_read_as_todays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with sqlite(tmp_path) as store:
        lease = await begin(store)
        await store.append("x1", 1, lease, numbered("x1", lease, 1, notes(2)))
    older = json.dumps({"kind": "noted", "words": "it is half open"})
    rewrite(tmp_path / "threadwright.db", 2, older, SCHEMA - 1)
    monkeypatch.setitem(
        UPCASTERS, SCHEMA - 1, lambda raw: {("text" if key == "words" else key): raw[key] for key in raw}
    )
    async with sqlite(tmp_path) as store:
        log = await log_of(store, "x1")
        assert log[1].event == Noted(text="it is half open")
        assert log[1].schema_version == SCHEMA, "so it is never taken for an old one again"
        lease = await store.acquire("thread", "me")
        assert lease is not None
        await store.append("x1", 3, lease, numbered("x1", lease, 3, notes(1)))
        assert len(await log_of(store, "x1")) == 4


@pytest.mark.parametrize(
    ("event", "version"),
    [
        ({"kind": "of_a_later_version"}, SCHEMA),
        ({"kind": "noted", "text": "a"}, SCHEMA + 1),
        ({"kind": "finished", "reason": "of_a_later_version", "answer": ""}, SCHEMA),
    ],
)
async def test_f91_what_only_a_newer_version_knows_is_refused_and_left_alone(
    tmp_path: Path, event: dict[str, str], version: int
) -> None:
    async with sqlite(tmp_path) as store:
        lease = await begin(store)
        await store.append("x1", 1, lease, numbered("x1", lease, 1, notes(1)))
    path = tmp_path / "threadwright.db"
    rewrite(path, 2, json.dumps(event), version)
    async with sqlite(tmp_path) as store:
        with pytest.raises(
            StoreTooNew, match=r"event x1/2 was written by a newer Threadwright .+: update Threadwright"
        ):
            await log_of(store, "x1")
    kept = apsw.Connection(str(path)).execute("SELECT event FROM events WHERE seq = 2").get
    assert json.loads(str(kept)) == event


async def test_f91_a_process_left_running_over_an_update_takes_nothing_up(tmp_path: Path) -> None:
    """Two processes on one store: the older one goes on until the newer writes what it would misread."""

    def misread(event: Event) -> bool:
        return isinstance(event, Noted)

    path = tmp_path / "threadwright.db"
    newer = SQLiteStore.open(path, reading=ReaderVersion(READER + 1, ((READER + 1, misread),)))
    older = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.integration.stores.reading_process", str(path), cwd=ROOT,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        async with asyncio.timeout(60):
            assert await said(older) == "ready"
            assert await said(older, "first") == "taken"
            lease = await begin(newer)
            assert await said(older, "second") == "taken"
            await newer.append("x1", 1, lease, numbered("x1", lease, 1, notes(1)))
            assert "stop this process and update it" in await said(older, "third")
            assert "stop this process and update it" in await said(older, "first"), "nor what it had before"
            assert await newer.acquire("third", "newer") is not None
            assert older.stdin is not None
            older.stdin.close()
            assert await older.wait() == 0
    finally:
        if older.returncode is None:
            older.kill()
            await older.wait()
        await newer.close()


async def said(process: asyncio.subprocess.Process, thread: str = "") -> str:
    assert process.stdin is not None
    assert process.stdout is not None
    if thread:
        process.stdin.write(f"{thread}\n".encode())
    return (await process.stdout.readline()).decode().strip()


@pytest.mark.parametrize("release", RELEASES, ids=lambda path: path.name)
def test_f91_the_logs_of_each_release_are_read_and_hold(release: Path) -> None:
    assert broken_promises(envelopes(release / "log.jsonl"), envelopes(release / "outcome.jsonl")) == ()
    logs = [envelopes(path) for path in runs(release)]
    assert logs
    assert [broken_promises(log) for log in logs] == [()] * len(logs)
    assert all(fold(log).finished is not None for log in logs)
