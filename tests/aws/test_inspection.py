"""What is looked at before anything is kept on AWS: each mistake is one line that says what to do."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest

from agentic.aws.aws_place import AwsPlace
from agentic.stores.aws.aws_inspection import inspect
from agentic.stores.aws.layout import definition
from agentic.stores.factory import inspect_store, open_store
from bot.cli.doctor import stores
from bot.cli.run import run
from bot.config.settings import Settings
from deploy.aws_local.resources import client
from tests.aws.wire_faults import WireFaults


async def told(place: AwsPlace, **how: Any) -> dict[str, str]:
    """What is said of each part, after its verdict."""
    return {each.part: f"{each.verdict}: {each.said}" for each in await inspect(place, **how)}


async def test_everything_as_it_was_made_is_good(aws_place: AwsPlace) -> None:
    found = await inspect_store(aws_place)
    assert [(each.part, each.verdict) for each in found] == [
        ("table", "ok"), ("bucket", "ok"), ("queue", "ok"), ("events", "ok"),
    ]  # fmt: skip
    assert client("dynamodb", aws_place.endpoint).scan(TableName=aws_place.table)["Count"] == 0
    assert client("s3", aws_place.endpoint).list_objects_v2(Bucket=aws_place.bucket)["KeyCount"] == 0


async def test_what_is_missing_is_named_with_what_to_set(aws_place: AwsPlace) -> None:
    gone = replace(
        aws_place,
        table="not-there",
        bucket="not-there",
        queue=f"{aws_place.queue}-not",
        events=f"{aws_place.events}-not",
    )
    said = await told(gone)
    assert {part: re.findall(r"there is no|[A-Z_0-9]{8,}", words) for part, words in said.items()} == {
        "table": ["there is no", "DYNAMODB_EXECUTIONS_TABLE", "AWS_REGION"],
        "bucket": ["there is no", "S3_ARTIFACT_BUCKET", "AWS_REGION"],
        "queue": ["there is no", "AGENTIC_DOORBELL_QUEUE_URL", "AWS_REGION"],
        "events": ["there is no", "AGENTIC_EVENTS_QUEUE_URL", "AWS_REGION"],
    }
    assert list(await told(replace(aws_place, queue="", events=""))) == ["table", "bucket"], "queues may be left out"


async def test_another_region_holds_none_of_it(aws_place: AwsPlace) -> None:
    """A queue's address says where it is."""
    said = await told(replace(aws_place, region="eu-west-1", queue="https://sqs.us-east-1.amazonaws.com/1/doorbell"))
    assert said["table"].startswith("wrong: there is no table")
    assert "region eu-west-1" in said["table"]
    assert said["queue"].startswith("wrong: it is in us-east-1, and AWS_REGION is eu-west-1")


async def test_a_table_that_is_not_ours_is_told_from_one_that_is_not_whole(aws_place: AwsPlace) -> None:
    dynamodb, names = client("dynamodb", aws_place.endpoint), [f"{aws_place.table}-{letter}" for letter in "abc"]
    whole = definition("x")
    foreign = {
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}], "GlobalSecondaryIndexes": [],
    }  # fmt: skip
    second = whole["GlobalSecondaryIndexes"][1]  # type: ignore[index]
    for name, changed in zip(names, (foreign, {"GlobalSecondaryIndexes": [second]}, {}), strict=True):
        made = {**whole, **changed, "TableName": name}
        if not made["GlobalSecondaryIndexes"]:
            del made["GlobalSecondaryIndexes"]
        if changed and changed is not foreign:
            made["AttributeDefinitions"] = [
                a for a in whole["AttributeDefinitions"] if "waits" not in a["AttributeName"]
            ]  # type: ignore[attr-defined]
        dynamodb.create_table(**made)
    foreign_said, lacking, without_ttl = [(await told(replace(aws_place, table=name)))["table"] for name in names]
    assert "its keys are id, not pk and sk, so it is another program's table" in foreign_said
    assert lacking.startswith("wrong: its index gsi1 is missing or has other keys")
    assert without_ttl.startswith("limited: rows of turns are never deleted: aws dynamodb update-time-to-live")


async def test_a_bucket_without_versions_and_queues_of_the_wrong_kind_are_told(aws_place: AwsPlace) -> None:
    sqs = client("sqs", aws_place.endpoint)
    client("s3", aws_place.endpoint).create_bucket(Bucket=f"{aws_place.bucket}-flat")
    fifo = sqs.create_queue(QueueName=f"{aws_place.table}.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]
    bare = sqs.create_queue(QueueName=f"{aws_place.table}-bare")["QueueUrl"]
    said = await told(replace(aws_place, bucket=f"{aws_place.bucket}-flat", queue=fifo, events=bare))
    assert f"aws s3api put-bucket-versioning --bucket {aws_place.bucket}-flat" in said["bucket"]
    assert said["bucket"].startswith("wrong")
    assert said["queue"].startswith("wrong: it is a FIFO queue")
    assert said["events"].startswith("limited: it has no dead-letter queue")


async def test_a_clock_that_is_wrong_is_told_before_leases_run_by_it(aws_place: AwsPlace) -> None:
    for ahead, word in ((3_600, "behind"), (-30, "ahead of")):
        said = await told(aws_place, now=lambda ahead=ahead: time.time() + ahead)
        assert re.match(rf"wrong: AWS's clock is \d+ seconds {word} ours: this machine's clock is wrong", said["clock"])
    assert "clock" not in await told(aws_place, now=lambda: time.time() + 2)


async def test_a_right_that_is_missing_is_told_without_writing_anything(aws_place: AwsPlace) -> None:
    """Each right by itself; AWS's own words name it."""
    async with WireFaults(aws_place.endpoint) as wire:
        place = replace(aws_place, endpoint=wire.address)
        rights = {
            "table": ("DescribeTable", "PutItem", "UpdateItem", "DeleteItem", "Query"),
            "bucket": ("GetBucketVersioning", "ListObjectsV2", "GetObject", "PutObject"),
            "queue": ("GetQueueAttributes",),
        }
        services = {"table": "dynamodb", "bucket": "s3", "queue": "sqs"}
        for operations in zip_longest(*rights.values()):  # one of each part at a time
            denied = [(part, name) for part, name in zip(rights, operations, strict=True) if name]
            for part, name in denied:
                wire.break_next(f"{services[part]}.{name}", "denied")
            said = await told(replace(place, events=""))
            for part, name in denied:
                assert f"may not do this (not authorized to perform: {services[part]}:{name}" in said[part]
                assert "the rights that the template in deploy/ lists" in said[part]
        assert len(wire.broken) == sum(map(len, rights.values()))
        wire.break_next("dynamodb.DescribeTable", "throttled", "cut")
        assert (await told(place))["table"].startswith("ok"), "what only stumbles is tried again"


PLACE = AwsPlace("threads", "artifacts", "", "http://127.0.0.1:9", "http://127.0.0.1:9/1/doorbell")


async def test_missing_credentials_and_region_are_told_once_for_all_parts(
    no_credentials: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    region, _ = await inspect(PLACE)  # a bucket's region is found without
    assert (region.part, region.said[:28]) == ("table, queue", "no AWS region is set: set AW")
    (credentials,) = await inspect(replace(PLACE, region="eu-west-1"))
    assert credentials.part == "table, bucket, queue"
    assert "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, name a profile in AWS_PROFILE" in credentials.said
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    (half,) = await inspect(replace(PLACE, region="eu-west-1"))
    assert "no AWS credentials that can be used" in half.said


def settings(place: AwsPlace, home: Path) -> Settings:
    return Settings(
        home=home, store="aws", sandbox="host", DYNAMODB_EXECUTIONS_TABLE=place.table, S3_ARTIFACT_BUCKET=place.bucket,
        AWS_REGION=place.region, AWS_ENDPOINT_URL=place.endpoint, AGENTIC_DOORBELL_QUEUE_URL=place.queue,
    )  # type: ignore[call-arg]  # fmt: skip


async def test_a_start_ends_at_once_with_a_line_for_each_part(
    aws_place: AwsPlace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = settings(replace(aws_place, table="not-there", bucket="not-there"), tmp_path)
    assert await run(gone) == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "Nothing can be kept on AWS like this (THREADWRIGHT_STORE=aws):"
    assert [line[:34] for line in lines[1:]] == [
        "- table not-there: there is no tab",
        "- bucket not-there: there is no bu",
    ]
    assert not any(path.name.endswith(".sqlite") for path in tmp_path.iterdir()), "nothing was begun"


async def test_the_doctor_shows_a_row_for_each_part(aws_place: AwsPlace, tmp_path: Path) -> None:
    rows = await stores(settings(replace(aws_place, bucket="not-there"), tmp_path))
    assert [(row.name, row.adapter, row.state) for row in rows] == [
        ("store", "AWS", "ok"), ("table", aws_place.table, "ok"), ("bucket", "not-there", "missing"),
        ("queue", aws_place.queue.rpartition("/")[2], "ok"), ("events", "none", "ok"),
    ]  # fmt: skip
    unrung = await stores(settings(replace(aws_place, queue=""), tmp_path))
    assert [(row.name, row.state) for row in unrung if row.name == "queue"] == [("queue", "limited")]


async def test_run_does_not_begin_beside_another_on_the_same_table(
    aws_place: AwsPlace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = open_store(aws_place)
    assert await store.acquire("alone", "elsewhere/1/2/3")
    assert await run(settings(aws_place, tmp_path), works=False) == 1
    said = capsys.readouterr().err
    assert "`threadwright run` (process 2 on another machine or in another container) works on the same table" in said
    await store.close()
