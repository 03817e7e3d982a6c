"""Files of a home in the table, for processes on many machines: the shared ones are the truth, each home is a copy.

One item says which version they have and which files changed with the last few, so a look costs one read.  A change is a
transaction that sets the next version where the last one still stands, so there is one order of all changes: whoever was
overtaken takes in what the others did, and does it again.  Contents lie packed in the items, and over 100 KB in the bucket.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections.abc import AsyncGenerator, Callable, Collection, Generator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TypeVar, cast
from uuid import uuid4

from agentic.aws.aws_errors import ConditionFailed
from agentic.aws.items import ABSENT, Delete, Item, Put, Update, Value, Write, keyed, number, text
from agentic.ports.errors import StoreCorrupt, StoreError, StoreUnavailable
from agentic.ports.stores import Lease, Leases
from agentic.stores.aws import layout
from agentic.stores.aws.bodies import OBJECT
from agentic.stores.aws.store_subject import Aws
from agentic.stores.home_folder import HomeFile, HomeFolder, SyncState
from agentic.stores.shared_files import NotShared

EVERY_SECONDS = 10.0
"""So often a process looks what others changed."""
FRESH_SECONDS = 5.0
"""So long at most a task waits for a look before it begins."""
ALONE_SECONDS = 90.0
"""So long what one process does alone may take."""
TURN_SECONDS = 45.0
"""So long one waits for that."""
AGAIN_SECONDS = 0.2
LATELY = 40
"""Files of which the version's item says that they changed; it is read with each look."""
AT_ONCE = 25
"""Files of one transaction."""
TRIES = 8
BUSY = "others are changing the shared files too; try again"
AWAY = "AWS does not take it now, and all machines share it, so nothing was changed; try again in a minute ({why})"
PERHAPS = "AWS did not answer, so it is not known whether it was changed; look again in a minute ({why})"
DISK = "the files of this machine cannot be compared with those that all share, so nothing was changed: {why}"
LOST = "the turn at it was lost, because this took too long; try again"
SLOW = "the first look takes long, and goes on"
NOT_IN_STEP = "the files of this home are not in step with those on AWS, and are used as they are: %s"
OVERRULED = "%s was changed here and on another machine; what the other one shared counts, and is here now"

T = TypeVar("T")
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Head:
    """Which version is shared, and which of the files (by their keys) changed after ``since``.

    ``id``: the first one who shared made it up, so a table that was made anew is not taken for one whose files are gone.
    """

    id: str = ""
    version: int = 0
    since: int = 0
    lately: Sequence[tuple[int, str]] = ()
    by: str = ""
    """Made up for the last change, so that whoever got no answer can see whether it was theirs."""

    def after(self, version: int) -> list[str] | None:
        """The files that changed after a version; None where that is not known any more."""
        if not self.since <= version <= self.version:
            return None
        return list(dict.fromkeys(key for at, key in self.lately if at > version))

    def next(self, keys: Sequence[str]) -> _Head:
        """With one more change."""
        version = self.version + 1
        every = [*self.lately, *((version, key) for key in keys)]
        kept = every[-LATELY:]
        dropped = every[: len(every) - len(kept)]
        return _Head(self.id or uuid4().hex, version, max([self.since, *(at for at, _ in dropped)]), kept, uuid4().hex)


class AwsHome:
    """Keeps the home of this machine in step (``agentic.stores.shared_files.SharedHome``)."""

    def __init__(self, aws: Aws, leases: Leases, folder: HomeFolder) -> None:
        self._aws, self._leases, self._folder = aws, leases, folder
        self._lock = asyncio.Lock()
        self._looking = set[asyncio.Task[None]]()
        self._next: asyncio.Task[None] | None = None
        """A look that has not begun yet: who comes meanwhile waits for it too."""
        self._owed: list[Lease] = []
        """Held for what is not shared yet."""
        self._trouble = ""
        self._told: Mapping[str, str] = {}
        self._missing = set[str]()
        """Paths of what was told to be nowhere."""

    # --- what the others of this process ask ---

    async def fresh(self, within: float = FRESH_SECONDS) -> None:
        """Bring and share what changed; never fails."""
        if (look := self._next) is None or look.done():
            look = self._next = asyncio.create_task(self._look(), name="shared home")
            self._looking.add(look)
            look.add_done_callback(self._looking.discard)
        _, late = await asyncio.wait((look,), timeout=within)
        if late and within > FRESH_SECONDS:
            log.warning(NOT_IN_STEP, SLOW)

    async def run(self) -> None:
        """Be fresh every few seconds."""
        while True:
            await asyncio.sleep(EVERY_SECONDS)
            await self.fresh()

    async def close(self) -> None:
        """Wait for what is under way, no longer than a request is tried again."""
        if self._looking:
            _, late = await asyncio.wait(self._looking, timeout=FRESH_SECONDS)
            for each in late:
                each.cancel()

    async def change(self, part: str, work: Callable[[], T]) -> T:
        """Change files of a part here and for all, or nowhere.  Raises ``NotShared``, and what ``work`` raises."""
        async with AsyncExitStack() as stack:
            with _in_words():
                await stack.enter_async_context(self._in_turn())
            for _ in range(TRIES):
                with _in_words():
                    known, head = await self._in_step()
                    before = await asyncio.to_thread(self._folder.contents, part)
                result = await asyncio.to_thread(work)
                done = False
                try:
                    with _in_words():
                        done = await self._share(known, head) is not None
                finally:
                    if not done:
                        await asyncio.to_thread(self._folder.restore, part, before)
                if done:
                    return result
        raise NotShared(BUSY)

    @asynccontextmanager
    async def alone(self, what: str) -> AsyncGenerator[None]:
        """Nobody else does it meanwhile, on no machine.  Raises ``NotShared``."""
        with _in_words():
            lease = await self._turn(f"home: {what}")
        handed_on = True
        try:
            with _in_words():
                async with self._in_turn():
                    await self._in_step()
                if not await self._leases.renew(lease, ALONE_SECONDS):
                    raise NotShared(LOST)
            handed_on = False
            try:
                yield
            finally:
                with suppress(NotShared), _in_words():
                    async with self._in_turn():
                        await self._in_step()
                    handed_on = True
        finally:
            if handed_on:
                with suppress(StoreError):
                    await self._leases.release(lease)
            else:  # nobody may begin with what was before, until a look has shared what is now
                self._owed.append(lease)

    async def _turn(self, name: str) -> Lease:
        owner = f"{self._aws.process} {uuid4().hex}"
        until = time.monotonic() + TURN_SECONDS
        while time.monotonic() < until:
            if (lease := await self._leases.acquire(name, owner, ALONE_SECONDS)) is not None:
                return lease
            await asyncio.sleep(AGAIN_SECONDS)
        raise NotShared("another process has been at it for too long; try again later")

    # --- in step ---

    async def _look(self) -> None:
        try:
            async with self._in_turn():
                self._next = None
                await self._in_step()
        except (StoreError, OSError) as error:
            if str(error) != self._trouble:
                log.warning(NOT_IN_STEP, error)
            self._trouble = str(error)
            await self._keep_owed()
        except Exception:  # one look that failed must not be the last one
            log.exception(NOT_IN_STEP, "a mistake of ours")
            await self._keep_owed()
        else:
            if self._trouble:
                log.info("the files of this home are in step with those on AWS again")
            self._trouble = ""
            while self._owed:
                with suppress(StoreError):
                    await self._leases.release(self._owed.pop())

    async def _keep_owed(self) -> None:
        """Keep others from what is not shared yet, for as long as AWS lets us."""
        for lease in self._owed:
            with suppress(StoreError):
                await self._leases.renew(lease, ALONE_SECONDS)

    @asynccontextmanager
    async def _in_turn(self) -> AsyncGenerator[None]:
        async with self._lock, self._folder.locked():
            yield

    async def _in_step(self) -> tuple[SyncState, _Head]:
        """Bring what others changed, then share what was changed here.  Raises ``StoreError`` and ``OSError``."""
        for _ in range(TRIES):
            head = await self._head()
            known = await asyncio.to_thread(self._folder.known, head.id)
            if head.version != known.version or known.owed:
                known = await self._bring(known, head)
            if (shared := await self._share(known, head)) is not None:
                return shared
        raise NotShared(BUSY)

    async def _head(self) -> _Head:
        item = await self._aws.table.get(layout.home())
        if item is None:
            return _Head()
        lately = cast("list[list[int | str]]", item["lately"])
        changed = [(int(at), str(key)) for at, key in lately]
        return _Head(text(item, "id"), number(item, "version"), number(item, "since"), changed, text(item, "by"))

    async def _bring(self, known: SyncState, head: _Head) -> SyncState:
        """Take over what others shared; what changed here alone is left to be shared."""
        found = await asyncio.to_thread(self._folder.survey)
        owed = {path for path in known.owed if not _below(path, found.problems)}
        keys = head.after(known.version)
        if keys is None:
            items = [item async for item in self._aws.table.query(layout.HOME, layout.prefix("FILE"))]
            gone = known.files.keys() - {text(item, "path") for item in items}
        elif wanted := dict.fromkeys([*keys, *map(_key, sorted(owed))]):
            items = list((await self._aws.table.get_all([layout.home_file(key) for key in wanted])).values())
            missing = set(keys) - {_key(text(item, "path")) for item in items}
            gone = {path for path in known.files if _key(path) in missing}
        else:
            return known
        files, objects, left = dict(known.files), dict(known.objects), set(known.owed) - owed
        for item in sorted(items, key=lambda item: _order(text(item, "path"))):
            path, sha, here = text(item, "path"), text(item, "sha"), found.files.get(text(item, "path"))
            if not self._folder.ours(path) or known.files.get(path) == sha:
                continue
            if _below(path, found.problems) or (here != sha and not await self._put(item, here, known)):
                left.add(path)
                files.pop(path, None)
                objects.pop(path, None)
                continue
            files[path], objects[path] = sha, text(item, OBJECT)
        for path in gone:
            if not _below(path, found.problems):
                if found.files.get(path) not in (None, known.files[path]):
                    log.warning(OVERRULED, path)
                await asyncio.to_thread(self._folder.remove, path)
            del files[path]
        return await self._noted(head, files, objects, left)

    async def _put(self, item: Item, here: str | None, known: SyncState) -> bool:
        """Put a file in its place here, if it is to be had."""
        path = text(item, "path")
        if (file := await self._file(item)) is None:
            return False
        if here != known.files.get(path):
            log.warning(OVERRULED, path)
        await asyncio.to_thread(self._folder.write, path, file)
        return True

    async def _file(self, item: Item) -> HomeFile | None:
        try:
            return HomeFile(await self._aws.bodies.unpack(item), bool(item.get("runs")))
        except StoreCorrupt as error:  # or somebody puts another in its place right now, and the next look brings that
            if (path := text(item, "path")) not in self._missing:
                log.error("%s cannot be brought to this home: %s", path, error)
            self._missing.add(path)
            return None

    async def _share(self, known: SyncState, head: _Head) -> tuple[SyncState, _Head] | None:
        """Share what was changed here; None where somebody else was quicker."""
        found = await asyncio.to_thread(self._folder.survey)
        self._tell(found.problems)
        if hidden := {path for path in known.files if _below(path, found.problems)}:  # a link takes away no file
            files = {path: sha for path, sha in known.files.items() if path not in hidden}
            known = await self._noted(head, files, known.objects, {*known.owed, *hidden})
        every = (found.files.keys() | known.files.keys()) - found.problems.keys()
        ours = sorted((p for p in every if found.files.get(p) != known.files.get(p)), key=_order)
        for start in range(0, len(ours), AT_ONCE):
            files, objects, writes = dict(known.files), dict(known.objects), list[Write]()
            for path in ours[start : start + AT_ONCE]:
                key = _key(path)
                file = await self._read(path) if path in found.files else None
                if file is None:
                    files.pop(path, None)
                    objects.pop(path, None)
                    writes.append(Delete(layout.home_file(key)))
                    continue
                body = await self._aws.bodies.pack(file.content, f"home/{key}", readable=False)
                files[path], objects[path] = file.sha, text(body, OBJECT)
                about: Item = {"path": path, "sha": file.sha, "runs": file.runs, **body}
                writes.append(Put(keyed(layout.home_file(key), about)))
            after = head.next([_key(path) for path in ours[start : start + AT_ONCE]])
            try:
                await self._aws.table.transact([_advanced(head, after), *writes])
            except ConditionFailed:
                return None
            except StoreUnavailable as error:
                if not await self._stands(after, error):
                    raise
            replaced = [name for path, name in known.objects.items() if name and objects.get(path) != name]
            known, head = await self._noted(after, files, objects, known.owed), after
            if replaced:
                with suppress(StoreError):
                    await self._aws.bucket.delete(replaced)
        return known, head

    async def _stands(self, head: _Head, error: StoreError) -> bool:
        """Whether a change for which no answer came was made all the same."""
        try:
            return (await self._head()).by == head.by
        except StoreError:
            raise NotShared(PERHAPS.format(why=error)) from error

    async def _read(self, path: str) -> HomeFile | None:
        try:
            return await asyncio.to_thread(self._folder.read, path)
        except FileNotFoundError:
            return None

    async def _noted(
        self, head: _Head, files: dict[str, str], objects: Mapping[str, str], owed: Collection[str]
    ) -> SyncState:
        large = {path: name for path, name in objects.items() if name and path in files}
        left = tuple(sorted(path for path in owed if path not in files))
        known = SyncState(of=head.id, version=head.version, files=files, objects=large, owed=left)
        await asyncio.to_thread(self._folder.note, known)
        return known

    def _tell(self, problems: Mapping[str, str]) -> None:
        for path, why in problems.items():
            if self._told.get(path) != why:
                log.warning("%s is not shared with other machines: %s", path, why)
        self._told = problems


def _key(path: str) -> str:
    return hashlib.sha256(path.encode()).hexdigest()[:32]


def _order(path: str) -> tuple[bool, str]:
    """What lies in folders first: the files beside them say what of it counts."""
    return "/" not in path, path


def _below(path: str, problems: Mapping[str, str]) -> bool:
    """Whether a link, or what else is not shared, stands where a folder of the path would be."""
    return any(str(parent) in problems for parent in PurePosixPath(path).parents)


def _advanced(before: _Head, after: _Head) -> Update:
    values: dict[str, Value] = {
        "id": after.id, "version": after.version, "since": after.since, "lately": [list(each) for each in after.lately],
        "by": after.by,
    }  # fmt: skip
    change = "SET #id = :id, #version = :version, #since = :since, #lately = :lately, #by = :by"
    if not before.version:
        return Update(layout.home(), change, ABSENT, values)
    return Update(layout.home(), change, "#version = :was", {**values, "was": before.version})


@contextmanager
def _in_words() -> Generator[None]:
    """Raise ``NotShared`` where the table, the bucket or the disk did not do it."""
    try:
        yield
    except NotShared:
        raise
    except StoreError as error:
        raise NotShared(AWAY.format(why=error)) from error
    except OSError as error:
        raise NotShared(DISK.format(why=error.strerror or error)) from error
