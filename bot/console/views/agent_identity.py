"""Who the agent of a task is: its system prompt by where each part comes from, its role, its limits, its tools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from agentic.core.events.execution_events import (
    ChosenLesson,
    Envelope,
    Permission,
    PolicyChanged,
    RuleScope,
    Started,
    ToolRef,
    Triaged,
    WithheldLesson,
)
from agentic.core.prompt.build import Source, SystemPart, rules_of, system_parts
from agentic.core.prompt.roles import known, recorded, role_named
from agentic.core.prompt.tools_on_demand import described
from agentic.core.state.execution import Execution
from bot.console.views.sent_request import SentRequest

Origins = dict[Source, str]
PLACES: dict[RuleScope, str] = {
    "thread": "for this thread", "channel": "for this channel", "guild": "for this server", "everywhere": "for all servers",
}  # fmt: skip
DOES: dict[Permission, str] = {
    "read": "looks, changes nothing", "write": "changes files in the workspace", "execute": "runs something in the sandbox",
    "admin": "reaches beyond the workspace",
}  # fmt: skip
DOES_BY_NAME = {
    "shell": "runs commands in the sandbox", "python": "runs Python in the sandbox",
    "job": "looks at a command in the background, or ends it", "subagent": "has helpers do parts of the task",
    "approaches": "has several approaches tried side by side", "report": "says how far it is and how sure",
    "finish": "ends the task with its answer", "ask_stronger": "asks for a stronger model",
    "plan_mode": "plans first, and changes nothing until a person agrees", "wake_me": "has itself woken later",
    "remember": "keeps a fact for later tasks", "todo": "keeps its to-do list", "note": "keeps a note for this task",
    "network": "asks that commands may reach hosts",
}  # fmt: skip
"""The same of tools whose permission says too little."""
DESTROYS = "before a command deletes or rewrites more than the task's own files"
EACH_TIME = "each time"
ASKED_FIRST = {
    "shell": DESTROYS, "python": DESTROYS, "network": EACH_TIME,
    "http": "before it sends anything", "publish": "where the repository's workflows would change",
}  # fmt: skip
"""When an operator is asked before a tool of this name acts."""
LEAVES = "before it goes outside, once it has read what strangers may have written and what is not public"
STORED = "The parts below, joined, are the stored prompt, word for word."
OTHER = (
    "The stored prompt was written by another version of Threadwright: what this version makes of the log differs from it. "
    "Of the parts below, those marked “sent” are in the stored prompt word for word."
)
GONE = (
    "The stored prompt has been deleted, or was never kept. Shown is what this version makes of the log, which may differ "
    "from what was sent."
)
NOT_YET = "No turn has been requested yet. Shown is what would be sent now."


@dataclass(frozen=True, slots=True)
class PromptPart:
    """A part of the system prompt; ``sent``: it is in the stored prompt word for word, None where nothing is stored."""

    source: Source
    origin: str
    text: str
    sent: bool | None


@dataclass(frozen=True, slots=True)
class RoleChoice:
    """What was decided of the task and its role; ``seq`` is the event."""

    seq: int
    role: str
    by: str
    why: str
    complexity: str
    talk: bool


@dataclass(frozen=True, slots=True)
class Limit:
    """A cap of the task, with what people added to it and what is used."""

    name: str
    cap: float
    added: float
    used: float


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool that it has; ``description`` is '' where it is not in the prompt, or not stored any more."""

    name: str
    does: str
    asks: tuple[str, ...]
    """When a person is asked first; () for never."""
    description: str


@dataclass(frozen=True, slots=True)
class AgentIdentity:
    """All of it. ``verdict`` says how the parts relate to what was sent."""

    started: Started
    parts: tuple[PromptPart, ...]
    verdict: str
    stored: str
    """The stored prompt, where the parts are not it; else ''."""
    choices: tuple[RoleChoice, ...]
    role_origin: str
    limits: tuple[Limit, ...]
    raises: tuple[tuple[int, PolicyChanged], ...]
    policy: tuple[tuple[str, str], ...]
    tier: int
    tools: tuple[OfferedTool, ...]
    on_demand: tuple[str, ...]
    """Tools without a description in the prompt, which it finds when it needs them."""
    not_in_role: tuple[str, ...]
    left: tuple[ChosenLesson, ...]
    """What earlier attempts in its thread left for it, which are no lessons yet."""
    lessons: tuple[ChosenLesson, ...]
    withheld: tuple[WithheldLesson, ...]


def identity_of(events: Sequence[Envelope], now: Execution, sent: SentRequest | None) -> AgentIdentity:
    """Who the agent is. ``events`` are as they may be shown; the parts of the prompt, as they are sent, may hold secrets.

    ``now`` is the newest state; ``sent`` the turn's request that was sent last, None before the first.
    """
    state = sent.state if sent is not None else now
    started = state.started
    assert started is not None
    shown = next(each.event for each in events if isinstance(each.event, Started))
    built = system_parts(state)
    stored = sent.system if sent is not None else None
    whole = "\n\n".join(part.text for part in built)
    verdict = NOT_YET if sent is None else GONE if stored is None else STORED if stored == whole else OTHER
    origins = _origins(state, started)
    parts = tuple(_part(part, origins, stored, whole) for part in built)
    return AgentIdentity(
        started=shown,
        parts=parts,
        verdict=verdict,
        stored=stored if stored is not None and stored != whole else "",
        choices=_choices(events, started),
        role_origin=origins["role"],
        limits=_limits(now),
        raises=tuple((each.seq, each.event) for each in events if isinstance(each.event, PolicyChanged)),
        policy=_policy(shown),
        tier=now.tier,
        tools=_tools(state, sent),
        on_demand=_names(known(state), described(known(state))),
        not_in_role=_names(recorded(state), known(state)),
        left=tuple(each for each in shown.lessons if each.kind == "reflection"),
        lessons=tuple(each for each in shown.lessons if each.kind != "reflection"),
        withheld=shown.withheld,
    )


def _part(part: SystemPart, origins: Origins, stored: str | None, whole: str) -> PromptPart:
    is_sent = None if stored is None else stored == whole or part.text in stored
    return PromptPart(part.source, origins[part.source], part.text, is_sent)


def _origins(state: Execution, started: Started) -> Origins:
    rules = ", ".join(f"{rule.name} ({PLACES[rule.scope]})" for rule in rules_of(state))
    return {
        "product": "Built in: Threadwright's own words",
        "environment": "The sandbox, as it was when the task began",
        "tools": "Made of the tools of its role",
        "skills": f"Approved skills: {', '.join(skill.name for skill in started.skills)}",
        "own roles": f"Role files of this place: {', '.join(role.name for role in started.own_roles)}",
        "role": _role_origin(state, started),
        "rules": f"Rule files: {rules}",
        "helper": "Built in: it does a part of another task",
        "title": "Built in: the thread needed a title",
        "instructions": "Instructions of whoever runs this bot",
    }


def _role_origin(state: Execution, started: Started) -> str:
    triaged = state.triage
    if triaged is None or not triaged.role_text:
        return "No role"
    template = role_named(started, triaged.role)
    if template is not None and template in started.own_roles:
        return f"Role file of this place: {triaged.role}"
    if template is not None and template.text == triaged.role_text:
        return f"Built in: the role {triaged.role}"
    return f"The role {triaged.role}, in the words it had when the task began"


def _choices(events: Sequence[Envelope], started: Started) -> tuple[RoleChoice, ...]:
    found: list[RoleChoice] = []
    for envelope in events:
        event = envelope.event
        if isinstance(event, Triaged):
            by = "the model that read the task" if event.by == "model" else "a rule"
            if started.role and event.role == started.role:
                by = "whoever asked for the task" if not started.child else "the agent that it helps"
            found.append(RoleChoice(envelope.seq, event.role, by, event.why, event.complexity, event.talk))
    return tuple(found)


def _limits(now: Execution) -> tuple[Limit, ...]:
    policy, caps, spent = now.policy, now.caps, now.spent
    return (
        Limit("Turns", now.turn_limit, caps.turns, now.turn.number),
        Limit("Tokens", policy.max_tokens + caps.tokens, caps.tokens, spent.tokens),
        Limit("US dollars", policy.max_usd + caps.usd, caps.usd, spent.usd),
        Limit("Minutes", policy.max_minutes + caps.minutes, caps.minutes, _minutes(now)),
    )


def _minutes(now: Execution) -> float:
    """Time that counts: without waiting for people."""
    if now.started_at is None or now.at is None:
        return 0.0
    until = now.resting_since or now.at
    return max((until - now.started_at).total_seconds() - now.spent.waiting, 0.0) / 60


def _policy(started: Started) -> tuple[tuple[str, str], ...]:
    values = started.policy.model_dump(mode="json", exclude={"tiers", "prices", "windows"})
    return tuple((name.replace("_", " "), _value(value)) for name, value in values.items())


def _value(value: object) -> str:
    """A setting as people read it."""
    match value:
        case bool():
            return "yes" if value else "no"
        case int() | float():
            return f"{value:,g}" if abs(value) < 1_000 else f"{value:,.0f}"
        case list():
            return ", ".join(map(str, cast("list[object]", value))) or "–"
        case _:
            return str(value) or "–"


def _tools(state: Execution, sent: SentRequest | None) -> tuple[OfferedTool, ...]:
    said = {spec.name: spec.description for spec in (sent.tools if sent is not None else None) or ()}
    return tuple(
        OfferedTool(
            tool.name, _does(tool), _asks(tool, state.exposure.reach), said.get(tool.name, ""),
        )
        for tool in (() if state.talk else described(known(state)))
    )  # fmt: skip


def _does(tool: ToolRef) -> str:
    """What a tool may do, in words."""
    if tool.name in DOES_BY_NAME:
        return DOES_BY_NAME[tool.name]
    if tool.cognitive:
        return "works with its own notes, changes no files"
    if tool.asks:
        return "asks a person and waits for the answer"
    if tool.permission == "write" and tool.outside != "no":
        return "changes things outside of the workspace"
    does = DOES[tool.permission]
    does += "; what it reads may be by strangers" if tool.untrusted else ""
    return does + ("; what it reads is not public" if tool.private else "")


def _asks(tool: ToolRef, reach: Sequence[str]) -> tuple[str, ...]:
    """When a person is asked before it acts; ``reach`` are hosts that commands reach."""
    own = (ASKED_FIRST[tool.name],) if tool.name in ASKED_FIRST else ()
    outside = tool.outside in ("remote", "always") or (tool.outside == "network" and bool(reach))
    return (*own, LEAVES) if outside and own != (EACH_TIME,) else own


def _names(tools: Sequence[ToolRef], without: Sequence[ToolRef]) -> tuple[str, ...]:
    left = {tool.name for tool in without}
    return tuple(tool.name for tool in tools if tool.name not in left)
