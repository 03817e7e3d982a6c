"""A gateway and a worker that share no disk, on a local AWS: files, a kill, and what is stored reads as promised."""

from __future__ import annotations

import asyncio
import re
import time
from pathlib import Path
from typing import Any

import pytest

from agentic.aws.aws_place import AwsPlace
from agentic.core.events.execution_events import CheckpointSaved
from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from agentic.stores.factory import open_store
from agentic.text.word_query import WordQuery
from bot.cli.costs import CostsArguments, costs
from bot.cli.equipment.skills_command import SkillsArguments, skills
from bot.cli.replay.replay import newest, replay
from bot.cli.word_search import search
from bot.config.settings import read_settings
from deploy.aws_local.resources import client, environment
from tests.e2e.several import Several, several
from tests.waiting import eventually

MONTH = 30 * 24 * 3600


def records(place: AwsPlace, thread: str) -> list[dict[str, Any]]:
    """``aws dynamodb query --key-condition-expression "pk = :thread"``: what is stored of a thread."""
    answer = client("dynamodb", place.endpoint).query(
        TableName=place.table,
        KeyConditionExpression="pk = :thread",
        ExpressionAttributeValues={":thread": {"S": thread}},
    )
    return answer["Items"]


def files(place: AwsPlace, thread: str) -> list[str]:
    """``aws s3 ls s3://BUCKET/threads/THREAD/ --recursive``: the names of what lies there."""
    found = client("s3", place.endpoint).list_objects_v2(Bucket=place.bucket, Prefix=f"threads/{thread}/")
    return [each["Key"] for each in found.get("Contents", [])]


def works(request: CapturedRequest) -> Reply:
    """Writes a file, runs a command that the kill cuts off, and after that says that it is done."""
    if "hello" in request.text():
        return Reply(calls=(("finish", {"answer": "It is done."}),))
    if len(request.answers) == 0:
        return Reply(calls=(("write", {"path": "notes.md", "content": "one\n"}),))
    if len(request.answers) == 1:
        return Reply(calls=(("shell", {"command": "echo once >> runs.txt; sleep 120"}),))
    return Reply(calls=(("finish", {"answer": "It is done.", "files": ["notes.md"]}),))


async def outcome(them: Several, thread: int) -> None:
    """Wait until the files are saved as the thread's task left them."""
    (row,) = await them.store.executions(str(thread))

    async def saved() -> bool:
        return any(isinstance(one.event, CheckpointSaved) for one in await them.store.read_outcome(row.execution))

    await eventually(saved)


async def test_a_gateway_shows_files_of_another_machine_whose_worker_is_killed_and_what_is_stored_reads_as_promised(
    aws_place: AwsPlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = dict(environment(aws_place))
    (tmp_path / "gateway 0" / "accounts").mkdir(parents=True)
    (tmp_path / "gateway 0" / "accounts" / "7@github.com.json").write_text("{}")
    rules = tmp_path / "another machine" / "rules"
    rules.mkdir(parents=True)
    (rules / "metric.md").write_text("---\nname: metric\n---\nLengths are told in furlongs.\n")
    for name, value in {**settings, "THREADWRIGHT_HOME": str(rules.parent)}.items():
        monkeypatch.setenv(name, value)
    elsewhere = read_settings()
    async with (
        asyncio.timeout(170),
        ScriptedEndpoint.start(works) as endpoint,
        several(tmp_path, endpoint, workers=1, elsewhere=open_store(aws_place), **settings) as them,
    ):
        assert await skills(elsewhere, SkillsArguments()) == 0
        thread = await them.mention("count", [("data.csv", b"1,2\n")])
        runs = tmp_path / "worker 0" / "workspaces" / str(thread) / "runs.txt"
        await them.until(runs.exists, "the command runs")
        assert "told in furlongs" in str(endpoint.requests[0].body), "a task has what another machine has"
        early = await them.slash(thread, "workspace list")
        assert "attachments/data.csv" in early, "what was sent to the gateway is where the work is done"
        assert "notes.md" not in early
        assert re.search(r"As saved in turn 1, before the first change, <t:\d+:R>\. A task is running here", early)
        await them.running["worker 0"].kill()
        await them.start("worker", "worker 0")
        await them.says(thread, r"interrupted and am continuing from turn 2")
        said = await them.says(thread, r"It is done\.")
        assert runs.read_text() == "once\n", "the command ran once"

        await outcome(them, thread)
        names = [name.removeprefix(f"threads/{thread}/") for name in files(aws_place, str(thread))]
        assert {"workspace.json", "files/notes.md", "files/runs.txt"} <= set(names)
        assert any(name.startswith("checkpoints/") for name in names)
        late = await them.slash(thread, "workspace list")
        assert "3 files" in late
        assert "As saved" not in late, "nothing is newer"
        got = await them.answer(thread, "workspace get", path="runs.txt")
        assert them.guild.file(got.attachments[0].id) == b"once\n"
        await them.guild.click(said.id, next(id for id in said.custom_ids() if "undo" in id))
        await them.says(thread, r"Undone: removed 2 files")
        undone = await them.slash(thread, "workspace list")
        assert ("notes.md" in undone, "data.csv" in undone, "As saved" in undone) == (False, True, False)
        await them.slash(thread, "fork")
        forked = re.search(r"<#(\d+)>", (await them.says(thread, r"Forked as it was")).content)
        assert forked is not None
        assert "notes.md" in await them.slash(int(forked[1]), "workspace list")

        gateway, worker = them.running["gateway 0"], them.running["worker 0"]
        assert not list((tmp_path / "gateway 0").glob("workspaces/*")), "nothing of it was brought to the gateway"
        assert not list((tmp_path / "gateway 0").glob("checkpoints/*"))
        assert await gateway.end() == 0
        alone = await them.start("run", ready=False)
        assert await alone.ended() == 1
        assert re.search(r"or `threadwright worker` \(.+\) works on the same table", alone.output)
        assert await worker.end() == 0
        await them.start("run")  # alone it does the same, from a home where nothing is yet
        assert "data.csv" in await them.slash(thread, "workspace list")
        await them.says(await them.mention("hello"), r"It is done\.")
        assert "Traceback" not in them.output
    assert not list(tmp_path.glob("*/*.sqlite")), "nothing of it lies here"
    stored = records(aws_place, str(thread))
    told = [item for item in stored if item["sk"]["S"].startswith("TURN#")]
    assert [(item["sk"]["S"][:10], item["what"]["S"]) for item in told] == [
        ("TURN#0000#", "started"), ("TURN#0001#", "turn"), ("TURN#0002#", "turn"), ("TURN#0003#", "turn"),
        ("TURN#0003#", "finished"),
    ]  # fmt: skip
    assert [[tool["M"]["outcome"]["S"] for tool in item["tools"]["L"]] for item in told[1:4]] == [
        ["ok"], ["unknown"], ["ok"],
    ]  # fmt: skip
    assert all(abs(int(item["ttl"]["N"]) - time.time() - MONTH) < 600 for item in told)
    assert {item["sk"]["S"] for item in stored if "ttl" in item} == {item["sk"]["S"] for item in told}, (
        "nothing else expires"
    )

    assert [each["path"]["S"] for each in records(aws_place, "HOME") if "path" in each].count("rules/metric.md") == 1
    # Commands of another process find it too.
    execution = told[0]["execution"]["S"]
    assert await newest(elsewhere) == await replay(elsewhere, execution, deciding_again=True) == 0
    assert await search(elsewhere, WordQuery.of("runs.txt")) == await costs(elsewhere, CostsArguments()) == 0
    assert not (tmp_path / "another machine" / "accounts").exists(), "a command brings no tokens that it does not need"
    said = capsys.readouterr().out
    assert f"{execution}  " in said
    assert "The log is sound" in said
