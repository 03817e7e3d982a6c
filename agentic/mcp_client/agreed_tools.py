"""What tools each server had when the owner last agreed to them, and what has changed since.

A tool's words steer the agent, so they are pinned: the first list of a server that somebody put into the file is taken as it
is, and from then on a tool that is new or reads differently waits for a yes.  Until then the agent is shown the old words,
and a call is refused.  The list that agents see comes from here, so it costs no server and no sandbox, and is the same byte
for byte from task to task.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from agentic.stores.private_file import write_private

FILE = "mcp-tools.json"
DESCRIPTION_CHARACTERS = 2_000
SCHEMA_CHARACTERS = 16_000
NAME_CHARACTERS = 128
MOST_TOOLS = 2_000
"""Of one server."""


class Pinned(BaseModel):
    """A tool as a server describes it, cut to bounds."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    name: str
    description: str = ""
    parameters: dict[str, JsonValue] = Field(default_factory=dict)
    reads: bool = False
    """The server says that it only reads."""
    idempotent: bool = False
    """The server says that calling it twice does what calling it once does."""
    sha: str = ""
    """Over the whole of it, also over what was cut."""


def described(
    name: str, description: str, parameters: Mapping[str, JsonValue], *, reads: bool = False, idempotent: bool = False
) -> Pinned:
    """A tool with its hash."""
    whole = json.dumps([name, description, parameters, reads, idempotent], sort_keys=True, ensure_ascii=True)
    fits = len(json.dumps(parameters)) <= SCHEMA_CHARACTERS
    return Pinned(
        name=name,
        description=description[:DESCRIPTION_CHARACTERS],
        parameters=dict(parameters) if fits else {"type": "object"},
        reads=reads,
        idempotent=idempotent,
        sha=hashlib.sha256(whole.encode()).hexdigest(),
    )


class _Kept(BaseModel):
    """What is kept of a server."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    tools: dict[str, Pinned] = Field(default_factory=dict[str, Pinned])
    waiting: dict[str, Pinned] = Field(default_factory=dict[str, Pinned])
    """New and changed tools, as they are now."""
    prompts: bool = False
    resources: bool = False


class _File(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    servers: dict[str, _Kept] = Field(default_factory=dict[str, _Kept])
    unreadable: bool = Field(default=False, exclude=True)
    """It stands for a file that cannot be read, and that nobody overwrites."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A tool that waits for a yes; ``before`` is None where it is new."""

    server: str
    now: Pinned
    before: Pinned | None


class Catalogue:
    """Owns the file; other processes may write it too, so it is read before it is changed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._read_at: tuple[int, int] = (0, 0)
        self._contents = _File()
        self.trouble = ""
        """Why nothing is known of what was agreed to, or what was seen last could not be kept; '' where all is well."""

    @property
    def _file(self) -> _File:
        """As it stands on the disk: somebody may have agreed to something in another process."""
        try:
            status = self._path.stat()
        except FileNotFoundError:
            now = (0, 0)
        else:
            now = (status.st_mtime_ns, status.st_ino)
        if now != self._read_at:
            self._contents, self._read_at = self._read(), now
        return self._contents

    def known(self, server: str) -> bool:
        """Whether its tools were ever seen."""
        return server in self._file.servers

    def tools(self, server: str) -> tuple[Pinned, ...]:
        """Those that were agreed to, by name."""
        kept = self._file.servers.get(server)
        return tuple(kept.tools[name] for name in sorted(kept.tools)) if kept is not None else ()

    def tool(self, server: str, name: str) -> Pinned | None:
        """One of them."""
        kept = self._file.servers.get(server)
        return kept.tools.get(name) if kept is not None else None

    def offers(self, server: str) -> tuple[bool, bool]:
        """Whether it has prompts, and resources."""
        kept = self._file.servers.get(server)
        return (kept.prompts, kept.resources) if kept is not None else (False, False)

    def waiting(self, servers: Iterable[str]) -> tuple[Waiting, ...]:
        """What waits for a yes, by server and name."""
        found: list[Waiting] = []
        for server in servers:
            kept = self._file.servers.get(server, _Kept())
            found += [Waiting(server, kept.waiting[n], kept.tools.get(n)) for n in sorted(kept.waiting)]
        return tuple(found)

    def saw(self, server: str, tools: Iterable[Pinned], *, prompts: bool, resources: bool) -> None:
        """Take note of a server's list; the first one is agreed to."""
        now = {tool.name: tool for tool in tools}
        kept = self._file.servers.get(server)
        if kept is None:
            fresh = _Kept(tools=now, prompts=prompts, resources=resources)
        else:
            waiting = {name: tool for name, tool in now.items() if _differs(kept.tools.get(name), tool)}
            fresh = kept.model_copy(update={"waiting": waiting, "prompts": prompts, "resources": resources})
        if fresh != kept:
            self._write(server, fresh)

    def agree(self, server: str, name: str, sha: str) -> bool:
        """Somebody who may says yes to a tool as it read when they saw it; False where it reads otherwise by now."""
        kept = self._file.servers.get(server)
        tool = kept.waiting.get(name) if kept is not None else None
        if kept is None or tool is None or tool.sha != sha:
            return False
        waiting = {known: each for known, each in kept.waiting.items() if known != name}
        self._write(server, kept.model_copy(update={"tools": {**kept.tools, name: tool}, "waiting": waiting}))
        return True

    def _read(self) -> _File:
        try:
            read = _File.model_validate_json(self._path.read_bytes())
        except FileNotFoundError:
            read = _File()
        except (OSError, ValidationError) as error:
            self.trouble = (
                f"{self._path} cannot be read ({type(error).__name__}), so no tool of a server counts as agreed to. "
                "Delete it to agree to all that they have now."
            )
            return _File(unreadable=True)
        self.trouble = ""
        return read

    def _write(self, server: str, kept: _Kept) -> None:
        with self._lock:
            before = self._file
            if before.unreadable:
                return
            try:
                write_private(self._path, _File(servers={**before.servers, server: kept}).model_dump_json())
            except OSError as error:
                self.trouble = f"{self._path} cannot be written: {error.strerror or error}"


def _differs(before: Pinned | None, now: Pinned) -> bool:
    return before is None or before.sha != now.sha
