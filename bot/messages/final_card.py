"""The final answer as people read it: the answer, its changes, its evidence, what can be undone; pure.

It is text, not an embed: embeds are suppressed in everything the bot posts, so that Discord fetches no link in a
model's words, and that would suppress ours too. Small print uses Discord's subtext.
"""

from __future__ import annotations

from collections.abc import Sequence

from agentic.core.claims.completion import NOTHING_DONE
from agentic.core.events.execution_events import Claim, Finished
from agentic.core.text.last_note import LAST_NOTE, without_own_fields
from bot.messages.file_changes import Difference, change_line, inline_diff
from bot.messages.lesson_card_lines import used_lines
from bot.progress.model import Progress
from bot.progress.text import ending, names, refused_hosts
from bot.rendering.code_blocks import FENCE, kept_apart
from bot.rendering.discord_text import inline, plain

WITHOUT_FINISH = "This answer was given without calling finish."
UNCLAIMED = frozenset((WITHOUT_FINISH, "This answer came without claims."))
"""The core's note on an answer without claims; people read other words for it."""
NO_EVIDENCE = "-# ⚠ Not verified"
NOT_CHANGED = "-# ⚠ Nothing was changed."
DIFF_FILE = "changes.diff"
FILES_SHOWN = 8
CLAIMS_SHOWN = 8
UNCLEAR_SHOWN = 3
_VERDICTS = {"proven": "✔", "unproven": "◻ unproven:", "contradicted": "✖ **contradicted:**"}


def card(
    text: str, progress: Progress | None, differences: Sequence[Difference] = (), attempts: Sequence[str] = ()
) -> str:
    """Return the final answer with its sections; small talk is the answer alone. ``attempts`` is the text about further
    attempts.
    """
    return "\n\n".join(sections(text, progress, differences, attempts))


def sections(
    text: str, progress: Progress | None, differences: Sequence[Difference] = (), attempts: Sequence[str] = ()
) -> list[str]:
    """Return the same, each section apart."""
    if progress is None or progress.finished is None or progress.plain:
        return [kept_apart(text)]
    end = progress.finished
    parts = [_words(kept_apart(text.strip()), end)]
    if end.reason not in ("done", "stopped"):
        parts.insert(0, ending(end))
    parts += _changes(differences)
    parts += _claims(tuple(claim for claim in end.claims if claim.text != NOTHING_DONE.text))
    parts += ["\n".join(lines)] if (lines := [*_small(progress), *attempts]) else []
    return parts


def _words(text: str, end: Finished) -> str:
    """Return the answer; of a task that is not done, the model's last words are marked as a quotation."""
    if end.last_words:
        text = without_own_fields(text).strip()
    if not text:
        return "*(No answer was given.)*"
    if not end.last_words:
        return f"🛑 {text}" if end.reason == "stopped" else text
    quoted = "\n".join(f"> {line}" for line in text.splitlines())
    return f"{LAST_NOTE}\n{text if FENCE in text else quoted}"


def undoable(progress: Progress) -> bool:
    """Whether the changes can be undone with a button."""
    did = progress.changed or progress.offered
    return bool(did and progress.checkpoint and not progress.checkpoint_problem and not progress.side)


def wakes(progress: Progress) -> bool:
    """Whether the agent goes on by itself later; after a stop it does not."""
    return progress.wake is not None and progress.finished is not None and progress.finished.reason != "stopped"


def _changes(differences: Sequence[Difference]) -> list[str]:
    if not differences:
        return []
    lines = ["**What I changed**", *(f"- {change_line(each)}" for each in differences[:FILES_SHOWN])]
    if len(differences) > FILES_SHOWN:
        lines.append(f"-# … and {len(differences) - FILES_SHOWN} more files")
    diff = inline_diff(differences)
    return ["\n".join([*lines, diff] if diff else lines)]


def _claims(claims: Sequence[Claim]) -> list[str]:
    if not claims:
        return []
    if all(claim.text in UNCLAIMED for claim in claims):
        return [NO_EVIDENCE]
    lines = ["**How I know**", *map(_claim, claims[:CLAIMS_SHOWN])]
    if len(claims) > CLAIMS_SHOWN:
        lines.append(f"-# … and {len(claims) - CLAIMS_SHOWN} more claims")
    return ["\n".join(lines)]


def _claim(claim: Claim) -> str:
    evidence = ""
    if claim.command:
        ended = "" if claim.exit_code is None else f" → exit {claim.exit_code}"
        evidence = f" — {inline(claim.command)}{ended}"
    elif claim.file:
        seal = f" · sha256 {plain(claim.sha[:8])}" if claim.sha else ""
        evidence = f" — {inline(claim.file)}{seal}"
    note = f" ({plain(claim.note)})" if claim.note and evidence else ""
    text = plain(claim.text, 300)
    return f"{_VERDICTS[claim.verdict]} {text.rstrip('.') if evidence else text}{evidence}{note}"


def _listed(calls: Sequence[str]) -> str:
    """List calls without repetition, the first ones by name."""
    once = tuple(dict.fromkeys(calls))
    more = f" and {len(once) - UNCLEAR_SHOWN} more" if len(once) > UNCLEAR_SHOWN else ""
    return ", ".join(inline(call, 100) for call in once[:UNCLEAR_SHOWN]) + more


def _small(progress: Progress) -> list[str]:
    end = progress.finished
    lines = [NOT_CHANGED] if end is not None and end.unchanged and end.reason == "done" else []
    if progress.wake is not None and wakes(progress):
        at = int(progress.wake.at.timestamp())
        lines.append(f"⏰ Wakes <t:{at}:f> (<t:{at}:R>): {plain(progress.wake.why, 300)}")
    back = tuple(what for what in progress.denied if what in progress.put_back)
    if denied := tuple(what for what in progress.denied if what not in back):
        lines.append(f"-# ⊘ Denied, did not run: {_listed(denied)}")
    if back:
        lines.append(f"-# ⊘ Denied afterwards: {_listed(back)}. It had destroyed files; I restored them.")
    if refused := refused_hosts(progress):
        lines.append(refused)
    if progress.unclear:
        lines.append(
            f"-# ❔ Outcome unknown: {_listed(progress.unclear)}. I was interrupted there and didn't repeat it."
        )
    if progress.changed and progress.checkpoint_problem:
        lines.append(f"-# Can't be undone: {plain(progress.checkpoint_problem)}")
    if progress.cut_off:
        lines.append(f"-# changed by a step that was cut off: {names(progress.cut_off)}")
    if progress.estimated:
        requests = "1 request" if progress.estimated == 1 else f"{progress.estimated} requests"
        lines.append(f"-# Cost estimated: the provider didn't report usage for {requests}.")
    return [*lines, *used_lines(progress.lessons, progress.withheld)]
