"""Which store of lessons is used: the one place that knows what stores there are."""

from __future__ import annotations

from pathlib import Path

from agentic.aws.aws_place import AwsPlace
from reflexion.ports import LessonStore
from reflexion.stores.sqlite import SQLiteLessonStore


def open_lessons(where: Path | AwsPlace) -> LessonStore:
    """The lessons in a file of their own, or on AWS: broken ones cost lessons, not executions."""
    match where:
        case AwsPlace():
            from reflexion.stores.aws import AwsLessonStore  # with the SDK, which only those need whose store is there

            return AwsLessonStore.open(where)
        case Path():
            return SQLiteLessonStore(where)
