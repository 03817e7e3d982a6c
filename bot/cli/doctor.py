"""Check every component: which adapter is in use and why, what is missing, and what to do about it.

`threadwright doctor` checks all of them; `threadwright run` shows the same table at its start.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from agentic.extras import PACKAGES, MissingExtra, missing
from agentic.ports.errors import StoreError
from agentic.stores.factory import inspect_store, open_store, store_maintenance
from bot.cli.console import say
from bot.cli.integrity import troubles
from bot.config.home import (
    CHECKPOINTS,
    CODE_INDEX,
    DATABASE,
    SANDBOXES,
    TASKS,
    not_ours,
    why_unusable,
    wide,
)
from bot.config.settings import OFF, Settings
from bot.console.access.console_address import ConsoleAddress

if TYPE_CHECKING:
    from agentic.core.events.execution_events import Tier
    from agentic.models.providers.server_check import Finding
    from agentic.models.tier_config import TierChoice
    from agentic.ports.maintenance import StoreFinding
    from agentic.sandbox.pool import Choice
    from bot.after_run.webhook_server import CannotListen
    from bot.cli.checks.model_access import Answer

State = Literal["ok", "limited", "missing", "unknown"]
"""missing: it cannot run like this; limited: it runs, and less is possible; unknown: it could not be tried."""
SIGNS: Mapping[State, str] = {"ok": "✔", "limited": "!", "missing": "✘", "unknown": "?"}
LEGEND = "✔ works   ! works in part   ✘ has to be fixed   ? could not be checked"
PIPED_WIDTH = 80
"""Columns where nobody's terminal says how wide it is."""
MB = 1_000_000
FOLDERS = (("checkpoints", CHECKPOINTS), ("workspaces", "workspaces"), ("single tasks", TASKS))
LEAST_FREE = 500_000_000
LEAST_TO_START = 10_000_000
LIBRARY_SECONDS = 60.0
SHOWN_WORDS = 200
BACKENDS = {"docker": "Docker"}
"""Backends by the names that people know."""
BY_WORDS = "found by words"
WAITING = timedelta(minutes=1)
"""Events that wait for longer are told of."""


@dataclass(frozen=True, slots=True)
class Component:
    """One part of the system, with its adapter."""

    name: str
    adapter: str
    state: State
    why: str
    todo: str = ""


async def doctor(settings: Settings, *, as_json: bool, search: bool = False) -> int:
    """Print every component; 0 if Threadwright can run."""
    components = await examine(settings, search=search)
    can_run = all(component.state != "missing" for component in components)
    if as_json:
        say(json.dumps({"can_run": can_run, "components": [asdict(c) for c in components]}, indent=2))
    else:
        show(components)
        say("Ready. Start it: threadwright run" if can_run else "Not ready: fix what is marked ✘, then check again.")
    return 0 if can_run else 1


async def examine(settings: Settings, *, search: bool = False) -> tuple[Component, ...]:
    """Check all components, side by side; ``search``: public search engines too."""
    stored, walls, tiers, loaded, places, learned = await asyncio.gather(
        stores(settings, thoroughly=True),
        sandbox(settings),
        models(settings),
        libraries(settings),
        discord(settings),
        lessons(settings),
    )
    hosts = (*await repositories(settings), *await webhooks(settings), *await events(settings))
    code = await asyncio.to_thread(code_search, settings, learned.adapter)
    servers, web = await mcp_servers(settings), await web_search(settings, asks=search)
    much = await asyncio.to_thread(kept, settings)
    equipped = (*await asyncio.to_thread(equipment, settings), *await asyncio.to_thread(skills, settings))
    return (
        python(),
        *([guild(settings)] if settings.discord_token is None else []),
        console(settings),
        *roles(settings),
        *extras(os.environ),
        *places,
        *hosts,
        *private(settings),
        *stored,
        *([much] if much else []),
        walls,
        *servers,
        *watchers(settings),
        *equipped,
        *tiers,
        *loaded,
        learned,
        code,
        web,
    )


def show(components: Sequence[Component]) -> None:
    """Print a line for each component, below it what to do, and what the signs mean unless all is well."""
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    for overflow in ("ellipsis", "ellipsis", "fold"):
        table.add_column(overflow=overflow)
    for component in components:
        lines = [": ".join(part for part in (component.adapter, component.why) if part)]
        lines += [f"→ {component.todo}"] if component.todo else []
        table.add_row(SIGNS[component.state], component.name, "\n".join(lines))
    width = None if sys.stdout.isatty() else PIPED_WIDTH
    console = Console(file=sys.stdout, highlight=False, markup=False, width=width)
    with console.capture() as drawn:
        console.print(table)
    say("\n".join(line.rstrip() for line in drawn.get().rstrip("\n").split("\n")))
    if any(component.state != "ok" for component in components):
        say(LEGEND)


async def sandbox(settings: Settings) -> Component:
    """Check where commands run; each backend is really tried."""
    import tempfile

    from agentic.sandbox.backends.selection import choose, left_behind

    # In the home, where it can be: an engine in a container sees that folder alone of what this process sees.
    home = settings.home if os.access(settings.home, os.W_OK | os.X_OK) else None
    with tempfile.TemporaryDirectory(prefix=".doctor-", dir=home, ignore_cleanup_errors=True) as folder:
        choice = await choose(settings.sandbox, Path(folder), image=settings.sandbox_image)
        if choice.rung is not None:
            await choice.rung.close()
            left = await left_behind(choice.name, settings.home / SANDBOXES, image=settings.sandbox_image)
            choice = replace(choice, left=left)
    return sandbox_component(choice, settings.sandbox)


def sandbox_component(choice: Choice, setting: str = "auto") -> Component:
    """Show the chosen backend, and why better ones are not available."""
    if choice.rung is None:
        return Component("sandbox", "none", "limited", choice.why, _walls_todo(choice, setting))
    if choice.left:
        why = f"{len(choice.left)} from an earlier start could not be ended: {choice.left[0][:SHOWN_WORDS]}"
        return Component("sandbox", choice.name, "limited", why, "end it by hand, or restart the machine")
    if choice.name == "host":
        return Component(
            "sandbox", "host", "limited", choice.why, "set THREADWRIGHT_SANDBOX=auto to run commands in a sandbox"
        )
    better = [BACKENDS.get(name, name) for name in (reason.partition(":")[0] for reason in choice.skipped)]
    skipped = f" ({' and '.join(better)} not found; not needed)" if better else ""
    memory = f"memory is {choice.rung.memory}"
    network = "commands reach only hosts that an owner allows"
    return Component("sandbox", choice.rung.said, "ok", f"works{skipped}; {memory}; {network}")


def _walls_todo(choice: Choice, setting: str) -> str:
    """Say how to get a sandbox: what mends the one that was tried last, else Docker where the setting allows that."""
    mend = choice.todo or "start Docker"
    docker = "" if "start Docker" in mend else "; or start Docker"
    if docker and setting == "bubblewrap":
        docker += " and set THREADWRIGHT_SANDBOX=auto"
    return f"{mend}{docker}; until then the agent can only talk"


async def models(settings: Settings) -> tuple[Component, ...]:
    """Check the tiers and their providers: each is asked which models it has; offers an Ollama where no model is set."""
    from agentic.models.ollama import find_ollama
    from agentic.models.tier_config import tiers_from
    from bot.cli.checks.model_access import ask_all
    from bot.config.models import prices_from

    choice = tiers_from(settings.tiers, os.environ, prices_from(settings))
    answers = await ask_all(choice.tiers, os.environ)
    rows = [*provider_components(choice, answers), *model_components(choice, answers)]
    if choice.source == "tour" and (found := await find_ollama(env=os.environ)) is not None:
        rows.append(Component("models", "Ollama", "limited", "found, not in use", found.offer()))
    return tuple(rows)


def provider_components(choice: TierChoice, answers: Mapping[str, Answer]) -> Iterator[Component]:
    """Show what each provider answered, once where two names stand for it; a refused key is a ✘ where no other answers."""
    from agentic.models.providers.catalogue import BY_NAME
    from agentic.models.providers.server_check import Finding, flaw
    from bot.cli.checks.model_access import said

    others = any(not isinstance(answer, Finding) for answer in answers.values())
    named = {problem.setting for problem in choice.problems}
    shown: set[str] = set()
    for name, answer in answers.items():
        provider = BY_NAME[name]
        if provider.title in shown or ((wrong := flaw(provider, os.environ)) is not None and wrong.variable in named):
            continue
        shown.add(provider.title)
        state: State = "ok"
        if isinstance(answer, Finding):
            state = (
                "unknown" if answer.kind == "unknown" else "limited" if others or answer.kind == "wrong" else "missing"
            )
        answered = said(provider, answer, os.environ).removeprefix(f"{provider.title} ")
        yield Component("provider", provider.title, state, answered, _advice(answer))


def _advice(answer: Answer) -> str:
    """Say what to change, with the variable's name."""
    from agentic.models.providers.server_check import Finding

    if not isinstance(answer, Finding) or not answer.instead:
        return ""
    return f"{answer.variable}: {answer.instead}" if answer.variable else answer.instead


def model_components(choice: TierChoice, answers: Mapping[str, Answer]) -> Iterator[Component]:
    """Show what was chosen, a row a tier; a tier is ✔ only where its models' providers list them."""
    if choice.source == "tour":
        todo = "run `threadwright setup`, or set a provider's key, such as ANTHROPIC_API_KEY"
        yield Component("models", "scripted tour", "limited", "no model is configured", todo)
    else:
        for tier in choice.tiers:
            yield _tier_component(tier, choice, answers)
    for problem in choice.problems:
        state: State = "missing" if problem.fatal else "limited"
        yield Component("models", problem.setting, state, problem.said, problem.instead)


def _tier_component(tier: Tier, choice: TierChoice, answers: Mapping[str, Answer]) -> Component:
    from agentic.models.providers.catalogue import provider_of
    from bot.cli.checks.model_access import doubt

    name, models = f"tier {tier.number}", ", ".join(tier.models)
    if any(problem.fatal and problem.setting.endswith(f"TIER_{tier.number}") for problem in choice.problems):
        return Component(name, models, "missing", "it can't be used; see below")
    doubts: list[Finding] = []
    for model in tier.models:
        provider = provider_of(model)
        found = doubt(provider, answers.get(provider.name) if provider else None, os.environ, model)
        doubts += [found] if found is not None else []
    if not doubts:
        return Component(name, models, "ok", choice.told)
    if len(doubts) == len(tier.models) and all(each.kind == "refused" for each in doubts):
        return Component(name, models, "missing", doubts[0].said)
    if all(each.kind == "unknown" for each in doubts):
        return Component(name, models, "unknown", f"not checked, {doubts[0].said}")
    wrong = next(each for each in doubts if each.kind != "unknown")
    todo = f"THREADWRIGHT_TIER_{tier.number}: {wrong.instead}" if wrong.kind == "wrong" else ""
    return Component(name, models, "limited", wrong.said, todo)


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
    if missing("providers") is not None:
        needed.discard("litellm")  # the row of its model says so
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
        return f"it was not loaded within {LIBRARY_SECONDS:g} s"
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    lines = said.decode(errors="replace").strip().splitlines() or ["it ended without a message"]
    return lines[-1] if process.returncode else ""


async def lessons(settings: Settings) -> Component:
    """Check what finds lessons for a task: their words and, where that extra is enabled and really runs, their meaning."""
    from agentic.ports.errors import EmbeddingUnavailable
    from reflexion.retrieval.embedding import embedder

    model, lacks = embedder("auto"), missing("embeddings")
    if settings.embeddings == "off":
        there = "semantic search is installed, not in use" if model else "semantic search is not installed"
        todo = f"for search by meaning, {f'{lacks.command}, and ' if lacks else ''}remove THREADWRIGHT_EMBEDDINGS"
        return Component("lessons", BY_WORDS, "ok", f"turned off by THREADWRIGHT_EMBEDDINGS=off; {there}", todo)
    if lacks is not None or model is None:
        todo = f"to find them by meaning too: {MissingExtra('embeddings').command} (45 MB)"
        return Component("lessons", BY_WORDS, "ok", "semantic search is not installed", todo)
    try:
        async with asyncio.timeout(LIBRARY_SECONDS):
            await model.embed(["the tests pass"])
    except (EmbeddingUnavailable, TimeoutError) as error:
        why = " ".join(str(error).split()) or f"it did not answer within {LIBRARY_SECONDS:g} s"
        todo = f"install it anew ({MissingExtra('embeddings').command}), or set THREADWRIGHT_EMBEDDINGS=off"
        return Component("lessons", BY_WORDS, "limited", f"semantic search is installed but does not work: {why}", todo)
    return Component("lessons", "found by words and by meaning", "ok", f"semantic search works ({model.name})")


def code_search(settings: Settings, found: str) -> Component:
    """Check what finds code for an agent: as lessons are ``found``, and along the syntax of files where that can be read."""
    from agentic.code_index.syntax_reader import SyntaxReader
    from agentic.models.providers.provider_errors import INSTALL_ANEW

    if settings.code_search == "off":
        todo = "to let agents search the code of a workspace, remove THREADWRIGHT_CODE_SEARCH"
        return Component("code search", "off", "ok", "turned off by THREADWRIGHT_CODE_SEARCH=off", todo)
    reader = SyntaxReader()
    try:
        read = [name for chunk in reader.chunks("trial.py", b"def trial():\n    pass\n") for name in chunk.names]
    finally:
        reader.close()
    if not read:
        why = "the syntax of files cannot be read, so they are cut by lines"
        return Component("code search", found, "limited", why, INSTALL_ANEW)
    folder = settings.home / CODE_INDEX
    count = sum(1 for _ in folder.glob("*.sqlite"))
    much = f"{count} workspace{'' if count == 1 else 's'} indexed, {_megabytes(_size(folder))}"
    why = much if count else "no workspace was searched yet"
    if (lacks := missing("code")) is not None:
        why = f"{why}; of Python and shell along their syntax, of other languages by lines: {lacks.said}"
        return Component("code search", found, "ok", why, f"for the other languages: {lacks.command}")
    return Component("code search", found, "ok", why)


def extras(env: Mapping[str, str]) -> Iterator[Component]:
    """Show which extras are installed; and that traces are wanted, where what sends them is not."""
    from bot.telemetry.reporting import wanted

    lacking = {name for name in PACKAGES if missing(name) is not None}
    there = ", ".join(sorted(PACKAGES.keys() - lacking)) or "none"
    why = f"not installed, and not needed for a task: {', '.join(sorted(lacking))}" if lacking else "all are installed"
    yield Component("extras", there, "ok", why)
    if "otel" in lacking and wanted(env):
        lacks = MissingExtra("otel")
        yield Component(
            "traces", "OpenTelemetry", "limited", f"none are sent: {lacks.said}", f"add it: {lacks.command}"
        )


def python() -> Component:
    """The interpreter."""
    version = ".".join(str(part) for part in sys.version_info[:3])
    if (3, 11) <= sys.version_info < (3, 15):
        return Component("python", version, "ok", "supported")
    return Component("python", version, "missing", "not supported", "use Python 3.11 to 3.14")


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
        yield Component("home", str(home), "limited", "other users of this machine can open it", f"chmod 700 {home}")
    else:
        yield Component("home", str(home), "ok", "only you can open it")
    for file in dict.fromkeys((home / ENV_FILE, settings.env_file)):
        if file is not None and file.is_file():
            alone = is_private(file)
            why = "only you can read it" if alone else "other users can read the keys in it"
            yield Component(
                "settings", str(file), "ok" if alone else "limited", why, "" if alone else f"chmod 600 {file}"
            )


def guild(settings: Settings, address: str = "", *, joined: bool = False) -> Component:
    """Show where people can chat; ``joined``: in what a gateway on the same home opened."""
    if joined:
        return Component("guild", "local server of the gateway", "ok", "`threadwright page` prints a link to it")
    if settings.discord_token is not None:
        return Component("guild", "Discord", "ok", "DISCORD_TOKEN is set")
    where = f" at {address}" if address else f" on port {settings.guild_port}" if settings.guild_port else ""
    return Component("guild", f"local server{where}", "ok", "your own Discord on this machine, no account needed")


def console(settings: Settings, address: str = "", trouble: str = "") -> Component:
    """Show where a browser sees what tasks thought, did and cost."""
    if settings.console_address is None:
        why = "THREADWRIGHT_CONSOLE is off" if settings.console == OFF else "THREADWRIGHT_STORE is memory"
        return Component("console", "none", "ok", why)
    if trouble:
        return Component("console", settings.console, "limited", trouble)
    discord = settings.discord_token and settings.discord_client_id and settings.discord_client_secret
    others = not ConsoleAddress(settings.console_address[0], 0, settings.console_url).local
    if not address and others and not settings.console_token and not discord:
        why = "others would reach it and could not sign in, so it does not start"
        return Component(
            "console", settings.console, "limited", why, "set THREADWRIGHT_CONSOLE_TOKEN (openssl rand -hex 32)"
        )
    where = address or settings.console_url or f"http://{settings.console}"
    return Component("console", where, "ok", "what tasks thought, did and cost, in a browser")


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
        "unknown": "unknown",
    }
    rows = [Component("Discord", each.name, states[each.verdict], each.said, each.todo) for each in checked.findings]
    if checked.invite and any(each.verdict != "ok" for each in checked.findings):
        rows.append(
            Component(
                "Discord", "invite link", "ok", "for another server, or to add missing permissions", checked.invite
            )
        )
    return tuple(rows)


async def repositories(settings: Settings) -> tuple[Component, ...]:
    """Check the hosts of repositories; nothing where none is set."""
    from bot.cli.checks import forge_token

    states: dict[str, State] = {"ok": "ok", "wrong": "limited", "unknown": "limited"}
    found = await forge_token.check(settings.forge_hosts, os.environ)
    return tuple(Component("repositories", each.host, states[each.verdict], each.said, each.todo) for each in found)


async def webhooks(settings: Settings) -> tuple[Component, ...]:
    """Try whether webhooks can be received; nothing where none are wanted."""
    from bot.cli.checks import webhook_port

    if settings.webhook_address is None:
        return ()
    trouble = await webhook_port.trouble(settings.webhook_address, has_secret=settings.webhook_secret is not None)
    return webhook_components(settings, trouble)


def webhook_components(settings: Settings, trouble: CannotListen | None) -> tuple[Component, ...]:
    """Show whether webhooks are received; nothing where none are wanted."""
    if not settings.webhooks:
        return ()
    if trouble is not None:
        return (Component("webhooks", settings.webhooks, "limited", str(trouble), trouble.todo),)
    return (
        Component("webhooks", settings.webhooks, "ok", "signed ones are received here; polling goes on beside them"),
    )


async def events(settings: Settings) -> tuple[Component, ...]:
    """Show where events go and whether any wait for long; the queue is asked whether it is there."""
    from bot.app.adapters import event_targets

    if settings.events_place is not None and (lacks := missing("aws")) is not None:
        return (Component("events", settings.aws_events_queue, "missing", lacks.said, f"add it: {lacks.command}"),)
    rows: list[Component] = []
    queue = settings.events_place if settings.aws_place is None else None
    found = await inspect_store(queue) if queue is not None else ()
    wrong = next((each.said for each in found if (each.part, each.verdict) == ("events", "wrong")), "")
    for target in event_targets(settings):
        where = f"{target.name} {target.place}"
        await target.close()
        looked_at = target.name == "queue" and settings.aws_place is not None  # among the parts of the store
        trouble = wrong if target.name == "queue" else ""
        since = await _waiting_since(settings, target.name)
        waited = datetime.now(UTC) - since if since is not None else timedelta()
        if trouble:
            rows.append(Component("events", where, "limited", trouble))
        elif since is not None and waited > WAITING:
            why = f"events wait since {since:%Y-%m-%d %H:%M} UTC"
            rows.append(
                Component("events", where, "limited", why, "start the bot; once they waited a minute its log says why")
            )
        elif not looked_at:
            rows.append(Component("events", where, "ok", "what happens in tasks is told there; nothing waits"))
    return tuple(rows)


async def _waiting_since(settings: Settings, target: str) -> datetime | None:
    """When the oldest event happened that waits; None for nothing, and where the row of the store says what is wrong."""
    path = settings.home / DATABASE
    try:
        if settings.aws_place is not None:
            store = open_store(settings.aws_place)
            try:
                waiting = await store.unpublished(target, 1)
            finally:
                await store.close()
            return waiting[0].envelope.at if waiting else None
        if settings.store == "sqlite" and path.is_file():
            return await asyncio.to_thread(store_maintenance(path).waiting_since, target)
    except StoreError:
        pass
    return None


async def web_search(settings: Settings, *, asks: bool) -> Component:
    """Say whether the web can be searched; ``asks``: public search engines are tried too."""
    from bot.cli.checks import search_access

    found = await search_access.check(settings, asks=asks)
    return Component("web search", found.engine, found.verdict, found.said[:SHOWN_WORDS], found.todo)


async def mcp_servers(settings: Settings) -> tuple[Component, ...]:
    """Look at the MCP servers of the owner's file; nothing where there is none."""
    from agentic.mcp_client.server_file import FILE

    if not (settings.home / FILE).exists():
        return ()
    from bot.cli.checks.mcp_access import servers_of
    from bot.rendering.unicode_safety import revealed

    async with servers_of(settings) as servers:
        if servers is None:
            return (Component("MCP", FILE, "limited", "it names no server", "name one, or delete the file"),)
        rows = [Component("MCP", FILE, "limited", problem) for problem in servers.problems]
        for seen in await servers.look():
            waits = servers.catalogue.waiting((seen.server,))
            if why := servers.signed_out(seen.server):
                rows.append(Component("MCP", seen.server, "limited", why, f"threadwright mcp login {seen.server}"))
            elif seen.problem:
                rows.append(Component("MCP", seen.server, "limited", revealed(seen.problem)[:SHOWN_WORDS]))
            elif waits:
                named = ", ".join(revealed(each.now.name) for each in waits[:5])
                why = f"{seen.tools} tools; {len(waits)} new or changed since you agreed: {named}"
                rows.append(Component("MCP", seen.server, "limited", why, "look at them: threadwright mcp"))
            else:
                rows.append(Component("MCP", seen.server, "ok", f"{seen.tools} tools (protocol {seen.protocol})"))
        if servers.catalogue.trouble:
            rows.append(Component("MCP", FILE, "limited", servers.catalogue.trouble))
        return tuple(rows)


def equipment(settings: Settings) -> tuple[Component, ...]:
    """Show the roles and rules that people wrote, and what is wrong with any; the shipped roles alone where there are none."""
    from agentic.prompts.roles import NAMES
    from bot.equipment.equipment import ROLES, RULES, Equipment
    from bot.rendering.unicode_safety import revealed

    try:
        found = Equipment(settings.home).survey()
    except OSError as error:
        why = f"they cannot be read: {error.strerror or type(error).__name__}"
        todo = f"make {settings.home / ROLES} and {settings.home / RULES} readable"
        return (Component("roles, rules", str(settings.home), "limited", why, todo),)
    rows = [
        Component("roles", f"{len(NAMES)} shipped, {len(found.roles)} of your own", "ok", ", ".join(found.roles)),
        Component("rules", f"{len(found.rules)} of your own", "ok", ", ".join(found.rules)),
    ]
    rows += [
        Component(each.path.partition("/")[0], revealed(each.path), "limited", revealed(each.what), "correct the file")
        for each in found.mistakes
    ]
    rows += [Component("roles, rules", "", "limited", revealed(trouble)) for trouble in found.troubles]
    return tuple(rows)


def watchers(settings: Settings) -> tuple[Component, ...]:
    """Show the watchers, and what is wrong with files of one's own; nothing where none of the latter are there."""
    from bot.equipment.watcher_files import FOLDER, WatcherFiles

    if not (settings.home / FOLDER).exists():
        return ()
    found = WatcherFiles(settings.home).read()
    names = ", ".join(f"{one.name}{' (own file)' if one.name in found.own else ''}" for one in found.watchers)
    todo = "correct the file; until then it isn't used"
    wrong = [Component("watchers", FOLDER, "limited", str(each), todo) for each in found.mistakes]
    return (Component("watchers", names, "ok", "an owner turns them on with /settings set name:watchers"), *wrong)


def skills(settings: Settings) -> tuple[Component, ...]:
    """Look at the skills of the home; nothing where there are none."""
    from bot.equipment.skill_store import FILE, SkillStore
    from bot.equipment.skill_text import MEANING
    from bot.rendering.unicode_safety import revealed

    store = SkillStore(settings.home)
    if store.trouble:
        return (Component("skills", FILE, "limited", store.trouble),)
    rows: list[Component] = []
    found = store.found_in_home()
    for one in found:
        if one.state == "unusable":
            rows.append(Component("skill", revealed(one.name), "limited", f"can't be used: {revealed(one.problem)}"))
        elif one.state != "approved":
            todo = f"look at it, and approve it: threadwright skills approve {one.name}"
            rows.append(Component("skill", one.name, "limited", MEANING[one.state], todo))
    approved = [one.name for one in found if one.state == "approved"]
    if approved:
        rows.append(Component("skills", ", ".join(approved[:20]), "ok", f"{len(approved)} approved and unchanged"))
    return tuple(rows)


def roles(settings: Settings) -> tuple[Component, ...]:
    """Check roles that are configured by name; nothing where each is an id."""
    from bot.access.permissions import named_roles

    names = ", ".join(named_roles(settings.levels))
    if not names:
        return ()
    todo = "set their ids: in Discord, Server Settings → Roles → Copy Role ID (with developer mode on)"
    return (Component("roles", names, "limited", "set by name; anybody could name a role like that", todo),)


async def stores(settings: Settings, *, thoroughly: bool = False) -> tuple[Component, ...]:
    """Check the store, part by part where it is on AWS; with ``thoroughly``, each row on the disk against its checksum."""
    if settings.aws_place is None:
        return (await asyncio.to_thread(store, settings, thoroughly=thoroughly),)
    if (lacks := missing("aws")) is not None:
        return (Component("store", "AWS", "missing", lacks.said, f"add it: {lacks.command}"),)
    return (
        await asyncio.to_thread(room, settings, "AWS", "many processes can work on it; caches are"),
        *aws_components(settings, await inspect_store(settings.aws_place)),
    )


def aws_components(settings: Settings, findings: Sequence[StoreFinding]) -> Iterator[Component]:
    """Show each part of a store on AWS, and what is not set."""
    states: Mapping[str, State] = {"ok": "ok", "limited": "limited", "wrong": "missing"}
    for each in findings:
        yield Component(each.part, each.name, states[each.verdict], each.said)
    if not settings.aws_doorbell_queue:
        todo = "set AGENTIC_DOORBELL_QUEUE_URL"
        why = "where there are several processes, each worker asks the table five times a second, which costs more"
        yield Component("queue", "none", "limited", why, todo)
    if not settings.aws_events_queue:
        yield Component("events", "none", "ok", "nobody outside is told what happens (AGENTIC_EVENTS_QUEUE_URL)")


def store(settings: Settings, *, thoroughly: bool = False) -> Component:
    """Check the store on this machine; with ``thoroughly``, each row against its checksum."""
    if settings.store == "memory":
        return Component(
            "store",
            "memory",
            "limited",
            "everything is lost when it stops",
            "remove THREADWRIGHT_STORE=memory to keep it",
        )
    there = room(settings, f"SQLite, {settings.home / DATABASE}", "saved")
    if there.state != "missing":
        for trouble in troubles(settings.home, thoroughly=thoroughly):
            state: State = "missing" if trouble.stops else "limited"
            return Component("store", f"SQLite, {settings.home / trouble.file}", state, trouble.what, trouble.todo)
    return there


def room(settings: Settings, adapter: str, what: str) -> Component:
    """Check whether the home can be written to, and how much room its disk has for ``what`` lies there."""
    try:
        settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        free = shutil.disk_usage(settings.home).free
        writable = os.access(settings.home, os.W_OK)
    except OSError as error:
        todo = "set THREADWRIGHT_HOME to another folder"
        return Component("store", adapter, "missing", why_unusable(settings.home, error), todo)
    if not writable:
        todo = "make it writable, or set THREADWRIGHT_HOME to another folder"
        return Component("store", adapter, "missing", "the folder is not writable", todo)
    if free < LEAST_FREE:
        state: State = "missing" if free < LEAST_TO_START else "limited"
        return Component("store", adapter, state, f"only {free // 1_000_000} MB free", "make room")
    return Component("store", adapter, "ok", f"{what} on disk; {free // 1_000_000_000} GB free")


def kept(settings: Settings) -> Component | None:
    """Show how much is stored, since when, and for how long; None where nothing is stored yet, or it cannot be read."""
    path = settings.home / DATABASE
    if settings.store != "sqlite" or not path.is_file():
        return None
    try:
        there = store_maintenance(path).kept()
    except StoreError:
        return None  # the row above says what is wrong
    sizes = [f"{name} {_megabytes(_size(settings.home / folder))}" for name, folder in FOLDERS]
    since = f", the oldest from {there.oldest:%Y-%m-%d}" if there.oldest else ""
    logs = "1 log" if there.executions == 1 else f"{there.executions:,} logs"
    free = f" ({_megabytes(there.free)} of it unused)" if there.free > MB else ""
    how_long = (
        f"logs are deleted {settings.retention_days} days after a task ends"
        if settings.retention_days
        else "nothing expires"
    )
    why = (
        f"{logs} with {there.events:,} events{since}; {there.open} open; store {_megabytes(there.bytes)}{free}, "
        f"{', '.join(sizes)}; {how_long}"
    )
    return Component("kept", _megabytes(there.bytes), "ok", why)


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
