"""Calls that a person must approve: what they are asked, what their answer means, when an approval covers a call.

An approval is bound to the exact arguments and to the state of the world that was looked at when it was asked for.
What is not plainly a yes is a no: whoever writes something else is heard, and the call does not run.
"""

from __future__ import annotations

import json
import re
from datetime import timedelta

from pydantic import JsonValue

from agentic.core.events.execution_events import (
    FACTS,
    Act,
    AllowanceUsed,
    Asked,
    Departure,
    Finding,
    Gated,
    Option,
    ToolFinished,
)
from agentic.core.events.ids import question_id
from agentic.core.fold.people import ALLOW, ALWAYS, DENY, FOR_TASK
from agentic.core.state.execution import Call, Execution
from agentic.core.text.answers import option_of
from agentic.core.text.tool_words import meant, server_words, tool_words

_TICKS = re.compile(r"`+")
_YES = frozenset(("yes", "y", "ok", "okay", "sure", "allow", "allow it", "approve", "approved", "go ahead", "do it"))
OPTIONS = (Option(id=ALLOW, label="Allow once"), Option(id=DENY, label="Deny"))
FOR_TASK_OPTION = Option(id=FOR_TASK, label="Always allow this for this task")
HOST_OPTIONS = (
    Option(id=ALLOW, label="Allow for this task"),
    Option(id=ALWAYS, label="Always allow here", who_may="owner"),
    Option(id=DENY, label="Deny"),
)
_NOT_SHOWN = ("reasoning", "alternatives", "expectation", "command", "fallback", "code")
OUTSIDE = "a place outside of this workspace"
_LEAVES = (
    "This goes to {to}. I ask because I read {untrusted}, where anybody may have planted words to mislead me, and I can "
    "read {private}. Is it what you want?"
)
_UNATTENDED = "it needs the approval of a person, and nobody can give it here"


def approval(execution: Execution, call: Call) -> Asked:
    """The question whether a gated call may run, with all of what would run."""
    assert call.gated is not None
    assert execution.at is not None
    return Asked(
        question=question_id(execution.id, execution.seq + 1),
        sort="approval",
        text=f"{_asks(call.gated)}\n\n{exactly(call)}",
        options=options_of(call.gated),
        call=call.id,
        args_sha=call.gated.args_sha,
        who_may=call.gated.who_may,
        allows=acts_of(call.gated),
        expires=execution.at + timedelta(minutes=execution.policy.approval_minutes),
    )


def leaving(execution: Execution, call: Call) -> Departure | None:
    """Why the rule of two puts a call to a person; None where one of its facts does not hold.

    Words that anybody may have written may have misled the model, and it can read what is not public: so what it does
    outside of the workspace is decided by a person, one act at a time.
    """
    exposure, to = execution.exposure, goes_to(execution, call)
    holds = {"untrusted": exposure.untrusted, "private": exposure.private, "outside": to}
    noticed = execution.policy.rule_of_two
    if not all(holds[fact] and fact in noticed for fact in FACTS):
        return None
    return Departure(to=to, untrusted=exposure.untrusted, private=exposure.private)


def goes_to(execution: Execution, call: Call) -> str:
    """Where a call acts or tells something outside of the workspace, in words; '' where it does not."""
    tools = execution.started.tools if execution.started else ()
    tool = next((known for known in tools if known.name == call.block.tool), None)
    if tool is None or tool.outside == "no":
        return ""
    if tool.outside == "network":
        return ", ".join(execution.exposure.reach)
    if tool.outside == "remote":
        return execution.exposure.remote or OUTSIDE
    return server_words(meant(call.block.tool, call.block.arguments)[0]) or OUTSIDE


def options_of(gated: Gated) -> tuple[Option, ...]:
    """What can be answered; nothing is allowed for good where words of strangers may have led to it."""
    if not gated.hosts:
        return (*OPTIONS, FOR_TASK_OPTION) if acts_of(gated) else OPTIONS
    return HOST_OPTIONS if gated.leaving is None else tuple(each for each in HOST_OPTIONS if each.id != ALWAYS)


def acts_of(gated: Gated) -> tuple[Act, ...]:
    """All that a gated call would do, for a person to allow it for the whole task; nothing where that cannot be offered.

    One thing found in it that is no act on a named file or folder is enough.  What goes outside, what strangers' words may
    have led to, what a watcher objects to and what has run already is decided each time.
    """
    each_time = gated.leaving is not None or gated.put_back or gated.publishes or bool(gated.hosts or gated.objection)
    if each_time or not all(finding.acts for finding in gated.findings):
        return ()
    return tuple(dict.fromkeys(act for finding in gated.findings for act in finding.acts))


def allowance(execution: Execution, call: Call) -> AllowanceUsed | None:
    """That a gated call needs no question, since somebody allowed all that it would do for the whole task."""
    assert call.gated is not None
    acts = acts_of(call.gated)
    if not acts or call.asks or call.denied or not execution.attended:
        return None
    covering = (each for each in execution.allowances if all(is_within(act, each.acts) for act in acts))
    found = next(covering, None)
    return found and AllowanceUsed(call=call.id, question=found.question, by=found.by, acts=acts)


def is_within(act: Act, allowed: tuple[Act, ...]) -> bool:
    """Whether an act is among those allowed: of the same kind, on the same file or folder, or deleted below one."""
    return any(
        act.kind == each.kind
        and (act.path == each.path or (act.kind == "delete" and act.path.startswith(f"{each.path}/")))
        for each in allowed
    )


def reasons(findings: tuple[Finding, ...]) -> str:
    """All of them, as the end of a sentence that begins with "It"."""
    return "; it also ".join(finding.text for finding in findings)


def leaves(gated: Gated) -> str:
    """The three facts in words, for whoever decides; '' where the rule of two does not ask."""
    why = gated.leaving
    if why is None:
        return ""
    to = ", ".join(gated.hosts) or why.to
    return _LEAVES.format(to=to, untrusted=" and ".join(why.untrusted), private=" and ".join(why.private))


def why_gated(gated: Gated) -> str:
    """All reasons as the end of a sentence that begins with "It"."""
    why, own = gated.leaving, _own(gated)
    if why is None:
        return own
    read, holds = " and ".join(why.untrusted), " and ".join(why.private)
    facts = f"goes to {why.to} after {read} was read, with {holds} at hand"
    return f"{own}, and {facts}" if own else facts


def _own(gated: Gated) -> str:
    """What the call itself gives as a reason, and what watchers say of it."""
    return ", and ".join(filter(None, (gated.reason, gated.objection)))


def verdict(options: tuple[Option, ...], said: str, name: str) -> tuple[str, str]:
    """Allow or deny, and why it was denied in words for the model."""
    option = option_of(options, said)
    if option is not None and option.id != DENY:
        return option.id, ""
    if said_yes(said):
        return ALLOW, ""
    return DENY, f"{name} denied it" if option is not None or not said.strip() else f"{name} denied it and said: {said}"


def said_yes(said: str) -> bool:
    """Whether words are plainly a yes, and nothing else."""
    return said.strip(" .,!\n").casefold() in _YES


def denial(execution: Execution, call: Call) -> ToolFinished | None:
    """The result of a call that was denied, or that nobody here can approve; None where it may still be approved."""
    assert call.gated is not None
    why = call.denied or ("" if execution.attended else _UNATTENDED)
    if not why:
        return None
    reason = why_gated(call.gated)
    if call.gated.publishes:
        text = f"Not published: it {reason}, and {why}."
    elif call.gated.ran:
        text = f"Put back: it {reason}, and {why}. {stands(call.gated)}"
    else:
        text = f"Not run: it {reason}, and {why}."
    text += " Do not try to get the same in another way; choose a safer one."
    return ToolFinished(call=call.id, outcome="denied", preview=text)


def allowed_of(call: Call) -> AllowanceUsed | None:
    """What a person allowed for the whole task, where a call begins by that and not by an approval of its own."""
    approval = call.approval or (call.intent.approval if call.intent is not None else "")
    return call.allowed if not approval else None


def covers(call: Call, args_sha: str, state_sha: str) -> bool:
    """Whether a person's approval of this call, or what they allowed for the whole task, holds for its arguments now.

    What was looked at has to be as it was, too, unless it ran before: then the yes is bound to what it destroyed
    (``Gated.losses``), and whatever else it does is put back.  What has begun is the same act when it is begun again under
    its key.
    """
    if call.intent is not None:
        return True
    return (
        (bool(call.approval) or call.allowed is not None)
        and call.gated is not None
        and call.gated.args_sha == args_sha
        and (call.gated.ran or call.gated.state_sha == state_sha)
    )


def _asks(gated: Gated) -> str:
    if gated.leaving is not None:
        shown = f"\n\n{_fenced(gated.shown, 'diff')}" if gated.shown else ""
        own = f"It {_own(gated)}. " if _own(gated) else ""
        return f"May I do this? {own}{leaves(gated)} Nothing has left yet.{shown}"
    if gated.hosts:
        doubt = f" It {gated.objection}." if gated.objection else ""
        return f"May commands of this task reach {', '.join(gated.hosts)}?{doubt}"
    if gated.publishes:
        return f"May I publish this? It {_own(gated)}. Nothing has left this machine yet.\n\n{_fenced(gated.shown, 'diff')}"
    if gated.unkept:
        return f"May I run this, and the commands after it? It {_own(gated)}. Nothing has run yet."
    if not gated.put_back:
        return f"May I do this? It {_own(gated)}."
    again = "May I run it again? What it destroys besides this is restored, and I ask anew."
    return f"I ran this, and it {gated.reason}. {stands(gated)} {again}"


def stands(gated: Gated) -> str:
    """How the files stand after it."""
    new = len(gated.changes)
    besides = f", and {new} new file{'s stay' if new > 1 else ' stays'}" if new else ""
    if gated.left:
        return f"What was there is restored{besides}, except {gated.left}."
    return f"What was there is restored{besides}."


def exactly(call: Call) -> str:
    """All of what a call would do: its command and its other arguments, in fences that it cannot leave."""
    tool, arguments = meant(call.block.tool, call.block.arguments)
    parts: list[str] = []
    for name, lead in (("command", ""), ("code", ""), ("fallback", "and if that fails:\n")):
        if arguments.get(name):
            parts.append(f"{lead}{_fenced(_plain(arguments[name]), 'bash' if name != 'code' else 'python')}")
    rest = {name: value for name, value in arguments.items() if name not in _NOT_SHOWN}
    if rest:
        lines = (f"{name}: {_plain(value)}" for name, value in rest.items())
        parts.append(f"{tool_words(tool)}, with\n{_fenced(chr(10).join(lines))}")
    return "\n".join(parts) or f"`{tool_words(tool)}`"


def _plain(value: JsonValue) -> str:
    """The value with every character that could hide or reorder others written out."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return "".join(c if c.isprintable() or c in "\n\t" else f"\\u{ord(c):04x}" for c in text)


def _fenced(text: str, language: str = "") -> str:
    longest = max((len(run) for run in _TICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"
