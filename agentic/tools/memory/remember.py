"""``remember``: keep a fact of the server or of the repository for later tasks."""

from __future__ import annotations

from pydantic import Field

from agentic.ports.runtime import Observation
from agentic.tools.base.observation import refused
from agentic.tools.base.tool import Arguments, CallContext, Tool
from agentic.tools.memory.fact_memory import About, FactKept, FactMemory, exposure_of

LONGEST = 300


class RememberArguments(Arguments):
    """A fact, and what it is about."""

    fact: str = Field(
        min_length=8, max_length=LONGEST, description="One sentence that is understood alone; no secrets."
    )
    about: About = Field(description="repository: only for tasks on this thread's repository.")
    replaces: str = Field(default="", max_length=12, description="Id of a recalled fact that is no longer true.")


def remember_tool(memory: FactMemory) -> Tool[RememberArguments]:
    """Return the tool over what keeps facts."""

    async def act(arguments: RememberArguments, call: CallContext) -> Observation:
        kept = await memory.remember(call.logged, arguments.fact, arguments.about, arguments.replaces)
        if isinstance(kept, str):
            return refused(kept)
        return Observation("ok", _told(kept), exposure=exposure_of(kept.alike))

    return Tool(
        name="remember",
        description=(
            "Keep a fact for later tasks here, in other threads too: what lasts and is not in the files, as a person or your"
            " own check said it. Not how this task went."
        ),
        example=RememberArguments(fact="The staging database is reset every Sunday night.", about="server"),
        act=act,
        effect="keyed",
        permission="read",
        cognitive=True,
    )


def _told(kept: FactKept) -> str:
    fact = kept.fact
    lines = [f"Remembered as {fact.id}, of {fact.about}."]
    if kept.waits:
        lines = [f"Kept as {fact.id}, of {fact.about}, but not used before a person approves it: {kept.waits}."]
    if kept.moved:
        lines.append("It is kept for the repository alone, because that is private.")
    if kept.replaces:
        lines.append(f"It {'would take' if kept.waits else 'takes'} the place of {kept.replaces}.")
    lines += [f"About much the same: {each.id}, “{each.text}”." for each in kept.alike]
    if kept.alike:
        lines.append(
            "If one of them is no longer true, call remember again with the same fact and its id in 'replaces'."
        )
    return "\n".join(lines)
