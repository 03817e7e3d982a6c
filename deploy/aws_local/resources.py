"""What an account has to hold for Threadwright: a table, a versioned bucket, two queues with their dead-letter queues."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from agentic.aws.aws_place import AwsPlace
from agentic.stores.aws.layout import TTL, definition

REGION = "us-east-1"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local"}
"""A local AWS takes any; the SDK wants some."""
MOST_RECEIPTS = 10
"""So often a message is received before it goes to the dead-letter queue, as in deploy/cdk."""
HIDDEN_SECONDS = 60
"""So long a message stays hidden from others while one works on it."""
KEPT_SECONDS = 14 * 24 * 3600
"""So long a dead letter is kept, the longest there is."""


def environment(place: AwsPlace) -> Mapping[str, str]:
    """The variables with which Threadwright, and the `aws` command, find it."""
    return {
        "THREADWRIGHT_STORE": "aws",
        "AWS_ENDPOINT_URL": place.endpoint,
        "AWS_REGION": place.region,
        "AWS_DEFAULT_REGION": place.region,  # the `aws` command knows only this name
        **CREDENTIALS,
        "DYNAMODB_EXECUTIONS_TABLE": place.table,
        "S3_ARTIFACT_BUCKET": place.bucket,
        "AGENTIC_DOORBELL_QUEUE_URL": place.queue,
        "AGENTIC_EVENTS_QUEUE_URL": place.events,
    }


@cache
def client(service: str, endpoint: str, region: str = REGION) -> Any:
    """A client of a local AWS, which tries each request once."""
    import boto3  # 0.3 s, for those alone who ask
    from botocore.config import Config

    return boto3.client(
        service,
        endpoint_url=endpoint,
        region_name=region,
        aws_access_key_id=CREDENTIALS["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
        config=Config(
            retries={"total_max_attempts": 1}, read_timeout=20, connect_timeout=5, s3={"addressing_style": "path"}
        ),
    )


def make_resources(endpoint: str, prefix: str = "threadwright") -> AwsPlace:
    """Make everything under names that begin so; each prefix is independent of the others."""
    dynamodb, s3, sqs = (client(service, endpoint) for service in ("dynamodb", "s3", "sqs"))
    table, bucket = f"{prefix}-executions", f"{prefix}-artifacts"
    dynamodb.create_table(**definition(table))
    dynamodb.update_time_to_live(TableName=table, TimeToLiveSpecification={"Enabled": True, "AttributeName": TTL})
    s3.create_bucket(Bucket=bucket)
    s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    doorbell, events = (_queue_with_dead_letters(sqs, f"{prefix}-{name}") for name in ("doorbell", "events"))
    return AwsPlace(table, bucket, REGION, endpoint, doorbell, events)


def _queue_with_dead_letters(sqs: Any, name: str) -> str:
    """Make a standard queue, and ``name-dead``, which takes what nobody could work on; gives the address of the first."""
    dead = sqs.create_queue(QueueName=f"{name}-dead", Attributes={"MessageRetentionPeriod": str(KEPT_SECONDS)})[
        "QueueUrl"
    ]
    arn = sqs.get_queue_attributes(QueueUrl=dead, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    redrive = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": MOST_RECEIPTS})
    attributes = {"VisibilityTimeout": str(HIDDEN_SECONDS), "RedrivePolicy": redrive}
    return sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
