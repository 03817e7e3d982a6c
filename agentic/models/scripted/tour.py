"""The scripted tour: what answers when no model is configured.  It never pretends to be a model.

It really calls tools (a command, a file written and read back) so that a newcomer sees the whole way of a task, quotes
what the person wrote, and says in its first and last words that it is scripted and how to configure a model.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

from agentic.core.events.execution_events import (
    TOUR,
    Block,
    CallBlock,
    TextBlock,
    Usage,
)
from agentic.core.events.ids import digest
from agentic.models.answers.tool_calls import by_name, properties
from agentic.ports.runtime import (
    Answer,
    Message,
    Meter,
    Prompt,
    ToolAnswer,
    ToolSpec,
)

NAME: Final = TOUR
COMMAND: Final = "uname -a && pwd && ls"
HOW: Final = (
    "To work with a real model, set a key such as ANTHROPIC_API_KEY or OPENAI_API_KEY, or name models in "
    "THREADWRIGHT_TIER_2 (for example ollama_chat/qwen3 for one on this machine), and start Threadwright again."
)
FIRST: Final = "This is a scripted tour, not a model: no model is configured."
QUOTED: Final = 300
PIECE: Final = 24
_TASK: Final = re.compile(r"(?:#[0-9a-f]{8} )?\[Task from [^\]\n]*\]\n")
_SAID: Final = re.compile(
    r"(?:\A|\n\n)(?:#[0-9a-f]{8} )?\[(?:Task from|User guidance|User correction from)[^\]\n]*\]\n"
)
_OURS: Final = (
    r"(?:#[0-9a-f]{8} )?\[(?:Attached files|Earlier in this thread|Recent messages, quoted|What this replies to"
    r"|Note from Threadwright|Advice of a stronger model|What went wrong in this thread|Lessons from earlier)"
)
"""What a message holds beside somebody's words (``agentic/core/prompt/user_messages.py``)."""
_BEGINS: Final = re.compile(_OURS)
_OVER: Final = re.compile(r"\n\n?" + _OURS)


@dataclass(frozen=True, slots=True)
class Stop:
    """One step of the tour; it is skipped where its tool is not there."""

    tool: str
    says: str
    arguments: Callable[[str, str], dict[str, JsonValue]]
    """Of what was said, and of the tour's file."""


STOPS: Final = (
    Stop(
        "shell",
        f"{FIRST} I will show you what happens with a task. First, a command in your sandbox.",
        lambda _, __: {"command": COMMAND},
    ),
    Stop(
        "write",
        "Still scripted. Next, a file in your workspace.",
        lambda told, file: {"path": file, "content": _file(told)},
    ),
    Stop(
        "read",
        "Now I read the file back, as an agent would before it changes it.",
        lambda _, file: {"path": file},
    ),
)


class TourModel:
    """Implements ``LanguageModel``; what it does next follows from the results in the history, so it survives restarts."""

    def __init__(self, *, pace: float = 0.02) -> None:
        self._pace = pace

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
        """The tour's next step."""
        blocks = tuple(next_step(prompt))
        if on_text:
            for block in blocks:
                if isinstance(block, TextBlock):
                    await self._speak(block.text, on_text)
        calls = any(isinstance(block, CallBlock) for block in blocks)
        return Answer(blocks, "tool_use" if calls else "end", Usage(), 0.0, NAME)

    def price(self, model: str, tokens_in: int, tokens_out: int) -> float | None:
        """Nothing."""
        return 0.0

    async def close(self) -> None:
        """There is nothing to release."""

    async def _speak(self, text: str, on_text: Callable[[str], None]) -> None:
        for start in range(0, len(text), PIECE):
            on_text(text[start : start + PIECE])
            await asyncio.sleep(self._pace)


def next_step(prompt: Prompt) -> Iterator[Block]:
    """The blocks of the next answer.  Pure."""
    history = _since_the_task(prompt.messages)
    told = _told(history)
    specs = by_name(prompt.tools)
    done = [answer for message in history for answer in message.answers]
    stops = [stop for stop in STOPS if stop.tool in specs]
    file = _written(history) or file_name(told)
    if len(done) < len(stops):
        stop = stops[len(done)]
        yield TextBlock(text=(f"{FIRST} " if not done and not stop.says.startswith(FIRST) else "") + stop.says)
        yield _call(specs[stop.tool], stop.arguments(told, file), prompt)
        return
    final = _final(told, done)
    finish = specs.get("finish")
    if finish is None or any(answer.tool == "finish" for answer in done):
        yield TextBlock(text=final)
        return
    yield TextBlock(text="The tour is over.")
    yield _call(finish, _completion(final, done, file), prompt)


def _call(spec: ToolSpec, wanted: dict[str, JsonValue], prompt: Prompt) -> CallBlock:
    known = properties(spec)
    arguments = {name: value for name, value in wanted.items() if name in known}
    return CallBlock(provider_id=f"tour_{len(prompt.messages)}", tool=spec.name, arguments=arguments)


def file_name(told: str) -> str:
    """A name of its own for each task of a thread: what the model is told differs by what came before."""
    return f"hello-{digest(told, length=4)}.md"


def _since_the_task(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """The history since the last task; what people and rules say meanwhile does not begin the tour anew."""
    begins = (number for number, message in enumerate(messages) if _is_task(message))
    return messages[max(begins, default=0) :]


def _is_task(message: Message) -> bool:
    if message.role != "user" or message.answers:
        return False
    return bool(_TASK.match(message.text) or (_words(message.text) and not _SAID.search(message.text)))


def _told(history: tuple[Message, ...]) -> str:
    """What the model was told last by a person, with what came before in the thread where it is the task."""
    said = (message.text for message in reversed(history) if message.role == "user" and _words(message.text))
    return next(said, "").strip()


def _written(history: tuple[Message, ...]) -> str:
    """The file that this tour wrote already, '' before that."""
    paths = (call.arguments.get("path") for message in history for call in message.calls if call.tool == "write")
    return str(next(paths, ""))


def _words(told: str) -> str:
    """A person's own words of what the model was told, the last where there are several; '' where it has none."""
    *_, begins = (0, *(heading.end() for heading in _SAID.finditer(told)))
    if not begins and _BEGINS.match(told):
        return ""
    return _OVER.split(told[begins:], maxsplit=1)[0].strip()


def _quoted(told: str) -> str:
    words = _words(told)
    short = words if len(words) <= QUOTED else words[: QUOTED - 1] + "…"
    return "\n".join(f"> {line}" for line in short.splitlines()) if short else "> (nothing)"


def _file(told: str) -> str:
    return f"# Hello\n\nA scripted tour wrote this file; no model was asked. You wrote:\n\n{_quoted(told)}\n\n{HOW}\n"


def _final(told: str, done: list[ToolAnswer]) -> str:
    worked = [answer.tool for answer in done if not answer.failed]
    failed = [answer.tool for answer in done if answer.failed]
    tools = f"These tools really ran: {', '.join(worked)}." if worked else "No tool ran."
    if failed:
        tools += f" These failed, and their results above say why: {', '.join(failed)}."
    return f"{FIRST} You wrote:\n{_quoted(told)}\nI cannot work on that. {tools} {HOW}"


def _completion(final: str, done: list[ToolAnswer], file: str) -> dict[str, JsonValue]:
    """It claims nothing: it is no answer."""
    wrote = any(answer.tool == "write" and not answer.failed for answer in done)
    return {"answer": final, "files": [file] if wrote else []}
