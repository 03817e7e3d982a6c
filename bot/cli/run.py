"""`threadwright run`: run the bot on Discord if there is a token, else in a local guild, until Ctrl-C or SIGTERM."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import os
import signal
from collections.abc import Generator, Sequence
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO
from urllib.parse import urlsplit

from agentic.stores.factory import inspect_store
from bot.cli.console import (
    NO_WALLS,
    fail,
    note,
    say,
)
from bot.config.home import own, usable, why_unusable
from bot.config.settings import Settings

if TYPE_CHECKING:
    from agentic.ports.maintenance import StoreFinding
    from bot.app.app import App
    from bot.local_discord import LocalGuild


MOVE = "Set THREADWRIGHT_HOME to another folder."
PEOPLE = ("operator", "executor", "viewer")
"""Who is in a local guild besides its owner; each is called by what they may do."""
TABLE_WITHIN = 5.0
"""Seconds that the table of components waits for the models."""


class AlreadyRunning(Exception):
    """Another process uses this home; the message says which and what to do."""


async def run(settings: Settings) -> int:
    """Start everything, say where to chat, and end cleanly."""
    try:
        with only_one(settings.home) as lock:
            return await _run(settings, lock)
    except AlreadyRunning as running:
        return fail(str(running))


async def _run(settings: Settings, lock: TextIO) -> int:
    from bot.app.app import App, AppHome
    from bot.app.discord_connection import CannotConnect

    if settings.sandbox == "host":
        say(NO_WALLS)
    if settings.aws_place is not None:
        wrong = [each for each in await inspect_store(settings.aws_place) if each.verdict == "wrong"]
        if wrong:
            return fail(_not_on_aws(wrong))
    stopped = asyncio.Event()
    with _stop_signals(stopped):
        async with AsyncExitStack() as stack:
            guild = None
            if settings.discord_token is None:
                import apsw

                from bot.config.models import NO_MODEL, has_model
                from bot.local_discord import LocalGuild, UnusableFolder

                try:
                    notice = "" if has_model(settings, os.environ) else NO_MODEL
                    opened = await LocalGuild.start(
                        port=settings.guild_port, state=settings.home / "guild", notice=notice
                    )
                except (UnusableFolder, apsw.Error) as error:
                    return fail(_not_usable(settings, error))
                except OSError as error:
                    return fail(_not_opened(settings, error))
                guild = await stack.enter_async_context(opened)
                settings = with_people(guild, settings)
                lock.write(f"{urlsplit(guild.url).port}\n")  # `threadwright page` reads it
                lock.flush()
            app = await stack.enter_async_context(App.open(settings, AppHome(settings.home), guild=guild))
            unsound: list[str] = []
            try:
                await app.online()
                _greet(app)
                app.beside("soundness", _end_if_damaged(settings, unsound, stopped))
                app.beside("table", _show_components(app))
                await app.until(stopped)
            except CannotConnect as error:
                return fail(str(error))
            if unsound:
                return fail(f"{unsound[0]}. Stopping here, so that nothing gets worse.")
            note("Stopping. Running tasks continue after the next start.")
    return 0


def _not_on_aws(wrong: Sequence[StoreFinding]) -> str:
    """Say why nothing can be kept on AWS like this, a line for each part."""
    lines = [f"- {' '.join(filter(None, (each.part, each.name)))}: {each.said}" for each in wrong]
    return "\n".join(("Nothing can be kept on AWS like this (THREADWRIGHT_STORE=aws):", *lines))


def with_people(guild: LocalGuild, settings: Settings) -> Settings:
    """Add a person of each level to a local guild that lacks them; returns the settings in which their roles count.

    So approvals can be tried on the page before anybody else is there.
    """
    roles = {role.name: role.id for role in guild.state.roles.values()}
    names = {member.name for member in guild.state.members.values()}
    for name in PEOPLE:
        if name != "executor" and name not in roles:
            roles[name] = guild.add_role(name).id
        if name not in names:
            guild.add_member(name, (roles[name],) if name in roles else ())
    operators, viewers = (*settings.operators, str(roles["operator"])), (*settings.viewers, str(roles["viewer"]))
    return settings.model_copy(update={"operators": operators, "viewers": viewers})


def _not_usable(settings: Settings, error: Exception) -> str:
    """Say why the store cannot be used; a full disk is no reason to move a good file away."""
    import apsw

    if isinstance(error.__cause__ or error, apsw.FullError):
        return f"The disk of {settings.home} is full. Make room, or set THREADWRIGHT_HOME to another folder."
    if isinstance(error, apsw.Error):
        return f"The local server cannot be opened: {settings.home / 'guild'} cannot be used ({error}). Move it away."
    return f"The local server cannot be opened: {error}"


def _not_opened(settings: Settings, error: OSError) -> str:
    """Say why the local guild cannot be opened: its folder (with a path) or its port (without)."""
    if error.filename is not None:
        return f"{error.filename} cannot be used: {why_unusable(settings.home / 'guild', error)}. {MOVE}"
    if error.errno == errno.EADDRINUSE:
        why = "is taken"
    elif error.errno in (errno.EACCES, errno.EPERM):
        why = "may not be used by you"
    else:
        why = f"cannot be listened on ({os.strerror(error.errno or 0)})"
    return (
        f"Port {settings.guild_port} {why}. Set THREADWRIGHT_GUILD_PORT to another one, or to 0 for any that is free."
    )


async def _end_if_damaged(settings: Settings, unsound: list[str], stopped: asyncio.Event) -> None:
    """End the process if a database's pages turn out to be damaged."""
    from bot.cli.integrity import troubles

    if settings.store != "sqlite":
        return
    found = await asyncio.to_thread(troubles, settings.home, thoroughly=False)
    if stopping := [trouble for trouble in found if trouble.stops]:
        unsound.append(f"{settings.home / stopping[0].file} is damaged: {stopping[0].what}. {stopping[0].todo}")
        stopped.set()


async def _show_components(app: App) -> None:
    """Print the table of components after the address, so that nobody has to wait for it before chatting."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(TABLE_WITHIN):
            await app.warmed.wait()
    from bot.cli import doctor

    choice = await app.workshop.choice()
    address = app.guild.url if app.guild is not None else ""
    kept = await doctor.stores(app.settings)
    asked = await doctor.models(app.settings)
    components = (
        doctor.guild(app.settings, address), *kept, doctor.sandbox_component(choice, app.settings.sandbox),
        *asked, *doctor.library_components(app.library), *doctor.webhook_components(app.settings, app.deaf),
        *await doctor.events(app.settings),
    )  # fmt: skip
    doctor.show(components)


def _greet(app: App) -> None:
    """Say where to chat."""
    if app.guild is not None:
        say(f"Open {app.guild.link()} and write: @{app.guild.bot.name} and what to do. Ctrl-C ends it.")
    else:
        say(f"{app.bot.user} is online. Mention it in a channel. Ctrl-C ends it.")


@contextmanager
def only_one(home: Path) -> Generator[TextIO]:
    """Lock the home for this process; the lock ends with the process, however that ends."""
    own(home)
    with usable(home):
        lock = (home / "run.lock").open("a+")
    with lock as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AlreadyRunning(_who_runs(home, file)) from None
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield file


def _who_runs(home: Path, lock: TextIO) -> str:
    """Say which process runs already: two bots of one name would answer everything twice."""
    lock.seek(0)
    pid = lock.read(20).partition("\n")[0]
    which = f" (process {pid})" if pid.isdecimal() else ""
    stop = f"Stop it first (kill {pid})" if which else "Stop it first"
    return f"Threadwright already runs on {home}{which}. {stop}, or set THREADWRIGHT_HOME to another folder."


@contextmanager
def _stop_signals(stopped: asyncio.Event) -> Generator[None]:
    """End in order at the first Ctrl-C or SIGTERM, at once at the second, as a crash would: everything that matters is
    durable.
    """
    loop = asyncio.get_running_loop()

    def ask(signal_number: int) -> None:
        if stopped.is_set():
            os._exit(128 + signal_number)
        stopped.set()

    for signal_number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(signal_number, ask, signal_number)
    try:
        yield
    finally:
        for signal_number in (signal.SIGINT, signal.SIGTERM):
            with contextlib.suppress(ValueError):
                loop.remove_signal_handler(signal_number)
