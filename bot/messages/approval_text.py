"""The text of an approval: exactly what would run, why it needs approval, who may decide, and until when; pure.

Everything shown comes from the call and its gate as they stand in the log, not from the model's words.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field

from pydantic import JsonValue

from agentic.core.events.execution_events import (
    Asked,
    Departure,
    Envelope,
    Finding,
    Gated,
    OutboxItem,
)
from agentic.core.fold.fold import evolve
from agentic.core.rules.approvals import OUTSIDE
from agentic.core.state.execution import Execution
from agentic.core.text.tool_words import meant, server_words, tool_words
from agentic.egress.host_list import PACKAGES
from bot.messages.question_text import Standing, closing_line
from bot.progress.step_text import acts_in_words
from bot.rendering.code_blocks import FENCE
from bot.rendering.discord_text import (
    LIMIT,
    Attached,
    Rendered,
    inline,
    length,
    plain,
)
from bot.rendering.unicode_safety import boxed, hides, revealed

NEEDED = "🔐 **Approval needed.**"
FILE = "what-would-run.txt"
SHOWN = 4
"""So many reasons stand in the message itself."""
_HIDDEN = "⚠️ Contains invisible or text-reordering characters; they are written out as ⟨U+…⟩."
_FENCED = f"⚠️ Contains {len(FENCE)} backticks in a row, shown here as ˋˋˋ; the file has the original."


LEAVES = "📤 **{asks}** Nothing has left yet."
GOES = "📤 **May I do this?** It goes to {to}. Nothing has left yet."
_SENDS = {"publish": "May I publish this to {to}?", "comment": "May I post this comment to {to}?"}
BECAUSE = "I ask because I read {read}, which could be written to mislead me, and I can see {holds}."


_RUN: tuple[tuple[str, str, str], ...] = (
    ("command", "", "sh"),
    ("code", "", "python"),
    ("fallback", "And if that fails:", "sh"),
)
"""(argument, its heading, its language)."""
_APART = frozenset(("command", "code", "fallback", "reasoning", "alternatives", "expectation"))


@dataclass(frozen=True, slots=True)
class Sought:
    """What a person is asked to approve."""

    tool: str = ""
    arguments: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    why: str = ""
    asked: Asked | None = None
    put_back: bool = False
    """The command ran, and its effects were undone."""
    left: str = ""
    """Files that could not be restored."""
    hosts: tuple[str, ...] = ()
    """What commands could reach then."""
    shown: str = ""
    """A difference that has to be seen."""
    publishes: bool = False
    """It would publish, and nothing of it was done yet."""
    leaving: Departure | None = None
    """What the rule of two asks about."""
    findings: tuple[Finding, ...] = ()
    """Each reason of ``why``, where there may be several."""

    def said(self, name: str) -> str:
        """Return a text argument of the call, '' where it has none of that name."""
        value = self.arguments.get(name, "")
        return value if isinstance(value, str) else ""

    @property
    def others(self) -> dict[str, JsonValue]:
        """Return the other given arguments, without those that only explain."""
        return {name: value for name, value in self.arguments.items() if name not in _APART and value not in (None, "")}


def sought(log: Iterable[Envelope], question: str) -> Sought:
    """Return what a question in the log asks to approve."""
    execution = Execution()
    gates: dict[str, Gated] = {}
    for envelope in log:
        execution = evolve(execution, envelope)
        event = envelope.event
        if isinstance(event, Gated):
            gates[event.call] = event
        if isinstance(event, Asked) and event.question == question:
            call = next((one for one in execution.turn.calls if one.id == event.call), None)
            gate = gates.get(event.call)
            if call is None:
                return Sought(asked=event)
            tool, given = meant(call.block.tool, call.block.arguments)
            arguments = dict(given)
            if gate is None:
                return Sought(tool, arguments, asked=event)
            return Sought(
                tool, arguments, gate.reason, event, gate.ran, gate.left, gate.hosts, gate.shown, gate.publishes,
                gate.leaving, gate.findings,
            )  # fmt: skip
    return Sought()


def approval(item: OutboxItem, seeks: Sought, standing: Standing) -> Rendered:
    """Render the message, with a file for the whole text where it is long; ``item`` and ``standing`` give its present
    state.
    """
    whole = _whole(seeks)
    filed = FENCE in whole or len(seeks.findings) > SHOWN
    files = [Attached(FILE, revealed(whole).encode())] if filed else []
    head, foot = _head(item, seeks), _foot(item, seeks, standing)
    body = _body(seeks)
    if length(f"{head}\n{body}\n{foot}") > LIMIT:
        files = [Attached(FILE, revealed(whole).encode())]
        room = LIMIT - length(head) - length(foot) - 120
        body = f"{boxed(_cut(whole, room // 2))}\n**This is only the beginning. Read all of it in `{FILE}` first.**"
    return Rendered((f"{head}\n{body}\n{foot}",), tuple(files))


def _head(item: OutboxItem, seeks: Sought) -> str:
    if seeks.leaving is not None:
        return _leaving(seeks, seeks.leaving)
    if seeks.hosts:
        return _opens(seeks)
    if not seeks.tool:
        return f"{NEEDED}\n{plain(item.text, 600)}"
    runs = any(seeks.said(name) for name, _, _ in _RUN)
    if seeks.publishes:
        return f"🔐 **May I publish this?** It {_why(seeks.why)}. Nothing has left this machine yet."
    if seeks.put_back:
        left = f", except {plain(seeks.left, 200)}" if seeks.left else ""
        ran = f"I ran it, and it {_why(seeks.why)}. I restored what was there{left}."
        what = "run this" if runs else f"use the tool {plain(tool_words(seeks.tool), 100)} with this"
        return f"🔐 **May I {what} again?** What it destroys besides this is restored, and I ask anew.\n{ran}"
    this = "This" if runs else f"This use of the tool {plain(tool_words(seeks.tool), 100)}"
    if len(seeks.findings) > 1:
        return f"{NEEDED} {this}\n{_listed(seeks.findings)}"
    return f"{NEEDED} {this} {_why(seeks.why) or 'must be allowed first'}:"


def _listed(findings: tuple[Finding, ...]) -> str:
    """A line for each reason; what is too many for a message stands in the file."""
    lines = [f"- {_why(finding.text)}" for finding in findings[:SHOWN]]
    left = len(findings) - SHOWN
    return "\n".join([*lines, f"- and {left} more, listed in `{FILE}`"] if left > 0 else lines)


def _opens(seeks: Sought) -> str:
    one = len(seeks.hosts) == 1
    return f"🌐 **May this task's commands reach {'this host' if one else 'these hosts'}?**"


def _leaving(seeks: Sought, leaving: Departure) -> str:
    """What would leave, where to, and why I ask: what I read, and what I can read besides."""
    asks = _opens(seeks) if seeks.hosts else _goes(seeks, leaving.to)
    also = f" It also {_why(seeks.why)}." if seeks.why and not seeks.hosts else ""
    read, holds = (" and ".join(plain(each, 120) for each in facts) for facts in (leaving.untrusted, leaving.private))
    return f"{asks}{also}\n{BECAUSE.format(read=read, holds=holds)}"


def _goes(seeks: Sought, to: str) -> str:
    """What would leave, and where to."""
    place = to if to == OUTSIDE else inline(to)
    if server_words(seeks.tool):
        return LEAVES.format(asks=f"May I use {inline(tool_words(seeks.tool))}?")
    if seeks.tool in _SENDS:
        return LEAVES.format(asks=_SENDS[seeks.tool].format(to=place))
    return GOES.format(to=place)


def _why(reason: str) -> str:
    """A gate's reason with the names in it, which stand between backticks, as code."""
    pieces = reason.split("`")
    if len(pieces) % 2 == 0:
        return plain(reason, 300)
    return "".join(inline(piece) if at % 2 else _around(piece) for at, piece in enumerate(pieces))


def _around(text: str) -> str:
    """A text between names, with the spaces at its ends."""
    kept = plain(text, 300)
    return f"{' ' * text.startswith(' ')}{kept.strip()}{' ' * text.endswith(' ')}" if kept.strip() else text[:1]


def _body(seeks: Sought) -> str:
    if seeks.hosts:
        return _network(seeks)
    blocks: list[str] = [boxed(seeks.shown, "diff")] if seeks.shown else []
    for name, lead, language in _RUN:
        if text := seeks.said(name):
            blocks += [*filter(None, (lead,)), boxed(text, language)]
    if seeks.others:
        blocks += ["With:"] if blocks else []
        blocks.append(boxed(_json(seeks.others), "json"))
    whole = _whole(seeks)
    blocks += [_HIDDEN] if hides(whole) else []
    blocks += [_FENCED] if FENCE in whole else []
    return "\n".join(blocks)


def _network(seeks: Sought) -> str:
    lines = [
        f"- {inline(host)}"
        + (" (the usual package indexes: Python, npm, Rust, Go, Debian)" if host == PACKAGES else "")
        for host in seeks.hosts
    ]
    why = seeks.said("why")
    return "\n".join([*lines, f"It says why: {plain(why, 300)}"] if why else lines)


def _foot(item: OutboxItem, seeks: Sought, standing: Standing) -> str:
    if standing.way != "open":
        return closing_line(item, standing)
    level = seeks.asked.who_may if seeks.asked is not None else "operator"
    who = "An owner" if level == "owner" else "An operator"
    always = " (“Always allow here”: an owner)" if seeks.leaving is None else ""
    one = "exactly this, once" if seeks.leaving is not None else "this one command"
    if seeks.asked is not None and seeks.asked.allows and not seeks.hosts:
        one += f", or for this task also later: {acts_in_words(seeks.asked.allows)}"
    covers = f"ports 80 and 443, until the task ends{always}" if seeks.hosts else one
    until = f" Denied automatically <t:{int(item.expires.timestamp())}:R>." if item.expires else ""
    return f"-# {who} decides. Covers {covers}.{until}"


def _whole(seeks: Sought) -> str:
    parts = [f"{lead}\n{text}".lstrip("\n") for name, lead, _ in _RUN if (text := seeks.said(name))]
    parts = [seeks.shown, *parts] if seeks.shown else parts
    if len(seeks.findings) > SHOWN:
        parts = ["\n".join(f"- {finding.text}" for finding in seeks.findings), *parts]
    return "\n\n".join([*parts, _json(seeks.others)] if seeks.others else parts)


def _json(arguments: dict[str, JsonValue]) -> str:
    return json.dumps(arguments, ensure_ascii=False, indent=2, sort_keys=True)


def _cut(text: str, limit: int) -> str:
    """Cut a text so that it fits even if half of it has to be escaped."""
    shown = text[: max(limit, 100)]
    while length(revealed(shown)) > limit and shown:
        shown = shown[: len(shown) // 2]
    return shown
