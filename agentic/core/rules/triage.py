"""Talk or task, how complex, whose work: rules over the words (``task_classifier``), and a cheap model where they are unsure.

A wrong answer never blocks: talk taken for a task costs a turn, and talk in which the model says that it has to act, or in
which a person goes on, becomes a task.  The model is asked once; without an answer that can be read the rules' guess counts.
"""

from __future__ import annotations

import re
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from agentic.core.events.execution_events import Intervened, Started, Triaged
from agentic.core.events.values import Complexity
from agentic.core.prompt.roles import UNBOUND, in_role, only_looks
from agentic.core.prompt.user_messages import NOTE
from agentic.core.state.actions import Action, Consult, Record
from agentic.core.state.conversation import Message, Prompt, ToolSpec
from agentic.core.state.execution import Execution
from agentic.core.text.asked_by_name import asked
from agentic.core.text.foreign_text import fenced, mark_of
from agentic.core.text.task_classifier import TaskReading, read
from agentic.prompts import triage_prompt as asking
from agentic.prompts.roles import NAMES

TIER = 1
SECONDS = 15.0
TOKENS = 300
"""Twenty are enough; what thinks before it speaks needs more."""
SHOWN = 2_000
ACTS = "talk_to_task"
"""The intervention that gives a talk its tools."""
_JSON = re.compile(r"\{[^{}]*\}")
_MARK = re.compile(r"^[^\w\n]*(?:THREADWRIGHT )?TASK[^\w\n]*$", re.MULTILINE)
_INTENT = re.compile(
    r"(?:^|[.!?:\n]\s{0,20})(?:(?:ok(?:ay)?|sure|of course|right|certainly|one moment)[,.!]? )*"
    r"(?:let me|i(?:'ll| will| need to| have to| must|'d need to|'d have to)) (?:first |now |quickly |just )*"
    r"(?:take a look|look (?:at|into|up)|check|inspect|open|read|run|search|fix|write|create|list|examine|investigate)\b"
    r"(?![^.!?\n]{0,1000}\b(?:if you|when you|once you|for you|whatever you|anything you)\b)[^.!?\n]{0,1000}+[.!:…]*+\s*+\Z",
    re.IGNORECASE,
)


class _Answered(BaseModel):
    """What the cheap model may answer; what it says beyond that is left out."""

    model_config = ConfigDict(extra="ignore")

    kind: Literal["talk", "task"]
    complexity: Complexity = "medium"
    changes_files: bool = False
    role: str = ""

    @field_validator("kind", "complexity", "role", mode="before")
    @classmethod
    def _plain(cls, value: object) -> object:
        return value.strip().lower() if isinstance(value, str) else value


def untriaged(execution: Execution) -> Action | None:
    """Talk or task comes first; what derives from it waits for it.  Talk that goes on becomes a task."""
    started, triaged = execution.started, execution.triage
    if started is None:
        return None
    if triaged is None:
        return _first_reading(execution, started)
    if execution.side:
        return None
    if not triaged.talk:
        return _lifted(execution, started, triaged)
    if execution.told.unseen:
        return Record((_as_task(started, triaged, "it went on"),))
    if _wants_to_act(execution):
        note = f"{NOTE} This is a task after all: from here on you have your tools. Begin with the work."
        return Record((_as_task(started, triaged, "the model has to act"), Intervened(rule=ACTS, text=note)))
    return None


def triage(started: Started) -> Triaged:
    """The reading of a task by its words alone."""
    return _by_rule(started, _read(started))


def prompt(execution: Execution, tools: tuple[ToolSpec, ...]) -> Prompt:
    """What a cheap model is asked about a task that the rules cannot place."""
    mark = mark_of(execution.started)
    text = fenced(execution.task, mark)
    if len(text) > SHOWN:
        text = f"{text[: SHOWN // 2]}\n[…]\n{text[-SHOWN // 2 :]}"
    system = asking.TEXT.replace("{roles}", ", ".join(NAMES))
    return Prompt(
        system=system, tools=(), messages=(Message("user", text=asking.MESSAGE.format(mark=mark, text=text)),)
    )


def answered(text: str) -> Triaged | None:
    """What a model's answer says; None where it cannot be read."""
    for found in _JSON.findall(text):
        try:
            said = _Answered.model_validate_json(found)
        except ValidationError:
            continue
        talk = said.kind == "talk"
        return Triaged(
            talk=talk,
            complexity="simple" if talk else said.complexity,
            changes_files=said.changes_files and not talk,
            asks_change=said.changes_files and not talk,
            role=said.role if said.role in NAMES and not talk else "",
            by="model",
            why="the rules were unsure, and a cheap model read it",
        )
    return None


def _first_reading(execution: Execution, started: Started) -> Action:
    reading, came = _read(started), execution.consulted
    asked = came is not None and came.purpose == "triage"
    if not asked and not reading.sure and not started.side and (model := _model(execution)):
        return Consult(purpose="triage", turn=0, tier=TIER, model=model, max_tokens=TOKENS, seconds=SECONDS)
    said = answered(came.text) if asked and came is not None and not started.side else None
    if said is None:
        return Record((_by_rule(started, reading),))
    if not said.talk:
        said = said.model_copy(update={"role": started.role or said.role or reading.role})
        update = {"complexity": _given(started, said.complexity), "asks_for": _asks_for(started)}
        said = said.model_copy(update=update)
    return Record((in_role(started, said),))


def _read(started: Started) -> TaskReading:
    changed = any(result.files for result in started.earlier)
    attached = bool(started.files)
    return read(started.task, attached=attached, earlier=bool(started.earlier), changed_before=changed)


def _by_rule(started: Started, reading: TaskReading) -> Triaged:
    if started.side:
        return Triaged(talk=True, role=started.role, complexity="simple", why="a side question")
    talk = reading.talk and not started.child  # who has a part of its work done wants it done
    complexity = reading.complexity if reading.talk else _given(started, reading.complexity)
    triaged = Triaged(
        talk=talk,
        role=started.role or reading.role,
        complexity=complexity,
        changes_files=reading.changes_files,
        asks_change=reading.asks_change,
        asks_for=_asks_for(started),
        why=reading.why,
    )
    return in_role(started, triaged)


def _asks_for(started: Started) -> tuple[str, ...]:
    """What a person asks for by name; a child does what it can of its part."""
    return () if started.child else asked(started.task)


def _lifted(execution: Execution, started: Started, triaged: Triaged) -> Action | None:
    """A role that only looks gives way where a person asks for changes meanwhile, unless a person chose it."""
    if not execution.told.unseen or not only_looks(execution) or started.role:
        return None
    words = execution.mind.guided[-1].partition("\n")[2] if execution.mind.guided else ""
    if not read(words).changes_files:
        return None
    lifted = triaged.model_copy(update={**UNBOUND, "changes_files": True, "by": "rule"})
    return Record((lifted.model_copy(update={"why": "a person asks for changes"}),))


def _given(started: Started, complexity: Complexity) -> Complexity:
    """What somebody said stands over what was read."""
    return started.complexity if started.complexity != "medium" else complexity


def _model(execution: Execution) -> str:
    """The cheap model; '' where there is none, or none is to be asked."""
    models = next((tier.models for tier in execution.policy.tiers if tier.number == TIER), ())
    return models[0] if models and execution.policy.triage_by_model else ""


def _as_task(started: Started, triaged: Triaged, why: str) -> Triaged:
    update = {"talk": False, "complexity": "medium", "by": "rule", "why": why}
    return in_role(started, triaged.model_copy(update=update))


def _wants_to_act(execution: Execution) -> bool:
    """The answer to talk calls a tool, or says that it is work or will do some now."""
    turn = execution.turn
    if not turn.answered or not turn.ended or turn.stop == "length":
        return False
    return bool(turn.calls or _MARK.search(turn.text) or _INTENT.search(turn.text.replace("’", "'")))
