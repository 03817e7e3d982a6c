"""Draw charts in a child process: the bot carries neither the library's memory nor its stalls.

A failure leaves the answer without its picture, and is logged; the words are there anyway.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
from pathlib import Path

from bot.charts.data import Chart

PROGRAM = Path(__file__).with_name("draw.py")
SECONDS = 30.0
"""Time-out; the first chart on a machine builds an index of its fonts."""
AT_ONCE = 2
LARGEST = 4 * 1024 * 1024
_PASSED_ON = ("PATH", "LANG", "LC_ALL", "SYSTEMROOT", "TMPDIR")

log = logging.getLogger(__name__)


class Studio:
    """Draws charts; ``cache`` is a folder for what the library keeps between charts."""

    def __init__(self, cache: Path, program: Path = PROGRAM) -> None:
        self._cache, self._program = cache, program
        self._room = asyncio.Semaphore(AT_ONCE)

    async def png(self, chart: Chart) -> bytes | None:
        """Return the chart, or None where it could not be drawn in time."""
        try:
            async with asyncio.timeout(SECONDS), self._room:
                return await self._drawn(chart)
        except (TimeoutError, OSError) as error:
            log.warning("no picture: %s", error or "it took too long")
            return None

    async def _drawn(self, chart: Chart) -> bytes | None:
        self._cache.mkdir(parents=True, exist_ok=True)
        environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        process = await asyncio.create_subprocess_exec(
            sys.executable, str(self._program.absolute()), env={**environment, "MPLCONFIGDIR": str(self._cache.absolute())},
            cwd=self._cache,  # the library reads settings of the folder it is started in
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        try:
            png, said = await process.communicate(chart.model_dump_json().encode())
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        if process.returncode or not png.startswith(b"\x89PNG") or len(png) > LARGEST:
            log.warning("no picture: %s", said.decode(errors="replace")[-500:] or f"it ended with {process.returncode}")
            return None
        return png
