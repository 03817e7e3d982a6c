"""Interactions that expire or break off: what a person chose counts all the same."""

from __future__ import annotations

import pytest

from bot.guild.misbehave import Refused, Reset, Rule
from tests.integration.bot.talking import Scenery
from tests.integration.bot.test_questions import asking


@pytest.mark.parametrize("fault", [Refused(404, 10062, "Unknown interaction"), Reset()], ids=["expired", "reset"])
async def test_a_choice_counts_also_if_it_could_not_be_acknowledged(scenery: Scenery, fault: Refused | Reset) -> None:
    _, question = await asking(scenery)
    scenery.guild.misbehave(Rule("POST /interactions/*", fault))
    await scenery.guild.click(question.id, question.custom_ids()[0])
    await scenery.until(lambda: len(scenery.talk.got) == 2)
    assert scenery.guild.misbehaviour.applied
    assert (scenery.talk.got[1].sort, scenery.talk.got[1].text) == ("answer", "SQLite")
