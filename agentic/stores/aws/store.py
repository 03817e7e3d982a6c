"""The store of many machines as a whole: its parts by subject, over one table and one bucket."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Self

from agentic.aws.aws_place import AwsPlace
from agentic.aws.bucket import Bucket
from agentic.aws.clients import PATIENCE, Clients, Observer
from agentic.core.events.upcasting import READING, ReaderVersion
from agentic.ports.stores import Store
from agentic.stores.aws.bodies import Bodies
from agentic.stores.aws.followers.publications import Publications
from agentic.stores.aws.shared_home import AwsHome
from agentic.stores.aws.store_subject import Aws
from agentic.stores.aws.subjects.blobs import Blobs
from agentic.stores.aws.subjects.budgets import Budgets
from agentic.stores.aws.subjects.inbox import Inbox
from agentic.stores.aws.subjects.labels import Labels
from agentic.stores.aws.subjects.leases import Leases
from agentic.stores.aws.subjects.retention import Retention
from agentic.stores.aws.subjects.schedules import Schedules
from agentic.stores.aws.subjects.search import Search
from agentic.stores.aws.subjects.sessions import Sessions
from agentic.stores.aws.table import Table
from agentic.stores.aws.words_copy import WordsCopy
from agentic.stores.home_folder import HomeFolder
from agentic.stores.process_identity import this_process


class AwsStore(Retention, Publications, Blobs, Leases, Inbox, Sessions, Budgets, Labels, Schedules, Search, Store):
    """Any number of processes, on any number of machines, work on it together; each thread has one owner."""

    @classmethod
    def open(
        cls,
        place: AwsPlace,
        seconds: Callable[[], float] = time.time,
        reading: ReaderVersion = READING,
        *,
        patience: float = PATIENCE,
        observer: Observer | None = None,
    ) -> Self:
        """The store of this place; nothing is asked until something is needed."""
        return cls.over(Clients(place, patience, observer), seconds, reading)

    @classmethod
    def over(
        cls,
        clients: Clients,
        seconds: Callable[[], float] = time.time,
        reading: ReaderVersion = READING,
        process: str = "",
    ) -> Self:
        """The store that these clients lead to; ``process``: who is told to hold what is taken, '' for this one."""
        bucket, place = Bucket(clients), clients.place
        words = WordsCopy(place.copies, f"{place.table} {place.where}")
        aws = Aws(clients, Table(clients), bucket, Bodies(bucket), words, seconds, reading, process or this_process())
        return cls(aws)

    def shared_home(self, home: Path, parts: Collection[str]) -> AwsHome:
        """What keeps parts of this machine's home in step with the other machines, over the same clients."""
        return AwsHome(self._aws, self, HomeFolder(home, parts))

    async def close(self) -> None:
        """Let go of all connections and files."""
        await self._aws.words.close()
        await self._aws.clients.close()
