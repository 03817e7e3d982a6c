"""Every name that traces and metrics hold, in one table.

Names that begin with ``gen_ai.`` are those of OpenTelemetry's GenAI conventions, v0.1.0 (github.com/open-telemetry/
semantic-conventions-genai; spans ``gen_ai.client.inference``, ``gen_ai.invoke_agent.internal`` and
``gen_ai.execute_tool``). What they have no name for (money, the task, waiting for a person) begins with ``threadwright.``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

CHAT: Final = "chat"
INVOKE_AGENT: Final = "invoke_agent"
EXECUTE_TOOL: Final = "execute_tool"
WAIT: Final = "wait_for_person"
"""The operations; a span is called by its operation and what it is done with."""
OTHER: Final = "_OTHER"
"""Stands for a name that nobody but a model made up."""

OPERATION: Final = "gen_ai.operation.name"
PROVIDER: Final = "gen_ai.provider.name"
CONVERSATION: Final = "gen_ai.conversation.id"
AGENT: Final = "gen_ai.agent.name"
ASKED_MODEL: Final = "gen_ai.request.model"
ANSWERING_MODEL: Final = "gen_ai.response.model"
FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
CACHE_READ: Final = "gen_ai.usage.cache_read.input_tokens"
CACHE_WRITE: Final = "gen_ai.usage.cache_write.input_tokens"
REASONING: Final = "gen_ai.usage.reasoning.output_tokens"
MODALITY: Final = "gen_ai.token.modality"
TOOL: Final = "gen_ai.tool.name"
TOOL_TYPE: Final = "gen_ai.tool.type"
CALL: Final = "gen_ai.tool.call.id"
ARGUMENTS: Final = "gen_ai.tool.call.arguments"
RESULT: Final = "gen_ai.tool.call.result"
INPUT_MESSAGES: Final = "gen_ai.input.messages"
OUTPUT_MESSAGES: Final = "gen_ai.output.messages"
ERROR: Final = "error.type"
EXECUTION: Final = "threadwright.execution.id"
PARENT: Final = "threadwright.execution.parent"
OUTCOME: Final = "threadwright.outcome"
TURNS: Final = "threadwright.turns"
TURN: Final = "threadwright.turn"
TIER: Final = "threadwright.tier"
PURPOSE: Final = "threadwright.request.purpose"
ATTEMPT: Final = "threadwright.request.attempt"
REQUEST: Final = "threadwright.request.id"
USD: Final = "threadwright.usage.usd"
ESTIMATED: Final = "threadwright.usage.estimated"
EFFECT: Final = "threadwright.tool.effect"
EXIT_CODE: Final = "threadwright.tool.exit_code"
QUESTION: Final = "threadwright.question.id"
QUESTION_SORT: Final = "threadwright.question.sort"
TAKEN_UP: Final = "threadwright.taken_up_after"
STATE: Final = "threadwright.state"
SIGNAL: Final = "threadwright.signal"

ATTRIBUTES: Final[Mapping[str, str]] = {
    OPERATION: "what is done: `chat`, `invoke_agent`, `execute_tool`; ours: `wait_for_person`",
    PROVIDER: "whose model is asked",
    CONVERSATION: "the thread",
    AGENT: "the role that works, `threadwright` where it has none",
    ASKED_MODEL: "the model that was asked",
    ANSWERING_MODEL: "the model that answered, as its provider says",
    FINISH_REASONS: "why the answer ended: `stop`, `tool_call`, `length`, `content_filter`, `other`, `error`",
    INPUT_TOKENS: "tokens that were sent, cached ones too",
    OUTPUT_TOKENS: "tokens that were written, reasoning too",
    CACHE_READ: "those that came out of the provider's cache",
    CACHE_WRITE: "those that were put into it",
    REASONING: "those that were reasoning",
    MODALITY: "always `unknown`: no provider says it the same way",
    TOOL: "the tool; `_OTHER` where a model made one up",
    TOOL_TYPE: "always `function`",
    CALL: "the call's id, as in the log",
    ARGUMENTS: "its arguments; only with `THREADWRIGHT_TRACE_CONTENT`",
    RESULT: "its result as the model read it; only with `THREADWRIGHT_TRACE_CONTENT`",
    INPUT_MESSAGES: "the task; only with `THREADWRIGHT_TRACE_CONTENT`",
    OUTPUT_MESSAGES: "what was answered; only with `THREADWRIGHT_TRACE_CONTENT`",
    ERROR: "how it failed: a class of failures, an outcome, a reason, `owner_lost`, `unfinished`",
    EXECUTION: "the execution, as `threadwright replay` takes it",
    PARENT: "the execution whose work this one does a part of",
    OUTCOME: "how it ended: a reason, an outcome, `answered`, `expired`, `handed_over`, `owner_lost`",
    TURNS: "turns so far",
    TURN: "the turn that a request belongs to",
    TIER: "the tier of the model",
    PURPOSE: "what a request is for: `turn`, `triage`, `advice`, `watcher`, `summary`",
    ATTEMPT: "which attempt at a request it is",
    REQUEST: "the request's id, as in the log",
    USD: "US dollars that were spent",
    ESTIMATED: "whether the provider did not say what was used",
    EFFECT: "`read`, `keyed` or `unkeyed`: whether it may run twice",
    EXIT_CODE: "what a command ended with",
    QUESTION: "the question's id",
    QUESTION_SORT: "`question`, `approval`, `extension`, `plan` or `approaches`",
    TAKEN_UP: "why another process goes on: `crash`, `handover`",
    STATE: "what sessions do: `working`, `asking`, `paused`, …",
    SIGNAL: "`traces` or `metrics`",
}
"""What each attribute means, for people."""

_SECONDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
_LONG = (*_SECONDS, 300.0, 1_200.0, 3_600.0, 14_400.0, 86_400.0)
_TOKENS = (1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576)
_CALLS = (0, 1, 2, 4, 8, 16, 32, 64, 128)


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric; ``meaning`` is for people."""

    name: str
    instrument: Literal["histogram", "counter", "gauge"]
    unit: str
    meaning: str
    buckets: tuple[float, ...] = ()


CHAT_SECONDS: Final = Metric("gen_ai.client.inference.duration", "histogram", "s", "how long a model took", _SECONDS)
CHAT_INPUT: Final = Metric("gen_ai.client.inference.usage.input_tokens", "counter", "{token}", "tokens that were sent")
CHAT_OUTPUT: Final = Metric(
    "gen_ai.client.inference.usage.output_tokens", "counter", "{token}", "tokens that were written"
)
CHAT_READ: Final = Metric(
    "gen_ai.client.inference.usage.cache_read.input_tokens", "counter", "{token}", "tokens out of a cache"
)
CHAT_WRITE: Final = Metric(
    "gen_ai.client.inference.usage.cache_write.input_tokens", "counter", "{token}", "tokens put into a cache"
)
CHAT_REASONING: Final = Metric(
    "gen_ai.client.inference.usage.reasoning.output_tokens", "counter", "{token}", "tokens of reasoning"
)
EACH_INPUT: Final = Metric(
    "gen_ai.client.inference.operation.input_tokens", "histogram", "{token}", "tokens sent with a request", _TOKENS
)
EACH_OUTPUT: Final = Metric(
    "gen_ai.client.inference.operation.output_tokens", "histogram", "{token}", "tokens of an answer", _TOKENS
)
AGENT_SECONDS: Final = Metric(
    "gen_ai.invoke_agent.duration", "histogram", "s", "how long an execution took in one process", _LONG
)
AGENT_REQUESTS: Final = Metric(
    "gen_ai.invoke_agent.inference_calls", "histogram", "{inference_call}", "requests of an execution", _CALLS
)
AGENT_CALLS: Final = Metric("gen_ai.invoke_agent.tool_calls", "histogram", "{tool_call}", "its tool calls", _CALLS)
TOOL_SECONDS: Final = Metric("gen_ai.execute_tool.duration", "histogram", "s", "how long a tool took", _SECONDS)
SPEND: Final = Metric("threadwright.spend", "counter", "{USD}", "US dollars that tasks spent")
WAIT_SECONDS: Final = Metric("threadwright.wait.duration", "histogram", "s", "how long a person was waited for", _LONG)
LEASE_CONFLICTS: Final = Metric(
    "threadwright.lease.conflicts", "counter", "{conflict}", "times that another owner had a thread"
)
DROPPED: Final = Metric("threadwright.telemetry.dropped", "counter", "{item}", "spans and events left out, unsent")
LOOP_LAG: Final = Metric("threadwright.loop.lag", "gauge", "s", "longest stall of the event loop in the last minute")
OUTBOX_AGE: Final = Metric("threadwright.outbox.age", "gauge", "s", "how long the oldest message has waited")
OUTBOX_ITEMS: Final = Metric("threadwright.outbox.items", "gauge", "{message}", "messages that wait to be posted")
SESSIONS: Final = Metric("threadwright.sessions", "gauge", "{session}", "threads by what they do")

METRICS: Final = (
    CHAT_SECONDS, CHAT_INPUT, CHAT_OUTPUT, CHAT_READ, CHAT_WRITE, CHAT_REASONING, EACH_INPUT, EACH_OUTPUT,
    AGENT_SECONDS, AGENT_REQUESTS, AGENT_CALLS, TOOL_SECONDS, SPEND, WAIT_SECONDS, LEASE_CONFLICTS, DROPPED, LOOP_LAG,
    OUTBOX_AGE, OUTBOX_ITEMS, SESSIONS,
)  # fmt: skip

PROVIDERS: Final[Mapping[str, str]] = {
    "azure": "azure.ai.openai", "azure_ai": "azure.ai.inference", "bedrock": "aws.bedrock", "gemini": "gcp.gemini",
    "mistral": "mistral_ai", "moonshot": "moonshot_ai", "vertex_ai": "gcp.vertex_ai", "watsonx": "ibm.watsonx.ai",
    "xai": "x_ai",
}  # fmt: skip
"""Providers whom the conventions call otherwise than a model's name does."""
