"""A world whose commands cost nothing, and a model that does not stream."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from agentic.core.state.conversation import Prompt
from agentic.ports.runtime import Answer, LanguageModel, Meter
from agentic.sandbox.backends.selection import chooser
from agentic.sandbox.pool import Sandboxes
from agentic.sandbox.protocol.results import ExecResult
from agentic.workspace.workspace import RealWorld


class FreeWorld(RealWorld):
    """The real world without a sandbox behind its commands: each answers the same bytes at once."""

    def __init__(self, folder: Path, output: bytes) -> None:
        state = folder / "sandboxes"
        super().__init__(Sandboxes(state, chooser("auto", state)), "bench", folder)
        self._output = output

    async def exec(
        self,
        command: str,
        *,
        timeout: float,
        cwd: str = ".",
        on_output: Callable[[str], None] | None = None,
        by: str = "",
        how: str = "",
        cap: int = 64 * 1024,
        key: str = "",
    ) -> ExecResult:
        """The output, at once."""
        if on_output is not None:
            on_output(self._output.decode())
        return ExecResult("1", 0, None, self._output, output_size=len(self._output), duration=0.01)


class Silent:
    """A model that is asked without streaming."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model

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
        """Ask once, whole."""
        return await self._model.answer(model, prompt, max_tokens=max_tokens, timeout=timeout)

    def price(self, model: str, tokens_in: int, tokens_out: int) -> float | None:
        """As the model says."""
        return self._model.price(model, tokens_in, tokens_out)

    async def close(self) -> None:
        """Release it."""
        await self._model.close()
