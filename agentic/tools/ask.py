"""``ask_user``: a question to the person; the loop waits, and the answer becomes the result of the call."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from agentic.ports import Observation, Question
from agentic.tools.tool import Arguments, Call, Tool

Choice = Annotated[str, Field(min_length=1, max_length=80)]


class AskArguments(Arguments):
    """A question."""

    question: str = Field(min_length=1, max_length=1_500, description="One clear question, with what it depends on.")
    options: tuple[Choice, ...] = Field(
        default=(), max_length=5, description="Short answers to choose from, the best first."
    )


async def _run(arguments: AskArguments, _: Call) -> Observation:
    return Observation("ok", "Asked.", question=Question(arguments.question, arguments.options))


ASK_TOOL = Tool(
    name="ask_user",
    description="Ask the person when the task cannot go on without their choice; do not ask what you can find out.",
    example=AskArguments(question="Which database should the migration target?", options=("PostgreSQL", "SQLite")),
    act=_run,
    effect="keyed",
    permission="read",
)
