"""The words of the progress message, of the final answer and of questions; pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from agentic.core.events import Claim, Option, Reason, Todo
from bot.progress import Progress, Step
from bot.render import LIMIT, cut, inline, length, plain

_VERBS = {
    "shell": ("Running", "Ran"),
    "python": ("Running Python", "Ran Python"),
    "read": ("Reading", "Read"),
    "write": ("Writing", "Wrote"),
    "edit": ("Editing", "Edited"),
    "multi_edit": ("Editing", "Edited"),
    "list": ("Looking into", "Looked into"),
    "glob": ("Looking for files", "Looked for files"),
    "grep": ("Searching for", "Searched for"),
    "read_output": ("Reading an output again", "Read an output again"),
    "job": ("Looking after a background command", "Looked after a background command"),
    "todo": ("Updating the to-do list", "Updated the to-do list"),
    "note": ("Taking a note", "Took a note"),
    "report": ("Reporting", "Reported"),
    "ask_user": ("Asking", "Asked"),
    "finish": ("Wrapping up", "Wrapped up"),
}
_WITHOUT_SUBJECT = frozenset(("python", "read_output", "job", "todo", "note", "report", "ask_user", "finish"))
_OUTCOMES = {"ok": "✔", "unknown": "❔", "cancelled": "◼", "refused": "⊘", "denied": "⊘"}
_ENDS: dict[Reason, str] = {
    "done": "✅ **Done**",
    "stopped": "🛑 **Stopped**",
    "failed": "❌ **Failed**",
    "stuck": "🧱 **Stuck**",
    "limit": "⏳ **Out of turns**",
    "budget": "⏳ **Limit reached**",
    "cancelled": "◼ **Cancelled**",
}
_TODO = {"open": "☐", "doing": "▶", "done": "☑"}
_VERDICTS = {"proven": "✔", "unproven": "◻ unproven:", "contradicted": "✖ contradicted:"}
STEPS_SHOWN = 5
TODO_SHOWN = 8
TAIL_SHOWN = 300
WITHOUT_FINISH = "This answer was given without calling finish."
"""What the core notes of an answer that claims nothing; for people it is said differently."""
NO_EVIDENCE = "◻ I gave no evidence for this answer."


def progress_text(progress: Progress, tail: str = "") -> str:
    """The progress message: the current step, the to-do list, recent steps, what is being said, a footer."""
    head = _heading(progress)
    lines = [*_steps(progress), *_todo(progress.todo)]
    lines += [f"⚠ {inline(file.name)} was left out: {plain(file.skipped)}" for file in progress.skipped[:5]]
    if progress.note:
        lines.append(f"⚠ {plain(progress.note)}")
    said = "" if progress.finished else (tail or progress.said)
    if said:
        lines += _tail(said)
    return _fitted(head, lines, footer(progress, whole=False))


def _tail(said: str) -> list[str]:
    """The last words of what is being said, from a whole word on, its lines kept."""
    text = said.strip()
    if len(text) > TAIL_SHOWN:
        cut_off = text[-TAIL_SHOWN:]
        first = re.search(r"\s", cut_off)
        text = "…" + (cut_off[first.end() :] if first else cut_off)
    return [f"> {shown}" for line in text.splitlines() if (shown := plain(line, TAIL_SHOWN))]


def _fitted(head: str, lines: list[str], foot: str) -> str:
    while lines and length("\n".join([head, *lines, foot])) > LIMIT:
        lines = lines[:-1]
    return cut("\n".join([head, *lines, foot]), LIMIT)


def _heading(progress: Progress) -> str:
    if progress.finished is not None:
        return f"{_ENDS[progress.finished.reason]} · {_turns(progress.turn)} · {duration(progress.seconds)}"
    since = f" · started <t:{int(progress.started.timestamp())}:R>" if progress.started else ""
    turn = f" · turn {progress.turn}" if progress.turn else ""
    return f"{_now(progress)}{turn}{since}"


def _now(progress: Progress) -> str:
    if progress.asked:
        return "💬 **Waiting for your answer**"
    running = progress.running
    for step in running:
        more = f" and {len(running) - 1} more" if len(running) > 1 else ""
        return f"🔧 **{_phrase(step, 0)}**{more}"
    return "💭 **Thinking**" if progress.thinking or progress.turn else "👀 **Starting**"


def _steps(progress: Progress) -> list[str]:
    ended = [step for step in progress.steps.values() if step.outcome]
    shown = ended if progress.finished else ended[-STEPS_SHOWN:]
    return [f"-# {_OUTCOMES.get(step.outcome, '✖')} {_phrase(step, 1)}{_detail(step)}" for step in shown]


def _phrase(step: Step, tense: int) -> str:
    verbs = _VERBS.get(step.tool)
    phrase = verbs[tense] if verbs else f"{('Using', 'Used')[tense]} {plain(step.tool, 40)}"
    if step.tool in _WITHOUT_SUBJECT or not step.subject:
        return phrase
    return f"{phrase} {inline(step.subject, 70)}"


def _detail(step: Step) -> str:
    parts: list[str] = []
    if step.exit_code:
        parts.append(f"exit {step.exit_code}")
    elif step.outcome not in ("ok", "failed"):
        parts.append("outcome unknown" if step.outcome == "unknown" else step.outcome)
    if step.seconds >= 1:
        parts.append(duration(step.seconds))
    return f" ({', '.join(parts)})" if parts else ""


def _todo(items: tuple[Todo, ...]) -> list[str]:
    shown = [f"{_TODO[item.state]} {plain(item.text, 80)}" for item in items[:TODO_SHOWN]]
    return [*shown, f"-# … and {len(items) - TODO_SHOWN} more"] if len(items) > TODO_SHOWN else shown


def footer(progress: Progress, *, whole: bool = True) -> str:
    """Role, tier and model, turns, time, cost, confidence, sandbox; turns and time where nothing else says them."""
    parts = [plain(progress.role, 30)] if progress.role else []
    if progress.model:
        parts.append(f"tier {progress.tier} {plain(progress.model, 60)}")
    if whole:
        parts += [_turns(progress.turn), duration(progress.seconds)]
    parts.append(money(progress.usd))
    if confidence := _confidence(progress):
        parts.append(f"confidence {confidence}")
    if progress.sandbox:
        parts.append(plain(progress.sandbox, 30))
    return "-# " + " · ".join(parts)


def _confidence(progress: Progress) -> int:
    """0 where none is known: an end that is no success says nothing of how sure it was."""
    end = progress.finished
    if end is not None:
        return end.confidence if end.reason == "done" else 0
    return (progress.confidence or 0) if progress.turn else 0


def answer_text(text: str, progress: Progress | None) -> str:
    """The final answer with how it is known and which files changed."""
    if progress is None or progress.finished is None:
        return text
    finished = progress.finished
    parts = [text.strip() or "*(It ended without an answer.)*"]
    if finished.reason != "done":
        parts.insert(0, _ENDS[finished.reason])
    if finished.claims:
        parts.append("\n".join(["**How I know**", *map(_claim, finished.claims)]))
    if progress.files:
        parts.append(f"**Files changed:** {names(progress.files)}")
    return "\n\n".join(parts)


def _claim(claim: Claim) -> str:
    if claim.text == WITHOUT_FINISH:
        return NO_EVIDENCE
    evidence = ""
    if claim.command:
        ended = "" if claim.exit_code is None else f" → exit {claim.exit_code}"
        evidence = f" — {inline(claim.command)}{ended}"
    elif claim.file:
        evidence = f" — {inline(claim.file)}"
    note = f" ({plain(claim.note)})" if claim.note else ""
    return f"{_VERDICTS[claim.verdict]} {plain(claim.text, 300)}{evidence}{note}"


def question_text(text: str, options: tuple[Option, ...]) -> str:
    """A question with its options and the hint that words do, too."""
    lines = [text.strip(), ""]
    for number, option in enumerate(options, 1):
        advice = " (recommended)" if number == 1 and len(options) > 1 else ""
        about = f" – {plain(option.description)}" if option.description else ""
        lines.append(f"**{number}.** {plain(option.label)}{advice}{about}")
    lines.append("-# Choose below, or write your answer here." if options else "-# Write your answer here.")
    return "\n".join(lines)


def names(files: Iterable[str], shown: int = 8) -> str:
    """File names as code, with how many more there are."""
    every = list(files)
    more = f" and {len(every) - shown} more" if len(every) > shown else ""
    return ", ".join(inline(name) for name in every[:shown]) + more


def money(usd: float) -> str:
    """Dollars with as many places as say something."""
    if usd <= 0:
        return "$0"
    return f"${usd:.2f}" if usd >= 0.1 else f"${usd:.4f}"


def duration(seconds: float) -> str:
    """Time in words: 0.4 s, 12 s, 3 min 05 s, 1 h 02 min."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3_600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3_600} h {whole % 3_600 // 60:02} min"


def _turns(turns: int) -> str:
    return f"{turns} turn" if turns == 1 else f"{turns} turns"
