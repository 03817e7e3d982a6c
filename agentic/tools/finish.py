"""``finish``: the agent says that it is done, with its evidence."""

from __future__ import annotations

from pydantic import Field

from agentic.ports.runtime import FinishTool, Observation
from agentic.tools.base.observation import failed
from agentic.tools.base.paths import FilePath, FolderPath
from agentic.tools.base.tool import Arguments, CallContext, Tool


class ClaimArgument(Arguments):
    """One thing that is now true."""

    text: str = Field(min_length=1, max_length=500, description="What is now true.")
    command: str = Field(
        default="",
        max_length=60_000,
        description="The command you ran that shows it, as you ran it, after the last change of a file.",
    )
    exit_code: int | None = Field(default=None, description="Its exit code.")
    file: FolderPath = Field(default="", description="The file that shows it.")


class FinishArguments(Arguments):
    """The answer with its evidence."""

    answer: str = Field(min_length=1, max_length=60_000, description="The final answer to the person, in Markdown.")
    claims: tuple[ClaimArgument, ...] = Field(
        default=(),
        max_length=20,
        description="What you did, each with a command you ran or a file you changed as evidence.",
    )
    files: tuple[FilePath, ...] = Field(default=(), max_length=10, description="Files of the workspace to attach.")
    success: bool = Field(default=True, description="False where the task could not be done.")


async def _run(arguments: FinishArguments, call: CallContext) -> Observation:
    missing = await _missing(arguments.files, call)
    if missing:
        return failed(f"Not finished: {', '.join(missing)} cannot be attached. Name files that exist in the workspace.")
    completion = FinishTool(
        answer=arguments.answer,
        claims=tuple((claim.text, claim.command, claim.exit_code, claim.file) for claim in arguments.claims),
        files=arguments.files,
        success=arguments.success,
    )
    return Observation("ok", "Finished.", completion=completion)


async def _missing(files: tuple[str, ...], call: CallContext) -> list[str]:
    """Return the named files that do not exist; without names no sandbox is started."""
    if not files:
        return []
    world = await call.world()
    stats = [(file, await world.real.stat(file)) for file in files]
    return [file for file, stat in stats if stat is None or stat.kind != "file"]


FINISH_TOOL = Tool(
    name="finish",
    description="End the task with the final answer. Call it alone, when everything is done and checked.",
    example=FinishArguments(
        answer="The rounding error is fixed.",
        claims=(ClaimArgument(text="all tests pass", command="python -m pytest -q", exit_code=0),),
    ),
    act=_run,
    effect="keyed",
    permission="read",
    cognitive=True,
)
