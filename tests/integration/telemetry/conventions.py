"""Names of OpenTelemetry's GenAI conventions that the product uses, copied by hand from their registry.

Source: github.com/open-telemetry/semantic-conventions-genai, v0.1.0: ``model/gen-ai/registry.yaml`` (attributes),
``spans.yaml`` (what each span may hold, its kind and name), ``metrics.yaml`` and ``token-metrics.yaml`` (instrument, unit,
attributes).
"""

from __future__ import annotations

from opentelemetry.proto.trace.v1.trace_pb2 import Span

CLIENT, INTERNAL = Span.SPAN_KIND_CLIENT, Span.SPAN_KIND_INTERNAL

SPANS: dict[str, tuple[int, frozenset[str], frozenset[str]]] = {
    "chat": (
        CLIENT,
        frozenset(("gen_ai.operation.name", "gen_ai.provider.name")),
        frozenset((
            "gen_ai.conversation.id", "gen_ai.request.model", "gen_ai.response.model", "gen_ai.response.finish_reasons",
            "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens", "gen_ai.usage.cache_read.input_tokens",
            "gen_ai.usage.cache_write.input_tokens", "gen_ai.usage.reasoning.output_tokens", "gen_ai.output.messages",
            "error.type",
        )),
    ),
    "invoke_agent": (
        INTERNAL,
        frozenset(("gen_ai.operation.name",)),
        frozenset((
            "gen_ai.agent.name", "gen_ai.conversation.id", "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens",
            "gen_ai.input.messages", "gen_ai.output.messages", "error.type",
        )),
    ),
    "execute_tool": (
        INTERNAL,
        frozenset(("gen_ai.operation.name", "gen_ai.tool.name")),
        frozenset((
            "gen_ai.tool.type", "gen_ai.tool.call.id", "gen_ai.agent.name", "gen_ai.conversation.id",
            "gen_ai.tool.call.arguments", "gen_ai.tool.call.result", "error.type",
        )),
    ),
}  # fmt: skip
"""By operation: the span's kind, the attributes that it must have, and those of the conventions that it may have."""

_CLIENT = frozenset(
    ("gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model", "gen_ai.response.model", "error.type")
)
_USAGE = (_CLIENT | {"gen_ai.token.modality"}) - {"error.type"}
_TOOL = frozenset(("gen_ai.tool.name", "gen_ai.tool.type", "gen_ai.agent.name", "error.type"))

METRICS: dict[str, tuple[str, str, frozenset[str]]] = {
    "gen_ai.client.inference.duration": ("histogram", "s", _CLIENT),
    "gen_ai.client.inference.usage.input_tokens": ("sum", "{token}", _USAGE),
    "gen_ai.client.inference.usage.output_tokens": ("sum", "{token}", _USAGE),
    "gen_ai.client.inference.usage.cache_read.input_tokens": ("sum", "{token}", _USAGE),
    "gen_ai.client.inference.usage.cache_write.input_tokens": ("sum", "{token}", _USAGE),
    "gen_ai.client.inference.usage.reasoning.output_tokens": ("sum", "{token}", _USAGE),
    "gen_ai.client.inference.operation.input_tokens": ("histogram", "{token}", _CLIENT),
    "gen_ai.client.inference.operation.output_tokens": ("histogram", "{token}", _CLIENT),
    "gen_ai.invoke_agent.duration": (
        "histogram", "s", frozenset(("gen_ai.operation.name", "gen_ai.agent.name", "error.type")),
    ),
    "gen_ai.invoke_agent.inference_calls": ("histogram", "{inference_call}", frozenset(("gen_ai.agent.name",))),
    "gen_ai.invoke_agent.tool_calls": ("histogram", "{tool_call}", frozenset(("gen_ai.agent.name",))),
    "gen_ai.execute_tool.duration": ("histogram", "s", _TOOL),
}  # fmt: skip
"""By name: the instrument as it is sent, its unit, and the attributes of the conventions that it may have."""
OURS = "threadwright."
