"""A local Discord with a person in it, a local forge and a scripted endpoint: what `doctor --live` is tried against here."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from bot.cli.checks.discord_token import NEEDED
from bot.config.settings import Settings, read_settings
from bot.local_discord import LocalGuild, Message
from bot.local_discord.model.permission_flags import Permission
from bot.local_forge.local_forge import LocalForge

REPOSITORY = "ada/trials"
WRITTEN, EDITED = "a message of a person", "an edit of a person"
Part = Literal["press", "react", "write", "edit"]
PARTS: tuple[Part, ...] = ("press", "react", "write", "edit")
MODELS = {
    "/messages": "anthropic/claude-haiku-4-5",
    "/chat/completions": "openai/gpt-4.1-mini",
}
"""A model for each protocol that the endpoint speaks."""


@dataclass(frozen=True, slots=True)
class StandIns:
    """All three, and the settings of a process that has them for the real ones."""

    guild: LocalGuild
    forge: LocalForge
    endpoint: ScriptedEndpoint
    settings: dict[str, str]

    def read(self) -> Settings:
        """The settings; the environment has to hold them."""
        return read_settings()


def answered(request: CapturedRequest) -> Reply:
    """The call of the tool that the trial asks for."""
    return Reply("I call it.", calls=(("report", {"word": "threadwright"}),))


@asynccontextmanager
async def stand_ins(
    folder: Path, *, kind: str = "github", models: Collection[str] = tuple(MODELS.values()), sandbox: str = "bubblewrap"
) -> AsyncGenerator[StandIns]:
    """Start them; a process with these settings takes them for real."""
    async with (
        await LocalGuild.start() as guild,
        LocalForge(folder / "forge") as forge,
        ScriptedEndpoint.start(answered) as endpoint,
    ):
        forge.create(REPOSITORY, {"README.md": "# Trials\n"})
        settings = (endpoint.environment() | {"THREADWRIGHT_TIER_2": ",".join(models)} if models else {}) | {
            "THREADWRIGHT_HOME": str(folder / "home"),
            "DISCORD_TOKEN": guild.bot_token,
            "THREADWRIGHT_DISCORD_API": guild.rest_base,
            "THREADWRIGHT_FORGES": f"{forge.web}=TRIAL_FORGE_TOKEN:{kind}",
            "TRIAL_FORGE_TOKEN": forge.token,
            "THREADWRIGHT_SANDBOX": sandbox,
        }
        (folder / "home").mkdir(mode=0o700, exist_ok=True)
        yield StandIns(guild, forge, endpoint, settings)


def with_eight_permissions(guild: LocalGuild) -> None:
    """Let the bot do what the invite link asks for, and nothing else."""
    guild.change_role(guild.bot.roles[0], Permission(sum(each.bit for each in NEEDED.values())))


def set_up(settings: dict[str, str]) -> pytest.MonkeyPatch:
    """Give these settings to this process; ``undo`` takes them back."""
    patch = pytest.MonkeyPatch()
    for name, value in settings.items():
        patch.setenv(name, value)
    return patch


async def person(guild: LocalGuild, does: Collection[Part] = PARTS) -> None:
    """Do what the thread asks for, as soon as it is asked for."""
    for part, words in zip(PARTS, ("Press 👍", "React with 🛑", "Write any", "edit that"), strict=True):
        await guild.wait_for(lambda g, words=words: _asked(g, words) is not None, timeout=300.0)
        if part not in does:
            continue
        said = guild.messages(guild.threads()[0].id)
        if part == "press":
            card = next(each for each in said if _button(each))
            await guild.click(card.id, _button(card))
        elif part == "react":
            running = next(each for each in said if "runs in a sandbox" in each.content)
            await guild.react(running.id, "🛑")
        elif part == "write":
            await guild.post(guild.threads()[0].id, WRITTEN)
        else:
            await guild.edit(next(each.id for each in said if each.content == WRITTEN), EDITED)


def _asked(guild: LocalGuild, words: str) -> Message | None:
    said = guild.messages(guild.threads()[0].id) if guild.threads() else []
    return next((each for each in said if each.content.startswith("👉") and words in each.content), None)


def _button(message: Message) -> str:
    """The id of a card's 👍."""
    found: list[str] = []

    def look(component: dict[str, Any]) -> None:
        if str(component.get("custom_id", "")).startswith("tw:vote:up:"):
            found.append(component["custom_id"])
        for inside in component.get("components", ()):
            look(inside)

    for each in message.components:
        look(each)  # pyright: ignore[reportArgumentType]
    return found[0] if found else ""
