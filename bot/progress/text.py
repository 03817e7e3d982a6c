"""The words of the progress message and of questions; pure.  Those of the final answer stand in
``bot/messages/final_card.py``."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from datetime import datetime

from agentic.core.claims import confidence
from agentic.core.events.execution_events import (
    Confidence,
    Finished,
    Reason,
    Todo,
)
from bot.config.preferences import Verbosity
from bot.progress.cap_usage import Use
from bot.progress.model import Progress, ProgressStep, Remark
from bot.progress.step_text import headline, phrase, unbegun
from bot.rendering.code_blocks import FENCE
from bot.rendering.discord_text import (
    LIMIT,
    clean,
    cut,
    fenced,
    inline,
    length,
    plain,
)

_OUTCOMES = {"ok": "✔", "unknown": "❔", "cancelled": "◼", "refused": "⊘", "denied": "⊘", "put back": "⊘"}
ENDS: dict[Reason, str] = {
    "done": "✅ **Done**",
    "stopped": "🛑 **Stopped**",
    "failed": "❌ **Failed**",
    "stuck": "🧱 **Stuck**",
    "limit": "⏳ **Out of turns**",
    "budget": "⏳ **Limit reached**",
    "cancelled": "◼ **Cancelled**",
    "tour": "ℹ️ **Tour, no model is configured**",
}
UNCHANGED = "⚠ **Answered, nothing was changed**"
"""The end of a task that asks for a change, and for which nothing was done."""
_UNBEGUN = ("denied", "refused", "cancelled")
_TODO = {"open": "☐", "doing": "▶", "done": "✔"}
_SEEN_ELSEWHERE = frozenset(("todo", "note", "report", "ask_stronger", "finish", "ask_user"))
"""What is no step for a person: its result stands in the message itself, or below it."""
STEPS_SHOWN = 5
TODO_SHOWN = 8
TAIL_SHOWN = 300
LINES_SHOWN = 6
COLUMNS = 60
_SPACE = re.compile(r"\s")
_MARK = re.compile(r"^(\d*)([-+.])(?=\s)")
"""What would begin a list."""
SHOWN_AFTER = 3.0
"""So many seconds a step runs before its time is shown."""

HOST_FOOTER = "⚠ host, no sandbox, .aiignore is not firm"


def progress_text(
    progress: Progress, tail: str = "", verbosity: Verbosity = "normal", now: datetime | None = None
) -> str:
    """The progress message: what it does now, the to-do list, recent steps, what is being said, a footer.

    ``quiet`` is one line that hardly changes; ``detailed`` has every call with what was expected and what came of it,
    the confidence of each turn, and what the agent was reminded of.  Once it has ended, the footer stands under the answer.
    """
    if verbosity == "quiet":
        return _calm(progress)
    account = _account(progress) if verbosity == "detailed" else _steps(progress)
    after = [f"⚠ {inline(file.name)} was left out: {plain(file.skipped)}" for file in progress.skipped[:5]]
    after += _todo(progress.todo)
    if progress.note:
        after.append(f"⚠ {plain(progress.note)}")
    if progress.finished is None:
        after += _said(progress, tail)
    foot = "" if progress.finished and not progress.plain else footer(progress, whole=False)
    if progress.finished is None and (used := _nearly(progress, now)):
        foot = f"⏳ {used}\n{foot}"
    return _fitted(_heading(progress, now), account, after, foot)


def _calm(progress: Progress) -> str:
    if progress.finished is None and progress.paused is None and not progress.asked:
        since = f" · since <t:{int(progress.started.timestamp())}:R>" if progress.started else ""
        near = _caps(progress.limits.near())
        return f"⏳ **Working**{since}{f' · most of {near} used' if near else ''} · 🛑 stops me"
    return _heading(progress, None)


def _nearly(progress: Progress, now: datetime | None) -> str:
    """How much is used of the caps it comes near, or of those it has reached; '' before that."""
    near = progress.limits.near(now)
    full = [use for use in near if use.used >= use.cap]
    told = " · ".join(f"{_used(use)} of {_cap(use)}" for use in full or near)
    return told and f"{'Used up' if full else 'Nearly used up'}: {told}"


def _caps(uses: Iterable[Use]) -> str:
    return " and ".join(_cap(use) for use in uses)


def _cap(use: Use) -> str:
    if use.what == "usd":
        return money(use.cap)
    amount = f"{use.cap:g}" if use.what == "minutes" else f"{use.cap:,}"
    return f"{amount} {use.what if use.cap != 1 else use.what.removesuffix('s')}"


def _used(use: Use) -> str:
    return money(use.used) if use.what == "usd" else f"{math.floor(use.used):,}"


def _said(progress: Progress, tail: str) -> list[str]:
    """What is being said: what a command prints as a block of code, the model's words as a quotation."""
    text = _last_words(tail or progress.said)
    lines = [line for line in text.splitlines() if line.strip()][-LINES_SHOWN:]
    if tail and progress.running:
        return fenced("\n".join(cut(line, COLUMNS) for line in lines)).split("\n") if lines else []
    return [f"> {_MARK.sub(_escaped, shown)}" for line in lines if (shown := plain(line, TAIL_SHOWN))]


def _last_words(said: str) -> str:
    """The end of a text, from a whole word on."""
    text = clean(said).strip()
    if len(text) <= TAIL_SHOWN:
        return text
    cut_off = text[-TAIL_SHOWN:]
    first = _SPACE.search(cut_off)
    return "…" + (cut_off[first.end() :] if first else cut_off)


def _escaped(found: re.Match[str]) -> str:
    return f"{found[1]}\\{found[2]}"


def _fitted(head: str, account: list[str], after: list[str], foot: str) -> str:
    """What fits into a message: the oldest steps go first, then what stands last."""
    ending = [foot] if foot else []
    while account and length("\n".join([head, *account, *after, *ending])) > LIMIT:
        account = account[1:]
    while after and length("\n".join([head, *after, *ending])) > LIMIT:
        after = after[:-1]
    if after.count(FENCE) % 2:  # a block of code whose end did not fit
        after = after[: len(after) - 1 - after[::-1].index(FENCE)]
    return cut("\n".join([head, *account, *after, *ending]), LIMIT)


def _heading(progress: Progress, now: datetime | None) -> str:
    if progress.finished is not None:
        return f"{ending(progress.finished)} · {turns(progress.turn)} · {duration(progress.seconds)}"
    since = f" · started <t:{int(progress.started.timestamp())}:R>" if progress.started else ""
    turn = f" · turn {progress.turn}" if progress.turn else ""
    return f"{_now(progress, now)}{turn}{since}"


def ending(end: Finished) -> str:
    """How it ended, in a word or two."""
    return UNCHANGED if end.unchanged and end.reason == "failed" else ENDS[end.reason]


def _now(progress: Progress, now: datetime | None) -> str:
    running = progress.running
    if progress.paused is not None:
        why = f": {plain(progress.paused)}" if progress.paused else ""
        return f"⏸ **{'Pausing after this step' if running else 'Paused'}**{why} · ▶ goes on"
    if progress.crashes:
        return f"⚠ **Left alone** after {progress.crashes} crashes of the bot · write anything, or ▶, to try once more"
    if progress.asked:
        return "🔐 **Waiting for your approval**" if progress.approval else "💬 **Waiting for your answer**"
    if progress.handed_over:
        return "⏸ **Interrupted** by a restart of the bot · it goes on by itself"
    for step in running:
        more = f" and {len(running) - 1} more" if len(running) > 1 else ""
        return f"🔧 {headline(step)}{more}{_so_far(step, now)}"
    return "💭 **Thinking**" if progress.thinking or progress.turn else "👀 **Starting**"


def _so_far(step: ProgressStep, now: datetime | None) -> str:
    """How long a step runs; in steps of five seconds, so that time alone is seldom a reason to edit."""
    seconds = (now - step.began).total_seconds() if now is not None and step.began is not None else 0.0
    whole = int(seconds // 5 * 5 if seconds >= 10 else seconds)
    return f" · {f'{whole} s' if whole < 60 else duration(whole)}" if seconds >= SHOWN_AFTER else ""


def _steps(progress: Progress) -> list[str]:
    ended = [step for step in progress.steps if step.outcome and step.tool not in _SEEN_ELSEWHERE]
    return [_step(step) for step in ended[-STEPS_SHOWN:]]


def _step(step: ProgressStep) -> str:
    words = unbegun(step) if step.outcome in _UNBEGUN and step.began is None else phrase(step, ended=True)
    return f"-# {_OUTCOMES.get(step.outcome, '✖')} {words}{_detail(step)}"


def _account(progress: Progress) -> list[str]:
    lines: list[str] = []
    for each in progress.account.values():
        if isinstance(each, Remark):
            lines.append(f"-# · {plain(each.text, 160)}")
        elif each.outcome:
            lines.append(_step(each))
            lines += [f"-# ↳ expected: {plain(each.expected, 120)}"] if each.expected else []
            lines += [f"-# ↳ {inline(each.came, 100)}"] if each.came else []
    return lines


def _detail(step: ProgressStep) -> str:
    parts: list[str] = []
    if step.exit_code:
        parts.append(f"exit {step.exit_code}")
    elif step.outcome not in ("ok", "failed"):
        parts.append("outcome unknown" if step.outcome == "unknown" else step.outcome)
    if step.seconds >= 1:
        parts.append(duration(step.seconds))
    return "".join(f" · {part}" for part in parts)


def _todo(items: tuple[Todo, ...]) -> list[str]:
    shown = [f"{_TODO[item.state]} {plain(item.text, 80)}" for item in items[:TODO_SHOWN]]
    return [*shown, f"-# … and {len(items) - TODO_SHOWN} more"] if len(items) > TODO_SHOWN else shown


def footer(progress: Progress, *, whole: bool = True) -> str:
    """Role, tier and model, turns, time, cost, confidence, sandbox; turns and time where nothing else says them.

    The tour has no model, and costs nothing.
    """
    parts = [plain(progress.role, 30)] if progress.role and not progress.tour else []
    if progress.model and not progress.tour:
        parts.append(f"tier {progress.tier} {plain(progress.model, 60)}")
    if whole:
        parts += [turns(progress.turn), duration(progress.seconds)]
    if whole and progress.stopped_in is not None:
        parts.append(f"stopped in {briefly(progress.stopped_in)}")
    if not progress.tour:
        parts.append(money(progress.usd))
        if sure := sure_of(progress):
            parts.append(f"confidence {sure}")
    if progress.sandbox:
        parts.append(HOST_FOOTER if progress.sandbox.startswith("host") else plain(progress.sandbox, 30))
    return "-# " + " · ".join(parts)


def sure_of(progress: Progress) -> str:
    """How sure it is, '' where that is not known."""
    end = progress.finished
    if end is None and not progress.turn:
        return ""
    return sure(confidence.told(progress.confidence, end), progress.confidence)


def sure(number: int | None, last: Confidence | None) -> str:
    """The number with what it rests on: an estimate until it is fitted, and what votes moved it from."""
    if number is None:
        return ""
    notes = [f"{last.moved_from[0]} before votes"] if last is not None and last.moved_from is not None else []
    notes += [] if confidence.is_fitted(last) else ["estimate"]
    return f"{number} ({', '.join(notes)})" if notes else str(number)


def estimated(number: int, *, fitted: bool) -> str:
    """The number where there is no room for more."""
    return str(number) if fitted else f"{number} (estimate)"


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


def briefly(seconds: float) -> str:
    """A time that is meant to be short: 0.09 s."""
    return f"{seconds:.2f} s" if seconds < 1 else duration(seconds)


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


def turns(number: int) -> str:
    """Turns, counted in words."""
    return f"{number} turn" if number == 1 else f"{number} turns"
