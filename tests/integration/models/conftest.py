"""What the tests of both routes share: a prompt, a tool, and routers that are closed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from agentic.models.providers.prices import Prices, prices_from
from agentic.models.router import ModelRouter
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.ports.runtime import (
    Answer,
    Message,
    Prompt,
    ToolSpec,
)

CLAUDE = "anthropic/claude-sonnet-4-5"
GPT = "openai/gpt-4o"
SHELL = ToolSpec(
    "shell",
    "Run a command.",
    {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
    "unkeyed",
    "execute",
)
FINISH = ToolSpec(
    "finish",
    "Say that it is done.",
    {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]},
    "keyed",
    "read",
    cognitive=True,
)
PROMPT = Prompt("You are kind.", (SHELL,), (Message("user", "hello"),), tail="now: noon")

both_routes = pytest.mark.parametrize("model", [CLAUDE, GPT])
both_ways = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


class Asker:
    """Asks through a router, with or without streaming; keeps the pieces of text."""

    def __init__(self, router: ModelRouter) -> None:
        self.router = router
        self.pieces: list[str] = []

    async def __call__(
        self, model: str, prompt: Prompt = PROMPT, *, stream: bool = False, timeout: float = 60, max_tokens: int = 500
    ) -> Answer:
        self.pieces = []
        async with asyncio.timeout(120):
            return await self.router.answer(
                model, prompt, max_tokens=max_tokens, timeout=timeout, on_text=self.pieces.append if stream else None
            )


@pytest.fixture
async def asker() -> AsyncIterator[Callable[..., Asker]]:
    """Makes askers for an endpoint; their routers are warm, so that no time-out counts an import."""
    routers: list[ModelRouter] = []

    async def make(endpoint: ScriptedEndpoint, models: tuple[str, ...] = (CLAUDE, GPT), **options: object) -> Asker:
        prices = Prices(prices_from("openai/tiny-local=1/2, nobody/knows-this=1/2"))
        router = ModelRouter(endpoint.environment(), **{"prices": prices, **options})
        routers.append(router)
        async with asyncio.timeout(120):
            await router.warm_up(models)
        return Asker(router)

    yield make
    for router in routers:
        await router.close()
