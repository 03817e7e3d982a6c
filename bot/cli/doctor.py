"""Check every component: which adapter is in use and why, what is missing, and what to do about it.

`threadwright doctor` checks all of them; `threadwright run` shows the same table at its start.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from agentic.ports.errors import StoreError
from agentic.stores.factory import store_maintenance
from bot.cli.console import say
from bot.cli.integrity import troubles
from bot.config.home import (
    CHECKPOINTS,
    DATABASE,
    SANDBOXES,
    TASKS,
    not_ours,
    why_unusable,
    wide,
)
from bot.config.settings import Settings

if TYPE_CHECKING:
    from agentic.models.tier_config import TierChoice
    from agentic.sandbox.pool import Choice

State = Literal["ok", "limited", "missing"]
"""missing: it cannot run like this; limited: it runs, and less is possible."""
MB = 1_000_000
FOLDERS = (("checkpoints", CHECKPOINTS), ("workspaces", "workspaces"), ("single tasks", TASKS))
LEAST_FREE = 500_000_000
LEAST_TO_START = 10_000_000
LIBRARY_SECONDS = 60.0
SHOWN_WORDS = 200
BY_WORDS = "found by words"


@dataclass(frozen=True, slots=True)
class Component:
    """One part of the system, with its adapter."""

    name: str
    adapter: str
    state: State
    why: str
    todo: str = ""


async def doctor(settings: Settings, *, as_json: bool) -> int:
    """Print every component; 0 if Threadwright can run."""
    components = await examine(settings)
    can_run = all(component.state != "missing" for component in components)
    if as_json:
        say(json.dumps({"can_run": can_run, "components": [asdict(c) for c in components]}, indent=2))
    else:
        show(components)
        say("It can run: threadwright run" if can_run else "It cannot run like this; see what is marked missing.")
    return 0 if can_run else 1


async def examine(settings: Settings) -> tuple[Component, ...]:
    """Check all components, side by side."""
    stored, walls, tiers, loaded, places, learned = await asyncio.gather(
        asyncio.to_thread(store, settings, thoroughly=True),
        sandbox(settings),
        models(settings),
        libraries(settings),
        discord(settings),
        lessons(settings),
    )
    hosts = await repositories(settings)
    much = await asyncio.to_thread(kept, settings)
    return (
        python(),
        guild(settings),
        *roles(settings),
        *places,
        *hosts,
        *private(settings),
        stored,
        *([much] if much else []),
        walls,
        *tiers,
        *loaded,
        learned,
    )


def show(components: Sequence[Component]) -> None:
    """A table of the components."""
    from rich.console import Console
    from rich.table import Table

    signs = {"ok": "✔", "limited": "!", "missing": "✘"}
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for title in ("", "component", "in use", "why", "what to do"):
        table.add_column(title, overflow="fold")
    for component in components:
        table.add_row(signs[component.state], component.name, component.adapter, component.why, component.todo)
    width = None if sys.stdout.isatty() else 150
    Console(file=sys.stdout, highlight=False, markup=False, width=width).print(table)


async def sandbox(settings: Settings) -> Component:
    """Check where commands run; each backend is really tried."""
    import tempfile

    from agentic.sandbox.backends.selection import choose, left_behind

    with tempfile.TemporaryDirectory(prefix="threadwright-doctor-", ignore_cleanup_errors=True) as folder:
        choice = await choose(settings.sandbox, Path(folder), image=settings.sandbox_image)
        if choice.rung is not None:
            await choice.rung.close()
            left = await left_behind(choice.name, settings.home / SANDBOXES, image=settings.sandbox_image)
            choice = replace(choice, left=left)
    return sandbox_component(choice, settings.sandbox)


def sandbox_component(choice: Choice, setting: str = "auto") -> Component:
    """Show the chosen backend, and why better ones are not available."""
    if choice.rung is None:
        return Component("sandbox", "none", "limited", choice.why, _walls_todo(setting))
    if choice.left:
        why = f"of an earlier start {len(choice.left)} could not be ended: {choice.left[0][:SHOWN_WORDS]}"
        return Component("sandbox", choice.name, "limited", why, "end it by hand, or start the machine anew")
    if choice.name == "host":
        return Component("sandbox", "host", "limited", choice.why, "set THREADWRIGHT_SANDBOX=auto for walls")
    skipped = "".join(f"; {_first_words(reason)}" for reason in choice.skipped)
    memory = f"memory is {choice.rung.memory}"
    return Component("sandbox", choice.name, "ok", f"a command really ran in it; {memory}{skipped}")


def _walls_todo(setting: str) -> str:
    """Say how to get a sandbox; another backend is named only if it is available and the setting alone forbids it."""
    talk = "until then the agent can only talk"
    if setting == "docker" and shutil.which("bwrap"):
        return f"set THREADWRIGHT_SANDBOX=auto, since bubblewrap is installed, or start Docker; {talk}"
    if setting == "docker":
        return f"start Docker; {talk}"
    if setting == "bubblewrap":
        return f"install bubblewrap, or set THREADWRIGHT_SANDBOX=auto; {talk}"
    return f"start Docker, or install bubblewrap; {talk}"


def _first_words(reason: str) -> str:
    """Shorten why a backend was skipped, without the system's own words and without advice."""
    return ": ".join(reason.split(". ")[0].split(": ")[:2])


async def models(settings: Settings) -> tuple[Component, ...]:
    """Check the tiers: what was chosen, each doubt about it, and whether there is an Ollama to offer."""
    from agentic.models.ollama import find_ollama
    from agentic.models.tier_config import tiers_from
    from bot.config.models import prices_from

    choice = tiers_from(settings.tiers, os.environ, prices_from(settings))
    rows = [*model_components(choice), *await servers(choice)]
    if choice.source == "tour" and (found := await find_ollama(env=os.environ)) is not None:
        rows.append(Component("models", "Ollama", "limited", "found, not in use", found.offer()))
    return tuple(rows)


async def servers(choice: TierChoice) -> tuple[Component, ...]:
    """Check the model servers whose address is configured: each is asked which models it has."""
    from agentic.models.providers.server_check import look
    from agentic.models.tier_config import providers_of

    named = {problem.setting for problem in choice.problems}
    found = await asyncio.gather(
        *(look(provider, os.environ, models) for provider, models in providers_of(choice.tiers).items())
    )
    return tuple(
        Component("models", wrong.variable, "limited", wrong.said, wrong.instead)
        for wrong in found
        if wrong is not None and wrong.variable not in named
    )


def model_components(choice: TierChoice) -> Iterator[Component]:
    """Show what was chosen, a row a tier."""
    if choice.source == "tour":
        todo = "set ANTHROPIC_API_KEY, OPENAI_API_KEY or another provider's key, or THREADWRIGHT_TIER_2"
        yield Component("models", "scripted tour", "limited", "no model is configured", todo)
    else:
        for tier in choice.tiers:
            troubled = any(
                problem.fatal and problem.setting.endswith(f"TIER_{tier.number}") for problem in choice.problems
            )
            why = "it cannot be asked; see below" if troubled else choice.told
            yield Component(f"tier {tier.number}", ", ".join(tier.models), "missing" if troubled else "ok", why)
    for problem in choice.problems:
        state: State = "missing" if problem.fatal else "limited"
        yield Component("models", problem.setting, state, problem.said, problem.instead)


def library_components(problem: str) -> Iterator[Component]:
    """Show the models' library, where it cannot be loaded."""
    if problem:
        said, _, todo = problem.partition(". ")
        yield Component("models", "library", "missing", said, todo)


async def libraries(settings: Settings) -> tuple[Component, ...]:
    """Load the models' libraries, each in a process of its own, so that a broken one breaks only that."""
    from agentic.models.providers.provider_errors import broken
    from agentic.models.router import library_of
    from agentic.models.tier_config import tiers_from
    from bot.config.models import prices_from

    prices = prices_from(settings)
    needed = {library_of(name, prices) for name in tiers_from(settings.tiers, os.environ, prices).models}
    found: list[Component] = []
    for library in sorted(library for library in needed if library is not None):
        said = await _loaded(library)
        found += library_components(str(broken(library, ImportError(said)))) if said else ()
    return tuple(found)


async def _loaded(library: str) -> str:
    """Return '' where a library can be loaded, else the last line of its error."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-c", f"import {library}",  # -P: not what a folder that one is in calls so
        env={**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_MODE": "PRODUCTION"},
        stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        async with asyncio.timeout(LIBRARY_SECONDS):
            _, said = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        return f"it was not loaded within {LIBRARY_SECONDS:g} s"
    lines = said.decode(errors="replace").strip().splitlines() or ["it ended without a word"]
    return lines[-1] if process.returncode else ""


async def lessons(settings: Settings) -> Component:
    """Check what finds lessons for a task: their words and, where that extra is enabled and really runs, their meaning."""
    from reflexion.errors import EmbeddingUnavailable
    from reflexion.retrieval.embedding import embedder

    model = embedder("auto")
    if settings.embeddings == "off":
        there = "semantic search is installed, not in use" if model else "semantic search is not installed"
        todo = f"to find them by meaning too, {'' if model else '`make embeddings`, and '}leave THREADWRIGHT_EMBEDDINGS out"
        return Component("lessons", BY_WORDS, "ok", f"THREADWRIGHT_EMBEDDINGS=off; {there}", todo)
    if model is None:
        todo = "`make embeddings` (45 MB) finds them by meaning too: for a task in other words"
        return Component("lessons", BY_WORDS, "ok", "semantic search is not installed", todo)
    try:
        async with asyncio.timeout(LIBRARY_SECONDS):
            await model.embed(["the tests pass"])
    except (EmbeddingUnavailable, TimeoutError) as error:
        why = " ".join(str(error).split()) or f"it did not answer within {LIBRARY_SECONDS:g} s"
        todo = "`make embeddings` installs it anew; THREADWRIGHT_EMBEDDINGS=off leaves it alone"
        return Component("lessons", BY_WORDS, "limited", f"semantic search is installed and does not run: {why}", todo)
    return Component(
        "lessons", "found by words and by meaning", "ok", f"the extra is installed; {model.name} really ran"
    )


def python() -> Component:
    """The interpreter."""
    version = ".".join(str(part) for part in sys.version_info[:3])
    if (3, 11) <= sys.version_info < (3, 14):
        return Component("python", version, "ok", "3.11 to 3.13 are supported")
    return Component("python", version, "missing", "not a supported version", "use Python 3.11, 3.12 or 3.13")


def private(settings: Settings) -> Iterator[Component]:
    """Check whether other users can reach the home, or the settings in it."""
    from bot.cli.setup.env_file import is_private
    from bot.config.settings_sources import ENV_FILE

    home = settings.home
    if not home.is_dir():
        pass  # the row of the store says why
    elif wrong := not_ours(home):
        yield Component("home", str(home), "missing", wrong, "set THREADWRIGHT_HOME to a folder of your own")
    elif wide(home):
        yield Component("home", str(home), "limited", "other users of this machine reach it", f"chmod 700 {home}")
    else:
        yield Component("home", str(home), "ok", "nobody else on this machine reaches it")
    for file in dict.fromkeys((home / ENV_FILE, settings.env_file)):
        if file is not None and file.is_file():
            alone = is_private(file)
            why = "you alone can read it" if alone else "other users can read the keys in it"
            yield Component(
                "settings", str(file), "ok" if alone else "limited", why, "" if alone else f"chmod 600 {file}"
            )


def guild(settings: Settings, address: str = "") -> Component:
    """Show where people can chat."""
    if settings.discord_token is not None:
        return Component("guild", "Discord", "ok", "DISCORD_TOKEN is set")
    where = address or (
        f"127.0.0.1:{settings.guild_port}"
        if settings.guild_port
        else "127.0.0.1, the port of the last start or a free one"
    )
    return Component("guild", f"local guild, {where}", "ok", "no DISCORD_TOKEN; needs no account")


async def discord(settings: Settings) -> tuple[Component, ...]:
    """Check the token with Discord: the intent, and the bot's permissions in each server, as `setup` does."""
    if settings.discord_token is None:
        return ()
    from bot.cli.checks import discord_token

    checked = await discord_token.check(settings.discord_token.get_secret_value(), settings.discord_api)
    states: dict[discord_token.Verdict, State] = {
        "ok": "ok",
        "warning": "limited",
        "wrong": "missing",
        "unknown": "limited",
    }
    rows = [Component("Discord", each.name, states[each.verdict], each.said, each.todo) for each in checked.findings]
    if checked.invite and any(each.verdict != "ok" for each in checked.findings):
        rows.append(
            Component("Discord", "invite link", "ok", "for one more server, or with missing rights", checked.invite)
        )
    return tuple(rows)


async def repositories(settings: Settings) -> tuple[Component, ...]:
    """Check the hosts of repositories; nothing where none is set."""
    from bot.cli.checks import forge_token

    states: dict[str, State] = {"ok": "ok", "wrong": "limited", "unknown": "limited"}
    found = await forge_token.check(settings.forge_hosts, os.environ)
    return tuple(Component("repositories", each.host, states[each.verdict], each.said, each.todo) for each in found)


def roles(settings: Settings) -> tuple[Component, ...]:
    """Check roles that are configured by name; nothing where each is an id."""
    from bot.access.permissions import named_roles

    names = ", ".join(named_roles(settings.levels))
    if not names:
        return ()
    todo = "set their ids: in Discord, Server Settings, Roles, Copy Role ID (developer mode)"
    return (Component("roles", names, "limited", "set by name, and others can take a name", todo),)


def store(settings: Settings, *, thoroughly: bool = False) -> Component:
    """Check the store; with ``thoroughly``, each row against its checksum."""
    if settings.store == "memory":
        return Component("store", "memory", "limited", "THREADWRIGHT_STORE=memory", "everything is lost at the end")
    path = settings.home / DATABASE
    try:
        settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        free = shutil.disk_usage(settings.home).free
        writable = os.access(settings.home, os.W_OK)
    except OSError as error:
        todo = "set THREADWRIGHT_HOME to another folder"
        return Component("store", f"SQLite, {path}", "missing", why_unusable(settings.home, error), todo)
    if not writable:
        todo = "make it writable, or set THREADWRIGHT_HOME to another folder"
        return Component("store", f"SQLite, {path}", "missing", "the folder cannot be written to", todo)
    for trouble in troubles(settings.home, thoroughly=thoroughly):
        state: State = "missing" if trouble.stops else "limited"
        return Component("store", f"SQLite, {settings.home / trouble.file}", state, trouble.what, trouble.todo)
    if free < LEAST_FREE:
        state = "missing" if free < LEAST_TO_START else "limited"
        return Component("store", f"SQLite, {path}", state, f"{free // 1_000_000} MB are free", "make room")
    return Component("store", f"SQLite, {path}", "ok", f"durable; {free // 1_000_000_000} GB are free")


def kept(settings: Settings) -> Component | None:
    """Show how much is stored, since when, and for how long; None where nothing is stored yet, or it cannot be read."""
    path = settings.home / DATABASE
    if settings.store == "memory" or not path.is_file():
        return None
    try:
        there = store_maintenance(path).kept()
    except StoreError:
        return None  # the row above says what is wrong
    sizes = [f"{name} {_megabytes(_size(settings.home / folder))}" for name, folder in FOLDERS]
    since = f", the oldest from {there.oldest:%Y-%m-%d}" if there.oldest else ""
    logs = "1 log" if there.executions == 1 else f"{there.executions:,} logs"
    free = f" ({_megabytes(there.free)} of it free for what comes)" if there.free > MB else ""
    how_long = (
        f"logs go {settings.retention_days} days after a task ended" if settings.retention_days else "nothing expires"
    )
    why = (
        f"{logs} with {there.events:,} events{since}; {there.open} open; store {_megabytes(there.bytes)}{free}, "
        f"{', '.join(sizes)}; {how_long}"
    )
    return Component("kept", _megabytes(there.bytes), "ok", why, "THREADWRIGHT_RETENTION_DAYS changes how long")


def _megabytes(size: int) -> str:
    return f"{size / MB:,.1f} MB" if size < 10 * MB else f"{size // MB:,} MB"


def _size(folder: Path) -> int:
    """Return the bytes of the files in a folder; a file with several names counts once."""
    sizes: dict[tuple[int, int], int] = {}
    for root, _, names in os.walk(folder):
        for name in names:
            try:
                status = os.lstat(os.path.join(root, name))  # noqa: PTH118  # many files
            except OSError:
                continue
            sizes[status.st_dev, status.st_ino] = status.st_blocks * 512
    return sum(sizes.values())
