"""Texts of command replies, such as sessions, costs, logs and daily caps; pure. Foreign text is shown, never obeyed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import mean

from agentic.core.claims.confidence import band
from agentic.core.events.execution_events import (
    Envelope,
    Policy,
    Started,
    Tier,
    Triaged,
    Whose,
)
from agentic.core.fold.fold import fold
from agentic.core.prompt.roles import known
from agentic.core.state.tiers import first_of, short
from agentic.core.text.amounts import dollars
from agentic.core.text.searchable import Searchable, What
from agentic.ports.runtime import SessionRow
from agentic.runtime.budget_ledger import Day
from agentic.text.word_query import WordQuery, composed
from bot.config.preferences import AUTO
from bot.history.checkpoint_list import Kept, LastSaved, moment
from bot.history.summaries import (
    Cost,
    Trend,
    by_person,
    by_thread,
)
from bot.ports.conversation import StatusView, ThreadState
from bot.progress.text import duration, estimated, money
from bot.rendering.discord_text import clean, fenced, inline, plain
from reflexion.lessons.lesson import Reflection

_OF: Mapping[Whose, str] = {"person": "your tasks", "guild": "this server", "bot": "this bot"}


def of_today(days: Iterable[Day]) -> str:
    """Return a line on the use of daily caps; '' where there are none."""
    parts = [
        f"{_OF[day.whose]} {dollars(day.spent_usd)} of {dollars(day.cap_usd + day.raised_usd)}{_raised(day)}"
        for day in days
    ]
    return f"-# Today (UTC), with what is reserved: {' · '.join(parts)}" if parts else ""


def _raised(day: Day) -> str:
    return f" (raised by {dollars(day.raised_usd)})" if day.raised_usd else ""


NO_EXECUTION = "Nothing has run here yet."
NO_COST = "Nothing has cost anything here yet."
NO_NUMBER = "No number: the last task was small talk, or did not succeed."
NO_SESSIONS = "I'm not working in any thread you can see. Mention me with a task, and I'll open one."
_STATES: Mapping[ThreadState, str] = {
    "idle": "· idle", "busy": "▶ working", "asking": "💬 waits for an answer", "paused": "⏸ paused", "unknown": "·",
}  # fmt: skip
_TODO = {"open": "☐", "doing": "▶", "done": "☑"}
TASK = 60
SCORES_SHOWN = 12
MOST_LINES = 2_000
"""Lines of a log that are shown at most."""
NOTHING_FOUND = (
    "Nothing found for “{words}”.\n-# I look for words, or their beginnings, in tasks, answers, messages, commands and "
    "names of changed files."
)
STILL_READING = "-# I am still reading older tasks, so something may be missing. Search again in a minute."
NOT_LOOKED_INTO = (
    "-# Some archived or private threads were not looked into. Add a word, or search in the thread itself."
)
NOT_ALL = "-# I only looked at the newest {number:,} matches. Add a word to find older ones."
NO_MODELS = "No model is configured. Whoever runs me sets one up with `threadwright setup`."
_TIERS: Mapping[int, str] = {1: "sorts messages", 2: "fast", 3: "balanced", 4: "strongest"}
_DID: Mapping[What, str] = {
    "task": "{who} gave this task", "message": "{who} wrote", "question": "I asked", "choice": "{who} chose",
    "command": "I ran", "files": "I changed", "answer": "I answered",
}  # fmt: skip
_BEFORE, _SNIPPET = 60, 160
"""Characters of a snippet before the first word that was looked for, and in all."""
_OPENS, _CLOSES = "\ue000", "\ue001"
"""Stand for the marks around a word until the text around it is escaped."""
_AS_IT_IS = re.compile(r"\w{1,20}://\S+|`[^`]+`")
"""Links and code, which show marks of Markdown as characters."""


@dataclass(frozen=True, slots=True)
class ThreadLine:
    """A thread in a list."""

    row: SessionRow
    status: StatusView


def title_of_sessions(*, openly: bool) -> str:
    """Say which threads are listed."""
    return "Threads of this channel" if openly else "Threads that you can see"


def sessions(seen: Sequence[ThreadLine], *, asker: str, page: int = 1, more: int = 0) -> str:
    """List threads in two lines each, last used first."""
    if not seen:
        return NO_SESSIONS if page == 1 else "That's all."
    lines = [line for each in seen for line in _session(each, asker)]
    if more:
        lines.append(f"-# There are more: `page:{more}`.")
    return "\n".join(lines)


def _session(each: ThreadLine, asker: str) -> list[str]:
    row, status = each.row, each.status
    state = _STATES[status.state]
    if status.state == "asking" and status.requester == asker:
        state = "💬 waits for you"
    if status.crashes:
        state = "⚠ set aside after crashes; write there to try again"
    when = [
        f"started {stamp(row.created)}" if row.created else "",
        f"used {stamp(row.accessed)}" if row.accessed else "",
    ]
    sure = f"confidence {estimated(status.confidence, fitted=status.fitted)}" if status.confidence is not None else ""
    facts = " · ".join(filter(None, (f"<#{row.thread}> {state}", *when, sure)))
    ended = f" ({status.finished})" if status.finished else ""
    return [facts, *([f"-# {inline(status.task, TASK)}{ended}"] if status.task else [])]


@dataclass(frozen=True, slots=True)
class HitLine:
    """Something that was found; ``text`` is all of its words, without secrets."""

    thread: str
    at: datetime
    said: Searchable
    text: str


def title_of_hits(*, found: bool, openly: bool) -> str:
    """Say where it was looked."""
    return f"{'Found' if found else 'Searched'} in threads {'of this channel' if openly else 'that you can see'}"


def hits(found: Sequence[HitLine], query: WordQuery, words: str, *, page: int = 1, more: int = 0) -> str:
    """List what was found in two lines each, with the words marked, newest first."""
    if not found:
        return NOTHING_FOUND.format(words=plain(words, TASK)) if page == 1 else "That's all."
    lines = [line for each in found for line in _hit(each, query)]
    if more:
        lines.append(f"-# There are more: `page:{more}`.")
    return "\n".join(lines)


def _hit(each: HitLine, query: WordQuery) -> tuple[str, str]:
    return f"<#{each.thread}> · {stamp(each.at)} · {did(each.said)}", f"> {snippet(each.text, query)}"


def did(said: Searchable) -> str:
    """Say whose words they are, and what was done with them."""
    return _DID[said.what].format(who=plain(said.who, 40) or "somebody")


def snippet(text: str, query: WordQuery) -> str:
    """Return the surroundings of the first words that were looked for, on one line, each in bold but in links and code."""
    flat = " ".join(composed(clean(text)).replace(_OPENS, "").replace(_CLOSES, "").split())
    places = query.places(flat)
    begin = max(0, places[0][0] - _BEFORE) if places else 0
    if begin:
        begin = flat.find(" ", begin, places[0][0]) + 1 or begin
    unmarked = [found.span() for found in _AS_IT_IS.finditer(flat)]
    marked, at = "…" * bool(begin), begin
    for first, last in places:
        if first < at or last > begin + _SNIPPET or any(first < end and last > start for start, end in unmarked):
            continue
        marked += f"{flat[at:first]}{_OPENS}{flat[first:last]}{_CLOSES}"
        at = last
    marked += flat[at : begin + _SNIPPET] + "…" * (len(flat) > begin + _SNIPPET)
    return plain(marked, 2 * _SNIPPET).replace(_OPENS, "**").replace(_CLOSES, "**")


def checkpoints(kept: Sequence[Kept]) -> str:
    """List checkpoints, newest first, and how to resume from one."""
    if not kept:
        return "None yet: I make one before the first change to a file, and nothing has been changed."
    lines: list[str] = []
    task = ""
    for one in kept:
        if one.execution != task:
            task = one.execution
            lines.append(f"**{plain(one.task, TASK)}**" + (f" ({one.finished})" if one.finished else " (not ended)"))
        lines.append(_checkpoint(one))
    lost = list(dict.fromkeys(what for one in kept for what in one.saved.not_kept))
    if lost:
        lines.append(f"-# Not in any of them: {plain('; '.join(lost), 400)}.")
    lines.append("-# `/resume checkpoint:` continues from one here, `/fork checkpoint:` in a new thread, `/retry turn:` "
        "redoes one turn. The newest 30 are kept, fewer if they are large.")  # fmt: skip
    return "\n".join(lines)


def _checkpoint(one: Kept) -> str:
    if one.saved.problem:
        return f"⚠ {stamp(one.at)} {moment_of(one)}: could not be saved ({plain(one.saved.problem)})"
    files = f" · {_times(one.changed, 'file')} changed" if one.changed else ""
    return f"{'●' if one.there else '○'} {inline(one.id)} {stamp(one.at)} {moment_of(one)}{files}" + (
        "" if one.there else " · no longer there"
    )


def moment_of(one: Kept) -> str:
    """Say when a checkpoint was taken."""
    return moment(one.why, one.turn, one.way)


def as_of(saved: LastSaved | None, *, works: bool) -> str:
    """Say how old files are that stand on another machine and are shown as they were last saved; '' where nothing is newer."""
    if saved is None:
        return "-# A task is running here. Its files show up once it has saved them." if works else ""
    words = f"-# As saved {saved.words}, {stamp(saved.at)}."
    if works:
        return f"{words} A task is running here; what it changed since shows up when it saves again."
    return "" if saved.after_all else f"{words} What was changed since, if anything, was not saved."


def cost_of_thread(costs: Sequence[Cost]) -> str:
    """List the cost of each execution, and the sum."""
    if not costs:
        return NO_COST
    shown, total = _added(cost.usd for cost in costs)
    lines = [
        f"{usd} · {cost.tokens:,} tokens · {_times(cost.turns, 'turn')} · {'side question ' * cost.side}"
        f"{inline(cost.task, TASK)} by {plain(cost.requester.name, 40)}"
        for cost, usd in zip(costs, shown, strict=True)
    ]
    models: dict[str, float] = {}
    for model, usd in (pair for cost in costs for pair in cost.models):
        models[model] = models.get(model, 0.0) + usd
    tasks = sum(not cost.side for cost in costs)
    sides = f" and {_times(len(costs) - tasks, 'side question')}" if tasks < len(costs) else ""
    lines.append(f"**{total}** in {_times(tasks, 'task')}{sides}")
    if models:
        of_each, together = _added(models.values())
        of_each = of_each if together == total else [f"about {usd}" for usd in of_each]
        lines.append("-# " + " · ".join(f"{plain(name, 60)} {usd}" for name, usd in zip(models, of_each, strict=True)))
    return "\n".join(lines)


def cost_by_person(costs: Iterable[Cost]) -> str:
    """List the cost of each person, highest first."""
    rows = by_person(costs)
    shown, total = _added(row[2] for row in rows)
    lines = [
        f"{usd} · {_times(count, 'task')} · {plain(person.name, 60)}"
        for (person, count, _), usd in zip(rows, shown, strict=True)
    ]
    return _summed(lines, total)


def cost_by_thread(costs: Iterable[Cost]) -> str:
    """List the cost of each thread, highest first."""
    rows = by_thread(costs)
    shown, total = _added(row[2] for row in rows)
    lines = [
        f"{usd} · {_times(count, 'task')} · <#{thread}>" for (thread, count, _), usd in zip(rows, shown, strict=True)
    ]
    return _summed(lines, total)


def _added(amounts: Iterable[float]) -> tuple[list[str], str]:
    """Return amounts with the same number of digits, and the sum of what is shown."""
    usd = list(amounts)
    digits = 4 if any(0 < each < 0.1 for each in usd) else 2
    rounded = [round(each, digits) for each in usd]
    return [f"${each:.{digits}f}" for each in rounded], f"${sum(rounded):.{digits}f}"


def _summed(lines: list[str], total: str) -> str:
    if not lines:
        return NO_COST
    return "\n".join([*lines, f"**{total}** in the threads that you can see"])


def confidence(trends: Sequence[Trend]) -> str:
    """Show the present confidence, the turns of the last executions as bars, and the trend of the thread."""
    seen = [each for each in trends if each.scores or each.shown is not None]
    if not seen:
        return "Not known yet: it comes with the first turn."
    last = seen[-1]
    lines = [f"**{last.shown}** of 100, {band(last.shown)}" if last.shown is not None else NO_NUMBER]
    lines.append(_basis(last))
    for each in seen[-5:]:
        numbers = f"turn by turn: {_course(each.scores)}"
        lines.append(f"{inline(each.task, TASK)} {each.reason or 'running'}{_judged(each)}")
        lines.append(f"-# {numbers}" if each.scores else "-# no turn ended")
    if len(whole := [each.shown for each in seen if each.shown is not None]) > 1:
        lines.append(f"This thread, task by task: {_course(whole)}")
    return "\n".join(lines)


def _course(numbers: Sequence[int]) -> str:
    """Show numbers one after the other, the newest of many, and where they go."""
    shown = " → ".join(("… " * (len(numbers) > SCORES_SHOWN) + " ".join(map(str, numbers[-SCORES_SHOWN:]))).split())
    if len(numbers) < 2:
        return f"{shown} of 100"
    change = numbers[-1] - round(mean(numbers[:-1][-3:]))
    return f"{shown} of 100, {'rising' if change > 3 else 'falling' if change < -3 else 'steady'}"


def _basis(one: Trend) -> str:
    """Say what the number is based on."""
    if not one.labels or not one.heuristics:
        return "-# An estimate from tools, tests and reports: too few tasks have a known outcome yet to check it."
    differs = bool(one.scores) and one.scores[-1] != one.heuristics[-1]
    before = f"; without that it would be {one.heuristics[-1]}" if differs else ""
    return f"-# Checked against how {_times(one.labels, 'task')} turned out{before}."


def _judged(one: Trend) -> str:
    votes = "".join("👍" if vote == "up" else "👎" for vote in one.votes)
    scored = f" · scored {one.evaluated}" if one.evaluated is not None else ""
    return f"{scored} {votes}".rstrip()


def tiers_of(envelopes: Sequence[Envelope]) -> tuple[Tier, ...]:
    """Return the tiers an execution began with."""
    started = next((e.event for e in envelopes if isinstance(e.event, Started)), None)
    return started.policy.tiers if started else ()


def title_of_log(there: int, lines: int) -> str:
    """Say how much of the log is shown, and how to see more."""
    if there <= lines:
        return f"Log: {_times(there, 'line')} (UTC)"
    return f"Log: the newest {lines} of {there} lines (UTC); `/logs lines:{min(there, MOST_LINES)}` shows more"


def log(lines: Sequence[str]) -> str:
    """Return the lines as they are; times are UTC."""
    return fenced("\n".join(lines)) if lines else NO_EXECUTION


def memory(notes: Sequence[str], todo: Sequence[tuple[str, str]], learned: Sequence[Reflection]) -> str:
    """Show notes, to-do list and reflections."""
    lines = [f"• {plain(note, 300)}" for note in notes]
    if todo:
        lines += ["**To do**", *(f"{_TODO.get(state, '☐')} {plain(text, 150)}" for state, text in todo)]
    if learned:
        lines += ["**Learned here**"]
        lines += [f"• {plain(each.insight.key_insight, 300)}" for each in learned]
    return "\n".join(lines) or "No notes here yet."


def role(envelopes: Sequence[Envelope], roles: Iterable[str]) -> str:
    """Show the role of the newest execution, and the roles there are."""
    events = [each.event for each in envelopes]
    triaged = next((event for event in events if isinstance(event, Triaged)), None)
    started = next((event for event in events if isinstance(event, Started)), None)
    if started is None:
        return NO_EXECUTION
    named = (triaged.role if triaged else "") or started.role or "general"
    how = "" if triaged is None else f", a {triaged.complexity} {'talk' if triaged.talk else 'task'}"
    tools = ", ".join(tool.name for tool in known(fold(envelopes)))
    return (
        f"Role: **{plain(named, 60)}**{how}.\n-# Tools: {plain(tools, 400) or 'none'}\n-# `/settings set name:role` "
        f"sets one for this thread or channel: {', '.join(roles)}. Otherwise I choose by the task."
    )


def rules(policy: Policy) -> str:
    """Show the caps that end a task, and where further rules can be set."""
    return (
        f"A task may use {money(policy.max_usd)}, {duration(policy.max_minutes * 60)}, {policy.max_tokens:,} tokens and "
        f"{policy.turns_simple}, {policy.turns_medium} or {policy.turns_complex} turns (simple, medium, complex).\n"
        f"Approvals expire after {policy.approval_minutes:.0f} minutes. I ignore files listed in `.aiignore`.\n"
        "-# I quote an AGENTS.md (or CLAUDE.md, GEMINI.md, .cursorrules) of the workspace to the model as data. A file never "
        "gives me more rights."
    )


@dataclass(frozen=True, slots=True)
class Start:
    """The tier that a new task starts in, and why; ``there``: what was chosen is configured."""

    tier: int
    chosen: str
    origin: str
    there: bool = True


def models(policy: Policy, start: Start, now: tuple[int, str] | None = None) -> str:
    """Show the models by tier with their prices, which one a new task starts with, and what works ``now``, if anything."""
    tier = next((tier for tier in policy.tiers if tier.number == start.tier and tier.models), None)
    if tier is None:
        return NO_MODELS
    begins = f"A new task here starts with **{plain(short(tier.models[0]), 80)}** (tier {tier.number}): "
    if not start.there:
        begins += f"{inline(start.chosen)} was {start.origin}, but it is not configured any more."
    elif start.chosen == AUTO:
        begins += "the default. The role of a task may start it higher."
    else:
        begins += f"{start.origin}."
    lines = ["**Which model answers here**", begins]
    if now is not None:
        lines.append(f"Working now: **{plain(short(now[1]), 80)}** (tier {now[0]}).")
    for each in sorted(policy.tiers, key=lambda one: one.number):
        mark = "▶" if each.number == start.tier else "•"
        told = ", then ".join(f"{inline(model)} {_price(policy, model)}" for model in each.models)
        lines.append(f"{mark} tier {each.number}, {_TIERS.get(each.number, '')}: {told}")
    if policy.tour:
        lines.append("No model is configured, so a scripted tour answers: `threadwright setup` asks for a key.")
    lines.append(
        "-# US$ per million tokens, input / output. A task that gets stuck moves up a tier from where it started."
    )
    lines.append("-# An owner chooses another, such as `/model name:tier3 scope:channel`.")
    return "\n".join(lines)


def start_of(policy: Policy, name: str, tier: int) -> str:
    """Return a choice of what to start with on one line."""
    if name not in policy.prices:
        return f"tier {tier}, {_TIERS.get(tier, '')}: {short(first_of(policy, tier))}"
    return f"{short(name)} (tier {tier}), {_price(policy, name)}"


def _price(policy: Policy, model: str) -> str:
    price = policy.prices.get(model)
    return "(price not known)" if price is None else " / ".join(money(each) for each in price)


def stamp(at: datetime) -> str:
    """Return a time that Discord shows to each reader as relative to now, such as "5 minutes ago"."""
    return f"<t:{int(at.timestamp())}:R>"


def _times(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
