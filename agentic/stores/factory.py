"""Which store is used: the one place that knows what stores there are."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from tempfile import TemporaryDirectory

from agentic.aws.aws_place import AwsPlace
from agentic.ports.maintenance import DatabaseMaintenance, StoreFinding, StoreMaintenance, StoreTransfer
from agentic.ports.stores import Store, VersionedObjects
from agentic.stores.shared_files import SharedHome
from agentic.stores.sqlite.maintenance.store_maintenance import SQLiteFile, SQLiteMaintenance
from agentic.stores.sqlite.store import SQLiteStore

MEMORY = "/dev/shm"  # noqa: S108  # a folder of its own is made in it, for this user alone


def open_store(where: Path | AwsPlace, *, keeps_index: bool = True) -> Store:
    """The store in a file, or the one on AWS.

    Without ``keeps_index`` searches only read what is shared: who works on the store keeps its index.
    """
    match where:
        case AwsPlace():
            from agentic.stores.aws.store import AwsStore  # with the SDK, which only those need whose store is there

            return AwsStore.open(where)
        case Path():
            where.parent.mkdir(parents=True, exist_ok=True)
            return SQLiteStore.open(where, keeps_index=keeps_index)


def passing_folder() -> TemporaryDirectory[str]:
    """A folder for a store that is to last no longer than this: in memory where the machine has such a place."""
    return TemporaryDirectory(prefix="threadwright-", dir=MEMORY if os.access(MEMORY, os.W_OK) else None)


def open_objects(place: AwsPlace) -> VersionedObjects:
    """The bucket of a store on AWS, for snapshots of workspaces."""
    from agentic.aws.bucket import WorkspaceObjects  # with the SDK

    return WorkspaceObjects.open(place)


def open_shared_home(store: Store, home: Path, parts: Collection[str]) -> SharedHome | None:
    """What keeps parts of a home in step with other machines; None for a store that machines do not share."""
    if isinstance(store, SQLiteStore):
        return None
    from agentic.stores.aws.store import AwsStore  # with the SDK

    assert isinstance(store, AwsStore)
    return store.shared_home(home, parts)


async def inspect_store(place: AwsPlace) -> tuple[StoreFinding, ...]:
    """Look at all that a store on AWS needs, without changing anything."""
    from agentic.stores.aws.aws_inspection import inspect  # with the SDK, which only those need whose store is there

    return await inspect(place)


def store_maintenance(database: Path) -> StoreMaintenance:
    """What can be done to a store beside those who work on it."""
    return SQLiteMaintenance(database)


def store_transfer(where: Path | AwsPlace) -> StoreTransfer:
    """What takes executions out of a store and into it."""
    if isinstance(where, Path):
        return SQLiteMaintenance(where)
    from agentic.stores.aws.maintenance.transfer import AwsTransfer  # with the SDK

    return AwsTransfer(where)


def database_maintenance(database: Path) -> DatabaseMaintenance:
    """What can be done to any database of a home."""
    return SQLiteFile(database)
