"""The measured effect of a lesson in words, from the outcomes of tasks that it fitted; pure.

Only tasks from which it was withheld at random show how they would have gone without it. A difference whose interval
includes zero is called uncertain, however large it looks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reflexion.lessons.lifecycle import Life, Showing
from reflexion.measurement.uplift import Uplift, overall_uplift, points, uplift_of

UNTOLD = "No task has used it yet."
NOT_HELD_BACK = "It was never left out for comparison yet, so what would happen without it is not known."
NOT_TOLD = "No task has used it yet, so whether it helps is not known."


def effect(life: Life, showings: Sequence[Showing]) -> str:
    """Say how tasks went with the lesson, and without it where it was withheld, and how certain that is."""
    if not life.shown and not life.held_back:
        return UNTOLD
    told = f"With it: {_of(life.shown_ok, life.shown, 'task')} went well. " if life.shown else ""
    held = f"Without it: {_of(life.held_back_ok, life.held_back, 'task')} went well. " if life.held_back else ""
    uplift = uplift_of(showings)
    if uplift is None:
        return told + held + (NOT_HELD_BACK if life.shown else NOT_TOLD)
    return f"{told}{held.rstrip()}\nThat is **{_points(uplift.difference)}**, {_range(uplift)}: {_judgement(uplift)}."


def in_short(life: Life, showings: Sequence[Showing]) -> str:
    """Say the same for a line of a list; '' where nothing is known."""
    if not life.shown and not life.held_back:
        return ""
    told = f"went well {life.shown_ok} of {life.shown} times with it" if life.shown else "not used in any task yet"
    uplift = uplift_of(showings)
    if uplift is None:
        return told
    without = f", {life.held_back_ok} of {life.held_back} without"
    return f"{told}{without} · {_points(uplift.difference)} ({_judgement(uplift)})"


def overall(showings: Iterable[Showing]) -> str:
    """Say the effect of all lessons together; '' until some were both used and withheld."""
    uplift = overall_uplift(list(showings))
    if uplift is None:
        return ""
    return f"All lessons together: {_points(uplift.difference)}, {_range(uplift)}: {_judgement(uplift, 'they')}."


def _of(ok: int, of: int, what: str) -> str:
    return f"{ok} of {of} {what}{'' if of == 1 else 's'}"


def _points(share: float) -> str:
    return f"{points(share)} points"


def _range(uplift: Uplift) -> str:
    return f"95% sure between {points(uplift.low)} and {points(uplift.high)}"


def _judgement(uplift: Uplift, what: str = "it") -> str:
    verb = ("help", "hurt") if what == "they" else ("helps", "hurts")
    if uplift.low > 0:
        return f"{what} {verb[0]}"
    return f"{what} {verb[1]}" if uplift.high < 0 else "too few tasks to be sure"
