"""The result of running the rules again over a log, in plain words; pure."""

from __future__ import annotations

from agentic.core.audit.verification import Divergence, Verification
from agentic.core.events.execution_events import Event
from agentic.core.rules.decide import RULES_VERSION
from bot.console.views.decision_trace import in_words
from bot.messages.log_text import told

SHOWN = 200


def verdict_of(verification: Verification) -> str:
    """Return the lines to print."""
    lines = [_part(*other) for other in verification.others]
    if verification.divergence is not None:
        return "\n".join([*lines, _differs(verification.divergence)])
    count = len(verification.decisions)
    if not count:
        return "\n".join([*lines, "There is no decision in it to verify." if not lines else "Nothing was verified."])
    decisions = "the one decision" if count == 1 else f"all {count} decisions"
    where = "in the rest of it" if lines else f"since event {verification.copied}" if verification.copied else "in it"
    return "\n".join([*lines, f"Verified: the rules (version {RULES_VERSION}) decide again {decisions} {where}."])


def said(event: Event) -> str:
    """Describe an event, also one that the story leaves out."""
    return told(event) or event.kind.replace("_", " ")


def _part(first: int, last: int, version: int) -> str:
    by = f"rules of version {version}" if version else "rules from before their version was recorded"
    where = f"event {first}" if first == last else f"events {first} to {last}"
    return (
        f"Not verified: {where}, decided by {by}; this Threadwright has version {RULES_VERSION}. "
        "The Threadwright that wrote them can verify them."
    )


def _differs(divergence: Divergence) -> str:
    lines = [f"The rules decide otherwise, first at event {divergence.seq}:"]
    lines += [f"  the log says:  {said(divergence.logged)}", f"  the rules say: {_action(divergence)}"]
    expected = divergence.expected
    if expected is not None and expected.kind == divergence.logged.kind:
        before, after = divergence.logged.model_dump(), expected.model_dump()
        lines += [
            f"  {name}: {_short(before[name])} in the log, {_short(after[name])} by the rules"
            for name in before
            if before[name] != after[name]
        ]
    return "\n".join(lines)


def _action(divergence: Divergence) -> str:
    if divergence.expected is not None:
        return said(divergence.expected)
    return in_words(divergence.ruled)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
