"""The scripted endpoint in a process of its own, so that its CPU is not counted: prints its address and serves."""

from __future__ import annotations

import asyncio

from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply


def script(request: CapturedRequest) -> Reply:
    """One call a turn, for ever."""
    return Reply("On to the next.", calls=(("shell", {"command": f"step {request.number}"}),))


async def main() -> None:
    """Serve until the process is ended."""
    async with ScriptedEndpoint.start(script, capture_requests=False) as endpoint:
        print(endpoint.url, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
