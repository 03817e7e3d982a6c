"""An answer of the web as text that a model can read; what is no text is refused in words."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ValidationError

from agentic.extras import missing
from agentic.web.page_process import decoded
from agentic.web.web_client import MARKUP, WebAnswer, WebUnanswered

SECONDS = 20.0
"""The process ends itself long before, by its own time; a machine may be slow to let it run."""
AT_ONCE = 2
ROOM_SECONDS = 30.0
"""How long a page waits until others have been read."""
MOST_ANSWERED = 4_000_000
LONGEST = 400_000
"""Characters of a plain text that are read."""
_ROOT = Path(__file__).parents[2]
_TEXTS = ("application/json", "application/xml", "application/javascript", "application/x-ndjson", "application/yaml")
_BEGINS = ((b"%PDF-", "a PDF"), (b"\x89PNG", "a picture"), (b"\xff\xd8\xff", "a picture"), (b"GIF8", "a picture"),
           (b"PK\x03\x04", "an archive"), (b"\x1f\x8b", "packed data"), (b"\x7fELF", "a program"))  # fmt: skip


class _Read(BaseModel):
    title: str
    text: str
    links: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Page:
    """What stands on a page; ``links`` are (text, address); ``cut``: there is more of it than was read.

    ``private``: it was read in the own network.
    """

    url: str
    text: str
    title: str = ""
    links: tuple[tuple[str, str], ...] = ()
    cut: bool = False
    private: bool = False


class PageReader:
    """Reads pages, HTML in a process that lives for one page."""

    def __init__(self) -> None:
        self._room = asyncio.Semaphore(AT_ONCE)

    async def read(self, answer: WebAnswer) -> Page:
        """A page as text.  Raises ``WebUnanswered`` where it is none."""
        kind = next((kind for begins, kind in _BEGINS if answer.body.startswith(begins)), "")
        media = answer.media or ("text/html" if answer.body.lstrip()[:1] == b"<" else "text/plain")
        if kind or not (media in (*MARKUP, *_TEXTS) or media.startswith("text/") or media.endswith(("+json", "+xml"))):
            raise WebUnanswered(
                f"{answer.url} is {kind or media}, {len(answer.body):,} bytes, and no text. Look for a page that says "
                "the same, or load it with a command (curl) and a program that reads it, where commands may reach that host"
            )
        if media not in MARKUP:
            text = decoded(answer.body, answer.charset)
            return Page(answer.url, text[:LONGEST], cut=answer.cut or len(text) > LONGEST, private=answer.private)
        if (lacks := missing("web")) is not None:
            raise WebUnanswered(
                f"{answer.url} is a web page, and pages cannot be read here: {lacks}. Tell the person; whoever runs the "
                "bot adds it"
            )
        read = await self._html(answer)
        if not read.text.strip():
            raise WebUnanswered(
                f"{answer.url} holds no text that can be read without running its scripts. Look for another page"
            )
        return Page(answer.url, read.text, read.title, read.links, answer.cut, answer.private)

    async def _html(self, answer: WebAnswer) -> _Read:
        request = json.dumps({"url": answer.url, "charset": answer.charset}).encode() + b"\n" + answer.body
        try:
            async with asyncio.timeout(ROOM_SECONDS):
                await self._room.acquire()
        except TimeoutError as full:
            raise WebUnanswered(
                f"{answer.url} was not read: other pages are being read, and none was done in time. Try again later"
            ) from full
        try:
            async with asyncio.timeout(SECONDS):
                return _Read.model_validate_json(await _asked(request))
        except (OSError, TimeoutError, ValidationError) as trouble:
            raise WebUnanswered(
                f"{answer.url} could not be read: its HTML takes too long or too much memory"
            ) from trouble
        finally:
            self._room.release()


async def _asked(request: bytes) -> bytes:
    """What the process answers; it hears nothing of this one's environment, and no signal of its terminal."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", "agentic.web.page_process", env={"PYTHONPATH": str(_ROOT)}, cwd="/",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        with contextlib.suppress(ConnectionError):
            process.stdin.write(request)
            await process.stdin.drain()
            process.stdin.close()
        answer = bytearray()
        while piece := await process.stdout.read(1 << 16):
            answer += piece
            if len(answer) > MOST_ANSWERED:
                break
        ended = len(answer) <= MOST_ANSWERED and await process.wait() == 0
        return bytes(answer) if ended else b""
    finally:
        if process.returncode is None:  # else whoever waits for it would find it gone
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
