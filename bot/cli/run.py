"""`threadwright run`: run the bot on Discord if there is a token, else in a local guild, until Ctrl-C or SIGTERM.

`threadwright gateway` and `threadwright worker` do the same in several processes: one talks with Discord, the others work.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import json
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO
from urllib.parse import urlsplit

from pydantic import SecretStr

from agentic.stores.factory import inspect_store, open_store
from agentic.stores.process_identity import this_process
from bot.cli.console import (
    NO_WALLS,
    fail,
    note,
    say,
)
from bot.cli.stop_signals import stop_signals
from bot.config.home import own, usable, why_unusable
from bot.config.settings import Settings

if TYPE_CHECKING:
    from bot.app.app import App
    from bot.app.services import Roles
    from bot.local_discord import LocalGuild

    Begun = Callable[[App], Awaitable[None]]
    """What is done, and said, once the bot is online."""


MOVE = "Set THREADWRIGHT_HOME to another folder."
PEOPLE = ("operator", "executor", "viewer")
"""Who is in a local guild besides its owner; each is called by what they may do."""
TABLE_WITHIN = 20.0
"""Seconds that the table of components waits for the models and for the console's address."""


DOOR = "workers.json"
"""The file in a local guild's folder by which workers get in."""
NOT_SHARED = (
    "THREADWRIGHT_STORE is 'memory', which processes cannot share. Set it to 'sqlite', or use `threadwright run`."
)
NO_GATEWAY = (
    "There is no DISCORD_TOKEN, and no gateway runs on {home} whose local server this worker could join. Start "
    "`threadwright gateway` first."
)
WORKERS_THERE = (
    "`threadwright worker` already works on {home} (process {pids}). `threadwright run` does everything alone: stop the "
    "workers first (kill {kill}), or start `threadwright gateway` beside them."
)
STOPPING = "Stopping. Running tasks continue after the next start."
HANDING_OVER = "Stopping. Other workers continue what ran here, or this one after its next start."
LEAVING = "Stopping. Workers continue; what is said meanwhile is read after the next start."


class AlreadyRunning(Exception):
    """Another process uses this home; the message says which and what to do."""


class NoGateway(Exception):
    """A worker has no Discord to deliver to; the message says what to do."""


async def run(settings: Settings, *, talks: bool = True, works: bool = True, begun: Begun | None = None) -> int:
    """Start everything or a part of it, say where to chat (``begun`` instead, if given), and end cleanly."""
    from bot.app.services import Roles

    roles = Roles(talks, works)
    if not roles.alone and settings.store == "memory":
        return fail(NOT_SHARED)
    if refused := await _not_on_aws(settings):
        return fail(refused)
    from bot.app.sole_use import SharedWithOthers

    try:
        with only_one(settings.home) if roles.alone else one_of_several(settings.home, names=talks) as lock:
            async with _among_machines(settings, roles):
                return await _run(settings, lock, roles, begun)
    except (AlreadyRunning, NoGateway, SharedWithOthers) as why:
        return fail(str(why))


@asynccontextmanager
async def _among_machines(settings: Settings, roles: Roles) -> AsyncGenerator[None]:
    """What the lock of a home is on one machine, on a store of many: for a process that does everything it is one's alone."""
    from agentic.runtime.clock import SystemClock
    from bot.app.sole_use import sole_use

    if settings.aws_place is None:
        yield
        return
    store = open_store(settings.aws_place)
    try:
        async with sole_use(store, SystemClock(), this_process(), alone=roles.alone):
            yield
    finally:
        await store.close()


async def _run(settings: Settings, lock: TextIO, roles: Roles, begun: Begun | None) -> int:
    from bot.app.app import App, AppHome
    from bot.app.discord_connection import CannotConnect

    if settings.sandbox == "host":
        say(NO_WALLS)
    stopped = asyncio.Event()
    with stop_signals(stopped):
        async with AsyncExitStack() as stack:
            guild, joins = None, settings.discord_token is None and not roles.talks
            if joins:
                settings = at_the_gateway(settings)
            elif settings.discord_token is None:
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
                if not roles.alone:
                    stack.enter_context(_told_to_workers(guild, settings))
            place = AppHome(settings.home, roles=roles)
            app = await stack.enter_async_context(App.open(settings, place, guild=guild))
            unsound: list[str] = []
            try:
                if await app.online(stopped):
                    await (begun or _greet)(app)
                    app.begin_console()
                    app.beside("where to look", _tell_of_console(app))
                    app.beside("soundness", _end_if_damaged(settings, unsound, stopped))
                    if roles.works:
                        app.beside("table", _show_components(app, joined=joins))
                    await app.until(stopped)
            except CannotConnect as error:
                if joins and isinstance(error.__cause__, OSError):  # a gateway that was killed left its file behind
                    raise NoGateway(NO_GATEWAY.format(home=settings.home)) from error
                return fail(str(error))
            if unsound:
                return fail(f"{unsound[0]}. Stopping here, so that nothing gets worse.")
            note(STOPPING if roles.alone else HANDING_OVER if roles.works else LEAVING)
    return 0


async def _not_on_aws(settings: Settings) -> str:
    """Say why nothing can be kept on AWS like this, a line for each part; '' where it can, or is kept elsewhere."""
    found = await inspect_store(settings.aws_place) if settings.aws_place is not None else ()
    wrong = [each for each in found if each.verdict == "wrong"]
    lines = [f"- {' '.join(filter(None, (each.part, each.name)))}: {each.said}" for each in wrong]
    return "\n".join(("Nothing can be kept on AWS like this (THREADWRIGHT_STORE=aws):", *lines)) if wrong else ""


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


async def _show_components(app: App, *, joined: bool) -> None:
    """Print the table of components after the address, so that nobody has to wait for it before chatting."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(TABLE_WITHIN):
            await app.warmed.wait()
            if app.console is not None:
                await app.console.settled.wait()
    from bot.cli import doctor

    choice = await app.workshop.choice()
    address = app.guild.url if app.guild is not None else ""
    kept = await doctor.stores(app.settings)
    asked = await doctor.models(app.settings)
    components = (
        doctor.guild(app.settings, address, joined=joined),
        doctor.console(app.settings, app.bot.feed.links.url, app.console.trouble if app.console is not None else ""),
        *kept, doctor.sandbox_component(choice, app.settings.sandbox),
        *asked, *doctor.library_components(app.library), *doctor.webhook_components(app.settings, app.deaf),
        *await doctor.events(app.settings),
    )  # fmt: skip
    doctor.show(components)


async def _greet(app: App) -> None:
    """Say where to chat."""
    if not app.roles.talks:
        say("Working on what the gateway hears. Ctrl-C hands over and ends it.")
    elif app.guild is not None:
        say(f"Open {app.guild.link()} and write: @{app.guild.bot.name} and what to do. Ctrl-C ends it.")
    else:
        say(f"{app.bot.user} is online. Mention it in a channel. Ctrl-C ends it.")


async def _tell_of_console(app: App) -> None:
    """Say where to see what it does, once that is known."""
    if app.console is not None:
        await app.console.settled.wait()
        if url := app.bot.feed.links.url:
            say(f"What it thinks, does and costs is shown at {url}")


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


@contextmanager
def one_of_several(home: Path, *, names: bool) -> Generator[TextIO]:
    """Lock the home for this process and others that share it; not while a bot runs there alone.

    ``names``: it is this process that is named to others.
    """
    own(home)
    with usable(home):
        lock = (home / "run.lock").open("a+")
    with lock as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AlreadyRunning(_who_runs(home, file)) from None
        if names:
            file.truncate(0)
            file.write(f"{os.getpid()}\n")
            file.flush()
        yield file


@contextmanager
def _told_to_workers(guild: LocalGuild, settings: Settings) -> Generator[None]:
    """Keep in a file of the home how workers get into this local guild, while it is open."""
    told = settings.home / "guild" / DOOR
    keys = {"api": guild.rest_base, "token": guild.bot_token}
    roles = {"operators": settings.operators, "viewers": settings.viewers}
    new = told.with_suffix(".new")
    new.write_text(json.dumps(keys | roles), encoding="utf-8")
    new.chmod(0o600)
    new.replace(told)
    try:
        yield
    finally:
        told.unlink(missing_ok=True)


def at_the_gateway(settings: Settings) -> Settings:
    """The settings by which a worker gets into the local guild of the gateway on this home. Raises ``NoGateway``."""
    try:
        told = json.loads((settings.home / "guild" / DOOR).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise NoGateway(NO_GATEWAY.format(home=settings.home)) from error
    return settings.model_copy(
        update={
            "discord_api": str(told["api"]),
            "discord_token": SecretStr(str(told["token"])),
            "operators": tuple(told["operators"]),
            "viewers": tuple(told["viewers"]),
        }
    )


def _who_runs(home: Path, lock: TextIO) -> str:
    """Say which process runs already: two bots of one name would answer everything twice."""
    lock.seek(0)
    pid, others = lock.read(20).partition("\n")[0], _lock_holders(lock)
    if (
        others and pid not in others
    ):  # it is of one that ended: what is there now are workers, which name themselves nowhere
        return WORKERS_THERE.format(home=home, pids=", ".join(others), kill=" ".join(others))
    which = f" (process {pid})" if pid.isdecimal() else ""
    stop = f"Stop it first (kill {pid})" if which else "Stop it first"
    return f"Threadwright already runs on {home}{which}. {stop}, or set THREADWRIGHT_HOME to another folder."


def _lock_holders(lock: TextIO) -> tuple[str, ...]:
    """The processes that hold a file's lock; none where the system does not tell.

    A line of /proc/locks: ``1: FLOCK  ADVISORY  READ 4711 fe:01:1835 0 EOF``.
    """
    try:
        lines = Path("/proc/locks").read_text(encoding="ascii").splitlines()
    except OSError:
        return ()
    there = os.fstat(lock.fileno())
    place = f"{os.major(there.st_dev):02x}:{os.minor(there.st_dev):02x}:{there.st_ino}"
    found = [line.split() for line in lines]
    held = [f for f in found if len(f) == 8 and f[1] == "FLOCK" and f[5] == place]
    return tuple(dict.fromkeys(f[4] for f in held if f[4].isdecimal() and f[4] != "0"))
