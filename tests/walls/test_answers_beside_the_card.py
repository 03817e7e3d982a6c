"""Answers that would draw the card's own lines into themselves, or look like them."""

from __future__ import annotations

import re
from itertools import product

import pytest

from agentic.core.events.execution_events import Claim, Finished
from bot.messages.final_card import card
from bot.rendering.discord_text import render
from tests.unit.bot.following import STARTED, after
from tests.walls.tally import Wall

PIECES = ("```", "````", "`", "``", "||", ">>> ", "\\", "\n", "x", "-# ✔ proven", "**How I know**", "***How I know:***")
CODE = re.compile(
    r"```(?:[a-z0-9_+.#-]+?\n)?\n*[^\n].*?\n*```|(?<!`)(`+)(?!`).*?[^`]\1(?!`)", re.DOTALL | re.IGNORECASE
)
"""Code as Discord reads it, seen from without: leftmost first, over line ends."""


def read(text: str) -> str:
    """What is left to read outside of code, spoilers and quotations without end."""
    text = re.sub(r"\\[^0-9A-Za-z\s]|" + CODE.pattern, "·", text, flags=CODE.flags)
    text = re.sub(r"\|\|.+?\|\|", "", text, flags=re.DOTALL)
    return re.sub(r"^ *>>> .*", "", text, flags=re.DOTALL | re.MULTILINE)


@pytest.mark.wall("output")
def test_the_evidence_stands_outside_of_whatever_an_answer_opens(wall: Wall) -> None:
    claim = Claim(text="it is fast", command="a || b", exit_code=1, verdict="contradicted")
    progress = after(STARTED, Finished(reason="done", answer="", claims=(claim, Claim(text="LAST WORD"))))
    for pieces in product(PIECES, repeat=3):
        (shown,) = render(card("".join(pieces), progress), footer="-# FOOTER").parts
        left = read(shown)
        whole = all(word in left for word in ("contradicted:", "LAST WORD", "FOOTER"))
        alone = (
            left.splitlines().count("**How I know**") == 1 and left.count("\n-# ") == 1 and not left.startswith("-#")
        )
        wall.held(repr(pieces), whole and alone, shown)
