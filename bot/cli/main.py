"""`threadwright setup | run | demo | gateway | worker | page | console | task | health | doctor | logs | top | mcp | skills |
search | replay | calibration | costs | lessons | backup | export | import`.

Exit codes: 0 done, 1 failed, 2 waiting for a person, 3 stopped, 4 not verified because other rules decided it, 64 a
mistake in the command line or the settings, or a task without a model. Nothing heavy is imported before a command is
known: from the process's start to the bot's first sign of life is a promise (1.5 s), and `--help` should not wait for
a web server.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import sys
from collections.abc import Coroutine, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from bot.cli.console import (
    fail,
    nobody_reads,
    note,
    open_standard_streams,
    say,
)
from bot.cli.life_line import LifeLine
from bot.cli.stop_signals import heed_interrupts

if TYPE_CHECKING:
    from bot.config.settings import Settings
    from bot.config.settings_sources import Sources

STOPPED = 3
"""The exit code of a task that was stopped, also before it began."""
MISTAKEN = 64
"""``EX_USAGE`` of sysexits.h: nothing was begun."""
INTERRUPTED = 130
UNREAD = 141
"""The exit code of a program that SIGPIPE ended."""

NOT_READ = (
    "{file} was not read, because settings in a working folder may be somebody else's. If they are yours, pass "
    "--env-file {file} or move it to {home}."
)

ON_AWS = (
    "`threadwright backup` copies what lies on this machine, and with THREADWRIGHT_STORE=aws tasks and lessons lie in AWS. "
    "There, the table's recovery to a point in time and the bucket's versions keep them; `threadwright export` writes a task."
)

log = logging.getLogger(__name__)


def main(argv: Sequence[str] | None = None) -> None:
    """The console script; ends the process with the command's exit code."""
    open_standard_streams()
    wanted = parser().parse_args(argv)
    heed_interrupts(termination=wanted.command == "task")
    sys.exit(_ended(wanted))


def perform(argv: Sequence[str] | None = None) -> int:
    """Read the command line and the settings, carry out the command, return its exit code."""
    return _ended(parser().parse_args(argv))


def _ended(wanted: argparse.Namespace) -> int:
    try:
        with private_files(), LifeLine() as life:
            if wanted.command == "task":
                life.now("Starting", printed=True)
            return _performed(wanted, life)
    except KeyboardInterrupt:
        return STOPPED if wanted.command == "task" else INTERRUPTED


def _performed(wanted: argparse.Namespace, life: LifeLine) -> int:
    if wanted.command == "setup":  # it also repairs settings that cannot be used, so they are not read before
        return _setup(wanted)
    from agentic.ports.errors import AgenticError, StoreCorrupt
    from bot.config.home import HomeUnusable
    from bot.config.log_format import log_to_standard_error
    from bot.config.settings import SettingsMistaken, honour_provider_variables, settings_from
    from bot.config.settings_sources import gather

    try:
        sources = gather(getattr(wanted, "env_file", None), os.environ)
        if getattr(wanted, "channel", None) is None:  # else the bot has told it
            _tell_of_unread(sources)
        settings = settings_from(sources)
        if wanted.command not in ("doctor", "backup"):
            _check_aws(settings)
        honour_provider_variables(sources)
        log_to_standard_error(
            settings.log_level, prompts=settings.log_prompts, form=settings.log_format, secrets=settings.secrets
        )
        if wanted.command in ("backup", "export", "import"):
            return _keep(wanted, settings)
        return asyncio.run(_command(wanted, settings, life))
    except SettingsMistaken as mistaken:
        note("These settings cannot be used:\n" + "\n".join(f"- {mistake}" for mistake in mistaken.mistakes))
        return MISTAKEN
    except HomeUnusable as unusable:
        return fail(str(unusable))
    except StoreCorrupt as error:
        back = "`threadwright import BACKUP --into FOLDER` brings back what `threadwright backup` made"
        return fail(f"{error}. {back}; `threadwright doctor` shows all that is damaged.")
    except AgenticError as error:
        return fail(f"Threadwright can't run like this: {error}. `threadwright doctor` checks every part.")
    except BrokenPipeError:
        nobody_reads(1)
        return UNREAD
    except OSError as error:
        log.debug("refused", exc_info=True)
        opener = (
            "" if error.errno is None else "This machine refused something: "
        )  # without a number the words are ours
        return fail(f"{opener}{error}. `threadwright doctor` checks every part.")


def _check_aws(settings: Settings) -> None:
    """Raise ``SettingsMistaken`` where AWS is set and what talks with it is not installed."""
    if settings.aws_place is None and settings.events_place is None:
        return
    from agentic.extras import missing
    from bot.config.settings import SettingsMistaken
    from bot.config.settings_errors import Mistake

    if (lacks := missing("aws")) is not None:
        name = "THREADWRIGHT_STORE=aws" if settings.aws_place is not None else "AGENTIC_EVENTS_QUEUE_URL"
        raise SettingsMistaken((Mistake(name, lacks.said, f"Add it: {lacks.command}"),))


@contextmanager
def private_files() -> Generator[None]:
    """Make files created in this context readable by their owner alone."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


def _tell_of_unread(sources: Sources | None) -> None:
    """Say that the ``.env`` of this folder is not read, as it once was."""
    from bot.config.log_format import one_line
    from bot.config.settings_sources import (
        ENV_FILE,
        HOME,
        home_of,
        unread,
    )

    if file := unread(Path.cwd(), sources):
        home = home_of(sources.told(HOME)[0] if sources else os.environ.get(HOME, ""))
        note(NOT_READ.format(file=one_line(file), home=one_line(home / ENV_FILE)))


def _command(wanted: argparse.Namespace, settings: Settings, life: LifeLine) -> Coroutine[None, None, int]:
    """Return the command's coroutine; only its own modules are imported."""
    if wanted.command in ("run", "gateway", "worker"):
        from bot.cli.run import run

        return run(settings, talks=wanted.command != "worker", works=wanted.command != "gateway")
    if wanted.command in ("demo", "page", "console"):
        return _in_a_browser(wanted, settings)
    if wanted.command == "task":
        from bot.cli.task_command.command import TaskOrder, task

        answers = tuple(wanted.answer)
        order = TaskOrder(wanted.text, wanted.dir, wanted.json, wanted.timeout, answers, yes=wanted.yes)
        return task(settings, order, life)
    if wanted.command == "health":
        from bot.cli.checks.health_command import health

        return health(settings, live=wanted.live)
    if wanted.command == "doctor":
        return _doctor(wanted, settings)
    if wanted.command in ("logs", "top"):
        return _task_view(wanted, settings)
    if wanted.command == "mcp":
        return _mcp(wanted, settings)
    if wanted.command == "skills":
        from bot.cli.equipment.skills_command import SkillsArguments, skills

        return skills(settings, SkillsArguments(wanted.act or "list", wanted.name, wanted.dir, yes=wanted.yes))
    if wanted.command == "search":
        from bot.cli.word_search import search

        return search(settings, wanted.words)
    if wanted.command in ("costs", "calibration"):
        return _figures(wanted, settings)
    if wanted.command == "lessons":
        return _lessons(wanted, settings)
    return _replay(wanted, settings)


def _doctor(wanted: argparse.Namespace, settings: Settings) -> Coroutine[None, None, int]:
    if wanted.live or wanted.live_channel or wanted.repository or wanted.record:
        from bot.cli.live.live_check import LiveOrder, live

        return live(settings, LiveOrder(wanted.live_channel, wanted.repository, wanted.record, agreed=wanted.yes))
    if wanted.mend:
        from bot.cli.checks.sandbox_mend import mend

        return mend(settings, yes=wanted.yes)
    from bot.cli.doctor import doctor

    return doctor(settings, as_json=wanted.json, search=wanted.search)


def _task_view(wanted: argparse.Namespace, settings: Settings) -> Coroutine[None, None, int]:
    if wanted.command == "top":
        from bot.cli.task_views.task_table import top

        return top(settings, once=wanted.once)
    from bot.cli.task_views.task_lines import LogsArguments, logs

    return logs(settings, LogsArguments(wanted.name, wanted.follow, as_json=wanted.json, turns=wanted.turns))


def _figures(wanted: argparse.Namespace, settings: Settings) -> Coroutine[None, None, int]:
    if wanted.command == "costs":
        from bot.cli.costs import CostsArguments, costs

        return costs(settings, CostsArguments(wanted.days, wanted.guild, wanted.role, wanted.by, as_json=wanted.json))
    from bot.cli.calibration import calibration

    return calibration(settings, rebuild=wanted.rebuild, points=wanted.points)


def _in_a_browser(wanted: argparse.Namespace, settings: Settings) -> Coroutine[None, None, int]:
    if wanted.command == "demo":
        from bot.cli.demo import demo

        return demo(settings)
    if wanted.command == "page":
        from bot.cli.page_link import page

        return page(settings)
    from bot.cli.console_command import console

    return console(settings, wanted.channel, wanted.port)


def _replay(wanted: argparse.Namespace, settings: Settings) -> Coroutine[None, None, int]:
    from bot.cli.replay.replay import newest, replay

    if not wanted.execution:
        return newest(settings, deciding_again=wanted.verify, request=wanted.request)
    return replay(settings, wanted.execution, deciding_again=wanted.verify, request=wanted.request)


def _mcp(wanted: argparse.Namespace, settings: Settings) -> Coroutine[None, None, int]:
    from bot.cli.checks.mcp_access import login, logout, mcp

    if wanted.act == "login":
        return login(settings, wanted.server, wanted.issuer)
    return logout(settings, wanted.server) if wanted.act else mcp(settings, wanted.agree)


def _lessons(wanted: argparse.Namespace, settings: Settings) -> Coroutine[None, None, int]:
    from bot.cli.lessons import LessonsArguments, lessons

    file: Path | None = wanted.out if wanted.act == "report" else getattr(wanted, "file", None)
    everywhere = wanted.act == "import" and wanted.everywhere
    return lessons(settings, LessonsArguments(wanted.act, wanted.guild, file, everywhere=everywhere))


def _keep(wanted: argparse.Namespace, settings: Settings) -> int:
    """Run a command that only reads and writes files; Ctrl-C ends it at once."""
    if wanted.command == "import":
        from bot.cli.backup.import_run import bring_back

        return bring_back(settings, wanted.file, wanted.into)
    from bot import BUILD

    if wanted.command == "backup":
        if settings.aws_place is not None:
            return fail(ON_AWS)
        from bot.cli.backup.create import backup

        return backup(settings, wanted.place, BUILD)
    from bot.cli.backup.export_run import ExportSelection, export, export_all

    if wanted.all is not None:
        if wanted.names or wanted.thread:
            note("threadwright export: write --all FOLDER, or EXECUTION or --thread ID and then at most one FILE")
            return MISTAKEN
        return export_all(settings, wanted.all, files=wanted.files, build=BUILD)
    names: list[str] = list(wanted.names)
    execution = "" if wanted.thread or not names else names.pop(0)
    if len(names) > 1 or not (execution or wanted.thread):
        note("threadwright export: write EXECUTION or --thread ID, and then at most one FILE")
        return MISTAKEN
    file = Path(names[0]) if names else None
    return export(settings, ExportSelection(execution, wanted.thread, wanted.files), file, BUILD)


def _setup(wanted: argparse.Namespace) -> int:
    from bot.cli.setup.model_questions import ModelArguments
    from bot.cli.setup.wizard import SetupArguments, setup

    models = ModelArguments(
        tuple(wanted.key or ()),
        tuple(wanted.base_url or ()),
        wanted.ollama,
        tuple(wanted.tier or ()),
        tuple(wanted.price or ()),
    )
    order = SetupArguments(
        getattr(wanted, "env_file", None), wanted.local, wanted.discord_token_file, models,
        wanted.sandbox, wanted.usd, wanted.turns, wanted.minutes, proposals=wanted.yes,
    )  # fmt: skip
    return setup(order)


class _Parser(argparse.ArgumentParser):
    def __init__(self, **about: Any) -> None:
        """Accept the settings file before or after the command's name."""
        super().__init__(**about)
        self.add_argument(
            "--env-file", type=Path, default=argparse.SUPPRESS, metavar="PATH",
            help="a file of settings, besides .env in THREADWRIGHT_HOME; none is looked for where you are",
        )  # fmt: skip

    def error(self, message: str) -> NoReturn:
        """Print the mistake and exit with 64; argparse's own code, 2, means here that a person is asked."""
        self.print_usage(sys.stderr)
        _, unknown, rest = message.partition(" | ")[2].partition(": invalid choice: ")
        if unknown:  # the line above lists what there is
            message = f"there is no command {rest.partition(' (choose')[0]}"
        self.exit(MISTAKEN, f"{self.prog}: {message}\n")


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        """Print the version, which is looked up only here."""
        from bot import BUILD

        say(f"threadwright {BUILD}")
        parser.exit()


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    names = (
        "setup | run | demo | gateway | worker | page | console | task | health | doctor | logs | top | mcp | skills | "
        "search | replay | calibration | costs | lessons | backup | export | import"
    )
    whole = _Parser(
        prog="threadwright",
        usage=f"threadwright [--help] [--version] [--env-file PATH] {names} …",
        description="A Discord bot that gives each thread an agent. `threadwright task --help` shows help for a command.",
    )
    whole.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = whole.add_subparsers(dest="command", required=True, metavar=names, prog="threadwright")
    from bot.cli.arguments import (
        add_calibration,
        add_costs,
        add_keeping,
        add_lessons,
        add_live,
        add_mcp,
        add_search,
        add_setup,
        add_skills,
        add_task_views,
        existing_folder,
    )

    add_setup(commands)
    commands.add_parser(
        "run", help="start the bot: on Discord if DISCORD_TOKEN is set, else in a local server with a page to chat in"
    )
    commands.add_parser(
        "demo",
        help="try a repository without an account: a failing test on a local forge, a pull request, red, then green",
        description="Starts a local forge with a repository, and a local server with the bot. With a model it does the work; "
        "without one a scripted story plays. All of it is in demo/ in the home, and begins anew with each start.",
    )
    commands.add_parser(
        "gateway", help="talk with Discord, and leave the work to `threadwright worker` on the same store"
    )
    commands.add_parser("worker", help="work on what `threadwright gateway` hears; run as many as you like")
    commands.add_parser("page", help="print a fresh link to the page of the bot that runs here, which works once")
    console = commands.add_parser(
        "console", help="show this store in a browser, without a bot; a bot starts its own (THREADWRIGHT_CONSOLE)"
    )
    console.add_argument("--channel", type=int, default=None, help=argparse.SUPPRESS)
    console.add_argument("--port", type=int, default=0, help=argparse.SUPPRESS)
    task = commands.add_parser(
        "task",
        help="do one task here, without Discord; exit 0 done, 1 failed, 2 asks, 3 stopped, 64 mistake in the command "
        "or the settings, or no model is configured",
    )
    task.add_argument("text", type=_text, metavar="TEXT", help="what to do")
    task.add_argument("--dir", type=existing_folder, metavar="PATH", help="the folder to work in (default: a new one)")
    task.add_argument(
        "--json", action="store_true", help="print one event a line, and nothing else, to standard output"
    )
    task.add_argument(
        "--answer", action="append", default=[], metavar="TEXT",
        help="the answer to its next question, by an option's name or number, or in words; again for the one after it; "
        "'-' reads them from standard input, a line each",
    )  # fmt: skip
    task.add_argument("--yes", action="store_true", help="allow every step that needs an approval, and agree to plans")
    task.add_argument("--timeout", type=_seconds, metavar="S", help="stop after this many seconds")
    health = commands.add_parser(
        "health", help="ask the bot that runs here whether it is well (THREADWRIGHT_HEALTH); exit 0 if it is, else 1"
    )
    health.add_argument("--live", action="store_true", help="ask only whether it is alive, not whether it is ready")
    doctor = commands.add_parser("doctor", help="show every component, what is missing, and what to do")
    doctor.add_argument("--json", action="store_true", help="print it as JSON")
    doctor.add_argument("--search", action="store_true", help="also try the public search engines")
    add_live(doctor)
    doctor.add_argument(
        "--mend",
        action="store_true",
        help="let sandboxes run where AppArmor refuses them (Ubuntu); asks first, needs root",
    )
    doctor.add_argument("--yes", action="store_true", help="with --mend or --live: do not ask")
    add_task_views(commands)
    add_mcp(commands)
    add_skills(commands)
    add_search(commands)
    replay = commands.add_parser("replay", help="tell a task's log as a story, and check it")
    replay.add_argument("execution", nargs="?", default="", metavar="EXECUTION", help="its id (default: list them)")
    replay.add_argument(
        "--verify",
        action="store_true",
        help="run the rules again and show the first decision that is not theirs; exit 4 where other rules decided",
    )
    replay.add_argument(
        "--request", default="", metavar="REQUEST", help="show what a model was sent, word for word; 'list' names them"
    )
    add_calibration(commands)
    add_costs(commands)
    add_lessons(commands)
    add_keeping(commands)
    return whole


def _text(value: str) -> str:
    if not value.strip():
        raise argparse.ArgumentTypeError("say what to do")
    return value.strip()


def _seconds(value: str) -> float:
    try:
        seconds = float(value)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError("write seconds, more than 0")
    return seconds


if __name__ == "__main__":
    main()
