"""Halves of characters never reach an encoder."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from agentic.core.events.execution_events import CallBlock
from agentic.models.answers.json_text import (
    dumps,
    loads,
    whole,
    whole_json,
)
from agentic.models.answers.tool_calls import read_call
from agentic.models.anthropic.request import AnthropicWire
from agentic.models.openai.chat_request import ChatWire
from agentic.ports.runtime import (
    Message,
    Prompt,
    ToolAnswer,
    ToolCall,
)

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=20)
LEAF = st.one_of(st.none(), st.integers(-9, 9), ANY_TEXT)
ANY_JSON = st.recursive(
    LEAF, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3), max_leaves=8
)


@given(ANY_TEXT)
def test_any_text_becomes_one_that_can_be_encoded_and_good_text_stays(text: str):
    fixed = whole(text)
    fixed.encode()
    assert whole(fixed) is fixed


@given(ANY_JSON)
def test_any_json_can_be_encoded(value):
    assert orjson.loads(dumps(value)) == whole_json(value)


def test_two_halves_become_their_character_and_one_alone_is_replaced():
    assert whole("\ud83d" + "\ude00") == "😀"
    assert whole("a\ud83d") == "a\ufffd"
    assert loads(b'"\\ud83d"') == "\ud83d"


@given(ANY_TEXT)
def test_no_text_in_a_history_breaks_a_request(text: str):
    history = (
        Message("user", text),
        Message("assistant", text, calls=(ToolCall("a", "shell", {"command": text, text: [text]}),)),
        Message("user", text, answers=(ToolAnswer("a", "shell", text),)),
    )
    prompt = Prompt(text, (), history, tail=text)
    orjson.loads(AnthropicWire().request("claude", prompt, max_tokens=1, stream=True))
    orjson.dumps(ChatWire().rows(prompt))


@given(ANY_TEXT)
def test_arguments_with_halves_are_read_and_can_be_stored(text: str):
    import json

    block = read_call("a", "shell", json.dumps({"command": text}), {})
    assert block.problem == ""
    block.model_dump_json()


@pytest.mark.parametrize("depth", [150, 300, 1_000, 5_000, 100_000])
@pytest.mark.parametrize("form", ["as text", "as an object"])
def test_arguments_nested_too_deeply_are_a_malformed_call(depth: int, form: str) -> None:
    """No store and no library takes them, and none has to."""
    text = '{"path":' + "[" * depth + "]" * depth + "}"
    nested: JsonValue = []
    for _ in range(depth):
        nested = [nested]
    call = read_call("1", "read", text if form == "as text" else {"path": nested}, {})
    assert (call.problem, call.arguments) == ("malformed", {})
    assert CallBlock.model_validate_json(call.model_dump_json()) == call
