"""Single executions: out as they are stored, and in elsewhere to be read; never gone on with there by surprise."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import apsw
import pytest

from agentic.core.events.execution_events import (
    CheckpointSaved,
    Event,
    FeedbackGiven,
    ToolFinished,
    ToolStarted,
)
from agentic.ports.runtime import SessionRow
from agentic.stores.sqlite.store import SQLiteStore
from agentic.workspace.snapshots.snapshot_store import Snapshots
from bot.after_run.calibration_labels import label
from bot.cli.backup.export_run import ExportSelection, export
from bot.cli.backup.import_run import bring_back
from bot.cli.replay.replay import replay
from bot.config.settings import Settings
from tests.integration.stores.samples import ANNA, begin, envelopes, finish, log_of, notes

BUILD = "0.1.0"
OUTPUT = b"a long output " * 5_000


def settings(home: Path) -> Settings:
    return Settings(home=home)


async def fill(home: Path) -> None:
    """Two executions of a thread: x1 has ended, x2 is open; a checkpoint, an output, an outcome."""
    store = SQLiteStore.open(home / "threadwright.sqlite")
    work = home / "workspaces" / "thread"
    work.mkdir(parents=True)
    (work / "a.txt").write_text("as it was")
    saved = await Snapshots(home / "checkpoints").save("thread", work)
    await store.save_session(SessionRow("thread", "c", "g", "The title"))
    lease = await begin(store)
    output = await store.put_blob(OUTPUT)
    call = ToolStarted(call="c1", provider_id="p", tool="shell", effect="unkeyed", arguments={}, args_sha="0")
    done = ToolFinished(call="c1", outcome="ok", preview="a long …", output=output)
    events = [CheckpointSaved(manifest=saved.manifest, through_seq=1), call, done]
    await store.append("x1", 1, lease, envelopes("x1", lease, 1, events))
    await finish(store, "x1", lease, 4)
    await store.append_outcome("x1", envelopes("x1", lease, 0, notes(1)))
    await begin(store, "x2", lease)
    await store.append("x2", 1, lease, envelopes("x2", lease, 1, notes(3)))
    await store.close()


async def test_an_execution_is_read_elsewhere_word_for_word(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home, there, file = tmp_path / "home", tmp_path / "there", tmp_path / "thread.jsonl"
    await fill(home)
    assert export(settings(home), ExportSelection("x1"), None, BUILD) == 0
    lines = capsys.readouterr().out.splitlines()
    connection = apsw.Connection(str(home / "threadwright.sqlite"))
    rows = connection.execute("SELECT seq, checksum, event FROM events WHERE execution = 1 ORDER BY seq").fetchall()
    connection.close()
    told = [json.loads(line) for line in lines]
    assert [(e["seq"], e["checksum"], e["event"]) for e in told if e["line"] == "event"] == rows, "verbatim"
    assert export(settings(home), ExportSelection(thread="thread", files=True), file, BUILD) == 0
    assert export(settings(home), ExportSelection("x1"), file, BUILD) == 1
    assert "nothing is overwritten" in capsys.readouterr().err
    assert export(settings(home), ExportSelection("x1"), tmp_path / "no" / "x.jsonl", BUILD) == 1
    assert capsys.readouterr().err == f"There is no folder {tmp_path / 'no'}. Make it first, or name another one.\n"
    cut = tmp_path / "cut.jsonl"
    cut.write_bytes(file.read_bytes()[:-50])
    assert bring_back(settings(there), cut, None) == 1
    assert "is incomplete: its end is missing" in capsys.readouterr().err
    code = await replay(settings(home), "x1")
    story = capsys.readouterr().out

    assert bring_back(settings(there), file, None) == 0
    said = capsys.readouterr().out
    assert said.startswith("2 tasks are here: threadwright replay x1, for example.")
    assert await replay(settings(there), "x1") == code
    assert capsys.readouterr().out == story.replace(str(home), str(there))
    snapshots = Snapshots(there / "checkpoints")
    (manifest,) = await snapshots.listed("thread")
    assert await snapshots.content("thread", manifest, "a.txt") == b"as it was"
    store = SQLiteStore.open(there / "threadwright.sqlite")
    assert await store.open_executions() == [], "nothing is taken up by surprise"
    assert [(row.execution, row.finished) for row in await store.newest_executions(1_000)] == [
        ("x1", "done"),
        ("x2", "imported"),
    ]
    output = next(e.event.output for e in await log_of(store, "x1") if isinstance(e.event, ToolFinished))
    assert output is not None
    assert await store.get_blob(output.sha) == OUTPUT
    assert [row.title for row in await store.recent_sessions(1_000)] == ["The title"]
    lease = await store.acquire("thread", "me")
    assert lease is not None
    assert lease.fence == 2, "newer than all who wrote what came in"
    await store.close()

    before = {path.name for path in there.iterdir()}
    assert bring_back(settings(there), file, None) == 0
    assert "nothing was changed" in capsys.readouterr().out
    assert {path.name for path in there.iterdir()} == before


async def test_how_it_came_out_is_known_where_it_was_imported_and_follows_what_people_say_later(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home, there = tmp_path / "home", tmp_path / "there"
    await fill(home)
    opinions: list[Event] = [FeedbackGiven(by=ANNA, vote="down", target="x1/result")]
    opinions.append(FeedbackGiven(by=ANNA, vote="up", target="x1/result"))
    for number, (vote, right) in enumerate(zip(opinions, (False, True), strict=True)):
        file = tmp_path / f"{number}.jsonl"
        store = SQLiteStore.open(home / "threadwright.sqlite")
        lease = await store.acquire("thread", "me")
        assert lease is not None
        await store.append_outcome("x1", envelopes("x1", lease, 1 + number, [vote]))
        kept = await label(store, "x1")
        assert kept is not None
        assert (kept.label, kept.source, kept.guild) == (right, "person", "g")
        await store.close()
        assert export(settings(home), ExportSelection(thread="thread"), file, BUILD) == 0
        assert bring_back(settings(there), file, None) == 0
        store = SQLiteStore.open(there / "threadwright.sqlite")
        assert await store.labels() == [kept], "of x2, which was open, nobody can know it"
        await store.close()
    assert bring_back(settings(there), tmp_path / "0.jsonl", None) == 0
    assert "nothing was changed" in capsys.readouterr().out
    store = SQLiteStore.open(there / "threadwright.sqlite")
    assert [each.up for each in await store.labels()] == [1], "an older export takes nothing back"
    await store.close()


async def test_what_is_another_execution_of_the_same_name_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home, there, file = tmp_path / "home", tmp_path / "there", tmp_path / "x.jsonl"
    await fill(home)
    assert export(settings(home), ExportSelection("x1"), file, BUILD) == 0
    store = SQLiteStore.open(there / "threadwright.sqlite")
    lease = await begin(store)
    await store.append("x1", 1, lease, envelopes("x1", lease, 1, notes(2)))
    before = await log_of(store, "x1")
    await store.close()
    assert bring_back(settings(there), file, None) == 1
    assert "it is another one" in capsys.readouterr().err
    store = SQLiteStore.open(there / "threadwright.sqlite")
    assert await log_of(store, "x1") == before
    await store.close()
    assert export(settings(home), ExportSelection("nothing"), None, BUILD) == 1
    assert "There is no task 'nothing'" in capsys.readouterr().err


async def test_f83_a_damaged_export_is_refused_and_a_damaged_log_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home, there, file = tmp_path / "home", tmp_path / "there", tmp_path / "x.jsonl"
    await fill(home)
    assert export(settings(home), ExportSelection("x1", files=True), file, BUILD) == 0
    good = file.read_text()
    lines = good.splitlines(keepends=True)
    for damaged in (
        good[:-10],
        "".join(lines[:-1]),
        good.replace("x1", "x9"),
        "".join(lines[:3] + lines[4:]),
        "".join([lines[0].replace('"format": 1', '"format": 2'), *lines[1:]]),
        "hello",
        "[]",
        "",
    ):
        file.write_text(damaged)
        assert bring_back(settings(there), file, None) == 1
        assert "Nothing was imported" in capsys.readouterr().err
        assert [path.name for path in there.iterdir()] == ["run.lock"]
    connection = apsw.Connection(str(home / "threadwright.sqlite"))
    connection.execute("UPDATE events SET event = replace(event, '1:', '2:') WHERE execution = 2 AND seq = 3")
    connection.close()
    assert export(settings(home), ExportSelection("x2"), tmp_path / "x2.jsonl", BUILD) == 1
    assert "event x2/3 does not match its checksum" in capsys.readouterr().err
    assert bring_back(settings(there), tmp_path / "x2.jsonl", None) == 1
    assert "x2/3" in capsys.readouterr().err
    assert [path.name for path in there.iterdir()] == ["run.lock"]


async def test_a_reader_that_ends_early_is_told_apart_from_a_folder_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    await fill(tmp_path)
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w", encoding="utf-8") as out:
        monkeypatch.setattr(sys, "stdout", out)
        with pytest.raises(BrokenPipeError):  # main ends quietly then, with a code of its own
            export(settings(tmp_path), ExportSelection("x1"), None, BUILD)
        os.dup2(os.open(os.devnull, os.O_WRONLY), writer)
        monkeypatch.undo()
    assert capsys.readouterr().err == ""
