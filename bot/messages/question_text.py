"""The text of a question in its present state: what is asked, the answers so far, what was decided and by whom; pure.

``Standing`` is read from the log (``read``), so that any process can bring the message up to date at any time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from agentic.core.events.execution_events import (
    Asked,
    Decided,
    Envelope,
    Finished,
    InputReceived,
    Option,
    OutboxItem,
    Part,
    Reason,
)
from agentic.core.fold.people import ALLOW, ALWAYS, FOR_TASK
from agentic.core.rules.approvals import FOR_TASK_OPTION
from agentic.core.text.answers import label_of
from bot.rendering.discord_text import plain

_WHOLE = 1_000
"""Characters of a label that are shown; in practice, all of them."""
_ENDS: dict[Reason, str] = {"stopped": "the task was stopped", "cancelled": "the task was cancelled"}
_ALLOWED = {
    "Allow for this task": "Allowed for this task",
    FOR_TASK_OPTION.label: "Allowed for this task",
    "Always allow here": "Always allowed here",
}
"""What became of an option, by its label."""
_PLAN = ("**My plan.** Nothing is changed before you agree.", "")
Way = Literal["open", "decided", "expired", "ended", "damaged"]


@dataclass(slots=True)
class Standing:
    """The state of a question; ``answers`` and ``by`` are keyed by the part's id, '' where there are no parts."""

    asked: Asked | None = None
    way: Way = "open"
    answers: dict[str, str] = field(default_factory=dict[str, str])
    by: dict[str, str] = field(default_factory=dict[str, str])
    choice: str = ""
    words: str = ""
    """A free-text answer, where no option was chosen."""
    who: str = ""
    reason: Reason | None = None


def read(log: Iterable[Envelope], question: str) -> Standing:
    """Read the state of a question from a log."""
    standing = Standing()
    for envelope in log:
        event = envelope.event
        if isinstance(event, Asked) and event.question == question:
            standing.asked = event
        elif standing.asked is None or standing.way != "open":
            continue
        elif isinstance(event, InputReceived) and event.sort == "answer":
            _answered(standing, event)
        elif isinstance(event, Decided) and event.question == question:
            _decided(standing, event)
        elif isinstance(event, Finished):
            standing.way, standing.reason = "ended", event.reason
    return standing


def _answered(standing: Standing, event: InputReceived) -> None:
    question, _, part = event.target.partition("#")
    asked = standing.asked
    one = next((each for each in asked.parts if each.id == part), None) if asked else None
    if asked is not None and one is not None and question == asked.question:
        standing.answers[part] = label_of(one.options, event.text)
        standing.by[part] = event.author.name


def _decided(standing: Standing, event: Decided) -> None:
    """Record the decision; the id '0' stands for nobody, where the time ran out."""
    standing.way = "expired" if event.by.id == "0" else "decided"
    standing.choice, standing.who = event.choice, event.by.name
    options = standing.asked.options if standing.asked else ()
    label = next((option.label for option in options if option.id == event.choice), "")
    if standing.asked is not None and standing.asked.parts:
        standing.answers = standing.answers | event.answers
        for part in event.answers:
            standing.by.setdefault(part, event.by.name)
    elif label:
        standing.answers[""] = label
    else:
        standing.words = event.text


def question_words(item: OutboxItem, standing: Standing) -> str:
    """Return a question with its options, its answers so far, and how it can be or was answered."""
    lines = [*(_PLAN if item.asked == "plan" else ()), item.text.strip(), ""]
    for number, part in enumerate(item.parts, 1):
        lines += _part(number, part, standing)
    lines += _options(item.options, advised=item.asked not in ("extension", "plan"))
    lines.append(_hint(item) if standing.way == "open" else closing_line(item, standing))
    return "\n".join(lines)


def _part(number: int, part: Part, standing: Standing) -> list[str]:
    lines = [f"**{number}. {plain(part.text, _WHOLE)}**"]
    if part.id in standing.answers:
        who = standing.by.get(part.id, "")
        lines.append(f"✔ **{plain(standing.answers[part.id], _WHOLE)}**" + (f" – {plain(who, 40)}" if who else ""))
    elif part.options:
        lines += _options(part.options, "- ")
    else:
        lines.append("- *in your own words*")
    return [*lines, ""]


def _options(options: tuple[Option, ...], lead: str = "", *, advised: bool = True) -> list[str]:
    """Return a line for each option; the first is recommended, unless it is to spend more."""
    lines: list[str] = []
    for number, option in enumerate(options, 1):
        advice = " (recommended)" if advised and number == 1 and len(options) > 1 else ""
        about = f" – {plain(option.description, _WHOLE)}" if option.description else ""
        lines.append(f"{lead}**{number}.** {plain(option.label, _WHOLE)}{advice}{about}")
    return lines


def _hint(item: OutboxItem) -> str:
    if item.parts:
        return "-# Choose below, or write your answers here: a line for each, or `1: …, 2: …`."
    if item.asked == "plan":
        return "-# Choose below, or write here what should be different."
    return "-# Choose below, or write your answer here." if item.options else "-# Write your answer here."


def closing_line(item: OutboxItem, standing: Standing) -> str:
    """Say what was decided and by whom."""
    who = plain(standing.who, 40)
    if standing.way == "expired":
        return (
            "⏳ Nobody decided in time, so it was denied."
            if item.asked == "approval"
            else "-# ⏳ A new day started, so I continued."
        )
    if standing.way == "damaged":
        return "-# ◼ No longer open: this task's log is damaged."
    if standing.way == "ended":
        return f"-# ◼ No longer open: {_ENDS.get(standing.reason or 'done', 'the task has ended')}."
    if item.asked == "approval":
        allowed = standing.choice in (ALLOW, ALWAYS, FOR_TASK)
        how = _ALLOWED.get(standing.answers.get("", ""), "Allowed once")
        return f"✅ **{how}** by {who}" if allowed else f"⛔ **Denied** by {who}"
    if item.parts:
        return f"-# ✔ Answered by {who}"
    if chosen := standing.answers.get("", ""):
        return f"✔ **{plain(chosen, _WHOLE)}** – chosen by {who}"
    return f"✔ Answered by {who}: {plain(standing.words, 300)}"


def decided_words(item: OutboxItem, standing: Standing) -> str:
    """Tell somebody who answers too late what was decided."""
    return f"This question is no longer open.\n{closing_line(item, standing)}"
