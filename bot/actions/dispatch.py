"""Carry out actions on finished executions: undo, redo, retry, resume, merge or delete a branch, clean.

Actions run only between two executions. All are asked for by people, except ``trial``, a retry by the machine.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from agentic.core.events.execution_events import InboxItem, Sort
from agentic.core.state.execution import Execution
from agentic.ports.errors import AgenticError
from agentic.ports.runtime import Lease, SessionRow
from agentic.workspace.snapshots.snapshot_store import SnapshotLost
from bot.access.denials import refused as why_not
from bot.access.permissions import may, needed
from bot.actions.branches import Branches
from bot.actions.clean import Cleaning
from bot.actions.rerun import Rewinding
from bot.actions.undo import Undoing
from bot.ports.actions import NotDone
from bot.sessions.dependencies import Acted

CANNOT: dict[Sort, str] = {
    "undo": "That task cannot be undone.",
    "redo": "That undo cannot be reversed.",
    "retry": "That task cannot be run again.",
    "rewind": "That can't be continued.",
    "trial": "That task cannot be tried again.",
    "clean": "The copy is damaged.",
}

log = logging.getLogger(__name__)


class ActFailed(AgenticError):
    """The action failed; the message says why, and what part of it was done."""


@dataclass(frozen=True, slots=True)
class ThreadActs:
    """The actions of every thread; ``Ground.acts``."""

    undoing: Undoing
    branches: Branches
    rewinding: Rewinding
    cleaning: Cleaning

    async def act(self, item: InboxItem, session: SessionRow, lease: Lease) -> Acted:
        """Carry the action out, at most once in effect, under the thread's lease. Raises ``AgenticError``."""
        try:
            return await self._act(item, session, lease)
        except NotDone as why:
            return Acted(str(why))
        except SnapshotLost as lost:
            return Acted(f"{CANNOT[item.sort]} {lost}" if item.sort in CANNOT else str(lost))
        except OSError as error:
            log.warning("thread %s: %s failed", session.thread, item.sort, exc_info=error)
            reason = error.strerror or type(error).__name__
            raise ActFailed(f"the files could not be written ({reason}). Fix that, then try again.") from error

    async def _act(self, item: InboxItem, session: SessionRow, lease: Lease) -> Acted:
        match item.sort:
            case "undo":
                return await self.undoing.undo(item)
            case "redo":
                return await self.undoing.redo(item)
            case "retry":
                return await self.rewinding.retry(item, session, lease)
            case "trial":
                return await self.rewinding.trial(item, session, lease)
            case "rewind":
                return await self.rewinding.rewind(item, session, lease)
            case "clean":
                return await self.cleaning.clean(item)
            case _ if not may(item.author.level, "merge"):
                return Acted(why_not("merge", needed("merge")))
            case "merge":
                return Acted(await self.branches.merge(item))
            case _:
                return Acted(await self.branches.reject(item))

    async def ended(self, execution: Execution) -> None:
        """Save the workspace as an ended execution left it. Never fails."""
        try:
            await self.undoing.remember(execution)
        except (AgenticError, OSError) as error:
            log.warning("execution %s: how it left its files is not kept: %s", execution.id, error)

    async def begins(self, thread: str) -> None:
        """Before the next execution, save what the last one's process could not save any more. Never fails."""
        try:
            await self.undoing.catch_up(thread)
        except (AgenticError, OSError) as error:
            log.warning("thread %s: how its last execution left its files is not kept: %s", thread, error)
