"""Providers of OpenAI's protocol, each in its own dialect, over HTTP; LiteLLM is what they are held against."""

from __future__ import annotations

import asyncio
import copy
import importlib
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import orjson
import pytest
from pydantic import JsonValue, TypeAdapter

from agentic.core.events.execution_events import CallBlock, ReasoningBlock, TextBlock
from agentic.models.litellm.library import load
from agentic.models.litellm.litellm_transport import LiteLLMTransport
from agentic.models.openai.chat_model import ChatModel
from agentic.models.openai.dialects import DIALECTS, described
from agentic.models.providers.catalogue import BY_NAME
from agentic.models.providers.prices import Prices, facts_of_rows, prices_from
from agentic.models.router import ModelRouter, library_of
from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from agentic.ports.errors import (
    ModelBadRequest,
    ModelContextOverflow,
    ModelError,
    ModelKeyRefused,
    ModelQuotaUsedUp,
    ModelRateLimited,
    ModelUnavailable,
    ModelUnknown,
)
from agentic.ports.pictures import Image, PicturedMessage
from agentic.ports.runtime import Message, Prompt, ToolAnswer, ToolCall
from deploy.price_list import MAP, installed

from .conftest import PROMPT, SHELL, both_ways

MODELS = {
    "openai": "openai/gpt-4o",
    "hosted_vllm": "hosted_vllm/own",
    "openrouter": "openrouter/qwen/qwen3-coder",
    "groq": "groq/openai/gpt-oss-20b",
    "deepseek": "deepseek/deepseek-chat",
    "xai": "xai/grok-4",
    "mistral": "mistral/mistral-large-latest",
    "lm_studio": "lm_studio/own",
}
"""A model of each provider that is asked by chat completions."""
PRICES = Prices(prices_from("hosted_vllm/own=1/2, openai/new=1/2, publicai/own=1/2, deepseek/deepseek-v4-pro=1/2"))
HISTORY = (
    Message("user", "go"),
    Message("assistant", "I look.", calls=(ToolCall("a", "shell", {"command": "ls"}),)),
    Message("user", answers=(ToolAnswer("a", "shell", "one two"),)),
)
FULL = Prompt("be kind", (SHELL,), HISTORY, "it is noon")
every_provider = pytest.mark.parametrize("provider", MODELS)
both_forms = pytest.mark.parametrize(("schema", "stream"), [(False, True), (True, False)], ids=["tools", "schema"])


def environment(url: str, *providers: str) -> dict[str, str]:
    names = [name.upper() for name in (*MODELS, *providers)]
    return {f"{name}_API_KEY": f"key-of-{name.lower()}" for name in names} | {
        f"{name}_API_BASE": f"{url}/v1" for name in names
    }


@asynccontextmanager
async def asking(script, **options) -> AsyncIterator[tuple[Callable, list[CapturedRequest]]]:
    async with ScriptedEndpoint.start(script) as endpoint:
        router = ModelRouter(environment(endpoint.url, "publicai"), prices=PRICES, **options)

        async def ask(model: str, prompt: Prompt = PROMPT, *, stream: bool = True):
            async with asyncio.timeout(120):
                return await router.answer(
                    model, prompt, max_tokens=99, timeout=60, on_text=(lambda _: None) if stream else None
                )

        yield ask, endpoint.requests
        await router.close()


def events(*deltas: Mapping[str, JsonValue], usage: JsonValue = None, stop: str = "stop") -> bytes:
    """A stream with these deltas."""
    rows: list[dict] = [{"model": "m", "choices": [{"index": 0, "delta": dict(delta)}]} for delta in deltas]
    rows.append({"model": "m", "choices": [{"index": 0, "delta": {}, "finish_reason": stop}]})
    rows += [{"model": "m", "choices": [], "usage": usage}] if usage else []
    return b"".join(b"data: " + orjson.dumps(row) + b"\n\n" for row in rows) + b"data: [DONE]\n\n"


# What is sent.


@both_forms
async def test_what_is_sent_is_what_litellm_would_send(schema: bool, stream: bool):
    patterns = ("*",) if schema else ()
    models = [*MODELS.values(), "openai/gpt-5.4", "openai/gpt-5-nano"]
    async with asking(lambda _: Reply('{"answer": "fine"}'), schema_models=patterns) as (ask, requests):
        for model in models:
            await ask(model, copy.deepcopy(FULL), stream=stream)
        ours = [request.body for request in requests]
    async with ScriptedEndpoint.start(lambda _: Reply('{"answer": "fine"}')) as endpoint:
        transport = LiteLLMTransport(environment(endpoint.url), await asyncio.to_thread(load))
        through = ChatModel(transport, PRICES, schema_models=patterns)
        for model in models:
            on_text = (lambda _: None) if stream else None
            await through.answer(model, copy.deepcopy(FULL), max_tokens=99, timeout=60, on_text=on_text)
        await through.close()
        theirs = [request.body for request in endpoint.requests]
    for model, mine, its in zip(models, ours, theirs, strict=True):
        if not mine.get("stream"):
            its.pop("stream_options", None)  # it says how to stream also where it does not
        assert mine == its, model


def exhausted(value: object) -> None:
    """Read whatever pydantic validates only while it is read."""
    if isinstance(value, dict):
        for each in value.values():
            exhausted(each)
    elif isinstance(value, Iterable) and not isinstance(value, str | bytes):
        for each in value:
            exhausted(each)


@every_provider
@both_forms
async def test_requests_are_of_the_types_that_the_sdk_declares(provider: str, schema: bool, stream: bool):
    from openai.types.chat.completion_create_params import (
        CompletionCreateParamsNonStreaming,
        CompletionCreateParamsStreaming,
    )

    patterns = ("*",) if schema else ()
    async with asking(lambda _: Reply('{"answer": "fine"}'), schema_models=patterns) as (ask, requests):
        await ask(MODELS[provider], FULL, stream=stream)
    body = requests[0].body
    kind = CompletionCreateParamsStreaming if body.get("stream") else CompletionCreateParamsNonStreaming
    assert body.keys() - kind.__annotations__.keys() <= DIALECTS[provider].extra.keys()
    adapter = TypeAdapter(kind)  # kept: what is read later is validated by it
    exhausted(adapter.validate_python(body))


@both_ways
async def test_requests_to_anthropic_are_of_the_types_that_its_sdk_declares(asker, stream: bool):
    from anthropic.types.message_create_params import MessageCreateParamsNonStreaming, MessageCreateParamsStreaming

    async with ScriptedEndpoint.start([Reply("ok")]) as endpoint:
        await (await asker(endpoint))("anthropic/claude-sonnet-4-5", FULL, stream=stream)
    body = endpoint.requests[0].body
    kind = MessageCreateParamsStreaming if stream else MessageCreateParamsNonStreaming
    assert body.keys() <= kind.__annotations__.keys()
    adapter = TypeAdapter(kind)  # kept: what is read later is validated by it
    exhausted(adapter.validate_python(body))


@every_provider
async def test_each_provider_is_told_its_own_key_and_nothing_of_openais(provider: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_ORG_ID", "our-organization")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Secret: sesame\nAuthorization: Bearer sesame")
    async with asking(lambda _: Reply("ok")) as (ask, requests):
        await ask(MODELS[provider])
    headers = str(dict(requests[0].headers))
    if provider != "openai":
        assert f"Bearer key-of-{provider}" in headers
        assert "our-organization" not in headers
        assert "sesame" not in headers


OTHERWISE = ("search", "gpt-5-chat", "chat-latest", "computer-use", "daybreak")
"""Models that take both names of the limit, of which LiteLLM sends the older one, or that it does not know to reason."""


def test_default_addresses_and_the_name_of_the_limit_are_litellms(monkeypatch: pytest.MonkeyPatch):
    import openai

    load()
    litellm = importlib.import_module("litellm")
    for name in {variable for provider in BY_NAME.values() for variable in provider.addresses}:
        monkeypatch.delenv(name, raising=False)
    for name, dialect in DIALECTS.items():
        if name == "openai":
            assert str(openai.AsyncOpenAI(api_key="k").base_url).rstrip("/") == dialect.address
        elif name == "openrouter":  # it stands in the middle of a function
            assert f'"{dialect.address}"' in Path(litellm.main.__file__).read_text(encoding="utf-8")
        elif name not in ("lm_studio", "ollama_chat"):  # it has none for these
            assert (litellm.get_llm_provider(f"{name}/x")[3] or "") == dialect.address, name
    its_own = facts_of_rows((installed() / MAP).read_bytes())
    known = [(name, facts) for name, facts in its_own.items() if facts.provider == "openai" and facts.chats]
    for name, facts in known:
        if not name.startswith("ft:") and not any(word in name for word in OTHERWISE):
            says = litellm.get_optional_params(model=name, custom_llm_provider="openai", max_tokens=5)
            assert ("max_completion_tokens" in says) == facts.reasons, name
    assert len(known) > 50


def test_the_library_is_chosen_by_protocol():
    chosen = {
        "openai/gpt-4o": "openai", "gpt-4o": "openai", "no-such-name": "openai", "ollama/llama3.1": "openai",
        "publicai/any": "openai", "openrouter/anthropic/claude-sonnet-4.6": "openai",
        "anthropic/claude-sonnet-4-5": "anthropic", "claude-sonnet-4-5": "anthropic",
        "gemini/gemini-2.5-pro": "litellm", "gemini-2.5-pro": "litellm", "bedrock/any": "litellm", "nobody/any": "litellm",
        "openai/gpt-5.2-codex": "litellm",  # it has no chat completions
        "sarvam/any": "litellm",  # it wants a header of its own
        "scripted/tour": None,
    }  # fmt: skip
    assert {model: library_of(model, PRICES) for model in chosen} == chosen


async def test_a_provider_that_litellm_describes_in_its_file_is_asked_like_the_others():
    assert described()["publicai"][1].address == "https://api.publicai.co/v1"
    async with asking(lambda _: Reply("ok")) as (ask, requests):
        answer = await ask("publicai/own")
    assert answer.blocks == (TextBlock(text="ok"),)
    assert requests[0].headers["Authorization"] == "Bearer key-of-publicai"


async def test_a_server_of_ones_own_needs_its_address():
    router = ModelRouter({"HOSTED_VLLM_API_KEY": "k"}, prices=PRICES)
    with pytest.raises(ModelKeyRefused, match="HOSTED_VLLM_API_BASE"):
        await router.answer("hosted_vllm/own", PROMPT, max_tokens=9, timeout=50)
    await router.close()


# What only LiteLLM knows.


async def test_litellm_passes_pictures_on():
    seen = PicturedMessage("user", "what is this?", images=(Image("image/png", "aGVsbG8="),))
    async with ScriptedEndpoint.start([Reply("ok")]) as endpoint:
        model = ChatModel(LiteLLMTransport(endpoint.environment(), await asyncio.to_thread(load)), Prices())
        async with asyncio.timeout(60):
            await model.answer("openai/gpt-4o", Prompt("", (), (seen,)), max_tokens=99, timeout=50)
            await model.close()
        said = endpoint.requests[0].body["messages"][-1]["content"]
    assert said[0] == {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGVsbG8="}}


async def test_a_missing_key_of_litellms_is_named_before_anything_is_sent():
    router = ModelRouter({})
    async with asyncio.timeout(60):
        with pytest.raises(ModelKeyRefused, match="Set GEMINI_API_KEY"):
            await router.answer("gemini/gemini-2.5-flash", PROMPT, max_tokens=10, timeout=10)
        await router.close()


async def test_a_name_without_a_known_provider_is_explained_and_prints_nothing(asker, capfd):
    async with ScriptedEndpoint.start() as endpoint:
        ask = await asker(endpoint)
        with pytest.raises(ModelBadRequest, match="no provider is named"):
            await ask("nobody/knows-this")
    assert capfd.readouterr().out == ""


# What a refusal teaches.


@both_ways
async def test_a_model_that_names_its_limit_otherwise_is_asked_so_from_then_on(stream: bool):
    def script(request: CapturedRequest) -> Reply:
        if "max_tokens" in request.body:
            words = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens'."
            return Reply.error(400, words, code="unsupported_parameter")
        return Reply("ok")

    async with asking(script) as (ask, requests):
        await ask("openai/new", stream=stream)
        await ask("openai/new", stream=stream)
    assert ["max_completion_tokens" in request.body for request in requests] == [False, True, True]


async def test_a_model_that_misses_reasoning_of_other_models_is_sent_blanks():
    def script(request: CapturedRequest) -> Reply:
        written = [row for row in request.body["messages"] if row["role"] == "assistant"]
        if not all(row.get("reasoning_content") for row in written):
            return Reply.error(400, "The reasoning_content in the thinking mode must be passed back to the API.")
        return Reply("ok")

    async with asking(script) as (ask, requests):
        await ask("deepseek/deepseek-v4-pro", FULL)
        await ask("deepseek/deepseek-v4-pro", FULL)
    assert len(requests) == 3, "what was learned is kept"


# What comes back.


@pytest.mark.parametrize(
    ("provider", "delta", "sent_back"),
    [
        ("deepseek", {"reasoning_content": "hm"}, "reasoning_content"),
        ("hosted_vllm", {"reasoning": "hm"}, "reasoning"),
        ("hosted_vllm", {"reasoning": "hm", "reasoning_content": "hm"}, "reasoning"),
        (
            "openrouter",
            {"reasoning": "hm", "reasoning_details": [{"type": "reasoning.text", "text": "hm"}]},
            "reasoning",
        ),
        ("groq", {"reasoning": "hm"}, ""),
        ("xai", {"reasoning_content": "hm"}, ""),
        ("lm_studio", {"reasoning_content": "hm"}, ""),
        ("mistral", {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]}, ""),
    ],
)
@both_ways
async def test_reasoning_is_read_by_every_name_and_sent_back_to_who_wants_it(
    provider: str, delta: dict[str, JsonValue], sent_back: str, stream: bool
):
    whole = {"content": "yes", **delta}
    if isinstance(delta.get("content"), list):
        whole["content"] = [*delta["content"], {"type": "text", "text": "yes"}]
    message = orjson.dumps({"model": "m", "choices": [{"message": whole, "finish_reason": "stop"}]})
    first = Reply(raw=events(delta, {"content": "yes"}) if stream else message)
    async with asking([first, Reply("ok"), Reply("ok")]) as (ask, requests):
        answer = await ask(MODELS[provider], stream=stream)
        thought, said = answer.blocks
        assert thought == ReasoningBlock(text="hm", provider=provider)
        assert said == TextBlock(text="yes")
        written = Message("assistant", "yes", reasoning=((provider, "hm", ""), ("another", "psst", "")))
        history = Prompt("s", (), (Message("user", "x"), written, Message("user", "y")))
        await ask(MODELS[provider], history, stream=stream)
        await ask("openai/gpt-4o", history, stream=stream)
    row = {"role": "assistant", "content": "yes"}
    assert requests[1].body["messages"][2] == ({**row, sent_back: "hm"} if sent_back else row)
    assert requests[2].body["messages"][2] == row, "no other provider is told"


@pytest.mark.parametrize(
    ("usage", "output", "read"),
    [
        ({"prompt_tokens": 500, "completion_tokens": 20, "total_tokens": 520}, 20, 0),
        (
            {"prompt_tokens": 500, "completion_tokens": 20, "prompt_cache_hit_tokens": 400, "prompt_cache_miss_tokens": 100},
            20,
            400,
        ),
        (
            {
                "prompt_tokens": 500, "completion_tokens": 20, "total_tokens": 620,
                "completion_tokens_details": {"reasoning_tokens": 100}, "prompt_tokens_details": {"cached_tokens": 300},
            },
            120,
            300,
        ),
    ],
    ids=["openai", "deepseek", "xai"],
)  # fmt: skip
async def test_tokens_are_counted_by_every_name(usage: JsonValue, output: int, read: int):
    async with asking([Reply(raw=events({"content": "a few words here"}, usage=usage))]) as (ask, _):
        answer = await ask("openai/gpt-4o", Prompt("words " * 200, (), PROMPT.messages))
    assert (answer.usage.output, answer.usage.cache_read, answer.usage.input) == (output, read, 500 - read)


@both_ways
async def test_an_answer_with_calls_and_an_empty_reason_is_whole(stream: bool):
    call = {"index": 0, "id": "c", "function": {"name": "shell", "arguments": '{"command": "ls"}'}}
    message = {"model": "m", "choices": [{"message": {"content": "", "tool_calls": [call]}, "finish_reason": ""}]}
    raw = events({"tool_calls": [call]}, stop="") if stream else orjson.dumps(message)
    async with asking([Reply(raw=raw)]) as (ask, _):
        answer = await ask("xai/grok-4", stream=stream)
    assert answer.stop == "tool_use"
    assert [block.arguments for block in answer.blocks if isinstance(block, CallBlock)] == [{"command": "ls"}]


REFUSALS = [
    ("groq", Reply(status=429, raw='{"error": {"message": "Please try again in 7m12.5s.", "code": "rate_limit_exceeded"}}'),
     ModelRateLimited, 432.5),
    ("openai", Reply(status=429, raw='{"error": {"message": "Please try again in 859ms."}}'), ModelRateLimited, 0.859),
    ("mistral", Reply(status=401, raw='{"message": "Unauthorized", "request_id": "x"}'), ModelKeyRefused, None),
    ("mistral", Reply(status=429, headers={"retry-after": "3"}, raw='{"object": "error", "message": "Requests rate limit'
     ' exceeded", "type": "rate_limited", "code": "1300"}'), ModelRateLimited, 3.0),
    ("mistral", Reply(status=422, raw='{"detail": [{"loc": ["body", "tools"], "msg": "Extra inputs are not permitted"}]}'),
     ModelBadRequest, None),
    ("xai", Reply(status=400, raw='{"code": "Client specified an invalid argument", "error": "Incorrect API key provided"}'),
     ModelKeyRefused, None),
    ("xai", Reply(status=429, raw='{"code": "Some resource has been exhausted", "error": "Too many requests"}'),
     ModelRateLimited, None),
    ("deepseek", Reply(status=402, raw='{"error": {"message": "Insufficient Balance", "type": "unknown_error"}}'),
     ModelQuotaUsedUp, None),
    ("openrouter", Reply(status=402, raw='{"error": {"message": "This request requires more credits", "code": 402}}'),
     ModelQuotaUsedUp, None),
    ("openrouter", Reply(status=400, raw='{"error": {"message": "Provider returned error", "code": 400, "metadata":'
     ' {"raw": "{\\"error\\": \\"prompt is too long: 9 tokens > 8 maximum\\"}", "provider_name": "X"}}}'),
     ModelContextOverflow, None),
    ("hosted_vllm", Reply(status=400, raw='{"object": "error", "message": "This model\'s maximum context length is 8 tokens.'
     '", "type": "BadRequestError", "code": 400}'), ModelContextOverflow, None),
    ("hosted_vllm", Reply(status=503, headers={"retry-after": "2"}, raw="<html>busy</html>"), ModelUnavailable, 2.0),
    ("lm_studio", Reply(status=404, raw='{"error": "Model \\"own\\" not found"}'), ModelUnknown, None),
]  # fmt: skip


@pytest.mark.parametrize(("provider", "reply", "kind", "wait"), REFUSALS)
async def test_a_refusal_is_understood_in_every_shape(
    provider: str, reply: Reply, kind: type[ModelError], wait: float | None
):
    async with asking([reply]) as (ask, requests):
        with pytest.raises(kind) as raised:
            await ask(MODELS[provider])
    assert type(raised.value) is kind
    assert getattr(raised.value, "retry_after", None) == wait
    assert len(requests) == 1


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"message": "slow down", "code": 429}, ModelRateLimited),
        ({"message": "slow down", "code": "rate_limit_exceeded"}, ModelRateLimited),
        ({"message": "prompt is too long", "type": "invalid_request_error"}, ModelContextOverflow),
        ({"message": "Internal error"}, ModelUnavailable),
        ("out of memory", ModelUnavailable),
    ],
)
@both_ways
async def test_an_error_within_an_answer_of_status_200_is_told_by_its_code(
    error: JsonValue, kind: type[ModelError], stream: bool
):
    raw = orjson.dumps({"error": error})
    async with asking([Reply(raw=b"data: " + raw + b"\n\n" if stream else raw)]) as (ask, _):
        with pytest.raises(kind):
            await ask("openrouter/qwen/qwen3-coder", stream=stream)
