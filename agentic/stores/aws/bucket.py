"""The bucket: objects by their names."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from aiohttp import ClientPayloadError
from botocore.exceptions import BotoCoreError, ClientError

from agentic.ports.errors import StoreError, StoreUnavailable
from agentic.stores.aws.aws_errors import code_of
from agentic.stores.aws.clients import Answer, Clients

_MOST_DELETES = 1_000
_MOST_READS = 3
"""So often an object is read whose content breaks off."""


@dataclass(frozen=True, slots=True)
class Object:
    """An object without its content."""

    name: str
    size: int
    written: datetime


@dataclass(frozen=True, slots=True)
class Version:
    """One of what an object was, or that it was deleted."""

    name: str
    id: str


class Bucket:
    """A write is durable when it returns, and every read after it sees it."""

    def __init__(self, clients: Clients) -> None:
        self._clients = clients
        self._name = clients.place.bucket

    async def call(self, operation: str, **arguments: Any) -> Answer:
        """Any operation on the bucket."""
        return await self._clients.call("s3", operation, {"Bucket": self._name, **arguments})

    async def put(self, name: str, content: bytes) -> None:
        """Write an object whole."""
        await self.call("put_object", Key=name, Body=content)

    async def get(self, name: str) -> bytes | None:
        """An object's content, None where there is none of that name."""
        broken: Exception | None = None
        for _ in range(_MOST_READS):
            try:
                answer = await self.call("get_object", Key=name)
                async with answer["Body"] as body:
                    return await body.read()
            except StoreError as error:
                if isinstance(error.__cause__, ClientError) and code_of(error.__cause__) == "NoSuchKey":
                    return None
                raise
            except (BotoCoreError, ClientPayloadError, TimeoutError) as error:  # the content broke off on its way
                broken = error
        raise StoreUnavailable(
            f"what is read of {name} broke off {_MOST_READS} times ({broken}): it is tried again later"
        )

    async def objects(self, prefix: str) -> AsyncIterator[Object]:
        """The objects whose names begin so, by name, page by page."""
        arguments: dict[str, Any] = {"Prefix": prefix}
        while True:
            answer = await self.call("list_objects_v2", **arguments)
            for each in answer.get("Contents", []):
                yield Object(each["Key"], each["Size"], each["LastModified"])
            if not answer.get("IsTruncated"):
                return
            arguments["ContinuationToken"] = answer["NextContinuationToken"]

    async def delete(self, names: Sequence[str]) -> None:
        """Take objects away, those that there are."""
        await self._delete([{"Key": name} for name in names])

    async def versions(self, names: Sequence[str]) -> list[Version]:
        """All that is there of these objects, what was replaced and deleted too."""
        found = await asyncio.gather(*map(self.versions_below, names))
        return [version for name, below in zip(names, found, strict=True) for version in below if version.name == name]

    async def versions_below(self, prefix: str) -> list[Version]:
        """The same of all objects whose names begin so."""
        found: list[Version] = []
        arguments: dict[str, Any] = {"Prefix": prefix}
        while True:
            answer = await self.call("list_object_versions", **arguments)
            every = (*answer.get("Versions", []), *answer.get("DeleteMarkers", []))
            found += [Version(each["Key"], each["VersionId"]) for each in every]
            if not answer.get("IsTruncated"):
                return found
            arguments |= {"KeyMarker": answer["NextKeyMarker"], "VersionIdMarker": answer["NextVersionIdMarker"]}

    async def erase(self, versions: Sequence[Version]) -> None:
        """Let nothing be left of these; what was written since stays."""
        await self._delete([{"Key": each.name, "VersionId": each.id} for each in versions])

    async def _delete(self, objects: Sequence[dict[str, str]]) -> None:
        for start in range(0, len(objects), _MOST_DELETES):
            part = objects[start : start + _MOST_DELETES]
            answer = await self.call("delete_objects", Delete={"Objects": part, "Quiet": True})
            if errors := answer.get("Errors"):
                raise StoreUnavailable(f"{len(errors)} objects could not be deleted: {errors[0].get('Message', '')}")
