"""The part of the composition root that no start waits for: what follows the end of an execution, and what people do to
what has ended.

``bot/app/app.py`` builds it when something is first asked of it (``bot/later.py``), and imports it in the background before
that.  Nothing that a start imports needs this module, so that what goes on after a crash does not wait for it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from agentic.core.lazy_dataclass import dataclass
from agentic.runtime.budget_ledger import Purse
from agentic.stores.process_identity import this_process
from bot.actions.branches import Branches
from bot.actions.clean import Cleaning
from bot.actions.dispatch import ThreadActs
from bot.actions.fork import Forking
from bot.actions.rerun import Rewinding
from bot.actions.restore_files import Restoring
from bot.actions.undo import Undoing
from bot.after_run.announce_lessons import AnnounceLessons
from bot.after_run.auto_retry import AutoRetry
from bot.after_run.calibration_labels import CalibrationLabels
from bot.after_run.feedback_survey import FeedbackSurvey
from bot.after_run.pipeline import Pipeline
from bot.charts.renderer import Studio
from bot.config.models import judges_from
from bot.sessions.start import caps_from
from reflexion.judge.judge import Judge
from reflexion.retrieval.embedding import embedder
from reflexion.service import Reflexion

if TYPE_CHECKING:
    from agentic.core.events.execution_events import OutboxItem, Policy
    from agentic.models.router import ModelRouter
    from agentic.ports.runtime import Clock, Store
    from agentic.workspace.snapshots.snapshot_store import Snapshots
    from bot.app.client import ThreadwrightBot
    from bot.config.settings import Settings
    from bot.outbound.branch_offer_messages import BranchOfferMessages
    from bot.sessions.start import Beginning
    from bot.threads.registry import Threads
    from bot.workspace.sandboxes import Workshop
    from reflexion.ports import LessonStore


@dataclass(frozen=True, slots=True)
class Given:
    """What stands when the rest is built; ``lasts``: there are later executions, and people, to learn for."""

    settings: Settings
    policy: Policy
    store: Store
    lessons: LessonStore
    model: ModelRouter
    clock: Clock
    purse: Purse
    workshop: Workshop
    snapshots: Snapshots
    offers: BranchOfferMessages
    begin: Beginning
    tell: Callable[[OutboxItem], Awaitable[None]]
    build: str
    bot: ThreadwrightBot
    threads: Threads
    lasts: bool


class Rest:
    """Everything that is made later."""

    def __init__(self, given: Given) -> None:
        settings, policy, store, clock, build = given.settings, given.policy, given.store, given.clock, given.build
        judges = judges_from(settings, policy.tiers, lasting=given.lasts)
        judge = Judge(given.model, given.purse, clock, given.lessons, judges, mode=settings.judge)
        self.reflexion = Reflexion(
            store, given.lessons, given.model, clock, policy=policy, build=build, asks=given.lasts,
            caps=caps_from(settings), judge=judge, readers=judges if settings.judge != "off" else (),
            embedder=embedder(settings.embeddings),
        )  # fmt: skip
        desk, approving, tell = given.bot.desk, given.bot.approving, given.tell
        self.labels = CalibrationLabels(store)
        steps = (
            AnnounceLessons(store, given.lessons, desk, approving.ask, approving.messages.look_again),
            self.labels,
            AutoRetry(store, given.lessons, clock, given.purse, tell, given.threads.deliver, build),
            FeedbackSurvey(store, clock, desk, tell, build),
        )
        self.learning = Pipeline(self.reflexion, store, steps)
        workshop, snapshots = given.workshop, given.snapshots
        restoring = Restoring(store, clock, workshop, snapshots, build)
        self.acts = ThreadActs(
            Undoing(store, workshop, restoring),
            Branches(store, clock, workshop, given.offers, build, self.labels.came_out),
            Rewinding(store, clock, workshop, restoring, given.begin, build),
            Cleaning(restoring),
        )
        self.forking = Forking(store, clock, workshop, snapshots, this_process(), given.tell, build)
        self.studio = Studio(settings.home / "pictures")
