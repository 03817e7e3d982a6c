"""``LanguageModel`` over the anthropic SDK: its connections, headers and errors, but bytes of our own.

The SDK's ``messages.create`` walks the whole history on each call.  Here the body is prebuilt (``request``) and the events
are read raw, so that a request costs what is new in it, at turn 100 as at turn 1.  It never retries: when to try again is
a rule's decision.  Importing this module imports the SDK, which takes a second or two: ``ModelRouter`` does so in a thread.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import aclosing
from typing import Final, cast

import httpx2
from anthropic import APIConnectionError, APIStatusError, AsyncAnthropic, AsyncStream, DefaultAsyncHttpxClient
from pydantic import JsonValue

from agentic.models.answers import json_text
from agentic.models.answers.answer import Came, Interrupted, finished_answer
from agentic.models.answers.answer_limit import allowance
from agentic.models.answers.sse import event_data
from agentic.models.answers.stream_timeouts import IDLE_SECONDS, Patience
from agentic.models.answers.tool_calls import by_name
from agentic.models.anthropic.request import AnthropicWire
from agentic.models.anthropic.response import Reading, SaidError, refusal_of
from agentic.models.providers import provider_errors
from agentic.models.providers.prices import Prices
from agentic.models.providers.provider_errors import NoAnswer
from agentic.models.providers.sdk_clients import SdkClients
from agentic.ports.errors import ModelKeyRefused
from agentic.ports.runtime import Answer, Meter, Prompt

KEY: Final = "ANTHROPIC_API_KEY"
TOKEN: Final = "ANTHROPIC_AUTH_TOKEN"  # noqa: S105 - the variable's name
ADDRESS: Final = "ANTHROPIC_BASE_URL"
PATH: Final = "/v1/messages"


class AnthropicDirect:
    """Anthropic's models, with the key and address that stand in ``env``."""

    def __init__(self, env: Mapping[str, str], prices: Prices, *, idle_seconds: float = IDLE_SECONDS) -> None:
        self._env = env
        self._prices = prices
        self._idle = idle_seconds
        self._certificates = httpx2.create_ssl_context()
        self._clients = SdkClients(self._connect)
        self.wire = AnthropicWire()

    async def answer(
        self,
        model: str,
        prompt: Prompt,
        *,
        max_tokens: int,
        timeout: float,
        on_text: Callable[[str], None] | None = None,
        meter: Meter | None = None,
    ) -> Answer:
        """Ask once; streams where ``on_text`` is given."""
        bare = model.removeprefix("anthropic/")
        body = self.wire.request(bare, prompt, max_tokens=max_tokens, stream=on_text is not None)
        reading = Reading(allowance(max_tokens), on_text)

        async with Patience(model, timeout, self._idle) as patience:
            self._need_key(model)
            async with self._clients.lent() as client:
                if meter is not None:
                    meter.reads(
                        lambda: Interrupted(model, prompt, max_tokens, streamed=on_text is not None).used(
                            reading.raw_usage(), reading.written, patience.until_heard, reading.model, self._prices
                        )
                    )
                await self._ask(client, model, body, reading, patience)
        blocks = reading.blocks(by_name(prompt.tools))
        came = Came(blocks, reading.stop, reading.raw_usage(), reading.model)
        return finished_answer(model, prompt, came, self._prices, self.wire.call_ids(prompt.messages))

    def price(self, model: str, tokens_in: int, tokens_out: int) -> float | None:
        """US dollars at full price."""
        return self._prices.price(model, tokens_in, tokens_out)

    async def close(self) -> None:
        """Release the connections."""
        await self._clients.close()

    async def _ask(
        self,
        client: AsyncAnthropic,
        model: str,
        body: bytes,
        reading: Reading,
        patience: Patience,
    ) -> None:
        try:
            if reading.on_text is None:
                whole = await client.post(PATH, cast_to=httpx2.Response, content=body)
                reading.take_whole(json_text.loads(whole.content))
            else:
                await self._stream(client, body, reading, patience)
        except APIStatusError as error:
            headers = {name.lower(): value for name, value in error.response.headers.items()}
            refusal = refusal_of(cast("JsonValue", error.body), error.status_code, headers)
            raise provider_errors.error_for(refusal, model, key_variable=KEY) from error
        except SaidError as error:
            raise provider_errors.error_for(error.refusal, model, key_variable=KEY) from error
        except (APIConnectionError, httpx2.TransportError) as error:
            raise provider_errors.unreachable(model, str(error.__cause__ or error)) from error
        except (NoAnswer, ValueError) as error:
            raise provider_errors.unreadable(model, str(error)) from error

    async def _stream(self, client: AsyncAnthropic, body: bytes, reading: Reading, patience: Patience) -> None:
        stream = await client.post(PATH, cast_to=object, content=body, stream=True, stream_cls=AsyncStream[object])
        try:
            async with aclosing(event_data(stream.response.aiter_bytes())) as events:
                async for data in events:
                    patience.heard()
                    reading.take(json_text.loads(data))
                    if reading.allowance.over:
                        return
        finally:
            await stream.response.aclose()
        if not reading.ended:
            raise NoAnswer("the stream ended before the message did")

    def _need_key(self, model: str) -> None:
        if not self._has_key():
            raise ModelKeyRefused(f"There is no key for {model}. Set {KEY}.", model=model)

    def _has_key(self) -> bool:
        return bool(self._env.get(KEY) or self._env.get(TOKEN))

    def _connect(self) -> AsyncAnthropic:
        key = self._env.get(KEY) or None
        return AsyncAnthropic(
            api_key=key,
            auth_token=(self._env.get(TOKEN) or None) if key is None else None,  # it takes one of the two
            base_url=self._env.get(ADDRESS) or None,
            max_retries=0,
            timeout=None,  # ``Patience`` keeps both clocks
            http_client=DefaultAsyncHttpxClient(verify=self._certificates),
        )
