"""What a lesson does to tasks, in words, from what became of those that it fitted; pure."""

from __future__ import annotations

from bot.lesson_words import times
from reflexion.lifecycle import Life

UNTOLD = "No task was told of it yet."


def effect(life: Life) -> str:
    """How tasks went with it, and without it where it was held back."""
    if not life.shown and not life.held_back:
        return UNTOLD
    without = f"; held back from {life.held_back}, {life.held_back_ok} went well" if life.held_back else ""
    return f"{times(life.shown, 'task')} told of it, {life.shown_ok} went well{without}"
