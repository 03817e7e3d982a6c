"""Schema mode: for models that cannot call tools, each answer is one JSON object of a fixed shape.  Pure.

Small models answer better when they are constrained.  The shape is {reasoning, confidence, status, actions, answer}; no
action is a legal answer.  The history is told in the same shape, so that the model sees what it wrote itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import orjson
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from agentic.core.events.execution_events import (
    Block,
    CallBlock,
    Status,
    TextBlock,
)
from agentic.models.answers.json_text import dumps
from agentic.models.answers.tool_calls import properties, read_call
from agentic.models.openai.chat_request import Histories, Row, joined, spoken_with
from agentic.models.requests.wire_cache import WireCache
from agentic.ports.runtime import Message, Prompt, ToolSpec

FINISH: Final = "finish"
RULES: Final = """
# How to answer
Answer with one JSON object and nothing else:
{"reasoning": why this is the best next step, "confidence": 0-100 that the task will succeed, "status": "progressing", \
"stuck" or "done", "actions": [{"tool": name, "arguments": {...}}], "answer": what the person should read, or ""}
Use "actions" to act; the results come in the next message. Leave "actions" empty and fill "answer" when nothing is left \
to do or when you only want to say something.
""".strip()


class Action(BaseModel):
    """One tool call as the model wrote it; its arguments are judged where every call is."""

    model_config = ConfigDict(extra="ignore")
    tool: str
    arguments: JsonValue = Field(default_factory=dict)


class Step(BaseModel):
    """One answer; everything may be missing, because small models leave things out."""

    model_config = ConfigDict(extra="ignore")
    reasoning: str = ""
    confidence: float | None = None
    status: Status | None = None
    title: str = ""
    actions: tuple[Action, ...] = ()
    answer: str = ""


class SchemaWire:
    """Encodes prompts for schema mode."""

    def __init__(self) -> None:
        self.messages: WireCache[tuple[Row, ...]] = WireCache(message_rows)
        self._histories = Histories(self.messages)

    def rows(self, prompt: Prompt) -> list[Row]:
        """The messages; the tools stand in the system text."""
        return joined(system_text(prompt), self._histories.rows(prompt.messages), prompt.tail)


def system_text(prompt: Prompt) -> str:
    """The system text with the tools and the shape of an answer."""
    told = "\n".join(
        f"- {t.name}: {t.description}\n  arguments: {orjson.dumps(t.parameters).decode()}" for t in prompt.tools
    )
    tools = f"# Tools\n{told}" if told else "# Tools\nThere are none."
    return "\n\n".join(part for part in (prompt.system, tools, RULES) if part)


def response_format(tools: tuple[ToolSpec, ...], *, union: bool = True) -> Row:
    """The shape as a JSON schema: each action is one tool with its own arguments.

    Without ``union`` arguments are any object, for servers whose constrained decoder takes no alternatives.
    """
    names: list[JsonValue] = [tool.name for tool in tools]
    action: Row = {"anyOf": [_action([tool.name], _plain(tool.parameters)) for tool in tools]}
    if not union:
        action = _action(names, {"type": "object"})
    shape: Row = {
        "type": "object",
        "properties": {
            "reasoning": {"type": "string"},
            "confidence": {"type": "integer", "minimum": 0, "maximum": 100},
            "status": {"type": "string", "enum": ["progressing", "stuck", "done"]},
            "title": {"type": "string"},
            **({"actions": {"type": "array", "items": action, "maxItems": 8}} if names else {}),
            "answer": {"type": "string"},
        },
        "required": ["reasoning", "confidence", "status", *(["actions"] if names else []), "answer"],
    }
    return {"type": "json_schema", "json_schema": {"name": "step", "schema": shape, "strict": False}}


def _action(names: list[JsonValue], arguments: Row) -> Row:
    return {
        "type": "object",
        "properties": {"tool": {"type": "string", "enum": names}, "arguments": arguments},
        "required": ["tool", "arguments"],
        "additionalProperties": False,
    }


def _plain(schema: Row) -> Row:
    """A tool's schema without descriptions, which stand in the system text: a decoder reads none, and some choke."""
    plain: Row = {}
    for key, value in schema.items():
        if key == "properties" and isinstance(value, dict):
            plain[key] = {name: _plain(one) if isinstance(one, dict) else one for name, one in value.items()}
        elif key != "description":
            plain[key] = _plain_value(value)
    return plain


def _plain_value(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return _plain(value)
    return [_plain_value(one) for one in value] if isinstance(value, list) else value


def read_step(text: str) -> Step | None:
    """The answer's object, also inside a fence or with words around it; None where there is none."""
    stripped = text.strip().removeprefix("```json").removeprefix("```").removesuffix("```").strip()
    for candidate in (stripped, _outermost(stripped)):
        try:
            step = Step.model_validate_json(candidate)
        except ValidationError:
            continue
        if step.model_fields_set:
            return step
    return None


def step_blocks(step: Step, specs: Mapping[str, ToolSpec], *, cut_off: bool = False) -> tuple[Block, ...]:
    """The blocks of a step, the same as a model with native calls would have sent.

    What it says of itself becomes the lines ``confidence: N``, ``status: S`` and ``title: T`` of its text; a final answer
    becomes a call of ``finish`` where there is such a tool.
    """
    calls = [read_call("", action.tool, action.arguments, specs, cut_off=cut_off) for action in step.actions]
    ends = not calls and step.status == "done" and bool(step.answer.strip())
    finish = specs.get(FINISH)
    if ends and finish is not None and "answer" in properties(finish):
        calls = [CallBlock(provider_id="", tool=FINISH, arguments={"answer": step.answer})]
        said = _thinking(step)
    elif specs:
        said = "\n".join(part for part in (_thinking(step), step.answer.strip()) if part)
    else:
        said = step.answer.strip() or step.reasoning.strip()
    return (*((TextBlock(text=said),) if said else ()), *calls)


def message_rows(message: Message) -> tuple[Row, ...]:
    """One message of the history, told without native calls."""
    if message.role == "assistant":
        if not (message.text.strip() or message.calls):
            return ()
        actions: list[JsonValue] = [{"tool": call.tool, "arguments": call.arguments} for call in message.calls]
        step: Row = {"reasoning": message.text, "actions": actions} if actions else {"answer": message.text}
        return ({"role": "assistant", "content": dumps(step).decode()},)
    told = [f"[result of {a.tool}{': FAILED' if a.failed else ''}]\n{a.text}" for a in message.answers]
    told += [message.text] if message.text.strip() else []
    return ({"role": "user", "content": spoken_with("\n\n".join(told), message)},) if told else ()


def _thinking(step: Step) -> str:
    title = " ".join(step.title.split())
    lines = [f"title: {title}" if title else "", step.reasoning.strip()]
    if step.confidence is not None:
        lines.append(f"confidence: {round(max(0.0, min(100.0, step.confidence)))}")
    if step.status:
        lines.append(f"status: {step.status}")
    return "\n".join(line for line in lines if line)


def _outermost(text: str) -> str:
    start, end = text.find("{"), text.rfind("}")
    return text[start : end + 1] if 0 <= start < end else ""
