"""Calls as the product's tools answer them: the words of their results, with times that differ from run to run."""

from __future__ import annotations

from agentic.bash.runners import count_tests
from agentic.core.events.execution_events import (
    FileChange,
    Noted,
    Outcome,
    Todo,
    TodoChanged,
)
from agentic.tools.base.error_fingerprint import normal_error
from bench.trajectories.story import Act, Story


def shell(story: Story, command: str, output: str = "", *, code: int = 0, changes: tuple[FileChange, ...] = ()) -> Act:
    """A command that ended."""
    code = int(code)
    seconds = round(story.rng.uniform(0.1, 4.0), 1)
    told = f"exit {code} after {seconds:.1f} s\n{output or '(no output)'}"
    if changes:
        told += "\nFiles changed: " + ", ".join(f"{change.kind} {change.path}" for change in changes)
    tests = count_tests(output)
    error = normal_error(output, f"exit {code}") if code else ""
    counted = (tests.passed, tests.failed) if tests else None
    arguments: dict[str, str] = {"command": command}
    if story.rng.random() < 0.4:
        arguments["reasoning"] = story.words()
    return Act("shell", {**arguments}, "failed" if code else "ok", told, code, error, changes, counted, seconds=seconds)


def timed_out(story: Story, command: str, output: str = "") -> Act:
    """A command that was killed at its time-out."""
    seconds = 120 + round(story.rng.uniform(0.0, 0.4), 1)
    told = f"timed out after {seconds:.1f} s and was killed with everything it had started\n{output or '(no output)'}"
    error = normal_error(output, "timed out")
    return Act("shell", {"command": command}, "failed", told, None, error, seconds=seconds)


def started(story: Story, command: str, job: str) -> Act:
    """A command in the background."""
    how = f'{{"job":"{job}"}}'
    told = f"Started in the background as job {job}. Its state and output: job {how}."
    return Act("shell", {"command": command, "background": True}, "ok", told)


def job(story: Story, name: str, output: str = "", ended: int | None = None, wait: int = 0) -> Act:
    """A look at a background command."""
    state = "Running." if ended is None else f"Ended with exit {ended}."
    told = f"{state}\n{output or '(no new output)'}"
    outcome: Outcome = "failed" if ended else "ok"
    arguments: dict[str, str | int] = {"job": name}
    if wait:
        arguments["wait"] = wait
    error = normal_error(output, f"exit {ended}") if ended else ""
    return Act("job", {**arguments}, outcome, told, ended, error, seconds=float(wait) or 0.3)


def python(story: Story, code: str, output: str = "", traceback: str = "") -> Act:
    """Code in the interpreter."""
    seconds = story.rng.uniform(0.0, 2.0)
    verdict = f"raised after {seconds:.1f} s" if traceback else f"done after {seconds:.1f} s"
    text = "\n".join(part for part in (output, traceback) if part) or "(no output)"
    error = normal_error(traceback, "raised") if traceback else ""
    return Act("python", {"code": code}, "failed" if traceback else "ok", f"{verdict}\n{text}", error=error)


def read(story: Story, path: str, lines: list[str], offset: int = 1, limit: int = 2000) -> Act:
    """A file, or a part of it."""
    part = lines[offset - 1 : offset - 1 + limit]
    told = "\n".join(f"{number}\t{line}" for number, line in enumerate(part, offset))
    last = offset - 1 + len(part)
    if last < len(lines):
        told += f"\n… lines {offset}-{last} of {len(lines)}; go on with offset {last + 1}."
    arguments: dict[str, str | int] = {"path": path}
    if offset != 1 or limit != 2000:
        arguments |= {"offset": offset, "limit": limit}
    return Act("read", {**arguments}, "ok", told)


def grep(story: Story, pattern: str, hits: list[str], path: str = ".", files: int = 214) -> Act:
    """A search through files."""
    told = "\n".join(hits) if hits else f"No match in {files} files."
    return Act("grep", {"pattern": pattern, "path": path}, "ok", told)


def edit(story: Story, path: str, old: str, new: str, content: str) -> Act:
    """A replacement that was made; ``content`` names what the file then holds."""
    change = story.writes(path, content)
    told = f"modified {path}\n- {old}\n+ {new}"
    return Act("edit", {"path": path, "old": old, "new": new}, "ok", told, changes=(change,))


def edit_missed(story: Story, path: str, old: str, new: str, nearest: str) -> Act:
    """A replacement whose old text is not in the file."""
    told = f"Nothing was written to {path}: 'old' was not found. The nearest lines are:\n{nearest}"
    return Act("edit", {"path": path, "old": old, "new": new}, "failed", told, error=normal_error(told))


def write(story: Story, path: str, content: str, size: int) -> Act:
    """A whole file."""
    change = story.writes(path, content)
    told = f"{change.kind} {path} ({size} lines, {size * 31} bytes)"
    return Act("write", {"path": path, "content": content}, "ok", told, changes=(change,))


def note(story: Story, text: str) -> Act:
    """A fact to remember."""
    return Act("note", {"text": text}, "ok", "Noted.", events=(Noted(text=text),))


def todo(story: Story, steps: list[str], done: int) -> Act:
    """The to-do list."""
    items = [{"text": step, "state": "done" if i < done else "open"} for i, step in enumerate(steps)]
    made = tuple(Todo(text=step, state="done" if i < done else "open") for i, step in enumerate(steps))
    told = f"To-do list: {done} of {len(steps)} done."
    return Act("todo", {"items": [{**item} for item in items]}, "ok", told, events=(TodoChanged(items=made),))


def refused(story: Story, tool: str, arguments: dict[str, str], told: str, outcome: Outcome = "refused") -> Act:
    """A call that was not allowed to act."""
    return Act(tool, {**arguments}, outcome, told, error=normal_error(told) if outcome == "failed" else "")


def finish(story: Story, answer: str = "It is done.") -> Act:
    """The end."""
    return Act("finish", {"answer": answer, "claims": []}, "ok", "Finished.")
