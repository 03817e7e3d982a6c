"""What the checks work with: clients, a table as ours, a versioned bucket, queues made as they are needed."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from agentic.stores.aws.layout import definition

"""Seconds for which something that is eventually consistent is waited for."""
Wire = dict[str, Any]


@dataclass(slots=True)
class Account:
    """One account in one region."""

    dynamodb: Any
    s3: Any
    sqs: Any
    prefix: str
    queues: list[str] = field(default_factory=list[str])
    _numbers: Any = field(default_factory=lambda: itertools.count(1))

    @property
    def table(self) -> str:
        """A table with the keys and indexes of ours."""
        return f"{self.prefix}-table"

    @property
    def bucket(self) -> str:
        """A bucket with versions."""
        return f"{self.prefix}-bucket"

    def fresh(self) -> str:
        """A partition, or the beginning of an object's name, that no other check uses."""
        return f"check-{next(self._numbers)}"

    def put(self, pk: str, sk: str = "-", **attributes: Any) -> Wire:
        """Write an item; ``n=1`` is a number, anything else a text or bytes."""
        return self.dynamodb.put_item(
            TableName=self.table, Item=item(pk, sk, **attributes), ReturnConsumedCapacity="TOTAL"
        )

    def get(self, pk: str, sk: str = "-") -> Wire | None:
        """Read an item consistently."""
        answer = self.dynamodb.get_item(TableName=self.table, Key=item(pk, sk), ConsistentRead=True)
        return answer.get("Item")

    def update(self, pk: str, sk: str, change: str, **more: Any) -> Wire:
        """Change an item."""
        return self.dynamodb.update_item(TableName=self.table, Key=item(pk, sk), UpdateExpression=change, **more)

    def query(self, pk: str, condition: str = "", **more: Any) -> Wire:
        """A page of a partition."""
        values = {":pk": {"S": pk}, **more.pop("values", {})}
        return self.dynamodb.query(
            TableName=self.table, KeyConditionExpression=f"pk = :pk{condition and f' AND {condition}'}",
            ExpressionAttributeValues=values, **{"ConsistentRead": True, **more},
        )  # fmt: skip

    def transact(self, *writes: Wire, token: str = "") -> Wire:
        """All of these writes or none."""
        more = {"ClientRequestToken": token} if token else {}
        return self.dynamodb.transact_write_items(TransactItems=list(writes), ReturnConsumedCapacity="TOTAL", **more)

    def writes(self, pk: str, sk: str = "-", condition: str = "", **attributes: Any) -> Wire:
        """A write for ``transact``."""
        put = {"TableName": self.table, "Item": item(pk, sk, **attributes)}
        if condition:
            put |= {"ConditionExpression": condition, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
        return {"Put": put}

    def queue(self, name: str = "", **attributes: str) -> str:
        """Make a queue; its address."""
        url = self.sqs.create_queue(QueueName=f"{self.prefix}-{name or self.fresh()}", Attributes=attributes)[
            "QueueUrl"
        ]
        self.queues.append(url)
        return url

    def arn(self, queue: str) -> str:
        """What a redrive policy calls a queue."""
        return self.sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]

    def receive(self, queue: str, seconds: float = 0, **more: Any) -> list[Wire]:
        """Messages of a queue; the first of them is waited for up to ``seconds``."""
        arguments = {"QueueUrl": queue, "MaxNumberOfMessages": 10, "WaitTimeSeconds": int(seconds), **more}
        return self.sqs.receive_message(**arguments).get("Messages", [])


def item(pk: str, sk: str = "-", **attributes: Any) -> Wire:
    """An item on the wire."""
    kinds = {int: "N", bytes: "B", str: "S"}
    typed = {
        name: {kinds[type(value)]: str(value) if isinstance(value, int) else value}
        for name, value in attributes.items()
    }
    return {"pk": {"S": pk}, "sk": {"S": sk}, **typed}


def refused(code: str, call: Callable[[], Any]) -> Wire:
    """What AWS answers to a request that it has to refuse so; fails where it is taken or refused otherwise."""
    try:
        call()
    except ClientError as error:
        got = error.response["Error"]["Code"]
        assert got in code.split("|"), f"it refused with {got}, not {code}"
        return dict(error.response)
    raise AssertionError(f"it was taken, not refused with {code}")


@contextmanager
def opened(endpoint: str, region: str) -> Generator[Account]:
    """An account with a table and a bucket made for the checks; all of it is deleted at the end."""
    config = Config(
        retries={"total_max_attempts": 3}, read_timeout=30, s3={"addressing_style": "path"}, max_pool_connections=20
    )
    dynamodb, s3, sqs = (
        boto3.client(service, endpoint_url=endpoint or None, region_name=region or None, config=config)
        for service in ("dynamodb", "s3", "sqs")
    )
    account = Account(dynamodb, s3, sqs, f"threadwright-conformance-{uuid.uuid4().hex[:10]}")
    try:
        dynamodb.create_table(**definition(account.table))
        where = s3.meta.region_name
        placed = {} if where == "us-east-1" else {"CreateBucketConfiguration": {"LocationConstraint": where}}
        s3.create_bucket(Bucket=account.bucket, **placed)
        s3.put_bucket_versioning(Bucket=account.bucket, VersioningConfiguration={"Status": "Enabled"})
        dynamodb.get_waiter("table_exists").wait(TableName=account.table, WaiterConfig={"Delay": 1, "MaxAttempts": 120})
        yield account
    finally:
        _delete(account)


def _delete(account: Account) -> None:
    for url in account.queues:
        account.sqs.delete_queue(QueueUrl=url)
    try:
        for page in account.s3.get_paginator("list_object_versions").paginate(Bucket=account.bucket):
            listed = [*page.get("Versions", []), *page.get("DeleteMarkers", [])]
            if listed:
                objects = [{"Key": each["Key"], "VersionId": each["VersionId"]} for each in listed]
                account.s3.delete_objects(Bucket=account.bucket, Delete={"Objects": objects})
        account.s3.delete_bucket(Bucket=account.bucket)
    finally:
        account.dynamodb.delete_table(TableName=account.table)
