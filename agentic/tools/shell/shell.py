"""``shell``: one command, what is expected of it, and what to do instead if it fails."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from pydantic import Field, model_validator

from agentic.bash.runner_summaries import TestCount
from agentic.bash.runners import count_tests
from agentic.core.events.execution_events import Attempt, FileChange, Finding
from agentic.ports.runtime import NotBegun, Observation
from agentic.sandbox.internal_commands import PATH
from agentic.sandbox.protocol.decode import exec_result
from agentic.sandbox.protocol.results import ExecResult
from agentic.tools.approval.command_rules import gate
from agentic.tools.approval.named_paths import look
from agentic.tools.base.error_fingerprint import normal_error
from agentic.tools.base.observation import failed, how_to_see, tell_changes
from agentic.tools.base.paths import FolderPath
from agentic.tools.base.terminal_text import StreamCleaner, clean_bytes
from agentic.tools.base.tool import (
    AgentWorld,
    Arguments,
    CallContext,
    Recall,
    Recalled,
    Tool,
)
from agentic.tools.base.truncation import SHELL, show
from agentic.tools.shell.expectations import Comparison, compare

MOST_SECONDS = 600
SLACK_SECONDS = 15.0
OUTPUT_BYTES = 64 * 1024
FALLBACK = ".fallback"
"""What the key of a fallback ends in."""


class Alternative(Arguments):
    """One way that was weighed."""

    command: str = Field(max_length=1_000)
    trade_off: str = Field(max_length=300)
    chosen: bool = False


class ShellArguments(Arguments):
    """One command line."""

    command: str = Field(min_length=1, max_length=60_000, description="Runs in bash in the workspace; stdin is empty.")
    reasoning: str = Field(default="", max_length=1_000, description="Why this command, briefly.")
    alternatives: tuple[Alternative, ...] = Field(
        default=(), max_length=3, description="Other ways you weighed, each with its trade-off; mark the one you run."
    )
    expectation: str = Field(
        default="",
        max_length=500,
        description="What you expect: exit code, tests, 'words' in the output; it is compared with what comes.",
    )
    fallback: str = Field(default="", max_length=60_000, description="Runs only if the command fails.")
    timeout: int = Field(default=120, ge=1, le=MOST_SECONDS, description="Seconds, default 120, at most 600.")
    cwd: FolderPath = Field(default=".", description="Folder in the workspace to run in.")
    background: bool = Field(
        default=False, description="Start it and go on (servers, watchers); look after it with the tool job."
    )

    @model_validator(mode="after")
    def _makes_sense(self) -> ShellArguments:
        if not self.command.strip():
            raise ValueError("'command' is empty")
        if "\0" in self.command or "\0" in self.fallback or "\0" in self.cwd:
            raise ValueError("a command cannot contain NUL")
        if self.alternatives and sum(a.chosen for a in self.alternatives) != 1:
            raise ValueError("exactly one of 'alternatives' must have \"chosen\": true")
        if self.background and self.fallback:
            raise ValueError("a background command takes no 'fallback'")
        return self


@dataclass(frozen=True, slots=True)
class _Ran:
    """A command that ended, read."""

    command: str
    result: ExecResult
    output: str
    tests: TestCount | None

    @property
    def verdict(self) -> str:
        """How it ended, in words."""
        result = self.result
        if result.timed_out:
            return f"timed out after {result.duration:.1f} s and was killed with everything it had started"
        if result.killed_reason:
            return f"killed after {result.duration:.1f} s: {result.killed_reason}"
        ended = f"signal {result.signal}" if result.signal is not None else f"exit {result.exit_code}"
        return f"{ended} after {result.duration:.1f} s"


async def _run(arguments: ShellArguments, call: CallContext) -> Observation:
    world = await call.world()
    if arguments.background:
        return await _start(arguments, world, call.id)
    first = await _execute(arguments.command, arguments, call, world, call.id)
    if first.result.ok or not arguments.fallback:
        return _observe((first,), arguments, world)
    second = await _execute(arguments.fallback, arguments, call, world, f"{call.id}{FALLBACK}")
    return _observe((first, second), arguments, world)


async def _recall(arguments: ShellArguments, call: CallContext, recall: Recall) -> Recalled:
    """What ended has its result; a fallback that did not end leaves the whole unknown."""
    first = await recall(call.id)
    if first.never_began:
        return NotBegun()
    if first.reply is None or (arguments.background and not first.fault):
        return None
    world = await call.world()
    if first.fault:
        return failed(first.fault)
    ran = _ran(arguments.command, exec_result(first.reply, call.id), world)
    if ran.result.ok or not arguments.fallback:
        return _observe((ran,), arguments, world)
    second = await recall(f"{call.id}{FALLBACK}")
    if second.reply is None or second.fault:
        return None
    return _observe((ran, _ran(arguments.fallback, exec_result(second.reply, call.id), world)), arguments, world)


async def _execute(command: str, arguments: ShellArguments, call: CallContext, world: AgentWorld, key: str) -> _Ran:
    stream = StreamCleaner()
    result = await world.real.exec(
        in_bash(command),
        timeout=float(arguments.timeout),
        cwd=arguments.cwd,
        on_output=lambda piece: call.on_output(stream.clean(piece)),
        by=world.model.agent,
        how=world.hide(command),
        cap=OUTPUT_BYTES,
        key=key,
    )
    return _ran(command, result, world)


def _ran(command: str, result: ExecResult, world: AgentWorld) -> _Ran:
    output = world.hide(clean_bytes(result.output))
    return _Ran(command, result, output, count_tests(output))


def in_bash(command: str) -> str:
    """The command for a shell that may be a smaller one: run in bash where there is one."""
    return f'exec "$(PATH={PATH}; command -v bash || command -v sh)" -c {shlex.quote(command)}'


async def _start(arguments: ShellArguments, world: AgentWorld, key: str) -> Observation:
    job = await world.real.start(
        in_bash(arguments.command), cwd=arguments.cwd, name=world.hide(arguments.command), key=key
    )
    world.jobs[job] = 0
    world.begun.add(job)
    how = f'{{"job":"{job}"}}'
    return Observation("ok", f"Started in the background as job {job}. Its state and output: job {how}.", job=job)


def _observe(runs: tuple[_Ran, ...], arguments: ShellArguments, world: AgentWorld) -> Observation:
    """The exit code is that of ``command`` itself, so that the log never proves it by its fallback."""
    first, last = runs[0], runs[-1]
    told = [_tell(run, world) for run in runs]
    shown = "\nFallback: ".join(one.text for one in told)
    changes = merge_changes(tuple(change for run in runs for change in run.result.changes.files))
    more = sum(run.result.changes.more for run in runs)
    compared = _compare(arguments.expectation, first)
    told_of = _came(arguments.expectation, compared, runs)
    parts = [shown, tell_changes(changes, more), told_of, _leftovers(last.result)]
    tests = last.tests or first.tests
    return Observation(
        outcome="ok" if last.result.ok else "failed",
        preview="\n".join(part for part in parts if part),
        exit_code=first.result.exit_code,
        signal=first.result.signal,
        changes=changes,
        output=told[-1].whole,
        output_ref=told[-1].ref,
        tests_passed=tests.passed if tests else None,
        tests_failed=tests.failed if tests else None,
        tests_skipped=tests.skipped if tests else None,
        expected=compared.verdict,
        attempts=tuple(map(_attempt, runs)) if len(runs) > 1 else (),
        error="" if last.result.ok else _error(last),
    )


def _attempt(run: _Ran) -> Attempt:
    return Attempt(
        command=run.command,
        exit_code=run.result.exit_code,
        tests_passed=run.tests.passed if run.tests else None,
        tests_failed=run.tests.failed if run.tests else None,
        tests_skipped=run.tests.skipped if run.tests else None,
    )


@dataclass(frozen=True, slots=True)
class _Told:
    """What is shown of a command; where that is not all, the reference to the rest, and the whole if it is at hand."""

    text: str
    ref: str = ""
    whole: bytes | None = None


def _tell(run: _Ran, world: AgentWorld) -> _Told:
    result = run.result
    output = run.output.rstrip("\n")
    if result.truncated:
        missing = max(0, result.output_size - OUTPUT_BYTES)
        shown = show(output, SHELL, how=how_to_see(result.output_ref), missing=missing)
        return _Told(f"{run.verdict}\n{shown.text}", result.output_ref)
    if not show(output, SHELL).cut:
        return _Told(f"{run.verdict}\n{output or '(no output)'}")
    ref = world.outputs.keep(output)
    shown = show(output, SHELL, how=how_to_see(ref))
    return _Told(f"{run.verdict}\n{shown.text}", ref, output.encode("utf-8", "replace"))


def _compare(expectation: str, run: _Ran) -> Comparison:
    """What was expected is expected of the command, not of its fallback."""
    result = run.result
    return compare(expectation, ok=result.ok, exit_code=result.exit_code, tests=run.tests, output=run.output)


def _came(expectation: str, compared: Comparison, runs: tuple[_Ran, ...]) -> str:
    """Expectation and outcome beside each other; the fallback's is told apart."""
    if not expectation:
        return ""
    first, *fallback = [f"{run.verdict}{_tests(run.tests)}" for run in runs]
    came = first + "".join(f"; the fallback: {each}" for each in fallback)
    as_expected = {"met": f"\nAs expected: {compared.because}.", "missed": f"\nNot as expected: {compared.because}."}
    return f"Expected: {expectation}\nCame: {came}{as_expected.get(compared.verdict, '')}"


def _tests(tests: TestCount | None) -> str:
    return f", {tests.passed} tests passed, {tests.failed} failed" if tests else ""


def _leftovers(result: ExecResult) -> str:
    if not result.left_running:
        return ""
    names = ", ".join(result.left_running[:5])
    return f'Still running: {names}. Start servers with "background": true, so that they can be polled and stopped.'


def _error(run: _Ran) -> str:
    if run.result.timed_out:
        return normal_error(run.output, "timed out")
    return normal_error(run.output, run.result.killed_reason or f"exit {run.result.exit_code}")


def merge_changes(changes: tuple[FileChange, ...]) -> tuple[FileChange, ...]:
    """Changes of several commands as one: from the first state of each file to its last."""
    merged: dict[str, FileChange] = {}
    for change in changes:
        before = merged[change.path].sha_before if change.path in merged else change.sha_before
        kind = "added" if not before and change.sha_after else "deleted" if not change.sha_after else "modified"
        merged[change.path] = FileChange(path=change.path, kind=kind, sha_before=before, sha_after=change.sha_after)
    return tuple(c for c in merged.values() if c.sha_before or c.sha_after)


def _gate(arguments: ShellArguments, created: frozenset[str]) -> tuple[Finding, ...]:
    """Everything that may run counts, and the way that the model says it chose."""
    chosen = [one.command for one in arguments.alternatives if one.chosen]
    texts = dict.fromkeys((arguments.command, arguments.fallback, *chosen))
    return tuple(dict.fromkeys(found for each in texts for found in gate(each, created, arguments.cwd)))


def _seconds(arguments: ShellArguments) -> float:
    return arguments.timeout * (2 if arguments.fallback else 1) + SLACK_SECONDS


SHELL_TOOL = Tool(
    name="shell",
    description=(
        "Run a command in the sandbox. You get its exit code, output and the files it changed. Long output is cut in the"
        " middle and kept for read_output. Do not wait on prompts; use non-interactive flags. `| tail`, `|| true` or"
        " `; echo` hide the exit code: a test run with them proves nothing."
    ),
    example=ShellArguments(command="python -m pytest -q tests/test_cart.py", expectation="all tests pass", timeout=120),
    act=_run,
    effect="unkeyed",
    permission="execute",
    outside="network",
    seconds=_seconds,
    recalls=_recall,
    expects=lambda arguments: arguments.expectation,
    gates=_gate,
    looks=lambda arguments: look(f"{arguments.command}\n{arguments.fallback}", arguments.cwd),
)
