"""`threadwright demo`: a repository with a failing test on a local forge, and the bot beside it on a local Discord.

So a clone, a fix, a pull request, a red check and a green one can be tried without an account. All of it is in a folder of
its own and begins anew with each start. Without a model a story plays, of which only the words are scripted.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from agentic.sandbox.folder_removal import remove_tree
from bot.cli.console import fail, say
from bot.cli.demo_story import CHECK, REPOSITORY, SHOP, TASK, story
from bot.cli.run import AlreadyRunning, only_one, run
from bot.config.models import has_model
from bot.config.settings import Settings
from bot.local_forge import LocalForge

if TYPE_CHECKING:
    from bot.app.app import App

HOME = "demo"
"""The demo's home below the usual one."""
TOKEN = "THREADWRIGHT_DEMO_FORGE_TOKEN"  # noqa: S105 - the name of a variable
STORY = "openai/scripted-story"
"""What stands where a model's name would: nobody is to take it for one."""
SCRIPTED = (
    "No model is configured, so a story plays: its words are scripted, all else is real. With a key such as ANTHROPIC_API_KEY "
    "a model does the work."
)


async def demo(settings: Settings) -> int:
    """Run the demo until Ctrl-C or SIGTERM."""
    home = settings.home / HOME
    try:
        with only_one(home):
            _empty(home)
    except AlreadyRunning as why:
        return fail(str(why))
    async with LocalForge(home / "forge") as forge, _answered(settings) as answered:
        forge.create(REPOSITORY, SHOP)
        forge.set_check("tests", CHECK)
        os.environ |= {TOKEN: forge.token, "THREADWRIGHT_STORE": "sqlite"}  # the console reads them too
        chosen = answered.model_copy(
            update={
                "home": home, "store": "sqlite", "guild_port": 0, "discord_token": None,
                "discord_api": Settings.model_fields["discord_api"].default, "health": "",
                "forges": (f"{forge.web}={TOKEN}:github",), "repositories": (), "forge_ssh_key": None,
                "pull_request_seconds": 1.0, "webhooks": "", "events_file": None, "events_webhook": "", "aws_events_queue": "",
            }
        )  # fmt: skip
        return await run(chosen, begun=partial(_begin, scripted=answered is not settings))


@asynccontextmanager
async def _answered(settings: Settings) -> AsyncGenerator[Settings]:
    """The settings with something that answers: the configured models, else the story."""
    if has_model(settings, os.environ):
        yield settings
        return
    from agentic.models.scripted.endpoint import ScriptedEndpoint

    async with ScriptedEndpoint.start(story) as endpoint:
        os.environ |= {"OPENAI_BASE_URL": f"{endpoint.url}/v1", "OPENAI_API_KEY": "opens-nothing-but-the-story"}
        yield settings.model_copy(
            update={
                "tier_1": (), "tier_2": (STORY,), "tier_3": (), "tier_4": (), "prices": (f"{STORY}=0/0",),
                "triage": "rules", "judge": "off",
            }
        )  # fmt: skip


async def _begin(app: App, *, scripted: bool) -> None:
    """Attach the repository to the channel, and say what to do."""
    repositories, guild = app.workshop.repositories, app.guild
    assert repositories is not None
    assert guild is not None
    remote = repositories.publisher.forges.read(REPOSITORY)
    await repositories.attach(str(guild.guild_id), "channel", str(guild.channel().id), remote, "")
    if scripted:
        say(SCRIPTED)
    say(
        f"Open {guild.link()} and write: @{guild.bot.name} {TASK}\n"
        f"It is in the repository {REPOSITORY}, which stands in {app.settings.home / 'forge'} and is attached to the channel. "
        "You'll see a pull request, its check turn red, and the fix that turns it green.\n"
        f"Everything is in {app.settings.home} and begins anew with the next start. Ctrl-C ends it."
    )


def _empty(home: Path) -> None:
    """Remove what an earlier demo left."""
    for each in home.iterdir():
        if each.is_dir() and not each.is_symlink():
            remove_tree(each)
        else:
            each.unlink()
