"""What people do to what an execution left behind: undo it, merge or delete its branch.  Between two executions only."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from agentic.core.events import InboxItem
from agentic.core.execution import Execution
from agentic.errors import AgenticError
from agentic.ports import SessionRow
from agentic.world.snapshots import SnapshotLost
from bot.branches import Branches
from bot.refusals import refused as why_not
from bot.rights import may, needed
from bot.undoing import Undoing

log = logging.getLogger(__name__)


class ActFailed(AgenticError):
    """It could not be done; the text says why, and what of it was done."""


@dataclass(frozen=True, slots=True)
class ThreadActs:
    """The acts of every thread; ``Ground.acts``."""

    undoing: Undoing
    branches: Branches

    async def act(self, item: InboxItem, session: SessionRow) -> str:
        """Do it, at most once in effect; returns the receipt's words.  Raises ``AgenticError``."""
        try:
            if item.sort == "undo":
                return await self.undoing.undo(item)
            if not may(item.author.level, "merge"):
                return why_not("merge", needed("merge"))
            return await (self.branches.merge(item) if item.sort == "merge" else self.branches.reject(item))
        except SnapshotLost as lost:
            return f"That task cannot be undone. {lost}"
        except OSError as error:
            log.warning("thread %s: %s failed", session.thread, item.sort, exc_info=error)
            reason = error.strerror or type(error).__name__
            raise ActFailed(f"the files could not be written ({reason}). Try it again when that is mended.") from error

    async def ended(self, execution: Execution) -> None:
        """An execution has ended: keep how it left the workspace.  Never fails."""
        try:
            await self.undoing.remember(execution)
        except (AgenticError, OSError) as error:
            log.warning("execution %s: how it left its files is not kept: %s", execution.id, error)
