"""What goes wrong at a provider, on both routes: the typed error, what it says, and that nothing reaches stdout."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from agentic.core.events.execution_events import Usage
from agentic.core.fold.model_requests import cost_of_failure
from agentic.models.answers.token_usage import prompt_tokens
from agentic.models.router import ModelRouter
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Break, Reply
from agentic.ports.errors import (
    ModelBadRequest,
    ModelContentFiltered,
    ModelContextOverflow,
    ModelError,
    ModelKeyRefused,
    ModelQuotaUsedUp,
    ModelRateLimited,
    ModelTimedOut,
    ModelUnavailable,
    ModelUnknown,
)
from agentic.ports.runtime import Message, Meter
from agentic.runtime.effects import failed
from tests.waiting import BOUND, eventually

from .conftest import CLAUDE, GPT, PROMPT, both_routes, both_ways

FILTER = "The response was filtered due to the prompt triggering Azure OpenAI's content management policy."
STATUSES = [
    (400, ModelBadRequest), (401, ModelKeyRefused), (402, ModelQuotaUsedUp), (403, ModelKeyRefused), (404, ModelUnknown),
    (408, ModelTimedOut), (413, ModelContextOverflow), (429, ModelRateLimited), (500, ModelUnavailable),
    (529, ModelUnavailable),
]  # fmt: skip
WORDS = [
    (GPT, 429, "You exceeded your current quota, please check your plan.", "insufficient_quota", ModelQuotaUsedUp),
    (CLAUDE, 400, "Your credit balance is too low to access the Anthropic API.", "", ModelQuotaUsedUp),
    (CLAUDE, 400, "Two tools are called alike.", "tool_name_conflict", ModelBadRequest),
    (GPT, 400, "This model's maximum context length is 8192 tokens.", "context_length_exceeded", ModelContextOverflow),
    (CLAUDE, 400, "prompt is too long: 210000 tokens > 200000 maximum", "", ModelContextOverflow),
    (GPT, 400, "the request exceeds the available context size, try increasing it", "", ModelContextOverflow),
    (GPT, 400, "The input token count (1200000) exceeds the maximum", "", ModelContextOverflow),
    (GPT, 400, FILTER, "content_filter", ModelContentFiltered),
]
BROKEN = [
    pytest.param(Reply(stop="filtered"), ModelContentFiltered, id="refusal-without-words"),
    pytest.param(Reply.reset_after(0), ModelUnavailable, id="reset"),
    pytest.param(Reply.reset_after(2), ModelUnavailable, id="reset-in-midstream"),
    pytest.param(Reply(raw="<html>Sign in to the hotel's network</html>"), ModelUnavailable, id="a-page"),
    pytest.param(Reply(raw="{}"), ModelUnavailable, id="empty-object"),
]


async def refused(asker, capfd, model: str, reply: Reply, expected: type[ModelError], *, stream: bool = True) -> None:
    async with ScriptedEndpoint.start([reply]) as endpoint:
        ask = await asker(endpoint)
        with pytest.raises(expected) as caught:
            await ask(model, stream=stream)
    assert type(caught.value) is expected
    assert caught.value.model == model
    assert model in caught.value.message
    assert len(endpoint.requests) == 1, "when to try again is a rule's decision"
    assert capfd.readouterr().out == ""


@both_routes
@pytest.mark.parametrize(("status", "expected"), STATUSES)
async def test_every_status_becomes_its_typed_error(asker, capfd, model: str, status: int, expected: type[ModelError]):
    await refused(asker, capfd, model, Reply.error(status), expected)


@pytest.mark.parametrize(("model", "status", "words", "code", "expected"), WORDS)
async def test_what_a_provider_says_becomes_its_typed_error(
    asker, capfd, model: str, status: int, words: str, code: str, expected: type[ModelError]
):
    await refused(asker, capfd, model, Reply.error(status, words, code=code), expected)


async def test_a_limit_of_spending_is_no_wait(asker, capfd):
    reply = Reply.error(429, "No more may be spent this month.", code="enforced_spend_limit_reached", retry_after=9)
    await refused(asker, capfd, CLAUDE, reply, ModelQuotaUsedUp)


@both_routes
@both_ways
@pytest.mark.parametrize(("reply", "expected"), BROKEN)
async def test_every_answer_that_is_none_becomes_its_typed_error(
    asker, capfd, model: str, stream: bool, reply: Reply, expected: type[ModelError]
):
    await refused(asker, capfd, model, reply, expected, stream=stream)


@pytest.mark.parametrize(
    ("kind", "code", "expected"),
    [
        ("request_too_large", "request_body_too_large_after_decoding", ModelContextOverflow),
        ("billing_error", "linked_organization_billing_unavailable", ModelQuotaUsedUp),
        ("rate_limit_error", "ramp_limit_exceeded", ModelRateLimited),
        ("overloaded_error", "registration_pending", ModelUnavailable),
    ],
)
async def test_a_code_beside_the_kind_of_an_error_does_not_hide_it(
    asker, kind: str, code: str, expected: type[ModelError]
):
    status = {"rate_limit_error": 429, "overloaded_error": 503}.get(kind, 400)
    async with ScriptedEndpoint.start([Reply.error(status, "No.", type=kind, code=code)]) as endpoint:
        with pytest.raises(ModelError) as caught:
            await (await asker(endpoint))(CLAUDE)
    assert type(caught.value) is expected


@both_routes
async def test_a_stream_that_reports_an_error_is_a_failure(asker, model: str):
    async with ScriptedEndpoint.start([Reply.error_after(2)]) as endpoint:
        with pytest.raises(ModelUnavailable):
            await (await asker(endpoint))(model, stream=True)


@both_routes
@pytest.mark.parametrize(
    ("headers", "seconds"),
    [({"retry-after": "7"}, 7.0), ({"retry-after-ms": "1500"}, 1.5), ({"retry-after": "soon"}, None)],
)
async def test_how_long_to_wait_is_read_from_the_headers(
    asker, model: str, headers: dict[str, str], seconds: float | None
):
    refused = Reply.error(429)
    async with ScriptedEndpoint.start([Reply(status=429, headers=headers, failure=refused.failure)]) as endpoint:
        with pytest.raises(ModelRateLimited) as caught:
            await (await asker(endpoint))(model)
    assert caught.value.retry_after == seconds


@both_routes
async def test_a_key_in_the_provider_s_words_is_not_repeated(asker, model: str):
    words = "Incorrect API key provided: sk-proj-abcdefgh12345678. Find yours in the account."
    async with ScriptedEndpoint.start([Reply.error(401, words)]) as endpoint:
        with pytest.raises(ModelKeyRefused) as caught:
            await (await asker(endpoint))(model)
    assert "abcdefgh" not in str(caught.value)
    assert "_API_KEY" in str(caught.value), "it says which variable to set"


@both_routes
@both_ways
async def test_no_answer_in_time_is_a_time_out(asker, model: str, stream: bool):
    async with ScriptedEndpoint.start([Reply("late", delay=600)]) as endpoint:
        ask = await asker(endpoint)
        with pytest.raises(ModelTimedOut, match=r"within 0\.5 seconds"):
            await asyncio.wait_for(ask(model, stream=stream, timeout=0.5), BOUND)


@both_routes
async def test_a_stream_that_stalls_ends_before_the_whole_time(asker, model: str):
    async with ScriptedEndpoint.start([Reply.stall_after(2)]) as endpoint:
        ask = await asker(endpoint, idle_seconds=0.5)
        with pytest.raises(ModelTimedOut, match="stalled"):
            await asyncio.wait_for(ask(model, stream=True, timeout=600), BOUND)
        await asyncio.wait_for(endpoint.left.wait(), BOUND)


@both_routes
async def test_a_slow_stream_that_keeps_coming_is_no_stall(asker, model: str):
    async with ScriptedEndpoint.start([Reply("a slow answer that keeps coming", piece=4, pace=0.3)]) as endpoint:
        answer = await (await asker(endpoint, idle_seconds=2.0))(model, stream=True)
    assert answer.blocks[0].text == "a slow answer that keeps coming"


@both_routes
@pytest.mark.parametrize(
    ("stream", "reply"),
    [(False, Reply("x", delay=600)), (True, Reply("x", delay=600)), (True, Reply.stall_after(2))],
    ids=["whole", "before", "mid"],
)
async def test_cancelling_closes_the_connection_at_once(asker, model: str, stream: bool, reply: Reply):
    async with ScriptedEndpoint.start([reply]) as endpoint:
        ask = await asker(endpoint)
        task = asyncio.create_task(ask(model, stream=stream))
        await eventually(lambda: endpoint.requests and (ask.pieces or not reply.broken))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(endpoint.left.wait(), BOUND)  # the answer takes ten times as long


@both_routes
async def test_nothing_listening_is_unavailable(model: str):
    closed = "http://127.0.0.1:9"
    env = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": closed, "ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": closed}
    router = ModelRouter(env)
    try:
        async with asyncio.timeout(60):
            await router.warm_up([model])
            with pytest.raises(ModelUnavailable, match=r"could not be reached|not available"):
                await router.answer(model, PROMPT, max_tokens=10, timeout=10)
    finally:
        await router.close()


@both_routes
async def test_a_missing_key_is_named_before_anything_is_sent(model: str):
    router = ModelRouter({})
    try:
        async with asyncio.timeout(60):
            with pytest.raises(ModelKeyRefused, match=r"Set [A-Z]+_API_KEY"):
                await router.answer(model, PROMPT, max_tokens=10, timeout=10)
    finally:
        await router.close()


@pytest.mark.parametrize("reply", [Reply.stall_after(2), Reply.reset_after(2), Reply.error_after(2)])
@both_routes
async def test_what_a_stream_had_used_is_known_as_far_as_the_provider_has_said_it(asker, model: str, reply: Reply):
    """Anthropic says at the beginning what it read; the others count at the end, so it is counted here."""
    meter = Meter()
    async with ScriptedEndpoint.start([reply]) as endpoint:
        router = (await asker(endpoint)).router
        came = asyncio.Event()
        asking = asyncio.create_task(
            router.answer(model, PROMPT, max_tokens=50, timeout=60, on_text=lambda _: came.set(), meter=meter)
        )
        assert meter.used() is None
        await asyncio.wait_for(came.wait(), BOUND)
        if reply.broken is not None and reply.broken.how == "stall":
            asking.cancel()
        await asyncio.wait((asking,), timeout=BOUND)
        assert asking.cancelled() or isinstance(asking.exception(), ModelUnavailable)
    used = meter.used()
    assert used is not None
    if model == CLAUDE:
        assert used.usage.input > 0
        assert used.usd == pytest.approx(3e-6 * used.usage.input + 15e-6 * used.usage.output)
    else:
        assert used.usage.input == prompt_tokens(PROMPT)
        assert 0 < used.usage.output < 50


@both_routes
async def test_ten_interrupted_requests_are_shown_as_about_what_the_provider_bills(asker, model: str):
    """It bills what it read, by a tokenizer of its own, and what it had written when the line was closed."""
    story, text = Message("user", "Read: " + "the quick brown fox jumps over it. " * 300), "Once upon a time. " * 120
    prompt, shown, billed = replace(PROMPT, messages=(story,)), 0.0, 0.0
    read = prompt_tokens(prompt) * 6 // 5
    pieces = (1, 3, 12, 22, 82) * 2  # the first two may only open the message
    bills = [Usage(input=read, output=max(sent - 2, 0) * 6 + 1) for sent in pieces]
    stalls = [Reply(text, usage=bill, broken=Break("stall", sent)) for bill, sent in zip(bills, pieces, strict=True)]
    async with ScriptedEndpoint.start(stalls) as endpoint:
        router = (await asker(endpoint)).router
        for number, bill in enumerate(bills, 1):
            meter, came = Meter(), list[str]()
            asking = asyncio.create_task(
                router.answer(model, prompt, max_tokens=8192, timeout=60, on_text=came.append, meter=meter)
            )
            await eventually(lambda number=number: len(endpoint.requests) == number)
            await eventually(lambda came=came, bill=bill: len("".join(came)) >= (bill.output - 1) * 4)
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
            used = meter.used()
            assert used is not None
            assert used.usd is not None
            shown += used.usd
            billed += router.prices.usd(model, bill)
    assert billed / 1.5 < shown < billed * 1.5, (shown, billed)


@both_routes
@pytest.mark.parametrize("status", [400, 401, 429, 500])
async def test_a_refused_request_has_cost_nothing(asker, model: str, status: int):
    meter = Meter()
    async with ScriptedEndpoint.start([Reply.error(status)] * 3) as endpoint:
        router = (await asker(endpoint)).router
        with pytest.raises(ModelError) as refused:
            await router.answer(model, PROMPT, max_tokens=50, timeout=60, on_text=lambda _: None, meter=meter)
    assert cost_of_failure(failed("r", refused.value, meter.used()), 1.0) == 0.0


async def test_a_key_and_a_token_of_anthropics_may_both_be_set():
    async with ScriptedEndpoint.start([Reply("hello")]) as endpoint:
        router = ModelRouter(endpoint.environment() | {"ANTHROPIC_AUTH_TOKEN": "a token beside it"})
        async with asyncio.timeout(120):
            answer = await router.answer(CLAUDE, PROMPT, max_tokens=100, timeout=60)
        await router.close()
    assert answer.blocks[0].text == "hello"
