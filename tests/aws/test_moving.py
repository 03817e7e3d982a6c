"""Executions from a file to AWS and back: row by row as they were stored, checksums and all."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest

from agentic.aws.aws_place import AwsPlace
from agentic.core.events.execution_events import FeedbackGiven, ToolFinished
from agentic.ports.stores import ScheduleRow, SessionRow, Store
from agentic.stores.checks import blob_ref
from agentic.stores.factory import open_store
from bot.cli.backup.export_run import ExportSelection, export, export_all
from bot.cli.backup.import_run import bring_back
from bot.config.settings import Settings
from tests.aws.wire_faults import WireFaults
from tests.integration.bot.test_export import BUILD, fill
from tests.integration.stores.samples import ANNA, NOW, begin, envelopes, extend, finish, log_of, notes, started, take
from tests.integration.stores.test_retention import BEFORE, placed

T = TypeVar("T")
LARGE = b"a large output " * 100_000
HERE = "3 tasks are here"


def on_aws(place: AwsPlace, home: Path) -> Settings:
    names = {
        "DYNAMODB_EXECUTIONS_TABLE": place.table, "S3_ARTIFACT_BUCKET": place.bucket, "AWS_REGION": place.region,
        "AWS_ENDPOINT_URL": place.endpoint,
    }  # fmt: skip
    return Settings.model_validate({"home": home, "store": "aws", **names})


def asked(where: Path | AwsPlace, work: Callable[[Store], Awaitable[T]]) -> T:
    """What a store says."""

    async def ask() -> T:
        store = open_store(where)
        try:
            return await work(store)
        finally:
            await store.close()

    return asyncio.run(ask())


async def longer(store: Store) -> None:
    """An execution of another thread that is more than a transaction holds."""
    lease = await begin(store, "x3", await take(store, "long"))
    content = ToolFinished(call="c", outcome="ok", preview="", output=blob_ref(LARGE))
    await store.put_blob(LARGE)
    await extend(store, "x3", lease, 1, [*notes(300, 1_500), content])
    await finish(store, "x3", lease, 302)
    await store.release(lease)


def lines(file: Path, *, but: frozenset[str] = frozenset({"head", "end"})) -> list[dict[str, object]]:
    """What an export says, but for when and by whom it was made."""
    return [told for line in file.read_text().splitlines() if (told := json.loads(line))["line"] not in but]


def moved(settings: Settings, thread: str, file: Path) -> list[dict[str, object]]:
    assert export(settings, ExportSelection(thread=thread), file, BUILD) == 0
    return lines(file)


def test_executions_go_to_aws_and_back_word_for_word(
    aws_place: AwsPlace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home, there, back = (tmp_path / name for name in ("home", "there", "back"))
    database = home / "threadwright.sqlite"
    asyncio.run(fill(home))
    asked(database, longer)
    aws = on_aws(aws_place, there)
    for thread, open_ones in (("thread", {"x2"}), ("long", set[str]())):
        first = moved(Settings(home=home), thread, tmp_path / f"{thread}.1")
        assert bring_back(aws, tmp_path / f"{thread}.1", None) == 0
        second = moved(aws, thread, tmp_path / f"{thread}.2")
        assert bring_back(Settings(home=back), tmp_path / f"{thread}.2", None) == 0
        third = moved(Settings(home=back), thread, tmp_path / f"{thread}.3")
        assert len(second) == len(first)
        for before, after in zip(first, second, strict=True):
            ended = {"finished": "imported"} if before["line"] == "execution" and before["name"] in open_ones else {}
            assert after == {**before, **ended}, "a task that was open is not gone on with elsewhere"
        assert third == second
        capsys.readouterr()
        assert bring_back(aws, tmp_path / f"{thread}.1", None) == 0
        assert "already here; nothing was changed" in capsys.readouterr().out

    for name in ("x1", "x2", "x3"):
        log = asked(database, lambda store, name=name: log_of(store, name))
        assert asked(aws_place, lambda store, name=name: log_of(store, name)) == log
    assert asked(aws_place, lambda store: store.get_blob(blob_ref(LARGE).sha)) == LARGE
    label = asked(back / "threadwright.sqlite", lambda store: store.labels())
    assert asked(aws_place, lambda store: store.labels()) == label
    assert [row.execution for row in label] == ["x1", "x3"]
    fence = max(each.fence for each in asked(database, lambda store: log_of(store, "x2")))
    assert asked(aws_place, take).fence > fence, "whoever writes next is newer than all that wrote there"
    assert asked(aws_place, lambda store: store.open_executions()) == []
    assert asked(aws_place, lambda store: store.session("thread")) is not None


def test_an_outcome_that_grew_is_completed_and_another_execution_of_the_name_is_left(
    aws_place: AwsPlace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home, aws = tmp_path / "home", on_aws(aws_place, tmp_path / "there")
    database = home / "threadwright.sqlite"
    asyncio.run(fill(home))
    moved(Settings(home=home), "thread", tmp_path / "1")
    assert bring_back(aws, tmp_path / "1", None) == 0
    vote = envelopes("x1", asked(database, take), 0, [FeedbackGiven(by=ANNA, vote="up")])
    asked(database, lambda store: store.append_outcome("x1", vote))
    moved(Settings(home=home), "thread", tmp_path / "2")
    assert bring_back(aws, tmp_path / "2", None) == 0
    assert len(asked(aws_place, lambda store: store.read_outcome("x1"))) == 2

    async def other(store: Store) -> None:
        await begin(store)

    asked(tmp_path / "other" / "threadwright.sqlite", other)
    moved(Settings(home=tmp_path / "other"), "thread", tmp_path / "3")
    capsys.readouterr()
    assert bring_back(aws, tmp_path / "3", None) == 1
    assert "it is another one; it was left as it is" in capsys.readouterr().err


def test_what_was_imported_counts_from_then_and_comes_again_once_it_was_cleared(
    aws_place: AwsPlace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home, aws = tmp_path / "home", on_aws(aws_place, tmp_path / "there")

    async def old(store: Store) -> None:
        lease = await take(store)
        await store.put_blob(b"named")
        named = ToolFinished(call="c", outcome="ok", preview="", output=blob_ref(b"named"))
        await begin(store, "x0", lease)
        await finish(store, "x0", lease, 1)
        log = placed("x1", lease, [started(), named])
        await store.append("x1", 0, lease, log)
        await finish(store, "x1", lease, 2)

    asked(home / "threadwright.sqlite", old)
    assert export(Settings(home=home), ExportSelection("x1"), tmp_path / "1", BUILD) == 0
    assert bring_back(aws, tmp_path / "1", None) == 0
    assert asked(aws_place, lambda store: store.expire(BEFORE)) == 0
    assert asked(aws_place, lambda store: store.bury(["x1"])) == 1
    capsys.readouterr()
    assert bring_back(aws, tmp_path / "1", None) == 1
    assert "is being deleted here: start the bot once" in capsys.readouterr().err

    async def cleared(store: Store) -> None:
        while await store.clear("thread"):
            pass

    asked(aws_place, cleared)
    assert bring_back(aws, tmp_path / "1", None) == 0

    async def swept(store: Store) -> bytes | None:
        while await store.sweep_blobs():
            pass
        return await store.get_blob(blob_ref(b"named").sha)

    assert asked(aws_place, swept) == b"named"
    assert len(asked(aws_place, lambda store: log_of(store, "x1"))) == 3
    assert asked(aws_place, lambda store: store.was_buried("x1")) is None
    assert NOW > BEFORE


def test_everything_moves_to_aws_and_back_a_file_a_thread(
    aws_place: AwsPlace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home, back = tmp_path / "home", tmp_path / "back"
    aws, row = on_aws(aws_place, tmp_path / "there"), ScheduleRow("s1", "g", "7", "thread", NOW, "{}", 1)
    asyncio.run(fill(home))

    async def more(store: Store) -> None:
        await longer(store)
        await store.set_fact("preference.guild.g", "a value")
        await store.put_schedule(replace(row, revision=0))
        await store.save_session(SessionRow("quiet", "c", "g", "nothing was done here", NOW, NOW))

    asked(home / "threadwright.sqlite", more)
    folders = [tmp_path / name for name in ("1", "2", "3")]
    assert export_all(Settings(home=home), folders[0], files=True, build=BUILD) == 0
    assert "messages that are not sent yet" in capsys.readouterr().err
    assert bring_back(aws, folders[0], None) == 0
    assert "thread.jsonl: its checkpoints were left out" in capsys.readouterr().err
    assert not list(aws.home.rglob("*.pack")), "no disk beside the bucket"
    assert export_all(aws, tmp_path / "no", files=True, build=BUILD) == 1
    assert export(aws, ExportSelection("x1", files=True), tmp_path / "no", BUILD) == 1
    assert capsys.readouterr().err.count("Leave --files out") == 2
    assert not (tmp_path / "no").exists()
    assert export_all(aws, folders[1], files=False, build=BUILD) == 0
    assert bring_back(Settings(home=back), folders[1], None) == 0
    assert export_all(Settings(home=back), folders[2], files=False, build=BUILD) == 0
    names = {"_.jsonl", "thread.jsonl", "long.jsonl", "quiet.jsonl"}
    assert [{path.name for path in folder.iterdir()} for folder in folders] == [names] * 3
    for name in names - {"_.jsonl"}:
        one, two, three = (
            lines(folder / name, but=frozenset({"head", "end", "execution", "part", "file"})) for folder in folders
        )
        assert one == two == three
    for where in (aws_place, back / "threadwright.sqlite"):
        assert asked(where, lambda store: store.fact("preference.guild.g")) == "a value"
        assert asked(where, lambda store: store.schedules()) == [row]
        quiet = asked(where, lambda store: store.session("quiet"))
        assert quiet is not None
        assert quiet.title == "nothing was done here"
    assert capsys.readouterr().out.splitlines()[-1].startswith(HERE)
    assert export_all(aws, folders[1], files=False, build=BUILD) == 1
    assert "nothing is overwritten" in capsys.readouterr().err
    (folders[0] / "long.jsonl").write_bytes((folders[0] / "long.jsonl").read_bytes()[:-40])
    assert bring_back(Settings(home=tmp_path / "again"), folders[0], None) == 1
    assert "long.jsonl was not imported" in capsys.readouterr().err
    assert asked(tmp_path / "again" / "threadwright.sqlite", lambda store: store.execution("x1")) is not None
    assert bring_back(aws, tmp_path / "there", None) == 1


async def test_who_moves_everything_needs_a_right_that_the_bot_does_not(
    aws_place: AwsPlace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with WireFaults(aws_place.endpoint) as wire:
        wire.break_next("dynamodb.Scan", "denied")
        settings = on_aws(replace(aws_place, endpoint=wire.address), tmp_path)
        assert await asyncio.to_thread(export_all, settings, tmp_path / "all", files=False, build=BUILD) == 1
    assert f"allow dynamodb:Scan on table {aws_place.table}" in capsys.readouterr().err
