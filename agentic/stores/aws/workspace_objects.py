"""The bucket as snapshots of workspaces need it: versions, writes that expect what stood there, large files in parts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import aiohttp
from botocore.exceptions import BotoCoreError, ClientError

from agentic.ports.errors import StoreError, StoreUnavailable
from agentic.ports.stores import ObjectVersion, StoredObject
from agentic.stores.aws.aws_errors import code_of, plainly
from agentic.stores.aws.bucket import Bucket
from agentic.stores.aws.clients import Answer, Clients
from agentic.stores.aws.place import Place

PART_BYTES = 16 << 20
"""What is larger goes in parts of this size."""
_BLOCK = 1 << 20
BROKE_OFF = "the bucket's answer broke off"
_OUTDATED = ("PreconditionFailed", "412")
_NONE = ("NoSuchKey", "NoSuchVersion", "404")


class WorkspaceObjects:
    """Implements ``VersionedObjects`` over the bucket."""

    def __init__(self, clients: Clients) -> None:
        self._clients = clients
        self._bucket = Bucket(clients)

    @classmethod
    def open(cls, place: Place) -> WorkspaceObjects:
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
            if expected is not None and _code(error) in _OUTDATED:
                return None
            raise

    async def get(self, name: str) -> StoredObject | None:
        """An object, None where there is none."""
        answer = await self._got(name)
        if answer is None:
            return None
        try:
            async with answer["Body"] as body:
                content: bytes = await body.read()
        except (BotoCoreError, ClientError) as error:
            raise plainly(error, self._clients.place) from error
        except (aiohttp.ClientError, TimeoutError) as error:
            raise StoreUnavailable(f"{BROKE_OFF}: {error}") from error
        found = _version(answer)
        return StoredObject(found.version, found.tag, content)

    async def copy_to(self, name: str, version: str, path: Path) -> bool:
        """Write a version of an object into a new file; False where there is none."""
        answer = await self._got(name, **({"VersionId": version} if version else {}))
        if answer is None:
            return False
        try:
            with await asyncio.to_thread(path.open, "xb") as file:
                async with answer["Body"] as body:
                    async for block in body.content.iter_chunked(_BLOCK):
                        await asyncio.to_thread(file.write, block)
        except (BotoCoreError, ClientError) as error:
            raise plainly(error, self._clients.place) from error
        except (aiohttp.ClientError, TimeoutError) as error:
            raise StoreUnavailable(f"{BROKE_OFF}: {error}") from error
        return True

    async def names(self, prefix: str) -> AsyncIterator[str]:
        """The objects whose names begin so."""
        async for each in self._bucket.objects(prefix):
            yield each.name

    async def delete(self, names: Sequence[str]) -> None:
        """Take objects away."""
        await self._bucket.delete(names)

    async def erase(self, prefix: str) -> None:
        """Delete all versions of all objects whose names begin so."""
        arguments: dict[str, Any] = {"Prefix": prefix}
        while True:
            answer = await self._bucket.call("list_object_versions", **arguments)
            found = [*answer.get("Versions", []), *answer.get("DeleteMarkers", [])]
            if found:
                objects = [{"Key": each["Key"], "VersionId": each["VersionId"]} for each in found]
                done = await self._bucket.call("delete_objects", Delete={"Objects": objects, "Quiet": True})
                if errors := done.get("Errors"):
                    raise StoreUnavailable(
                        f"{len(errors)} objects could not be deleted: {errors[0].get('Message', '')}"
                    )
            if not answer.get("IsTruncated"):
                return
            arguments |= {"KeyMarker": answer["NextKeyMarker"], "VersionIdMarker": answer["NextVersionIdMarker"]}

    async def _got(self, name: str, **version: str) -> Answer | None:
        try:
            return await self._bucket.call("get_object", Key=name, **version)
        except StoreError as error:
            if _code(error) in _NONE:
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


def _version(answer: Answer) -> ObjectVersion:
    return ObjectVersion(str(answer.get("VersionId", "")), str(answer.get("ETag", "")))


def _code(error: StoreError) -> str:
    return code_of(error.__cause__) if isinstance(error.__cause__, ClientError) else ""
