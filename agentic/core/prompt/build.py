"""build_prompt(execution, perception, tools) -> Prompt: stable prefix, history, volatile tail.

Instructions stand in the system prompt, never in a user message.  The system prompt is rebuilt for each turn and
comes out the same byte for byte while nothing it states has changed, so the provider's cache holds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from agentic.core.events.execution_events import (
    EquippedSkill,
    Perceived,
    RuleFile,
    StaleFile,
    Started,
    ToolRef,
)
from agentic.core.prompt.roles import (
    SHELL,
    known,
    offered,
    shell_looks,
)
from agentic.core.prompt.rule_files import in_force
from agentic.core.prompt.tools_on_demand import described
from agentic.core.prompt.user_messages import without_lessons
from agentic.core.state.conversation import Message, Prompt, ToolSpec
from agentic.core.state.execution import Execution
from agentic.core.text.foreign_text import (
    item,
    mark_of,
    one_line,
    section,
)
from agentic.prompts import identity
from agentic.prompts.approach_texts import APPROACH, comparing
from agentic.prompts.child_prompt import HELPER
from agentic.prompts.place_rules import OWN_ROLES, RULES
from agentic.prompts.plan_mode import PLANNING
from agentic.prompts.skill_list import SKILLS
from agentic.prompts.tools import EXAMPLES, PERMISSIONS
from agentic.prompts.watcher_prompt import NOTED as WATCHER

SUBAGENT = "subagent"
Source = Literal[
    "product", "environment", "tools", "skills", "own roles", "role", "rules", "helper", "title", "instructions"
]
"""Where a part of the system prompt comes from; product: Threadwright's own words."""
_UNTRIAGED = Execution()
_SKILL_CHARACTERS = 12_000
"""So much of all descriptions of skills together; of those beyond only the name is told."""


@dataclass(frozen=True, slots=True)
class SystemPart:
    """A part of the system prompt; the parts are joined by blank lines."""

    source: Source
    text: str


def build_prompt(execution: Execution, perceived: Perceived | None, tools: tuple[ToolSpec, ...]) -> Prompt:
    """The next request.  The execution's history must already hold what the request adds to it."""
    system = "\n\n".join([part.text for part in system_parts(execution)])
    if execution.talk:
        return Prompt(system=system, tools=(), messages=_talk(execution))
    return Prompt(
        system=system,
        tools=offered(execution, tools),
        messages=execution.history,
        tail=tail_text(execution, perceived),
    )


def _talk(execution: Execution) -> tuple[Message, ...]:
    """Its history, whose first message tells no lessons."""
    started, told = execution.started, execution.history
    assert started is not None
    return (*(replace(first, text=without_lessons(started, first.text)) for first in told[:1]), *told[1:])


def system_parts(execution: Execution) -> tuple[SystemPart, ...]:
    """The system prompt of its next turn, in parts, in order."""
    if execution.talk:
        words = identity.SIDE if execution.side else identity.TALK
        return (SystemPart("product", words), *_rules(execution))
    return _working(execution.started, execution)


def system_text(started: Started | None, execution: Execution = _UNTRIAGED) -> str:
    """The system prompt of work. ``execution`` says what its role is; it has none before triage."""
    return "\n\n".join([part.text for part in _working(started, execution)])


def _working(started: Started | None, execution: Execution) -> tuple[SystemPart, ...]:
    """Identity, ways of working, environment, tools, skills, role, what the operator says: the same all through it.

    What others wrote, lessons included, stands in user messages, under headings with the mark (``user_messages.py``).
    """
    parts = [SystemPart("product", identity.TEXT)]
    if started is None:
        return tuple(parts)
    parts.append(SystemPart("environment", _environment(started)))
    tools = described(known(execution) if execution.started is not None else started.tools)
    if tools:
        parts.append(SystemPart("tools", _tools(tools, shell=not shell_looks(execution))))
    if started.skills:
        parts.append(SystemPart("skills", _skills(started.skills)))
    if started.own_roles and any(tool.name == SUBAGENT for tool in tools):
        roles = "\n".join(
            f"- {role.name}: {one_line(role.description) or 'no description'}" for role in started.own_roles
        )
        parts.append(SystemPart("own roles", f"{OWN_ROLES}\n{roles}"))
    if execution.triage is not None and execution.triage.role_text:
        told = f"Your role: {execution.triage.role}.\n{execution.triage.role_text}"
        parts.append(SystemPart("role", told))
    parts.extend(_rules(execution))
    if started.child:
        parts.append(SystemPart("helper", APPROACH if started.workspace else HELPER))
    if started.untitled:
        parts.append(SystemPart("title", identity.TITLE))
    if started.instructions:
        parts.append(SystemPart("instructions", f"Instructions of whoever runs this bot:\n{started.instructions}"))
    return tuple(parts)


def _rules(execution: Execution) -> tuple[SystemPart, ...]:
    """The rule files that count, in one passage; none where there are none."""
    counts = rules_of(execution)
    told = RULES + "".join(f"\n\n[{rule.name}]\n{rule.text}" for rule in counts)
    return (SystemPart("rules", told),) if counts else ()


def rules_of(execution: Execution) -> tuple[RuleFile, ...]:
    """The rule files of its place that count for its role, in order."""
    started, triaged = execution.started, execution.triage
    if started is None or not started.rule_files:
        return ()
    role, named = (triaged.role, triaged.role_rules) if triaged is not None else ("", ())
    return in_force(started.rule_files, role, named)


def tail_text(execution: Execution, perceived: Perceived | None) -> str:
    """What is perceived now: stale files, changes by others, to-do list, notes.  Never cached, never in the history."""
    parts: list[str] = []
    mind, mark = execution.mind, mark_of(execution.started)
    if perceived is not None:
        parts.extend(_stale(file, mark) for file in perceived.stale)
        if perceived.changes:
            changes = "\n".join(f"- {one_line(change)}" for change in perceived.changes)
            parts.append(section(mark, "Recent changes by others:", changes))
        if perceived.environment:
            parts.append(item(mark, perceived.environment))
    parts.extend(section(mark, WATCHER.format(name=name), text) for name, text in execution.watches.notes)
    if mind.planning:
        parts.append(item(mark, PLANNING))
    elif mind.plan:
        parts.append(section(mark, "The plan that the person agreed to:", mind.plan))
    if mind.approaches and not mind.planning:
        parts.append(item(mark, comparing(mind.approaches)))
    if mind.todo:
        marks = {"open": "[ ]", "doing": "[>]", "done": "[x]"}
        todo = "\n".join(f"{marks[each.state]} {each.text}" for each in mind.todo)
        parts.append(section(mark, "Your to-do list:", todo))
    notes = mind.notes[mind.compacted.notes :] if mind.compacted is not None else mind.notes
    if notes:
        parts.append(section(mark, "Your notes:", "\n".join(f"- {note}" for note in notes)))
    return f"{mark} [Perceived now]\n" + "\n\n".join(parts) if parts else ""


def _stale(file: StaleFile, mark: str) -> str:
    by = f", {one_line(file.by)}" if file.by else ""
    head = f"{one_line(file.path)} changed since you read it{by}; read it again before you edit it."
    return section(mark, head, file.diff).rstrip()


def _environment(started: Started) -> str:
    lines = ["Environment:", "- The workspace is /workspace, which is also where commands start."]
    if started.sandbox:
        lines.append(f"- Sandbox: {started.sandbox}.")
    return "\n".join((*lines, *(f"- {one_line(line)}" for line in started.environment)))


def _skills(skills: tuple[EquippedSkill, ...]) -> str:
    """The skills that it may read, a line each."""
    lines, room = [SKILLS], _SKILL_CHARACTERS
    for skill in skills:
        words = one_line(skill.description, 1_024)
        room -= len(words)
        lines.append(f"- {skill.name}: {words}" if room >= 0 else f"- {skill.name}")
    return "\n".join(lines)


def _tools(tools: tuple[ToolRef, ...], *, shell: bool) -> str:
    """The tools by what they may do, and what good calls of some of them look like; ``shell``: it may run anything."""
    lines = ["Your tools, by what they may do:"]
    for permission, meaning in PERMISSIONS.items():
        names = [tool.name for tool in tools if tool.permission == permission]
        if names:
            lines.append(f"- {permission} ({meaning}): {', '.join(names)}")
    shown = (tool.name for tool in tools if tool.name in EXAMPLES and (shell or tool.name != SHELL))
    examples = [f"- {name} {EXAMPLES[name]}" for name in shown]
    return "\n".join((*lines, "Good calls look like this:", *examples) if examples else lines)
