"""Every default model, through the real library, speaks the protocol we read; no other host is asked for anything."""

from __future__ import annotations

import asyncio
import subprocess
import sys

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


def test_missing_usage_of_a_streamed_answer_makes_the_library_fetch_nothing():
    """It would download a tokenizer to guess at it: seconds of waiting, and a host that was never agreed on."""
    code = """
import asyncio, socket
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from agentic.models.router import ModelRouter
from agentic.ports.runtime import Message, Prompt
asked, real = [], socket.getaddrinfo
def look_up(host, *rest, **more):
    asked.append(host)
    return real(host, *rest, **more)
socket.getaddrinfo = look_up
async def main():
    async with ScriptedEndpoint.start([Reply("hi", without_usage=True)] * 2) as endpoint:
        router = ModelRouter({"GROQ_API_KEY": "k", "GROQ_API_BASE": endpoint.url + "/v1"})
        model, prompt = "groq/llama-3.1-8b-instant", Prompt("s", (), (Message("user", "x"),))
        for on_text in (None, lambda piece: None):
            answer = await router.answer(model, prompt, max_tokens=9, timeout=50, on_text=on_text)
            assert "estimated" in answer.served_by, answer
        await router.close()
    print(sorted({str(host) for host in asked} - {"127.0.0.1", "localhost", "None"}))
asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"
