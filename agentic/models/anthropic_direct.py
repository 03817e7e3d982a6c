"""``LanguageModel`` over the anthropic SDK: its connections, headers and errors, but bytes of our own.

The SDK's ``messages.create`` walks the whole history on each call.  Here the body is prebuilt (``anthropic_wire``) and
the events are read raw, so that a request costs what is new in it, at turn 100 as at turn 1.  The SDK is imported in a
thread when the first request comes, or by ``warm_up``; it never retries: when to try again is a rule's decision.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from typing import TYPE_CHECKING, Final, cast

from pydantic import JsonValue

from agentic.collecting import uncollected
from agentic.errors import ModelKeyRefused
from agentic.models import characters, failures
from agentic.models.allowance import allowance
from agentic.models.anthropic_answer import Reading, SaidError, refusal_of
from agentic.models.anthropic_clients import Clients
from agentic.models.anthropic_wire import AnthropicWire
from agentic.models.calls import by_name
from agentic.models.events_stream import event_data
from agentic.models.failures import NoAnswer
from agentic.models.finishing import Came, finished_answer, used_so_far
from agentic.models.importing import broken
from agentic.models.on_demand import names_on_demand
from agentic.models.prices import Prices
from agentic.models.streams import IDLE_SECONDS, Patience
from agentic.ports import Answer, Meter, Prompt, Used

if TYPE_CHECKING:
    from ssl import SSLContext

    from anthropic import AsyncAnthropic

KEY: Final = "ANTHROPIC_API_KEY"
TOKEN: Final = "ANTHROPIC_AUTH_TOKEN"  # noqa: S105 - the variable's name
ADDRESS: Final = "ANTHROPIC_BASE_URL"
PATH: Final = "/v1/messages"

MOSTLY_NAMED: Final = ("anthropic.types",)
"""What the SDK names in annotations, in its tracing and in its table of errors, 350 modules: bodies here are our own."""


class AnthropicDirect:
    """Anthropic's models, with the key and address that stand in ``env``."""

    def __init__(self, env: Mapping[str, str], prices: Prices, *, idle_seconds: float = IDLE_SECONDS) -> None:
        self._env = env
        self._prices = prices
        self._idle = idle_seconds
        self._clients = Clients(self._connect)
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

        def used() -> Used:
            return used_so_far(model, reading.raw_usage(), reading.written, reading.model, self._prices)

        def begun() -> None:
            if meter is not None:
                meter.reads(used)

        async with Patience(model, timeout, self._idle) as patience:
            self._need_key(model)
            async with self._clients.lent() as client:
                await self._ask(client, model, body, reading, patience, begun)
        blocks = reading.blocks(by_name(prompt.tools))
        came = Came(blocks, reading.stop, reading.raw_usage(), reading.model)
        return finished_answer(model, prompt, came, self._prices, self.wire.call_ids(prompt.messages))

    def price(self, model: str, tokens_in: int, tokens_out: int) -> float | None:
        """US dollars at full price."""
        return self._prices.price(model, tokens_in, tokens_out)

    async def warm_up(self) -> None:
        """Import the SDK in a thread, so that the first request need not wait for it."""
        if self._has_key():
            await self._clients.ready()

    async def expect_refusals(self) -> None:
        """Have the SDK load in a thread what it needs to tell of a refusal; nothing where nobody asked it yet."""
        if self._clients.are_there:
            await asyncio.to_thread(_first_refusal)

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
        begun: Callable[[], None],
    ) -> None:
        import anthropic
        import httpx2

        try:
            if reading.on_text is None:
                whole = await client.post(PATH, cast_to=httpx2.Response, content=body)
                reading.take_whole(characters.loads(whole.content))
            else:
                await self._stream(client, body, reading, patience, begun)
        except anthropic.APIStatusError as error:
            headers = {name.lower(): value for name, value in error.response.headers.items()}
            refusal = refusal_of(cast("JsonValue", error.body), error.status_code, headers)
            raise failures.error_for(refusal, model, key_variable=KEY) from error
        except SaidError as error:
            raise failures.error_for(error.refusal, model, key_variable=KEY) from error
        except (anthropic.APIConnectionError, httpx2.TransportError) as error:
            raise failures.unreachable(model, str(error.__cause__ or error)) from error
        except (NoAnswer, ValueError) as error:
            raise failures.unreadable(model, str(error)) from error

    async def _stream(
        self, client: AsyncAnthropic, body: bytes, reading: Reading, patience: Patience, begun: Callable[[], None]
    ) -> None:
        import anthropic

        stream = await client.post(
            PATH, cast_to=object, content=body, stream=True, stream_cls=anthropic.AsyncStream[object]
        )
        try:
            async with aclosing(event_data(stream.response.aiter_bytes())) as events:
                async for data in events:
                    patience.heard()
                    reading.take(characters.loads(data))
                    if reading.model:
                        begun()
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

    def _connect(self) -> tuple[AsyncAnthropic, SSLContext]:
        """The first client, and the certificates it trusts: another thread reads them while the SDK is imported."""
        try:
            with uncollected(), names_on_demand("anthropic", MOSTLY_NAMED), ThreadPoolExecutor(1) as beside:
                import httpx2

                trusted = beside.submit(httpx2.create_ssl_context)
                from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient

                certificates = trusted.result()
        except Exception as error:
            raise broken("anthropic", error) from error
        key = self._env.get(KEY) or None
        client = AsyncAnthropic(
            api_key=key,
            auth_token=(self._env.get(TOKEN) or None) if key is None else None,  # it takes one of the two
            base_url=self._env.get(ADDRESS) or None,
            max_retries=0,
            timeout=None,  # ``Patience`` keeps both clocks
            http_client=DefaultAsyncHttpxClient(verify=certificates),
        )
        return client, certificates


def _first_refusal() -> None:
    """The SDK looks for the details of every error among a hundred classes, which it loads with the first."""
    import anthropic
    import httpx2

    said = {"error": {"details": {"error_code": "none"}}}
    response = httpx2.Response(500, request=httpx2.Request("POST", "http://localhost"))
    anthropic.APIStatusError("", response=response, body=said)
