"""``python``: run code in an interpreter that keeps its state from call to call."""

from __future__ import annotations

import asyncio
from dataclasses import asdict

from pydantic import Field

from agentic.core.events.execution_events import FileRef
from agentic.ports.errors import PathRefused
from agentic.ports.runtime import NotBegun, Observation
from agentic.sandbox.protocol.decode import python_result
from agentic.sandbox.protocol.results import PythonResult
from agentic.tools.approval.command_rules import gate_code
from agentic.tools.base.error_fingerprint import normal_error
from agentic.tools.base.observation import failed, how_to_see, tell_changes
from agentic.tools.base.terminal_text import StreamCleaner, clean, clean_bytes
from agentic.tools.base.tool import (
    AgentWorld,
    Arguments,
    CallContext,
    Recall,
    Recalled,
    Tool,
)
from agentic.tools.base.truncation import SHELL, show
from agentic.workspace.picture_header import facts_of

MOST_SECONDS = 600
SLACK_SECONDS = 15.0
OUTPUT_BYTES = 64 * 1024
FIGURE_BYTES = 3_500_000


class PythonArguments(Arguments):
    """A piece of code."""

    code: str = Field(
        default="", max_length=200_000, description="Statements; the value of a last expression is shown."
    )
    timeout: int = Field(default=120, ge=1, le=MOST_SECONDS, description="Seconds, default 120, at most 600.")
    restart: bool = Field(default=False, description="Forget all variables first.")


async def _run(arguments: PythonArguments, call: CallContext) -> Observation:
    world = await call.world()
    if arguments.restart:
        await world.real.reset_python()
        if not arguments.code.strip():
            return Observation("ok", "The interpreter was restarted.")
    stream = StreamCleaner()
    result = await world.real.python(
        arguments.code,
        timeout=float(arguments.timeout),
        on_output=lambda piece: call.on_output(stream.clean(piece)),
        by=world.model.agent,
        cap=OUTPUT_BYTES,
        key=call.id,
    )
    return await _observe(result, world)


async def _recall(arguments: PythonArguments, call: CallContext, recall: Recall) -> Recalled:
    remembered = await recall(call.id)
    if remembered.never_began:
        return NotBegun()
    if remembered.reply is None:
        return None
    if remembered.fault:
        return failed(remembered.fault)
    return await _observe(python_result(remembered.reply), await call.world())


async def _observe(result: PythonResult, world: AgentWorld) -> Observation:
    output = world.hide(clean_bytes(result.output)).rstrip("\n")
    traceback = world.hide(clean(result.error)).rstrip("\n")
    text = "\n".join(part for part in (output, traceback) if part)
    ref = result.output_ref
    if not ref and show(text, SHELL).cut:
        ref = world.outputs.keep(text)
    shown = show(text, SHELL, how=how_to_see(ref)).text or "(no output)"
    figures = await _figures(result, world)
    told = tell_changes(result.changes.files, result.changes.more)
    parts = [_verdict(result), shown, _tell_figures(figures), told, _restarted(result)]
    return Observation(
        outcome="ok" if result.ok else "failed",
        preview="\n".join(part for part in parts if part),
        changes=result.changes.files,
        output_ref=ref,
        files=figures,
        error="" if result.ok else normal_error(traceback or output, _problem(result)),
    )


async def _figures(result: PythonResult, world: AgentWorld) -> tuple[FileRef, ...]:
    """What the code drew, by its bytes; what it only says to be a picture is none."""
    figures: list[FileRef] = []
    for path in result.figures:
        try:
            content = await world.real.get_file(path, FIGURE_BYTES)
        except PathRefused:
            continue
        if (facts := await asyncio.to_thread(facts_of, content)) is not None and facts.width:
            name = path.rpartition("/")[2]
            figures.append(FileRef(name=name, path=path, size=len(content), **asdict(facts)))
    return tuple(figures)


def _tell_figures(figures: tuple[FileRef, ...]) -> str:
    if not figures:
        return ""
    named = ", ".join(f"{figure.path} ({figure.width} × {figure.height})" for figure in figures)
    return f"It drew {named}. People see what you name in `files` of finish."


def _verdict(result: PythonResult) -> str:
    if result.ok:
        return f"done after {result.duration:.1f} s"
    return f"{_problem(result)} after {result.duration:.1f} s"


def _problem(result: PythonResult) -> str:
    if result.timed_out:
        return "timed out"
    return f"killed ({result.killed_reason})" if result.killed_reason else "raised"


def _restarted(result: PythonResult) -> str:
    return "The interpreter was started anew: earlier variables are gone." if result.restarted else ""


def _seconds(arguments: PythonArguments) -> float:
    return arguments.timeout + SLACK_SECONDS


PYTHON_TOOL = Tool(
    name="python",
    description="Run Python in the sandbox. Variables and imports stay for later calls.",
    example=PythonArguments(code="import json\nlen(json.load(open('data.json')))"),
    act=_run,
    effect="unkeyed",
    permission="execute",
    outside="network",
    seconds=_seconds,
    recalls=_recall,
    gates=lambda arguments, created: gate_code(arguments.code, created),
)
