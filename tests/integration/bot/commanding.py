"""Using commands over the local guild: what somebody types, and the one message that answers it."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from agentic.core.events.execution_events import (
    CheckpointSaved,
    Confidence,
    ConfidenceParts,
    Escalated,
    Event,
    ModelAnswered,
    ModelRequested,
    Noted,
    OutboxItem,
    Policy,
    TextBlock,
    Tier,
    TurnEnded,
    Usage,
)
from agentic.ports.runtime import Saved
from agentic.sandbox.backends.bubblewrap import Bubblewrap
from agentic.sandbox.pool import Choice, Sandboxes
from agentic.workspace.snapshots.snapshot_store import Snapshots
from bot.app.services import Backstage
from bot.equipment.equipment import Equipment, RulePlace
from bot.equipment.skill_folder import read_skill
from bot.equipment.skill_store import HOME, SkillStore
from bot.equipment.thread_skills import ThreadSkills
from bot.local_discord.local_discord import LocalGuild
from bot.local_discord.model.records import Message, MessageFlag
from bot.workspace.folders import Workspaces
from bot.workspace.sandboxes import Workshop
from reflexion.lessons.fact import Fact, FactScope, FactSource
from reflexion.lessons.lesson import Lesson, Scope
from reflexion.stores.sqlite import SQLiteLessonStore
from tests.integration.bot.talking import SECONDS, Scenery, running_bot
from tests.stores import fresh_lessons


@dataclass
class Desk:
    """A guild with a bot whose commands are registered, and somebody who uses them."""

    scenery: Scenery
    lessons: SQLiteLessonStore
    folder: Path

    @property
    def guild(self) -> LocalGuild:
        return self.scenery.guild

    async def slash(
        self, channel: int, name: str, options: Mapping[str, object] | None = None, author: str | None = None,
        form: str | None = None,
    ) -> Message:  # fmt: skip
        """Use a slash command; its one answer, once it stands.  A form is sent as it comes, or with ``form`` as its text."""
        id = await self.guild.slash(channel, name, dict(options or {}), author=author)  # type: ignore[arg-type]
        answered = await self.guild.wait_for(
            lambda here: here.interaction(id).modal or self.answered(here, channel, id, author), SECONDS
        )
        if not isinstance(answered, Message):
            (label,) = answered["components"]  # type: ignore[misc]
            field = label["component"]  # type: ignore[index, call-overload]
            id = await self.guild.submit(id, {field["custom_id"]: form or field["value"]})  # type: ignore[index, call-overload]
        return await self.guild.wait_for(lambda here: self.answered(here, channel, id, author), SECONDS)

    def answered(self, guild: LocalGuild, channel: int, id: str, author: str | None) -> Message | None:
        """The answer to an interaction, once it stands."""
        original = guild.interaction(id).original_id
        shown = next((m for m in guild.messages(channel, viewer=author) if m.id == original), None)
        return shown if shown is not None and not shown.flags & MessageFlag.LOADING else None

    async def write(self, channel: int, text: str, author: str | None = None) -> Message:
        """Write a command with its prefix; the first message of the bot after it."""
        said = await self.guild.post(channel, text, author=author)
        return await self.guild.wait_for(
            lambda here: next(
                (m for m in here.messages(channel) if m.author_id == here.bot_user_id and m.id > said.id), None
            ),
            SECONDS,
        )

    async def proposes(self, channel: int, name: str, option: str, typed: str = "", **more: object) -> list[str]:
        """The values that are proposed."""
        found = await self.guild.autocomplete(channel, name, option, typed, **more)  # type: ignore[arg-type]
        return [str(choice.value) for choice in found]

    def put(self, thread: int, name: str, text: str) -> None:
        """A file in the workspace of a thread."""
        path = self.folder / "workspaces" / str(thread) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o666)
        path.parent.chmod(0o777)

    async def worked(self, text: str = "fix the tests", **more: object) -> int:
        """A thread with an execution that left something of every sort behind, and has ended."""
        thread = await self.scenery.mention(text, **more)
        execution = self.scenery.talk.newest(thread)
        workshop = self.scenery.bot.backstage.workshop
        saved = await workshop.save(str(thread)) if workshop is not None else Saved()
        await self.scenery.talk.add(execution, *history(saved.manifest or "abcdef0123456789"))
        await self.scenery.talk.finish(execution, confidence=72)
        await self.scenery.until_delivered()
        return thread


def words(message: Message) -> str:
    """All that a message says."""
    return f"{message.content}\n{message.embeds or ''}"


def history(manifest: str = "abcdef0123456789") -> list[Event]:
    """Two turns with a cost, a note, a checkpoint and an escalation."""
    parts = ConfidenceParts(self_report=70, tool_ok=1, same_error=0, tests=0.5, progress=1, corrections=0)
    events: list[Event] = [Noted(text="The tests need Python 3.11")]
    for turn, shown in ((1, 80), (2, 25)):
        asked = ModelRequested(request=f"r{turn}", turn=turn, tier=2, model="anthropic/claude-haiku-4-5")
        said = ModelAnswered(
            request=f"r{turn}", blocks=(TextBlock(text="I look"),), usage=Usage(input=100, output=20), usd=0.25
        )
        events += [asked, said, TurnEnded(turn=turn, confidence=Confidence(shown=shown, heuristic=shown, parts=parts))]
    events.append(CheckpointSaved(manifest=manifest, through_seq=3))
    events.append(Escalated(from_tier=2, to_tier=3, trigger="the same error 3 times"))
    return events


def fact(guild: str, id: str) -> Fact:
    """A fact that waits for a person."""
    at = datetime.now(UTC)
    source = FactSource(call="c", execution="x", thread="1", turn=2, asked_by="7", read=("a page",), at=at)
    return Fact(
        id=id, scope=FactScope(guild=guild), text=f"Machine {id[-1]} is red.", status="waiting", note="its task read a page",
        sources=(source,), created=at,
    )  # fmt: skip


def lesson(guild: str, id: str = "l0123456789a", **more: object) -> Lesson:
    """A lesson that waits for a person."""
    made = {
        "id": id, "scope": Scope(kind="guild", guild=guild), "kind": "pitfall", "trigger": "pytest finds no module",
        "action": "install the project first", "evidence": ("ModuleNotFoundError: shop",), "status": "quarantined",
        "created": datetime.now(UTC), **more,
    }  # fmt: skip
    return Lesson.model_validate(made)


POLICY = Policy(
    tiers=(
        Tier(number=1, models=("acme/tiny",)),
        Tier(number=2, models=("acme/small", "acme/other")),
        Tier(number=3, models=("acme/large", "acme/unpriced")),
    ),
    prices={"acme/tiny": (0.1, 0.4), "acme/small": (1.0, 5.0), "acme/other": (0.5, 2.0), "acme/large": (15.0, 75.0)},
)


@asynccontextmanager
async def desk(guild: LocalGuild, **options: object) -> AsyncIterator[Desk]:
    """The bot with lessons and real workspaces behind it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        lessons = fresh_lessons()

        async def choice() -> Choice:
            return Choice(Bubblewrap(folder / "state"), "asked for")

        sandboxes = Sandboxes(folder / "state", choice)
        kept = Snapshots(folder / "checkpoints")
        workshop = Workshop(sandboxes, Workspaces(folder / "workspaces"), _nothing, snapshots=kept)
        try:
            skills = ThreadSkills(SkillStore(folder / "home"), workshop, _untold)
            behind = Backstage(lessons, workshop, POLICY, skills=skills, equipment=Equipment(folder))
            async with running_bot(guild, backstage=behind, **options) as scenery:
                await scenery.until(lambda: scenery.bot.registration.done.is_set())
                yield Desk(scenery, lessons, folder)
        finally:
            await asyncio.shield(sandboxes.close())


async def equip(one: Desk) -> None:
    """A role, a rule, a skill that is approved and one that is not."""
    equipment, server = one.scenery.bot.backstage.equipment, str(one.guild.guild_id)
    assert equipment is not None
    await equipment.put_role(server, "---\nname: poet\ntools: [read]\n---\nYou write verse.")
    await equipment.put_rule(RulePlace(guild=server), "guild", "---\nname: tone\n---\nWrite plainly.")
    for number, name in enumerate(("release-notes", "tests")):
        folder = one.folder / "home/skills" / name
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: How it is done here.\n---\nSo.\n")
        if number:
            SkillStore(one.folder / "home").approve(HOME, read_skill(folder), datetime.now(UTC))


async def _untold(item: OutboxItem) -> None:
    raise AssertionError(item)


async def _nothing(address: str, most: int) -> bytes:
    raise OSError(address)
