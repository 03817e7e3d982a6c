"""Which texts are taken for tool calls, and which are not."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.core.events.execution_events import CallBlock, TextBlock
from agentic.models.answers.tool_calls import by_name, read_call
from agentic.models.answers.tool_calls_in_text import recover, recovered_blocks
from agentic.ports.runtime import ToolSpec

SPECS = by_name(
    [
        ToolSpec(
            "shell",
            "",
            {"type": "object", "properties": {"command": {}, "cwd": {}}, "required": ["command"]},
            "unkeyed",
            "execute",
        ),
        ToolSpec("look", "", {"type": "object", "properties": {"path": {}}}, "read", "read"),
    ]
)
CALL = '{"name": "shell", "arguments": {"command": "ls"}}'
LS = {"command": "ls"}


@pytest.mark.parametrize(
    "text",
    [
        CALL,
        f"  {CALL}\n",
        f"[{CALL}]",
        f"```json\n{CALL}\n```",
        f"```\n{CALL}\n```",
        f"<tool_call>{CALL}</tool_call>",
        f"<tool_call>\n{CALL}\n",
        '{"tool": "shell", "arguments": {"command": "ls"}}',
        '{"tool": "shell", "args": {"command": "ls"}, "reasoning": "to see"}',
        '{"name": "shell", "parameters": {"command": "ls"}}',
        '{"name": "shell", "arguments": "{\\"command\\": \\"ls\\"}"}',
        '{"type": "function", "function": {"name": "shell", "arguments": {"command": "ls"}}}',
    ],
)
def test_a_text_that_is_a_call_and_nothing_else_is_one(text: str):
    found = recover(text, SPECS)
    assert found is not None
    assert found.text == ""
    assert [read_call("", c.tool, c.arguments, SPECS).arguments for c in found.calls] == [LS]


@pytest.mark.parametrize(
    "text",
    [
        f"I look around.\n```json\n{CALL}\n```",
        f"I look around.\n{CALL}",
        f"I look around.\n<tool_call>{CALL}</tool_call>",
    ],
)
def test_a_call_that_ends_some_prose_is_taken_out_of_it(text: str):
    found = recover(text, SPECS)
    assert found is not None
    assert found.text == "I look around."
    assert [call.tool for call in found.calls] == ["shell"]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("no brace at all", id="plain"),
        pytest.param('{"name": "rm_rf", "arguments": {}}', id="unknown-tool"),
        pytest.param('{"name": "shell"}', id="no-arguments"),
        pytest.param('{"name": "shell", "version": 3, "arguments": {"command": "ls"}}', id="some-other-object"),
        pytest.param('{"command": "ls"}', id="data"),
        pytest.param(f"You could write\n```json\n{CALL}\n```\nbut I advise against it.", id="example-in-the-middle"),
        pytest.param(f"Either\n```json\n{CALL}\n```\nor\n```json\n{CALL}\n```", id="two-in-prose"),
        pytest.param(
            'Look:\n{"name": "shell", "arguments": {"command": "ls", "sudo": true}}', id="prose-with-foreign-arguments"
        ),
        pytest.param('Look:\n{"name": "shell", "arguments": {}}', id="prose-without-required-arguments"),
        pytest.param(f"Say {CALL}", id="within-a-line"),
        pytest.param(f"[{CALL}, 3]", id="list-with-something-else"),
    ],
)
def test_what_is_not_surely_a_call_stays_text(text: str):
    assert recover(text, SPECS) is None


def test_several_tagged_calls_are_all_taken():
    found = recover(f"<tool_call>{CALL}</tool_call>\n<tool_call>{CALL}</tool_call>", SPECS)
    assert found is not None
    assert len(found.calls) == 2


def test_a_tagged_call_that_is_broken_is_a_malformed_call_not_text():
    blocks = recovered_blocks(
        (TextBlock(text='<tool_call>{"name": "shell", "arguments": {"command": ls}}</tool_call>'),), SPECS, length=False
    )
    assert [(b.tool, b.problem) for b in blocks if isinstance(b, CallBlock)] == [("shell", "malformed")]


def test_a_tagged_call_cut_off_by_length_is_not_run():
    blocks = recovered_blocks(
        (TextBlock(text='<tool_call>{"name": "shell", "arguments": {"command": "rm'),), SPECS, length=True
    )
    assert [(b.tool, b.problem) for b in blocks if isinstance(b, CallBlock)] == [("shell", "cut_off")]


def test_text_beside_a_native_call_is_left_alone():
    blocks = (TextBlock(text=CALL), CallBlock(provider_id="a", tool="look"))
    assert recovered_blocks(blocks, SPECS, length=False) == blocks


@given(st.text(max_size=80))
def test_any_text_is_read_without_an_error(text: str):
    for wrapped in (text, f"<tool_call>{text}", f"```json\n{text}\n```", "{" + text):
        recovered_blocks((TextBlock(text=wrapped),), SPECS, length=True)


@given(st.dictionaries(st.sampled_from(["command", "cwd"]), st.text(max_size=20)), st.sampled_from(["shell", "look"]))
def test_what_is_recovered_is_what_was_written(arguments: dict[str, str], tool: str):
    text = orjson.dumps({"name": tool, "arguments": arguments}).decode()
    found = recover(text, SPECS)
    assert found is not None
    assert (found.calls[0].tool, found.calls[0].arguments) == (tool, arguments)


JSON_TEXT = st.one_of(
    st.text(max_size=30), st.just('{"command": "ls"'), st.just("null"), st.just("[]"), st.just('"x"'), st.just("3")
)


@given(JSON_TEXT)
def test_arguments_that_are_no_object_are_malformed_and_kept_as_they_came(raw: str):
    block = read_call("a", "shell", raw, SPECS)
    assert block.problem == "malformed"
    assert block.raw == raw
    assert block.arguments == {}


def test_no_text_means_no_arguments_only_where_none_are_needed():
    assert read_call("a", "look", "", SPECS).problem == ""
    assert read_call("a", "shell", "", SPECS).problem == "malformed"
    assert read_call("a", "unheard_of", "", SPECS).problem == "malformed"
