"""Every default model, through the real library, speaks the protocol we read."""

from __future__ import annotations

import asyncio

import pytest

from agentic.core.events.execution_events import CallBlock
from agentic.models.router import ModelRouter
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from agentic.models.tier_config import DEFAULTS

from .conftest import PROMPT

OWN_PROTOCOL = {"gemini", "ollama"}
"""Their protocols are not spoken by the scripted endpoint."""


@pytest.mark.parametrize("provider", [name for name in DEFAULTS if name not in OWN_PROTOCOL])
async def test_every_default_is_asked_and_read_whole_and_streamed(provider: str):
    models = dict.fromkeys(model for tier in DEFAULTS[provider] for model in tier)
    async with ScriptedEndpoint.start(lambda _: Reply("ok", calls=(("shell", {"command": "ls"}),))) as endpoint:
        env = endpoint.environment()
        env |= {f"{provider.upper()}_API_KEY": "k", f"{provider.upper()}_API_BASE": f"{endpoint.url}/v1"}
        router = ModelRouter(env)
        async with asyncio.timeout(120):
            for model in models:
                for on_text in (None, lambda _: None):
                    answer = await router.answer(model, PROMPT, max_tokens=100, timeout=60, on_text=on_text)
                    assert [block.tool for block in answer.blocks if isinstance(block, CallBlock)] == ["shell"]
                    assert answer.usd > 0
        await router.close()
    assert [request.model for request in endpoint.requests[::2]] == [model.partition("/")[2] for model in models]
