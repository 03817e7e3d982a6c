"""Whatever a model writes as a call is either prepared or refused in words."""

from __future__ import annotations

import hashlib
import json
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from agentic.core.events.execution_events import ToolStarted
from agentic.ports.runtime import Prepared, Refused
from agentic.tools.memory.fact_memory import FactMemory
from agentic.tools.memory.recall import recall_tool
from agentic.tools.memory.remember import remember_tool
from agentic.tools.toolbox import STANDARD, StandardToolbox
from agentic.workspace.workspace import RealWorld

NAMES = [tool.name for tool in STANDARD]
FIELDS = sorted({name for tool in STANDARD for name in cast(dict[str, JsonValue], tool.spec.parameters["properties"])})
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from(["\ud800", "a\0b", "9" * 5_000])
)
JSON = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4))
CALLS = st.dictionaries(st.sampled_from(FIELDS) | st.text(), JSON, max_size=5)


async def no_world() -> RealWorld:
    raise AssertionError("preparing a call opens no world")


@pytest.fixture
def toolbox() -> StandardToolbox:
    return StandardToolbox(no_world)


TOOLBOX = StandardToolbox(no_world)


@given(st.sampled_from(NAMES) | st.text(), CALLS)
def test_any_call_is_prepared_or_refused_and_never_raises(tool: str, arguments: dict[str, JsonValue]) -> None:
    made = TOOLBOX.prepare(tool, arguments)
    if isinstance(made, Refused):
        assert made.text
        assert len(made.text) < 2_500
        made.text.encode()
    else:
        ToolStarted(
            call="c", provider_id="p", tool=tool, effect=made.effect, arguments=made.arguments, args_sha=made.args_sha
        ).model_dump_json()


def test_a_deeply_nested_argument_is_refused(toolbox: StandardToolbox) -> None:
    deep: JsonValue = "x"
    for _ in range(5_000):
        deep = [deep]
    assert isinstance(toolbox.prepare("read", {"path": "a", "more": deep}), Refused)
    assert isinstance(toolbox.prepare("todo", {"items": deep}), Refused)


def test_an_unknown_tool_is_refused_with_the_nearest_name(toolbox: StandardToolbox) -> None:
    made = toolbox.prepare("Shel", {})
    assert isinstance(made, Refused)
    assert "Did you mean shell?" in made.text
    assert "multi_edit" in made.text


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("shell", {}, "'command' is missing"),
        ("shell", {"command": "ls", "cmd": "ls"}, "'cmd' is no argument of this tool"),
        ("shell", {"command": ["ls"]}, "'command' should be a valid string"),
        ("shell", {"command": "  "}, "'command' is empty"),
        ("shell", {"command": "a\0b"}, "NUL"),
        ("shell", {"command": "ls", "timeout": 100_000}, "'timeout' should be less than or equal to 600"),
        ("shell", {"command": "ls", "alternatives": [{"command": "a", "trade_off": "b"}] * 4}, "'alternatives'"),
        ("shell", {"command": "ls", "alternatives": [{"command": "a", "trade_off": "b"}]}, "exactly one"),
        ("shell", {"command": "ls", "background": True, "fallback": "ls"}, "no 'fallback'"),
        ("todo", {"items": [{"text": "a", "state": "half"}]}, "'items.0.state' should be 'open', 'doing' or 'done'"),
        ("report", {"status": "done", "confidence": 101}, "'confidence'"),
        ("read", {"path": "a", "offset": 0}, "'offset'"),
        ("read", {"path": "a" * 256}, "'path' has a name of more than 255 bytes"),
        ("write", {"path": "a/" * 200 + "b", "content": ""}, "'path' has more than 100 folders"),
        ("list", {"path": "a\nb"}, "'path' has a control character"),
    ],
)
def test_wrong_arguments_are_refused_with_what_is_wrong_and_the_expected_shape(
    toolbox: StandardToolbox, tool: str, arguments: dict[str, JsonValue], said: str
) -> None:
    made = toolbox.prepare(tool, arguments)
    assert isinstance(made, Refused)
    assert said in made.text
    assert "Expected: {" in made.text
    assert "Example: {" in made.text


def test_a_null_means_left_out(toolbox: StandardToolbox) -> None:
    made = toolbox.prepare("read", {"path": "a", "offset": None})
    assert isinstance(made, Prepared)
    assert made.arguments == {"path": "a"}
    assert isinstance(toolbox.prepare("read", {"path": None}), Refused)
    assert isinstance(toolbox.prepare("read", {"path": "a", "other": None}), Refused)


def test_the_hash_is_that_of_the_canonical_arguments_whatever_their_order(toolbox: StandardToolbox) -> None:
    one = toolbox.prepare("shell", {"command": "ls", "timeout": 5})
    other = toolbox.prepare("shell", {"timeout": 5, "command": "ls"})
    assert isinstance(one, Prepared)
    assert isinstance(other, Prepared)
    assert one.args_sha == other.args_sha == hashlib.sha256(b'{"command":"ls","timeout":5}').hexdigest()
    assert json.dumps(one.arguments, sort_keys=True) == json.dumps(other.arguments, sort_keys=True)


def test_a_prepared_call_carries_its_expectation_and_time(toolbox: StandardToolbox) -> None:
    made = toolbox.prepare("shell", {"command": "ls", "timeout": 5, "expectation": "two files", "fallback": "dir"})
    assert isinstance(made, Prepared)
    assert made.expectation == "two files"
    assert 10 <= made.timeout <= 60
    assert made.effect == "unkeyed"


@pytest.mark.parametrize("tool", STANDARD, ids=lambda tool: tool.name)
def test_each_tool_takes_its_own_example_and_describes_itself_briefly(toolbox: StandardToolbox, tool: object) -> None:
    spec = next(spec for spec in toolbox.specs if spec.name == tool.name)
    example = json.loads(spec.description.rsplit("Example: ", 1)[1])
    assert isinstance(toolbox.prepare(spec.name, example), Prepared)
    assert spec.parameters["type"] == "object"
    assert spec.parameters["additionalProperties"] is False
    assert "$ref" not in json.dumps(spec.parameters)
    assert '"title"' not in json.dumps(spec.parameters)


def test_the_tools_stay_small_enough_to_be_sent_with_each_request(toolbox: StandardToolbox) -> None:
    size = sum(len(json.dumps(spec.parameters)) + len(spec.description) for spec in toolbox.specs)
    assert size < 11_600
    memory = cast("FactMemory", None)  # only the descriptions are looked at
    bound = [tool.spec for tool in (remember_tool(memory), recall_tool(memory))]
    assert sum(len(json.dumps(spec.parameters)) + len(spec.description) for spec in bound) < 1_000


def test_readers_and_only_readers_may_run_beside_each_other(toolbox: StandardToolbox) -> None:
    readers = {spec.name for spec in toolbox.specs if spec.effect == "read"}
    assert readers == {"read", "list", "glob", "grep", "read_output"}
    assert {spec.name for spec in toolbox.specs if spec.effect == "unkeyed"} == {
        "shell",
        "python",
        "edit",
        "multi_edit",
    }
