"""What the model does in tests of crashes: a script that is read from the request alone, so a restart changes nothing.

A task says `job KIND ID`; the kind names the script.  Every shell call appends a line of its own to a file of the
workspace, so that a call that is made twice stands there twice.
"""

from __future__ import annotations

import json
import re
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic
from typing import Final

from pydantic import JsonValue

from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.replies import Reply

CALLS: Final = "calls.txt"
"""The file of a workspace in which each unkeyed call leaves its line."""
JOB: Final = re.compile(r"\bjob (\w+) ([\w.]+)\b")

Calls = tuple[tuple[str, dict[str, JsonValue]], ...]


def append(job: str, number: int, *, then: str = "") -> tuple[str, dict[str, JsonValue]]:
    """A shell call that leaves its line."""
    return "shell", {"command": f"echo {job}.{number} >> {CALLS}{then}", "reasoning": "to do it"}


def finish(job: str, *, success: bool = True) -> Calls:
    """The end of a job."""
    return (("finish", {"answer": f"answer to {job}.", "success": success}),)


def work(job: str) -> list[Calls]:
    """Two effects, a read, an edit."""
    return [
        (append(job, 1), append(job, 2, then=f"; echo old > {job}.txt")),
        (("read", {"path": f"{job}.txt"}),),
        (("edit", {"path": f"{job}.txt", "old": "old", "new": "new"}),),
        finish(job),
    ]


def talk(job: str) -> list[Calls]:
    """Nothing but the end."""
    return [finish(job)]


def asks(job: str) -> list[Calls]:
    """The same with a question at its end."""
    return [
        *work(job)[:-1],
        (("ask_user", {"question": f"Which way for {job}?", "options": ["this", "that"]}),),
        finish(job),
    ]


def fails(job: str) -> list[Calls]:
    """A command that fails, and an end without success."""
    return [(append(job, 1, then="; exit 4"),), finish(job, success=False)]


def slow(job: str) -> list[Calls]:
    """One effect; the model takes its time for the next step."""
    return [(append(job, 1),), finish(job)]


def big(job: str) -> list[Calls]:
    """So much text that content goes into files and the write-ahead log is copied."""
    return [(("write", {"path": f"{job}.txt", "content": "all work and no play\n" * 90_000}),), finish(job)]


def repository(job: str) -> list[Calls]:
    """A repository with one commit."""
    made = (
        "git init -q -b main . && git config user.email a@example.org && git config user.name A && echo 1 > price.py "
        "&& git add price.py && git commit -q -m first"
    )
    return [(("shell", {"command": made}),), finish(job)]


def offers(job: str) -> list[Calls]:
    """A change, committed to a branch that people may merge."""
    return [
        (("shell", {"command": "echo 2 > price.py"}),),
        (("commit", {"message": "Price is 2", "files": ["price.py"]}),),
        finish(job),
    ]


def writes(job: str) -> list[Calls]:
    """Two files."""
    return [
        (("write", {"path": "a.txt", "content": "first\n"}), ("write", {"path": "b.txt", "content": "first\n"})),
        finish(job),
    ]


def rewrites(job: str) -> list[Calls]:
    """The same files, changed, and one more."""
    return [
        (("read", {"path": "a.txt"}), ("read", {"path": "b.txt"})),
        (("write", {"path": "a.txt", "content": "second\n"}), ("write", {"path": "b.txt", "content": "second\n"})),
        (("write", {"path": "c.txt", "content": "second\n"}),),
        finish(job),
    ]


def quick(job: str) -> list[Calls]:
    """Many quick effects, several in an answer."""
    batches: list[Calls] = [tuple(append(job, turn * 20 + n) for n in range(20)) for turn in range(4)]
    return [*batches, finish(job)]


def few(job: str) -> list[Calls]:
    """Some effects, two in an answer."""
    return [*((append(job, turn), append(job, turn + 1)) for turn in (1, 3, 5)), finish(job)]


def helpers(job: str) -> list[Calls]:
    """Two helpers side by side, each with effects of its own, between two effects."""
    parts: list[JsonValue] = [{"task": f"job split {job}.{part}"} for part in "ab"]
    return [(append(job, 1),), (("subagent", {"tasks": parts}),), (append(job, 2),), finish(job)]


def serves(job: str) -> list[Calls]:
    """Calls of a server of tools between two commands, two of them in one answer."""
    line = "mcp__lines__append"
    return [
        (append(job, 1), (line, {"line": f"{job}.2"})),
        ((line, {"line": f"{job}.3"}), (line, {"line": f"{job}.4"})),
        (append(job, 5),),
        finish(job),
    ]


def split(job: str) -> list[Calls]:
    """What a helper does."""
    return [(append(job, 1), append(job, 2)), (append(job, 3),), finish(job)]


SCRIPTS: Final[dict[str, Callable[[str], list[Calls]]]] = {
    "talk": talk, "work": work, "asks": asks, "fails": fails, "slow": slow, "big": big, "repository": repository,
    "offers": offers, "helpers": helpers, "split": split, "serves": serves,
    "quick": quick, "few": few, "writes": writes, "rewrites": rewrites,
}  # fmt: skip

REFLECTION: Final = json.dumps(
    {
        "what_worked": "The command ran.",
        "what_failed": "The command ended with 4.",
        "root_cause": "It was told to.",
        "strategy_change": "Do not tell it to.",
        "key_insight": "An exit code of 4 is a failure.",
        "touches": "none",
    }
)


def task_of(request: CapturedRequest) -> tuple[str, str]:
    """Kind and id of the task; what was done earlier in the thread is told after it.  Other words are just answered."""
    first = next(message.text for message in request.messages if message.role == "user")
    found = JOB.search(first.partition("]\n")[2].partition("\n")[0])
    return (found[1], found[2]) if found is not None else ("talk", "words")


@dataclass
class Mind:
    """Answers from the scripts, after ``delay`` and with ``pace`` between pieces; ``asked`` counts requests by job."""

    delay: Callable[[str], float] = lambda kind: 6.0 if kind == "slow" else 0.0
    pace: float = 0.0
    asked: Counter[str] = field(default_factory=Counter[str])
    _until: deque[float] = field(default_factory=lambda: deque(maxlen=50))

    @property
    def streaming(self) -> bool:
        """An answer is on its way."""
        return any(until > monotonic() for until in self._until)

    def __call__(self, request: CapturedRequest) -> Reply:
        if not request.tools:
            return Reply(REFLECTION if "review" in request.system.lower() else "answered")
        kind, job = task_of(request)
        self.asked[job] += 1
        done = len(request.answers)
        for step in SCRIPTS[kind](job):
            if done < len(step):
                late = self.delay(kind) if step[0][0] == "finish" or self.pace else 0.0
                self._until.append(monotonic() + late + 10 * len(step) * self.pace)
                return Reply(f"confidence: 80\nI go on with {job}.", calls=step[done:], delay=late, pace=self.pace)
            done -= len(step)
        return Reply(calls=finish(job))
