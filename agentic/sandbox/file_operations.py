"""File operations of a sandbox: each one request to its supervisor, which confines it to the workspace."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from agentic.sandbox.protocol.channel import Channel, Reply
from agentic.sandbox.protocol.decode import (
    change_of,
    entry_of,
    hits_of,
    stat_of,
)
from agentic.sandbox.protocol.results import (
    FileChange,
    FileStat,
    GrepResult,
    Listing,
    OutputPage,
    Unpacked,
)

ANSWER_SECONDS = 30.0
UNPACK_SECONDS = 120.0


class FileOperations:
    """Read, write, search, unpack.  Raises ``PathRefused``, ``EditConflict``, ``OutputGone``, ``SandboxLost``."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    async def _ask(
        self, header: Mapping[str, JsonValue], payload: bytes = b"", *, timeout: float = ANSWER_SECONDS
    ) -> Reply:
        return await self._channel.request(header, payload, timeout=timeout)

    async def read(self, path: str, offset: int = 0, limit: int | None = None) -> tuple[bytes, FileStat]:
        """Bytes of a regular file of the workspace, with its hash; a whole file is at most 32 MB."""
        reply = await self._ask({"op": "read", "path": path, "offset": offset, "limit": limit})
        return reply.payload, stat_of(reply)

    async def write(
        self,
        path: str,
        content: bytes,
        *,
        expected_sha: str | None = None,
        create: bool = True,
        executable: bool | None = None,
        key: str = "",
    ) -> FileChange:
        """Replace a file atomically.  ``expected_sha`` '' = it must not exist, None = whatever is there.

        Under a ``key`` it is written into the diary.
        """
        header: dict[str, JsonValue] = {
            "op": "write",
            "path": path,
            "expected": expected_sha,
            "create": create,
            "executable": executable,
            "key": key,
        }
        reply = await self._ask(header, content)
        return change_of(reply.rows("changes")[0])

    async def delete(self, path: str, *, expected_sha: str | None = None) -> FileChange:
        """Delete a file."""
        reply = await self._ask({"op": "delete", "path": path, "expected": expected_sha})
        return change_of(reply.rows("changes")[0])

    async def mkdir(self, path: str) -> None:
        """Make a folder and its parents."""
        await self._ask({"op": "mkdir", "path": path})

    async def stat(self, path: str, *, sha: bool = False) -> FileStat | None:
        """What stands at a path, None if nothing does."""
        reply = await self._ask({"op": "stat", "path": path, "sha": sha})
        return stat_of(reply) if reply.flag("exists") else None

    async def list(self, path: str = ".", limit: int = 1000) -> Listing:
        """The names in a folder, sorted."""
        reply = await self._ask({"op": "list", "path": path, "limit": limit})
        return Listing(tuple(entry_of(row) for row in reply.rows("entries")), reply.flag("more"))

    async def glob(self, pattern: str, path: str = ".", limit: int = 1000) -> Listing:
        """Paths that match, ``**`` for any folders, sorted."""
        reply = await self._ask({"op": "glob", "pattern": pattern, "path": path, "limit": limit})
        return Listing(tuple(entry_of(row) for row in reply.rows("entries")), reply.flag("more"))

    async def grep(
        self,
        pattern: str,
        path: str = ".",
        glob: str = "",
        *,
        ignore_case: bool = False,
        context: int = 0,
        limit: int = 200,
    ) -> GrepResult:
        """Lines that match a Python regular expression, in text files of at most 4 MB; stops after 20 s."""
        header: dict[str, JsonValue] = {
            "op": "grep",
            "pattern": pattern,
            "path": path,
            "glob": glob,
            "ignore_case": ignore_case,
            "context": context,
            "limit": limit,
        }
        reply = await self._ask(header)
        return GrepResult(hits_of(reply), reply.number("files"), reply.flag("more"))

    async def read_output(
        self, ref: str, offset: int = 0, limit: int = 20_000, pattern: str = "", max_hits: int = 200
    ) -> OutputPage:
        """A page of a saved output, or the lines of it that match."""
        reply = await self._ask(
            {
                "op": "read_output",
                "ref": ref,
                "offset": offset,
                "limit": limit,
                "pattern": pattern,
                "max_hits": max_hits,
            }
        )
        return OutputPage(ref, reply.payload, offset, reply.number("size"), hits_of(reply), reply.flag("more"))

    async def extract(self, archive: str, target: str, *, max_bytes: int, max_files: int, max_ratio: float) -> Unpacked:
        """Unpack a zip or tar archive; links, devices and names that lead outside are skipped and named."""
        header: dict[str, JsonValue] = {
            "op": "extract",
            "path": archive,
            "target": target,
            "max_bytes": max_bytes,
            "max_files": max_files,
            "max_ratio": max_ratio,
        }
        reply = await self._ask(header, timeout=UNPACK_SECONDS)
        return Unpacked(reply.texts("files"), reply.number("size"), reply.texts("skipped"))
