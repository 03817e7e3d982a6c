"""How long an answer is asked for: no longer than there is room for beside the prompt."""

from __future__ import annotations

import pytest

from agentic.models.providers.prices import Prices, prices_from
from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from agentic.ports.errors import ModelContextOverflow

from .conftest import PROMPT, both_ways

OWN = "hosted_vllm/at-home"
READS = 8_192
OPENAI = (
    "This model's maximum context length is {window} tokens. However, you requested {all} tokens "
    "({prompt} in the messages, {asked} in the completion). Please reduce the length."
)
VLLM = (
    "This model's maximum context length is {window} tokens. Please reduce max_tokens: your request has {prompt} input "
    "tokens ({asked} > {window} - {prompt})."
)


def refusing(words: str, prompt: int = 1_000):
    """A server with a window of 8,192 tokens, for which each prompt has as many tokens as said."""

    def script(request: CapturedRequest) -> Reply:
        asked = int(request.body["max_tokens"])
        if asked + prompt <= READS:
            return Reply("hello")
        told = {"window": READS, "all": asked + prompt, "prompt": prompt, "asked": asked}
        return Reply.error(400, words.format(**told))

    return script


@both_ways
@pytest.mark.parametrize("words", [OPENAI, VLLM], ids=["openai", "vllm"])
async def test_a_server_that_says_how_much_it_reads_is_asked_for_an_answer_that_fits(asker, words: str, stream: bool):
    async with ScriptedEndpoint.start(refusing(words)) as endpoint:
        ask = await asker(endpoint, (OWN,), prices=Prices(prices_from(f"{OWN}=0/0")))
        first = await ask(OWN, stream=stream, max_tokens=8_192)
        again = await ask(OWN, stream=stream, max_tokens=8_192)
    assert [one.blocks[0].text for one in (first, again)] == ["hello", "hello"]
    room = [int(request.body["max_tokens"]) for request in endpoint.requests]
    assert room[:2] == [8_192, READS - 1_000]
    assert len(room) <= 4, "what it reads is remembered"


async def test_a_window_that_is_known_is_kept_from_the_first_request_on(asker):
    async with ScriptedEndpoint.start(refusing(OPENAI)) as endpoint:
        ask = await asker(endpoint, (OWN,), prices=Prices(prices_from(f"{OWN}=0/0@{READS // 2}")))
        await ask(OWN, max_tokens=8_192)
    (request,) = endpoint.requests
    assert 512 <= int(request.body["max_tokens"]) < READS // 2


async def test_a_prompt_that_leaves_no_room_for_an_answer_is_too_long(asker):
    async with ScriptedEndpoint.start(refusing(OPENAI, prompt=READS - 100)) as endpoint:
        ask = await asker(endpoint, (OWN,), prices=Prices(prices_from(f"{OWN}=0/0")))
        with pytest.raises(ModelContextOverflow) as raised:
            await ask(OWN, PROMPT, max_tokens=8_192)
    assert raised.value.told == (READS, READS - 100)
    assert len(endpoint.requests) == 1
