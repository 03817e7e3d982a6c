"""What follows from a role: which tools it has, what its shell may run, when it gives way.

What was decided stands whole in ``Triaged``, so that a log says by itself what its agent was told and might do, and one
from before is continued as it was begun.  A role that only looks may use ``shell`` for commands that look: a commit cannot
be reviewed without ``git show``.
"""

from __future__ import annotations

from agentic.bash.steps import written
from agentic.core.events.execution_events import (
    Permission,
    RoleTemplate,
    Started,
    ToolRef,
    Triaged,
)
from agentic.core.prompt.role_file import shipped
from agentic.core.prompt.tools_on_demand import specs_for
from agentic.core.state.conversation import ToolSpec
from agentic.core.state.execution import APPROACHES, FINISH, Call, Execution

LOOKS: tuple[Permission, ...] = ("read",)
UNBOUND = {
    "role": "", "role_text": "", "role_may": (), "role_tools": (), "role_refuses": (), "role_levels": (), "role_rules": (),
}  # fmt: skip
"""What triage says of a role that gave way."""
SHELL = "shell"
SKILL = "skill"
"""The tool that reads skills: only a task that has some is offered it."""
PROPOSE = "propose_plan"
"""The tool that puts a plan to the person."""
_PLANNING = "you are making a plan, and nothing is changed before the person agrees to it"
_COMPARING = "the person wants several approaches compared, and nothing is changed before"
_LOOKING = frozenset(
    (
        "basename", "cat", "cd", "cmp", "comm", "cut", "df", "diff", "dirname", "du", "echo", "grep", "head", "jq", "ls",
        "md5sum", "nl", "pwd", "readlink", "realpath", "sha256sum", "stat", "tail", "true", "uname", "wc", "which",
    )
)  # fmt: skip
"""Programs that change nothing, whatever they are given."""
_LOOKING_AT_HISTORY = frozenset(
    ("blame", "cat-file", "describe", "diff", "log", "ls-files", "ls-tree", "rev-list", "rev-parse", "shortlog", "show",
     "status")
)  # fmt: skip
"""What git does that changes nothing, but with ``--output``, which it also takes shortened."""
_HARMLESS = ("2>&1", "2>/dev/null", ">/dev/null", "> /dev/null")


def role_named(started: Started, name: str) -> RoleTemplate | None:
    """The role of this name: people's own before a shipped one; None where there is none."""
    own = next((role for role in started.own_roles if role.name == name), None)
    return own or shipped().get(name)


def in_role(started: Started, triaged: Triaged) -> Triaged:
    """What triage says, with what its role brings.

    What somebody chose counts over what was read.  A role that only looks gives way where the task is to change files,
    to be done in several ways, or to carry out a plan once it is agreed to: it would only be in the way.  The tour has no
    role, and talk needs none.
    """
    role = role_named(started, started.role or triaged.role)
    if started.policy.tour:
        return triaged.model_copy(update={"role": ""})
    if role is None or triaged.talk:
        return triaged
    if (triaged.changes_files or started.planning or started.approaches) and only_reads(role) and not started.role:
        return triaged.model_copy(update={"role": ""})
    wrote = dict.fromkeys(result.model for result in started.earlier if result.model and result.files)
    return triaged.model_copy(
        update={
            "role": role.name,
            "role_text": role.text,
            "role_may": role.may,
            "role_tools": role.tools,
            "role_refuses": role.refuses,
            "role_tier": role.tier,
            "role_levels": role.levels,
            "role_rules": role.rules,
            "not_by": tuple(wrote) if role.other_family else (),
        }
    )


def only_reads(role: RoleTemplate) -> bool:
    """It has tools that look, and nothing else."""
    return role.may == LOOKS and not role.tools


def only_looks(execution: Execution) -> bool:
    """Its role has tools that look, and nothing else."""
    triaged = execution.triage
    return triaged is not None and triaged.role_may == LOOKS and not triaged.role_tools


def shell_looks(execution: Execution) -> bool:
    """Its role has the shell for looking alone: it reads, and neither runs things nor names the shell."""
    triaged = execution.triage
    if triaged is None or "read" not in triaged.role_may or "execute" in triaged.role_may:
        return False
    return not _names(triaged.role_tools, SHELL)


def offered(execution: Execution, tools: tuple[ToolSpec, ...]) -> tuple[ToolSpec, ...]:
    """The tools of its role that its prompts describe, of those that it began with; the same tuple where these are all."""
    return specs_for(known(execution), tools)


def recorded(execution: Execution) -> tuple[ToolRef, ...]:
    """The tools of a task, whatever its role may use."""
    started = execution.started
    return tuple(tool for tool in started.tools if tool.name != SKILL or started.skills) if started else ()


def known(execution: Execution) -> tuple[ToolRef, ...]:
    """The recorded tools that its role has."""
    return tuple(tool for tool in recorded(execution) if _has(execution, tool))


def refusal(execution: Execution, call: Call) -> str:
    """Why a call is none of its role's, or changes something before a plan is agreed to; '' where it may run."""
    block, role = call.block, execution.triage.role if execution.triage is not None else ""
    tool = next((tool for tool in known(execution) if tool.name == block.tool), None)
    if tool is None:
        return (
            f"This did not run: you work as {role}, which has no tool {block.tool!r}. If the task needs it, finish with what "
            "you have, and say what the person should write to have it done."
        )
    held, then = _held(execution)
    if held and _is_held(execution, call, tool):
        return f"This did not run: {held}. Look with the tools that read; {then}."
    if block.tool != SHELL or not (held or shell_looks(execution)):
        return ""
    lines = [block.arguments.get(name) for name in ("command", "fallback")]
    if block.arguments.get("background") or not all(looks(line) for line in lines if isinstance(line, str) and line):
        why = held or f"you work as {role}, and change nothing"
        return (
            f"This did not run: {why}. Here {SHELL} takes commands that only look, "
            "such as git log, git show, git diff, ls, cat, grep or wc, without redirections to files."
        )
    return ""


def _held(execution: Execution) -> tuple[str, str]:
    """Why nothing may be changed yet, and how that ends; '' where it may."""
    if execution.mind.planning:
        return _PLANNING, f"when the plan is whole, call {PROPOSE}"
    if execution.mind.approaches:
        return _COMPARING, f"when you know the ways, call {APPROACHES}"
    return "", ""


def _is_held(execution: Execution, call: Call, tool: ToolRef) -> bool:
    """Whether a call waits for the plan, or for the comparison, before which the task is not done either."""
    if tool.name == SHELL:
        return False
    if not execution.mind.planning and tool.name in (APPROACHES, FINISH):
        return tool.name == FINISH and call.block.arguments.get("success") is not False
    return not (tool.cognitive or tool.permission in LOOKS)


def looks(command: str, besides: frozenset[str] = frozenset()) -> bool:
    """Whether a command line only looks, or runs these other programs ``besides``; what cannot be read is none."""
    steps = written(command)
    for harmless in _HARMLESS:
        command = command.replace(harmless, "")
    return steps is not None and ">" not in command and all(step[0] in besides or _step_looks(step) for step in steps)


def _step_looks(words: tuple[str, ...]) -> bool:
    """By the words as they stand there: ``./ls`` and ``bin/cat`` are programs of the workspace."""
    program, *rest = words
    if program == "git":
        saves = any(word.startswith("--o") and word != "--oneline" for word in rest)
        return rest[:1] != [] and rest[0] in _LOOKING_AT_HISTORY and not saves
    return program in _LOOKING


def _has(execution: Execution, tool: ToolSpec | ToolRef) -> bool:
    if tool.name == APPROACHES and (execution.started is None or not execution.started.approaches):
        return False
    triaged = execution.triage
    if triaged is None or not (triaged.role_may or triaged.role_tools or triaged.role_refuses):
        return True
    if _names(triaged.role_refuses, tool.name):
        return False
    looks = tool.name == SHELL and "read" in triaged.role_may
    return tool.cognitive or looks or tool.permission in triaged.role_may or _names(triaged.role_tools, tool.name)


def _names(patterns: tuple[str, ...], tool: str) -> bool:
    return any(tool.startswith(one[:-1]) if one.endswith("*") else tool == one for one in patterns)
