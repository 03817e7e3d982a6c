"""What follows the end of an execution, each around the one before: it is judged and learned from (``reflexion``), what
was learned is said on its card, how it came out is kept as a label, what failed is tried again or a person is asked what
was wrong.
"""

from __future__ import annotations

from collections.abc import Callable

from agentic.ports.runtime import Clock, Store
from agentic.runtime.budget_ledger import Purse
from bot.after_run.announce_lessons import Announcing, Asking
from bot.after_run.auto_retry import Tell, Trying
from bot.after_run.calibration_labels import Calibrating
from bot.after_run.feedback_survey import Learned, Regrets
from bot.outbound.discord_api import Desk
from reflexion.ports import LessonStore


class Aftermath:
    """The layers, in order; ``learning`` is the outermost."""

    def __init__(
        self, learner: Learned, store: Store, lessons: LessonStore, clock: Clock, purse: Purse, tell: Tell, build: str
    ) -> None:  # fmt: skip
        self.announcing = Announcing(learner, store, lessons)
        self.calibrating = Calibrating(self.announcing, store)
        self.trying = Trying(self.calibrating, store, lessons, clock, purse, tell, build)
        self.learning = self.regrets = Regrets(self.trying, learner, store, clock, tell, build)

    def through(self, desk: Desk, ask: Asking, learned: Callable[[], None]) -> None:
        """Bring what stands in Discord up to date by this desk from now on; ``ask`` people about lessons, and tell that
        some may have changed (``learned``).
        """
        self.announcing.through(desk, ask, learned)
        self.regrets.through(desk)
