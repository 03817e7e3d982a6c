"""What commands show and change beyond the conversation: lessons, workspaces, the caps of a task."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from agentic.core.events.execution_events import Policy
from agentic.ports.runtime import Clock
from agentic.runtime.clock import SystemClock
from agentic.stores.process_identity import this_process
from bot.inbound.voice_messages import VoiceReader
from bot.messages.file_changes import FetchBefore, nothing_kept
from bot.outbound.live.answer_messages import AnswerMessages

if TYPE_CHECKING:
    from agentic.runtime.budget_ledger import BudgetLedger
    from bot.equipment.equipment import Equipment
    from bot.equipment.thread_skills import ThreadSkills
    from bot.equipment.watcher_files import WatcherFiles
    from bot.outbound.live.branch_offer_messages import BranchOfferMessages
    from bot.outbound.live.pull_messages import PullMessages
    from bot.workspace.sandboxes import Workshop
    from reflexion.ports import LessonStore


@dataclass(frozen=True, slots=True)
class Roles:
    """What a process of the bot does; by default it does all of it, alone."""

    talks: bool = True
    """It is connected to Discord's gateway: hears what is said, and keeps house."""
    works: bool = True
    """It runs executions."""

    @property
    def name(self) -> str:
        """The command that begins such a process."""
        return "run" if self.alone else "gateway" if self.talks else "worker"

    @property
    def alone(self) -> bool:
        """Whether no other process of the bot shares the store."""
        return self.talks and self.works

    def name_among_others(self) -> str:
        """What others know this process by; '' where it is alone."""
        return "" if self.alone else this_process()


@dataclass(frozen=True, slots=True)
class Backstage:
    """Each is None where there is none; then the commands that need it say so."""

    lessons: LessonStore | None = None
    workshop: Workshop | None = None
    policy: Policy = field(default_factory=Policy)
    fetch_before: FetchBefore = nothing_kept
    """A file as it was at a checkpoint."""
    live: tuple[BranchOfferMessages | AnswerMessages | PullMessages, ...] = ()
    """Those who keep the messages of offered branches and pull requests, and the buttons of answers, up to date."""
    forget: Callable[[str], Awaitable[None]] | None = None
    """Lets go of what is kept of a thread that is no more, once nothing runs there."""
    purse: BudgetLedger | None = None
    """Knows how far the caps of the day are used up."""
    home: Path | None = None
    """Where state lies; None where nothing is kept on a disk."""
    lessons_trouble: Callable[[], str] = lambda: ""
    """Why tasks run without lessons now; '' while all is well."""
    unwoken: Callable[[str], Awaitable[None]] | None = None
    """Brings the buttons of an answer, by its outbox key, up to date after its wake-up was cancelled."""
    clock: Clock = field(default_factory=SystemClock)
    skills: ThreadSkills | None = None
    """Looks skills up."""
    held_up: Callable[[], float] = lambda: 0.0
    """Seconds for which everything stood still at once, at most, in the last hour."""
    equipment: Equipment | None = None
    """Roles and rules that people wrote."""

    voices: VoiceReader | None = None
    """Writes voice messages down."""
    watchers: WatcherFiles | None = None
    """The small agents that may look on."""
    roles: Roles = field(default_factory=Roles)

    def sandbox(self) -> str:
        """Say where commands run; '' where none do, or while that is being tried."""
        return self.workshop.said() if self.workshop is not None else ""

    async def button_used(self, key: str) -> None:
        """Have the buttons under the answer with this outbox key made anew."""
        for each in self.live:
            if isinstance(each, AnswerMessages):
                await each.changed(key)
