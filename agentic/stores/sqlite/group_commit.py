"""Transactions that share one commit.

Each runs in a savepoint, so that one that is refused leaves the others alone.  Where the group fails as a whole (a full
disk, say) each is tried alone, so that a large one cannot take small ones down with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

import apsw

from agentic.ports.failpoints import reach
from agentic.stores.sqlite.file.connection import Connection
from agentic.stores.sqlite.file.sqlite_errors import translate


class Work(Protocol):
    """A transaction; ``error`` is None after the commit of what ``run`` did."""

    error: BaseException | None

    def run(self, connection: Connection) -> None:
        """Change the database; may be called again after a roll-back."""
        ...


@dataclass(slots=True)
class Counters:
    """What was done since the store was opened."""

    transactions: int = 0
    commits: int = 0
    checkpoints: int = 0


class GroupCommit:
    """Commits groups over one connection, which nobody else writes to meanwhile."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.counters = Counters()

    def write(self, works: Sequence[Work]) -> None:
        """Make all of them durable or give each its ``error``."""
        try:
            self._connection.execute("BEGIN IMMEDIATE")
        except apsw.Error as error:
            for work in works:
                work.error = translate(error) or error
            return
        self._finish(works)

    def _finish(self, works: Sequence[Work]) -> None:
        failure = self._attempt(works)
        if failure is None:
            return
        if len(works) == 1:
            works[0].error = failure
            return
        for work in works:
            work.error = None
            self.write([work])

    def _attempt(self, works: Sequence[Work]) -> BaseException | None:
        """End the transaction that was begun; an error that ended it as a whole is returned, and nothing was kept."""
        try:
            self._run(works)
            reach("group.commit.before")
            self._connection.execute("COMMIT")
            reach("group.commit.after")
        except apsw.Error as error:
            self._roll_back()
            return translate(error) or error
        except BaseException as error:  # noqa: BLE001  # handed to the one who asked for the change
            self._roll_back()
            return error
        self.counters.transactions += len(works)
        self.counters.commits += 1
        return None

    def _run(self, works: Sequence[Work]) -> None:
        if len(works) == 1:
            works[0].run(self._connection)
            return
        for work in works:
            self._run_in_savepoint(work)

    def _run_in_savepoint(self, work: Work) -> None:
        connection = self._connection
        connection.execute("SAVEPOINT work")
        try:
            work.run(connection)
        except apsw.Error:
            raise  # the disk, not the work: the transaction as a whole is in doubt
        except BaseException as error:  # noqa: BLE001  # handed to the one who asked for the change
            work.error = error
            connection.execute("ROLLBACK TO work")
        connection.execute("RELEASE work")

    def _roll_back(self) -> None:
        with suppress(apsw.Error):  # those who wait hear of the first error; the next BEGIN would tell of this one
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
