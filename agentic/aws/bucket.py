"""The bucket: objects by their names; and with versions, conditions and parts, as snapshots of workspaces need them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from aiohttp import ClientPayloadError
from botocore.exceptions import BotoCoreError

from agentic.aws.aws_errors import code_of
from agentic.aws.aws_place import AwsPlace
from agentic.aws.clients import Answer, Clients
from agentic.ports.errors import StoreError, StoreUnavailable
from agentic.ports.stores import ObjectVersion, StoredObject

PART_BYTES = 16 << 20
"""What is larger goes in parts of this size."""
_BLOCK = 1 << 20
_MOST_DELETES = 1_000
_OUTDATED = ("PreconditionFailed", "412")
_NONE = ("NoSuchKey", "NoSuchVersion", "404", "InvalidRange", "416")
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
                if code_of(error) in _NONE:
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


class WorkspaceObjects:
    """The bucket as snapshots of workspaces need it (``VersionedObjects``)."""

    def __init__(self, clients: Clients) -> None:
        self._clients = clients
        self._bucket = Bucket(clients)

    @classmethod
    def open(cls, place: AwsPlace) -> WorkspaceObjects:
        """The bucket of a place, over clients of its own."""
        return cls(Clients(place))

    async def close(self) -> None:
        """Let go of connections."""
        await self._clients.close()

    async def put(self, name: str, content: bytes | Path, *, expected: str | None = None) -> ObjectVersion | None:
        """Write an object whole, durably; with ``expected`` only where that stands there, else None."""
        if isinstance(content, Path):
            if (await asyncio.to_thread(content.stat)).st_size > PART_BYTES:
                return await self._in_parts(name, content)
            content = await asyncio.to_thread(content.read_bytes)
        condition = {} if expected is None else {"IfMatch": expected} if expected else {"IfNoneMatch": "*"}
        try:
            return _version(await self._bucket.call("put_object", Key=name, Body=content, **condition))
        except StoreError as error:
            if expected is not None and code_of(error) in _OUTDATED:
                return None
            raise

    async def get(self, name: str) -> StoredObject | None:
        """An object, None where there is none."""
        answer = await self._got(name)
        if answer is None:
            return None
        found = _version(answer)
        return StoredObject(found.version, found.tag, await _read(name, answer))

    async def part(self, name: str, version: str, begin: int, size: int) -> bytes | None:
        """So many bytes of a version of an object, at least one; None where there is none."""
        which = {"VersionId": version} if version else {}
        answer = await self._got(name, Range=f"bytes={begin}-{begin + size - 1}", **which)
        if answer is None:
            return None
        content = await _read(name, answer)  # all of it where the range is not heeded, as MiniStack does with a version
        return content if "ContentRange" in answer else content[begin : begin + size]

    async def copy_to(self, name: str, version: str, path: Path) -> bool:
        """Write a version of an object into a new file; False where there is none."""
        answer = await self._got(name, **({"VersionId": version} if version else {}))
        if answer is None:
            return False
        with _whole(name), await asyncio.to_thread(path.open, "xb") as file:
            async with answer["Body"] as body:
                async for block in body.content.iter_chunked(_BLOCK):
                    await asyncio.to_thread(file.write, block)
        return True

    async def names(self, prefix: str, *, older: float = 0.0) -> AsyncIterator[str]:
        """The objects whose names begin so; with ``older``, those that were written at least so many seconds ago."""
        latest = datetime.now(UTC) - timedelta(seconds=older)
        async for each in self._bucket.objects(prefix):
            if not older or each.written <= latest:
                yield each.name

    async def delete(self, names: Sequence[str]) -> None:
        """Take objects away."""
        await self._bucket.delete(names)

    async def erase(self, prefix: str) -> None:
        """Delete all versions of all objects whose names begin so."""
        await self._bucket.erase(await self._bucket.versions_below(prefix))

    async def _got(self, name: str, **which: str) -> Answer | None:
        try:
            return await self._bucket.call("get_object", Key=name, **which)
        except StoreError as error:
            if code_of(error) in _NONE:
                return None
            raise

    async def _in_parts(self, name: str, path: Path) -> ObjectVersion:
        """What never ends is taken away by the bucket's rules."""
        begun = await self._bucket.call("create_multipart_upload", Key=name)
        upload, parts = begun["UploadId"], list[dict[str, Any]]()
        with await asyncio.to_thread(path.open, "rb") as file:
            while block := await asyncio.to_thread(file.read, PART_BYTES):
                number = len(parts) + 1
                put = await self._bucket.call("upload_part", Key=name, UploadId=upload, PartNumber=number, Body=block)
                parts.append({"ETag": put["ETag"], "PartNumber": number})
        made = {"Key": name, "UploadId": upload, "MultipartUpload": {"Parts": parts}}
        return _version(await self._bucket.call("complete_multipart_upload", **made))


async def _read(name: str, answer: Answer) -> bytes:
    with _whole(name):
        async with answer["Body"] as body:
            content: bytes = await body.read()
    return content


@contextmanager
def _whole(name: str) -> Generator[None]:
    """Raise ``StoreUnavailable`` where what is read breaks off on its way."""
    try:
        yield
    except (BotoCoreError, ClientPayloadError, TimeoutError) as error:
        raise StoreUnavailable(f"what is read of {name} broke off ({error}): it is tried again later") from error


def _version(answer: Answer) -> ObjectVersion:
    return ObjectVersion(str(answer.get("VersionId", "")), str(answer.get("ETag", "")))
