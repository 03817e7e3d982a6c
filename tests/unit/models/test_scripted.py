"""The scripted model in the process."""

from __future__ import annotations

import pytest

from agentic.core.events.execution_events import CallBlock
from agentic.models.scripted.model import Asked, ScriptedModel, answer
from agentic.ports.errors import ModelBadRequest, ModelUnavailable
from agentic.ports.runtime import Message, Prompt

PROMPT = Prompt("s", (), (Message("user", "x"),))


async def test_it_answers_in_order_streams_and_remembers_what_it_was_asked():
    model = ScriptedModel(
        [answer("a text that is longer than one piece of it"), answer("", ("shell", {"command": "ls"}))]
    )
    pieces: list[str] = []
    first = await model.answer("m", PROMPT, max_tokens=5, timeout=1, on_text=pieces.append)
    second = await model.answer("m", PROMPT, max_tokens=6, timeout=1)
    assert len(pieces) == 2
    assert "".join(pieces) == first.blocks[0].text
    assert second.stop == "tool_use"
    assert [asked.max_tokens for asked in model.asked] == [5, 6]


async def test_its_call_ids_are_unique_even_where_the_script_repeats_itself():
    again = answer("", ("shell", {}), ("shell", {}))
    model = ScriptedModel([again, again])
    blocks = [
        *(await model.answer("m", PROMPT, max_tokens=1, timeout=1)).blocks,
        *(await model.answer("m", PROMPT, max_tokens=1, timeout=1)).blocks,
    ]
    assert len({block.provider_id for block in blocks if isinstance(block, CallBlock)}) == 4


async def test_errors_are_raised_and_an_empty_script_is_one():
    model = ScriptedModel([ModelUnavailable("down")])
    with pytest.raises(ModelUnavailable):
        await model.answer("m", PROMPT, max_tokens=1, timeout=1)
    with pytest.raises(ModelBadRequest, match="no answer left"):
        await model.answer("m", PROMPT, max_tokens=1, timeout=1)


async def test_a_function_may_answer_by_what_was_asked():
    async def script(asked: Asked):
        return answer(asked.model.upper())

    assert (await ScriptedModel(script).answer("abc", PROMPT, max_tokens=1, timeout=1)).blocks[0].text == "ABC"


def test_prices_are_those_it_was_given():
    assert ScriptedModel([]).price("m", 10, 10) == 0.0
    model = ScriptedModel([], prices={"m": (1.0, 2.0)})
    assert model.price("m", 1_000_000, 1_000_000) == 3.0
    assert model.price("other", 1, 1) is None
