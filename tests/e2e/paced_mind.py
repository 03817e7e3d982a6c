"""A scripted model that says nothing before the test has seen what came of its last step, so that a film shows each change."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from playwright.async_api import Locator, Page, expect

from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.replies import Reply


class PacedMind:
    """Takes one step for each ``go``; ``script`` says which steps a task has."""

    def __init__(self, script: Callable[[CapturedRequest], Sequence[Reply]]) -> None:
        self.go = asyncio.Semaphore(0)
        self.steps = 0
        """How many the task has taken that is shown."""
        self._script = script

    async def __call__(self, request: CapturedRequest) -> Reply:
        if not request.tools:
            return Reply("")
        await self.go.acquire()
        return self._script(request)[sum(message.role == "assistant" for message in request.messages)]

    async def step(self, shown: Locator, words: str) -> None:
        """Let the model take its next step, and wait until it is seen, and that nothing of it runs any more."""
        self.steps += 1
        self.go.release()
        await expect(shown).to_contain_text(words)
        await expect(shown).to_contain_text(f"turn {self.steps + 1} ")

    def ends(self) -> None:
        """Let it take the last step of its task."""
        self.steps = 0
        self.go.release()


def message(page: Page, log: Locator, words: str) -> Locator:
    """The last message of a channel with these words."""
    return log.locator("article", has=page.locator(".body", has_text=words)).last
