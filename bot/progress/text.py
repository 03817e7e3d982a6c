"""The text of the progress message and of its footer; pure. The text of the final answer is in
``bot/messages/final_card.py``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from datetime import datetime
from itertools import groupby

from agentic.core.claims import confidence
from agentic.core.events.execution_events import (
    Confidence,
    Finished,
    Reason,
    Todo,
)
from agentic.core.state.execution import Allowance
from agentic.core.text.last_note import without_own_fields
from bot.access.permissions import at_least
from bot.config.preferences import Verbosity
from bot.progress.cap_usage import Use
from bot.progress.model import Progress, ProgressStep, Remark
from bot.progress.step_text import acts_in_words, ended_phrase, headline, unbegun
from bot.rendering.code_blocks import FENCE
from bot.rendering.console_links import turn_link
from bot.rendering.discord_text import (
    LIMIT,
    clean,
    cut,
    fenced,
    inline,
    length,
    plain,
)

_OUTCOMES = {"ok": "✔", "unknown": "❔", "cancelled": "◼", "refused": "⊘", "denied": "⊘", "restored": "⊘"}
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
"""The end of a task that asked for a change but changed nothing."""
UNANSWERED: dict[str, str] = {
    "unavailable": "its provider could not be reached",
    "rate_limited": "its provider asks to wait",
    "timed_out": "it took too long to answer",
    "key_refused": "its provider refused the key",
    "quota_used_up": "its account has no credit left",
    "context_overflow": "the conversation was too long for it",
    "content_filtered": "its provider refused the content",
    "bad_request": "its provider did not take the request",
    "model_unknown": "its provider does not know it",
    "lost": "the request was cut off",
    "cancelled": "the request was cut off",
}
"""Why a model is asked again, by how its request failed."""
_UNBEGUN = ("denied", "refused", "cancelled")
_TODO = {"open": "☐", "doing": "▶", "done": "✔"}
_SEEN_ELSEWHERE = frozenset(("todo", "note", "report", "ask_stronger", "finish", "ask_user", "propose_plan", "wake_me"))
"""Calls that are not shown as steps, because the message shows their result elsewhere."""
STEPS_SHOWN = 5
TODO_SHOWN = 8
TAIL_SHOWN = 300
LINES_SHOWN = 6
COLUMNS = 60
_SPACE = re.compile(r"\s")
_MARK = re.compile(r"^(\d*)([-+.])(?=\s)")
"""Characters that would begin a list."""
SHOWN_AFTER = 3.0
"""Seconds a step runs before its duration is shown."""

STOPPED_LATE = 2.0
"""Seconds from a stop to the end from which they are shown."""
HOST_FOOTER = "⚠ no sandbox: .aiignore is not enforced"


def progress_text(
    progress: Progress, tail: str = "", verbosity: Verbosity = "normal", now: datetime | None = None, details: str = ""
) -> str:
    """Return the progress message: the current step, the to-do list, recent steps, the streamed text, a footer.

    ``quiet`` is one line that hardly changes; ``detailed`` has every call with its expectation and result, the
    confidence of each turn, and what the agent was reminded of. Once the execution has ended, the footer is under the
    answer. ``details`` is the address of the task on the console.
    """
    if verbosity == "quiet":
        return _calm(progress, details)
    account = _account(progress) if verbosity == "detailed" else _steps(progress)
    after = [f"⚠ {inline(file.name)} was skipped: {plain(file.skipped)}" for file in progress.skipped[:5]]
    after += _todo(progress.todo, ended=progress.finished is not None)
    if progress.finished is None and (refused := refused_hosts(progress)):
        after.append(refused)
    if crossed := conflicts(progress):
        after.append(crossed)
    if progress.finished is None:
        after += [_allowance(each) for each in progress.allowances]
    if progress.note:
        after.append(f"⚠ {plain(progress.note)}")
    if progress.finished is None:
        after += [f"-# 👁 {plain(progress.watched, 200)}"] if progress.watched and verbosity == "normal" else []
        after += _said(progress, tail)
    foot = "" if progress.finished else footer(progress, whole=False, details=details)
    if progress.finished is None and (used := _nearly(progress, now)):
        foot = f"⏳ {used}\n{foot}"
    return _fitted(_heading(progress, now, details), account, after, foot)


def _calm(progress: Progress, details: str) -> str:
    if progress.finished is None and progress.paused is None and progress.stop_given is None and not progress.asked:
        since = f" · since <t:{int(progress.started.timestamp())}:R>" if progress.started else ""
        near = _caps(progress.limits.near())
        return f"⏳ **Working**{since}{f' · most of {near} used' if near else ''} · 🛑 stops me{_linked(details)}"
    return _heading(progress, None, details)


def _nearly(progress: Progress, now: datetime | None) -> str:
    """Say how much is used of caps that are near or reached; '' before that."""
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
    """Return the streamed text: a command's output as a code block, the model's words as a quotation."""
    output = bool(tail and progress.running)
    text = _last_words(tail if output else without_own_fields(tail or progress.said))
    lines = [line for line in text.splitlines() if line.strip()][-LINES_SHOWN:]
    if output:
        return fenced("\n".join(cut(line, COLUMNS) for line in lines)).split("\n") if lines else []
    return [f"> {_MARK.sub(_escaped, shown)}" for line in lines if (shown := plain(line, TAIL_SHOWN))]


def _last_words(said: str) -> str:
    """Return the end of a text, from a whole word on."""
    text = clean(said).strip()
    if len(text) <= TAIL_SHOWN:
        return text
    cut_off = text[-TAIL_SHOWN:]
    first = _SPACE.search(cut_off)
    return "…" + (cut_off[first.end() :] if first else cut_off)


def _escaped(found: re.Match[str]) -> str:
    return f"{found[1]}\\{found[2]}"


def _fitted(head: str, account: list[str], after: list[str], foot: str) -> str:
    """Fit the parts into a message: the oldest steps are dropped first, then the last parts."""
    ending = [foot] if foot else []
    while account and length("\n".join([head, *account, *after, *ending])) > LIMIT:
        account = account[1:]
    while after and length("\n".join([head, *after, *ending])) > LIMIT:
        after = after[:-1]
    if after.count(FENCE) % 2:  # a block of code whose end did not fit
        after = after[: len(after) - 1 - after[::-1].index(FENCE)]
    return cut("\n".join([head, *account, *after, *ending]), LIMIT)


def _linked(details: str) -> str:
    return f" · [details]({details})" if details else ""


def _heading(progress: Progress, now: datetime | None, details: str) -> str:
    if progress.finished is not None:
        return f"{ending(progress.finished)} · {turns(progress.turn)} · {duration(progress.seconds)}"
    since = f" · started <t:{int(progress.started.timestamp())}:R>" if progress.started else ""
    turn = f" · {turn_link(details, progress.turn)}" if progress.turn else ""
    return f"{_now(progress, now)}{turn}{since}"


def ending(end: Finished) -> str:
    """Name the end in a word or two."""
    return UNCHANGED if end.unchanged and end.reason == "failed" else ENDS[end.reason]


def _now(progress: Progress, now: datetime | None) -> str:
    running = progress.running
    if progress.stop_given is not None:
        return "🛑 **Stopping**"
    if progress.paused is not None:
        why = f": {plain(progress.paused)}" if progress.paused else ""
        if running or progress.thinking:
            return (
                f"⏸ **Pausing** when the current step ends{why} · ▶ resumes · 🛑 stops now\n{_at_work(progress, now)}"
            )
        return f"⏸ **Paused**{why} · press ▶ to resume"
    if progress.crashes:
        return (
            f"⚠ **Set aside** after {progress.crashes} crashes of the bot · write anything, or press ▶, to try once "
            "more"
        )
    if progress.asked:
        return (
            f"🔐 **Waiting for {_whose(progress)} approval**" if progress.approval else "💬 **Waiting for your answer**"
        )
    if progress.handed_over:
        return "⏸ **Interrupted** by a restart of the bot · resumes by itself"
    return _at_work(progress, now)


def _at_work(progress: Progress, now: datetime | None) -> str:
    """Say what it does at the moment."""
    running = progress.running
    for step in running:
        more = f" and {len(running) - 1} more" if len(running) > 1 else ""
        return f"🔧 {headline(step)}{more}{_so_far(step, now)}"
    if progress.unanswered:
        return f"🔁 **Trying the model again**: {UNANSWERED.get(progress.unanswered, 'it gave no answer')}"
    return "💭 **Thinking**" if progress.thinking or progress.turn else "👀 **Starting**"


def _whose(progress: Progress) -> str:
    if at_least(progress.level, progress.decided_by):
        return "your"
    return "an owner's" if progress.decided_by == "owner" else "an operator's"


def _so_far(step: ProgressStep, now: datetime | None) -> str:
    """Return a step's duration so far, in steps of five seconds, so that time alone seldom causes an edit."""
    seconds = (now - step.began).total_seconds() if now is not None and step.began is not None else 0.0
    whole = int(seconds // 5 * 5 if seconds >= 10 else seconds)
    return f" · {f'{whole} s' if whole < 60 else duration(whole)}" if seconds >= SHOWN_AFTER else ""


def _steps(progress: Progress) -> list[str]:
    ended = [step for step in progress.steps if step.outcome and step.tool not in _SEEN_ELSEWHERE]
    runs = [list(alike) for _, alike in groupby(ended, key=_failure)]
    return [_step(alike[-1], len(alike)) for alike in runs[-STEPS_SHOWN:]]


def _failure(step: ProgressStep) -> tuple[object, ...]:
    """Return what steps share that failed the same way; no two others share it."""
    return (step.tool, step.subject, step.exit_code) if step.outcome == "failed" else (step.call,)


def _step(step: ProgressStep, times: int = 1) -> str:
    words = unbegun(step) if step.outcome in _UNBEGUN and step.began is None else ended_phrase(step)
    return f"-# {_OUTCOMES.get(step.outcome, '✖')} {words}{_detail(step)}{f' · ×{times}' if times > 1 else ''}"


def _is_stopped(step: ProgressStep) -> bool:
    return step.outcome == "cancelled" and step.began is not None


def _account(progress: Progress) -> list[str]:
    lines: list[str] = []
    for each in progress.account.values():
        if isinstance(each, Remark):
            lines.append(f"-# · {plain(each.text, 160)}")
        elif each.outcome:
            lines.append(_step(each))
            lines += [f"-# ↳ expected: {plain(each.expected, 120)}"] if each.expected else []
            lines += [f"-# ↳ {inline(each.came, 100)}"] if each.came and each.outcome != "refused" else []
    return lines


def _detail(step: ProgressStep) -> str:
    parts: list[str] = []
    if step.exit_code:
        parts.append(f"exit {step.exit_code}")
    elif step.outcome not in ("ok", "failed") and not _is_stopped(step):
        why = f": {plain(step.came.rstrip('.'), 120)}" if step.outcome == "refused" and step.came else ""
        parts.append("outcome unknown" if step.outcome == "unknown" else f"{step.outcome}{why}")
    if step.allowed_by:
        parts.append(f"allowed by {plain(step.allowed_by, 40)} for this task")
    if step.seconds >= 1:
        parts.append(duration(step.seconds))
    return "".join(f" · {part}" for part in parts)


def _allowance(allowed: Allowance) -> str:
    """Say what may be done without asking, who allowed it, and how often it was."""
    used = f" · done {allowed.used}×" if allowed.used else ""
    return f"-# 🔓 {plain(allowed.by.name, 40)} allowed for this task: {acts_in_words(allowed.acts)}{used}"


def _todo(items: tuple[Todo, ...], *, ended: bool) -> list[str]:
    """Return the to-do list; once the execution has ended, what it did not tick off is open, since nobody is at it."""
    signs = _TODO | {"doing": _TODO["open"]} if ended else _TODO
    shown = [f"{signs[item.state]} {plain(item.text, 80)}" for item in items[:TODO_SHOWN]]
    return [*shown, f"-# … and {len(items) - TODO_SHOWN} more"] if len(items) > TODO_SHOWN else shown


def refused_hosts(progress: Progress) -> str:
    """Name the hosts that the network refused, '' where there are none."""
    return f"-# 🌐 refused: {names(progress.refused_hosts)}" if progress.refused_hosts else ""


def conflicts(progress: Progress) -> str:
    """Name the files that somebody else had changed first, '' where there are none."""
    if not progress.conflicts:
        return ""
    who = sorted({by for by in progress.conflicts.values() if by})
    by = f" {plain(' and '.join(who), 60)}" if who else ""
    return f"-# ⇄ changed meanwhile{by}, not overwritten: {names(progress.conflicts)}"


def footer(progress: Progress, *, whole: bool = True, details: str = "") -> str:
    """Return role, tier and model, turns, time, cost, confidence, sandbox; turns and time only where nothing else shows
    them.

    The tour has no model, and costs nothing.
    """
    parts = [plain(progress.role, 30)] if progress.role and not progress.tour else []
    if progress.model and not progress.tour:
        parts.append(f"tier {progress.tier} {plain(progress.model, 60)}")
    if whole:
        parts += [turns(progress.turn), duration(progress.seconds)]
    if whole and progress.stopped_in is not None and progress.stopped_in >= STOPPED_LATE:
        parts.append(f"stopped in {briefly(progress.stopped_in)}")
    if not progress.tour:
        parts.append(money(progress.usd))
        if sure := sure_of(progress):
            parts.append(f"confidence {sure}")
    if progress.sandbox:
        parts.append(_place(progress.sandbox))
    return "-# " + " · ".join(parts) + _linked(details)


def _place(sandbox: str) -> str:
    rung, _, hosts = sandbox.partition(", network: ")
    return HOST_FOOTER if rung.startswith("host") else plain(f"{rung}, listed hosts only" if hosts else rung, 40)


def sure_of(progress: Progress) -> str:
    """Return the confidence with its basis, '' where there is none."""
    end = progress.finished
    if end is None and not progress.turn:
        return ""
    return sure(confidence.told(progress.confidence, end), progress.confidence)


def sure(number: int | None, last: Confidence | None) -> str:
    """Return the number with its basis: an estimate until it is fitted, and its value before votes moved it."""
    if number is None:
        return ""
    notes = [f"{last.moved_from[0]} before votes"] if last is not None and last.moved_from is not None else []
    notes += [] if confidence.is_fitted(last) else ["estimate"]
    return f"{number} ({', '.join(notes)})" if notes else str(number)


def estimated(number: int, *, fitted: bool) -> str:
    """Return the number in the short form."""
    return str(number) if fitted else f"{number} (estimate)"


def names(files: Iterable[str], shown: int = 8) -> str:
    """Return file names as code, and how many more there are."""
    every = list(files)
    more = f" and {len(every) - shown} more" if len(every) > shown else ""
    return ", ".join(inline(name) for name in every[:shown]) + more


def money(usd: float) -> str:
    """Return dollars with as many digits as matter."""
    if usd <= 0:
        return "$0"
    return f"${usd:.2f}" if usd >= 0.1 else f"${usd:.4f}"


def briefly(seconds: float) -> str:
    """Return a short time: 0.09 s."""
    return f"{seconds:.2f} s" if seconds < 1 else duration(seconds)


def duration(seconds: float) -> str:
    """Return a time in words: 0.4 s, 12 s, 3 min 05 s, 1 h 02 min."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3_600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3_600} h {whole % 3_600 // 60:02} min"


def turns(number: int) -> str:
    """Return a number of turns in words."""
    return f"{number} turn" if number == 1 else f"{number} turns"
