"""Where everything is kept on AWS: names and addresses. Credentials are found by the SDK and are never held here."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AwsPlace:
    """A table, a bucket and two queues in one region; an empty text stands for what is not set."""

    table: str
    bucket: str
    region: str
    endpoint: str = ""
    """Another address than Amazon's, such as a local AWS."""
    doorbell: str = ""
    """The address of the queue that says which thread to look at."""
    events: str = ""
    """The address of the queue that others read."""
