"""The message about a pull request: where it is, and how its checks stand; kept true while it is open."""

from __future__ import annotations

from agentic.core.events.execution_events import OutboxItem
from agentic.ports.runtime import OutboxRow, Store
from bot.messages.question_text import Standing
from bot.outbound.discord_api import DiscordApi
from bot.outbound.live.live_message import LiveMessages, View
from bot.rendering.discord_text import Rendered, inline, plain
from bot.workspace.pull_requests import ATTEMPTS, PullRow, PullRows

FACT = "pulls.unshown"
NAMES_SHOWN = 6


async def pull_of(store: Store, item: OutboxItem) -> Rendered:
    """The message of an outbox item of sort ``pull``, as it is to be shown now."""
    rows = PullRows(store)
    await rows.carded(item.question, item.key)
    row = await rows.of(item.question)
    return Rendered((pull_message(row) if row is not None else f"🔀 **{plain(item.text, 200)}**",))


def pull_message(row: PullRow) -> str:
    """What is open, and how it stands."""
    commits = f"{row.commits} commit{'' if row.commits == 1 else 's'}"
    files = f"{row.files} file{'' if row.files == 1 else 's'}"
    return "\n".join((
        f"🔀 **Pull request {row.number}: {plain(row.title, 200)}**",
        f"<{row.url}>",
        f"{inline(row.branch)} into {inline(row.base)} of {inline(row.repository)} · {commits} · {files}",
        _state(row),
    ))  # fmt: skip


def _state(row: PullRow) -> str:
    if row.state == "merged":
        return "🟣 Merged."
    if row.state == "closed":
        return "⚪ Closed without merging."
    if row.trouble:
        return f"⚠️ {plain(row.trouble, 300)}"
    if row.colour == "none":
        return "-# No checks yet. I watch it and say when something changes."
    if row.colour == "green":
        return f"✅ All checks passed: {_names(row, 'passed')}"
    if row.colour == "running":
        failed = f" · ❌ {_names(row, 'failed')}" if "failed" in row.checks.values() else ""
        return f"⏳ Running: {_names(row, 'running')}{failed}{_attempt(row)}"
    return f"❌ Failed: {_names(row, 'failed')}{_attempt(row)}"


def _attempt(row: PullRow) -> str:
    """Which attempt to mend it this is, '' before the first."""
    if row.told.endswith(":given up"):
        return f" · still red after {ATTEMPTS} attempts, so I stopped"
    return f" · attempt {row.attempts} of {ATTEMPTS} to fix it" if row.attempts else ""


def _names(row: PullRow, state: str) -> str:
    names = [name for name, each in row.checks.items() if each == state]
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return ", ".join(inline(name, 40) for name in names[:NAMES_SHOWN]) + more


class PullMessages:
    """Keeps the messages true: whoever learns something tells it, ``run`` shows it."""

    def __init__(self, store: Store) -> None:
        self._rows = PullRows(store)
        self.live = LiveMessages("pull", store, self, FACT)

    async def changed(self, key: str) -> None:
        """A pull request stands otherwise than its messages say."""
        for card in await self._rows.cards(key):
            await self.live.expect(card)
            self.live.changed(card)

    async def run(self, desk: DiscordApi) -> None:
        """Show what changed, until cancelled."""
        await self.live.run(desk)

    async def view(self, row: OutboxRow) -> View:
        """What a message says now."""
        known = await self._rows.of(row.item.question)
        content = pull_message(known) if known is not None else row.item.text
        return View(content, Standing(way="decided"))

    async def settled(self, item: OutboxItem, view: View) -> None:
        """Nothing is kept of what was shown."""
