"""The bot on a local AWS, as a newcomer tries it: it answers, goes on after a kill, and what is stored reads as promised."""

from __future__ import annotations

import asyncio
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from agentic.stores.aws.place import Place
from agentic.text.word_query import WordQuery
from bot.cli.costs import CostsArguments, costs
from bot.cli.equipment.skills_command import SkillsArguments, skills
from bot.cli.replay.replay import newest, replay
from bot.cli.word_search import search
from bot.config.settings import read_settings
from deploy.aws_local.resources import client, environment
from tests.e2e.living import living

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")

MONTH = 30 * 24 * 3600


def records(place: Place, thread: str) -> list[dict[str, Any]]:
    """``aws dynamodb query --key-condition-expression "pk = :thread"``: what is stored of a thread."""
    answer = client("dynamodb", place.endpoint).query(
        TableName=place.table,
        KeyConditionExpression="pk = :thread",
        ExpressionAttributeValues={":thread": {"S": thread}},
    )
    return answer["Items"]


def files(place: Place, thread: str) -> list[str]:
    """``aws s3 ls s3://BUCKET/threads/THREAD/ --recursive``: the names of what lies there."""
    found = client("s3", place.endpoint).list_objects_v2(Bucket=place.bucket, Prefix=f"threads/{thread}/")
    return [each["Key"] for each in found.get("Contents", [])]


def works(request: CapturedRequest) -> Reply:
    """Writes a file, runs a command that the kill cuts off, and after that says that it is done."""
    if len(request.answers) == 0:
        return Reply(calls=(("write", {"path": "notes.md", "content": "one\n"}),))
    if len(request.answers) == 1:
        return Reply(calls=(("shell", {"command": "echo once >> runs.txt; sleep 120"}),))
    return Reply(calls=(("finish", {"answer": "It is done.", "files": ["notes.md"]}),))


async def test_a_killed_process_goes_on_and_what_is_stored_reads_as_promised(
    aws_place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = dict(environment(aws_place))
    (tmp_path / "accounts").mkdir()
    (tmp_path / "accounts" / "7@github.com.json").write_text("{}")
    elsewhere = {**settings, "THREADWRIGHT_HOME": str(tmp_path / "another machine")}
    for name, value in elsewhere.items():
        monkeypatch.setenv(name, value)
    async with asyncio.timeout(120), ScriptedEndpoint.start(works) as endpoint:
        async with living(tmp_path, endpoint, **settings) as bot:
            rules = tmp_path / "another machine" / "rules"
            rules.mkdir(parents=True)
            (rules / "metric.md").write_text("---\nname: metric\n---\nLengths are told in furlongs.\n")
            assert await skills(read_settings(), SkillsArguments()) == 0
            thread = await bot.person.mention("count")
            while not (bot.workspace(thread) / "runs.txt").exists():
                await asyncio.sleep(0.02)
            assert "told in furlongs" in str(endpoint.requests[0].body), "a task has what another machine has"
            await bot.running.kill()
        async with living(tmp_path, endpoint, **settings) as bot:
            await bot.person.sees(thread, r"interrupted and am continuing from turn 2")
            await bot.person.sees(thread, r"It is done\.")
            assert (bot.workspace(thread) / "runs.txt").read_text() == "once\n", "the command ran once"
            assert await bot.running.end() == 0
            assert "Traceback" not in bot.running.output
    assert [each["path"]["S"] for each in records(aws_place, "HOME") if "path" in each].count("rules/metric.md") == 1
    assert not list(tmp_path.glob("*.sqlite")), "nothing of it lies here"
    stored = records(aws_place, thread)
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
    names = [name.removeprefix(f"threads/{thread}/") for name in files(aws_place, thread)]
    assert {"workspace.json", "files/notes.md", "files/runs.txt"} <= set(names)
    assert any(name.startswith("checkpoints/") for name in names)

    for name, value in {**settings, "THREADWRIGHT_HOME": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    read = read_settings()  # commands of another process find it too
    execution = told[0]["execution"]["S"]
    assert await newest(read) == await replay(read, execution, deciding_again=True) == 0
    assert await search(read, WordQuery.of("runs.txt")) == await costs(read, CostsArguments()) == 0
    assert not (tmp_path / "another machine" / "accounts").exists(), "a command brings no tokens that it does not need"
    said = capsys.readouterr().out
    assert f"{execution}  " in said
    assert "The log is sound" in said
