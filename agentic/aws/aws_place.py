"""Where things are on AWS, as plain values; who reads the settings makes them.  Nothing here needs the SDK."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import urlsplit

Service = Literal["dynamodb", "s3", "sqs"]
_AMAZON = re.compile(r"(?:sqs\.(?P<region>[a-z0-9-]{1,40})|(?P<old>[a-z0-9-]{1,40})\.queue)\.amazonaws\.com(?:\.cn)?")


class Resource(NamedTuple):
    """What a request is about."""

    kind: str
    name: str
    setting: str
    """The one that names it."""

    def __str__(self) -> str:
        """As people name it."""
        return f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True)
class AwsPlace:
    """A table, a bucket, queues, and the AWS that they are in; '' for what is not used."""

    table: str = ""
    bucket: str = ""
    region: str = ""
    """'' for the one of AWS's own settings (AWS_REGION, AWS_DEFAULT_REGION, a profile)."""
    endpoint: str = ""
    """The URL of something that stands in for AWS; '' for AWS itself."""
    queue: str = ""
    """The URL of the queue that rings."""
    events: str = ""
    """The URL of the queue that others read what happens from."""
    copies: Path | None = None
    """A folder of this machine for copies in which things are found; None for one that goes with the process."""

    def __str__(self) -> str:
        """Its table, as people name it."""
        return f"table {self.table} in {self.where}"

    @property
    def where(self) -> str:
        """The AWS it is in, in words."""
        region = f"region {self.region}" if self.region else "the region of AWS's own settings"
        return f"{region} at {self.endpoint}" if self.endpoint else region

    def resource(self, service: Service, arguments: Mapping[str, Any]) -> Resource:
        """What a request with these arguments is about."""
        match service:
            case "dynamodb":
                return Resource("table", self.table, "DYNAMODB_EXECUTIONS_TABLE")
            case "s3":
                return Resource("bucket", self.bucket, "S3_ARTIFACT_BUCKET")
            case "sqs":
                url = str(arguments["QueueUrl"])
                setting = "AGENTIC_EVENTS_QUEUE_URL" if url == self.events else "AGENTIC_DOORBELL_QUEUE_URL"
                return Resource("queue", queue_name(url), setting)


def events_place(url: str, region: str = "", endpoint: str = "") -> AwsPlace:
    """The queue of events alone, wherever its address says it is; else where everything is."""
    own, at = region_of(url), urlsplit(url)
    elsewhere = "" if own else f"{at.scheme}://{at.netloc}"
    # What stands in for AWS takes any region, but a request is signed for one.
    return AwsPlace(region=own or region or "us-east-1", endpoint=endpoint or elsewhere, events=url)


def check_queue(url: str) -> None:
    """Raise ``ValueError`` for what is no address of a queue."""
    at = urlsplit(url)
    if at.scheme not in ("https", "http") or not at.hostname or at.path.count("/") < 2 or at.query:
        raise ValueError("it is a queue's URL, such as https://sqs.eu-central-1.amazonaws.com/123456789012/name")


def queue_name(url: str) -> str:
    """The name of a queue, the last part of its address."""
    return urlsplit(url).path.rstrip("/").rpartition("/")[2]


def region_of(url: str) -> str:
    """The region that a queue's address names; '' where it names none."""
    found = _AMAZON.fullmatch(urlsplit(url).hostname or "")
    return (found["region"] or found["old"]) if found is not None else ""
