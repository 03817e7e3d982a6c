"""What follows the end of an execution, each around the one before: it is judged and learned from (``reflexion``), what
was learned is said on its card, how it came out is kept as a label, what failed is tried again or a person is asked what
was wrong.
"""

from __future__ import annotations

from collections.abc import Callable

from agentic.ports import Clock, Store
from agentic.purse import Purse
from bot.announcing import Announcing, Asking
from bot.calibrating import Calibrating
from bot.posting import Desk
from bot.regrets import Learned, Regrets
from bot.trying import Tell, Trying
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
