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
    """Runs a command that the kill cuts off, and after that says that it is done."""
    if len(request.answers) == 0:
        return Reply(calls=(("write", {"path": "notes.md", "content": "one\n"}),))
    if len(request.answers) == 1:
        return Reply(calls=(("shell", {"command": "echo once >> runs.txt; sleep 120"}),))
    return Reply(calls=(("finish", {"answer": "It is done.", "files": ["notes.md"]}),))


async def test_a_mention_is_answered_and_a_killed_process_goes_on(aws_place: Place, tmp_path: Path) -> None:
    settings = dict(environment(aws_place))
    async with asyncio.timeout(120), ScriptedEndpoint.start(works) as endpoint:
        async with living(tmp_path, endpoint, **settings) as bot:
            thread = await bot.person.mention("count")
            while not (bot.workspace(thread) / "runs.txt").exists():
                await asyncio.sleep(0.02)
            await bot.running.kill()
        async with living(tmp_path, endpoint, **settings) as bot:
            await bot.person.sees(thread, r"It is done\.")
            assert (bot.workspace(thread) / "runs.txt").read_text() == "once\n", "the command ran once"
            await bot.person.say(thread, "and again?")
            await bot.person.sees(thread, r"It is done\.", after=5)
            assert await bot.running.end() == 0
    assert not (tmp_path / "threadwright.sqlite").exists()
    stored = records(aws_place, thread)
    sorts = [item["sk"]["S"].partition("#")[0] for item in stored]
    print(sorted(set(sorts)), files(aws_place, thread))
    turns = [item for item in stored if item["sk"]["S"].startswith("TURN#")]
    assert [item["sk"]["S"][:10] for item in turns][:3] == ["TURN#0001#", "TURN#0001#", "TURN#0002#"]
    assert all(
        0 < int(item["ttl"]["N"]) - time.time() - MONTH < 3600 or int(item["ttl"]["N"]) > time.time() for item in turns
    )
    assert [item["sk"]["S"] for item in stored if "ttl" in item and item not in turns] == [], "nothing live expires"
