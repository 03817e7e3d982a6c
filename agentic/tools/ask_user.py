"""``ask_user``: ask the person one or several questions; the loop waits, and the answer becomes the call's result."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from agentic.ports.runtime import Observation, Question, QuestionPart
from agentic.tools.base.tool import Arguments, CallContext, Tool

Choice = Annotated[str, Field(min_length=1, max_length=80)]
INTRODUCTION = "I need to know a few things."


class OneQuestion(Arguments):
    """One of several."""

    text: str = Field(min_length=1, max_length=300, description="One clear question.")
    options: tuple[Choice, ...] = Field(
        default=(), max_length=5, description="Short answers to choose from, the best first."
    )


class AskArguments(Arguments):
    """One question, or several that are asked together."""

    question: str = Field(
        default="",
        max_length=1_500,
        description="One clear question, with what it depends on; or what leads to several.",
    )
    options: tuple[Choice, ...] = Field(
        default=(), max_length=5, description="Short answers to choose from, the best first."
    )
    questions: tuple[OneQuestion, ...] = Field(
        default=(), max_length=4, description="Several questions at once, instead of 'options'."
    )

    @model_validator(mode="after")
    def _makes_sense(self) -> AskArguments:
        if not self.question.strip() and not self.questions:
            raise ValueError("'question' is missing")
        if self.questions and self.options:
            raise ValueError("with several 'questions' each has its own 'options'")
        return self


async def _run(arguments: AskArguments, _: CallContext) -> Observation:
    asked = arguments.questions
    if len(asked) == 1:
        text = "\n".join(part for part in (arguments.question.strip(), asked[0].text) if part)
        return Observation("ok", "Asked.", question=Question(text, asked[0].options))
    parts = tuple(QuestionPart(each.text, each.options) for each in asked)
    text = arguments.question.strip() or INTRODUCTION
    return Observation("ok", "Asked.", question=Question(text, arguments.options, parts))


ASK_TOOL = Tool(
    name="ask_user",
    description="Ask the person when the task cannot go on without their choice; do not ask what you can find out. "
    "Ask everything you need at once.",
    example=AskArguments(question="Which database should the migration target?", options=("PostgreSQL", "SQLite")),
    act=_run,
    effect="keyed",
    permission="read",
    asks=True,
)
