"""The words of questions and of what is written beside a command."""

from __future__ import annotations

import pytest

from agentic.core.events.execution_events import Option, OutboxItem
from bot.cogs.commands.checkpoints import unquoted
from bot.messages.question_text import Standing, question_words

OPTIONS = (Option(id="1", label="$1 more"), Option(id="stop", label="Stop here"))
ITEM = OutboxItem(key="x1.2.0", thread="1", execution="x1", sort="question", question="q1", text="?", options=OPTIONS)


def test_the_first_answer_is_recommended_but_never_to_spend_more() -> None:
    asked = question_words(ITEM.model_copy(update={"asked": "question"}), Standing())
    assert "**1.** $1 more (recommended)" in asked
    more = question_words(ITEM.model_copy(update={"asked": "extension"}), Standing())
    assert "recommended" not in more


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ('"try it with a cache"', "try it with a cache"),
        (" “try it” ", "try it"),
        ('"a" and "b"', '"a" and "b"'),
        ('say "hello"', 'say "hello"'),
        ('"', '"'),
        ("", ""),
    ],
)
def test_quotation_marks_around_all_of_a_text_are_taken_off(written: str, meant: str) -> None:
    assert unquoted(written) == meant
