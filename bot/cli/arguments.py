"""The options of the commands. Those of `threadwright setup` each answer a question; secrets come from files, never
from the line.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[Any]  # pyright: ignore[reportPrivateUsage]

PROVIDERS = "anthropic, deepseek, gemini, groq, mistral, openai, openrouter, xai"
"""Those of which a key is enough, written out because help waits for no library; a test compares."""
SANDBOXES = ("auto", "docker", "bubblewrap", "host")


def add_live(doctor: argparse.ArgumentParser) -> None:
    """Add the options of `doctor --live`; each of them means it."""
    live = doctor.add_argument_group(
        "for real, with your own tokens; asks before each part, and cleans up after itself"
    )
    live.add_argument("--live", action="store_true", help="try Discord, a forge, a sandbox and each model for real")
    live.add_argument(
        "--channel", type=int, default=0, dest="live_channel", metavar="ID", help="the Discord channel to try in"
    )
    live.add_argument(
        "--repository",
        default="",
        metavar="OWNER/NAME",
        help="the repository in which a pull request is opened and closed",
    )
    live.add_argument(
        "--record",
        type=Path,
        metavar="FILE",
        help="write what went over the wire, as shapes without tokens, names or texts",
    )


def add_setup(commands: Commands) -> None:
    """Add the options of `setup`."""
    setup = commands.add_parser(
        "setup",
        help="ask for what is needed, check each answer, write the settings, print the invite link; run it again any time",
        description=(
            "Asks for a Discord token, a model's key and limits, checks each at once, writes .env in the home, and prints "
            "the invite link. Each option answers one of its questions."
        ),
        epilog=(
            "Example: threadwright setup --local --key anthropic=key.txt --yes. "
            f"Providers: {PROVIDERS}, and Ollama. Secrets come from files, are never shown, and never "
            "stand on the command line, where other people could read them."
        ),
    )
    setup.add_argument(
        "--file", type=Path, dest="env_file", default=argparse.SUPPRESS, metavar="PATH", help=argparse.SUPPRESS
    )
    where = setup.add_mutually_exclusive_group()
    where.add_argument("--local", action="store_true", help="no Discord: a local server on this machine")
    where.add_argument("--discord-token-file", type=Path, metavar="FILE", help="a file that holds the bot's token")
    setup.add_argument(
        "--key", type=_key, action="append", metavar="PROVIDER=FILE", help="a file that holds a provider's key"
    )
    setup.add_argument(
        "--base-url",
        type=_base_url,
        action="append",
        metavar="PROVIDER=URL",
        help="use your own OpenAI- or Anthropic-compatible server (PROVIDER: openai or anthropic)",
    )
    setup.add_argument("--ollama", nargs="?", const="", metavar="URL", help="use Ollama (default: this machine)")
    setup.add_argument(
        "--tier", type=_tier, action="append", metavar="N=MODEL,…", help="the models of tier 1, 2, 3 or 4, best first"
    )
    setup.add_argument(
        "--price",
        type=_price,
        action="append",
        metavar="MODEL=IN/OUT",
        help="price of a model missing from the price list, in US dollars per million tokens",
    )
    setup.add_argument("--sandbox", choices=SANDBOXES, help="where commands run")
    setup.add_argument("--usd", metavar="N", help="US dollars one task may spend")
    setup.add_argument("--turns", metavar="N,N,N", help="turns of a simple, a medium and a complex task")
    setup.add_argument("--minutes", metavar="N", help="minutes one task may take")
    setup.add_argument("--yes", action="store_true", help="no questions: keep existing values, accept defaults")


def add_search(commands: Commands) -> None:
    """Add the options of `search`."""
    search = commands.add_parser(
        "search",
        help="find words in tasks, answers, messages, commands and file names, newest first; exit 1 if there are none",
        description="All words have to be there; the last letters may be missing. '\"in quotes\"': in that order.",
    )
    search.add_argument("words", nargs="+", action=_Query, metavar="WORDS", help="what to look for")


def add_task_views(commands: Commands) -> None:
    """Add the options of `logs` and `top`."""
    logs = commands.add_parser(
        "logs",
        help="print what a task does, a line each; with --follow while it does it, and then the thread's next one",
        description="Read beside the bot, which need not run. Times are UTC. Ctrl-C ends it.",
    )
    logs.add_argument(
        "name", metavar="THREAD", help="a thread's id or link, or a task's id; of a thread, its newest task"
    )
    logs.add_argument("--follow", "-f", action="store_true", help="go on with what comes, until Ctrl-C")
    how = logs.add_mutually_exclusive_group()
    how.add_argument("--json", action="store_true", help="print each event as a line of JSON, without secrets")
    how.add_argument("--turns", action="store_true", help="print a line for each turn: what it did and cost")
    top = commands.add_parser(
        "top", help="show every task that has not ended, those that wait for a person first; Ctrl-C ends it"
    )
    top.add_argument("--once", action="store_true", help="print the table once; this needs no terminal")


class _Query(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, *_: object) -> None:
        """Read the words as `/search` does."""
        from agentic.text.word_query import LONGEST, WordQuery

        text = " ".join(values)
        query = WordQuery.of(text)
        if len(text) > LONGEST or not query.phrases:
            parser.error(f"write a few words to look for, at most {LONGEST} characters")
        setattr(namespace, self.dest, query)


def add_mcp(commands: Commands) -> None:
    """Add the options of `mcp`."""
    mcp = commands.add_parser(
        "mcp",
        help="show each MCP server with its tools, and which of them changed; agree to one; sign in to a server, or out",
        description="Servers are named in mcp.json in the home. A tool that is new or has changed is not used before a yes.",
    )
    mcp.add_argument(
        "act",
        nargs="?",
        choices=("login", "logout"),
        default="",
        help="sign in to a server that asks for it, or out of it",
    )
    mcp.add_argument("server", nargs="?", default="", metavar="NAME", help="the server's name in mcp.json")
    mcp.add_argument(
        "--issuer",
        default="",
        metavar="URL",
        help="with login: agree to sign in here, where it is not the same as before",
    )
    mcp.add_argument("--agree", default="", metavar="SERVER/TOOL", help="let this tool be used as it is now")


def add_skills(commands: Commands) -> None:
    """Add the options of `skills`."""
    skills = commands.add_parser(
        "skills",
        help="show the skills and which are approved; approve one after a look, or write a proven lesson as one",
        description="Skills are folders with a SKILL.md, in skills/ in the home. One that is new or has changed is not used "
        "before you approve it.",
    )
    skills.set_defaults(name="", dir=None, yes=False)
    acts = skills.add_subparsers(dest="act", metavar="list | show | approve | remove | export")
    listed = acts.add_parser("list", help="a line for each, with what is wrong")
    show = acts.add_parser("show", help="one whole: its guide, its files, what changed since it was approved")
    approve = acts.add_parser("approve", help="show it whole, then ask whether tasks may use it as it is now")
    remove = acts.add_parser("remove", help="stop using it; its folder stays")
    export = acts.add_parser(
        "export", help="write a proven lesson as the folder of a skill, with what it was measured to bring"
    )
    for one in (show, approve, remove):
        one.add_argument("name", metavar="NAME", help="the skill")
    for one in (listed, show, approve, remove):
        one.add_argument(
            "--dir", type=existing_folder, metavar="PATH", help="also those in .agents/skills of this folder of tasks"
        )
    approve.add_argument("--yes", action="store_true", help="do not ask")
    export.add_argument("name", metavar="LESSON", help="the lesson's id, as `threadwright lessons list` shows it")
    export.add_argument("--dir", type=Path, metavar="FOLDER", help="where the new folder goes (default: here)")


def add_calibration(commands: Commands) -> None:
    """Add the options of `calibration`."""
    calibration = commands.add_parser(
        "calibration",
        help="show how reliable the confidence is, per role and model, from how tasks turned out",
        description=(
            "Lower Brier scores are better; a coin flip has 0.25. ECE is the average gap between confidence and "
            "outcome."
        ),
    )
    calibration.add_argument("--rebuild", action="store_true", help="first work out all outcomes again from the logs")
    calibration.add_argument(
        "--points",
        action="store_true",
        help="also print the points of the reliability diagrams, which the console draws",
    )


def add_costs(commands: Commands) -> None:
    """Add the options of `costs`."""
    costs = commands.add_parser(
        "costs",
        help="show US dollars per solved task, next to what a cheap or a premium model alone might have cost",
        description="What was spent comes from the logs; the comparison is an estimate, with its assumptions listed.",
    )
    costs.add_argument("--days", type=_days, metavar="N", help="only tasks that began in the last N days")
    costs.add_argument("--guild", default="", metavar="ID", help="only tasks of one server")
    costs.add_argument("--role", default="", metavar="NAME", help="only tasks of one role")
    costs.add_argument("--by", choices=("guild", "role", "day", "month"), default="", help="a line for each of them")
    costs.add_argument("--json", action="store_true", help="print it as JSON")


def add_lessons(commands: Commands) -> None:
    """Add the options of `lessons`."""
    lessons = commands.add_parser(
        "lessons", help="what was learned: a report of whether it helps, a list, and copying lessons between servers"
    )
    acts = lessons.add_subparsers(dest="act", required=True, metavar="report | list | export | import")
    report = acts.add_parser(
        "report", help="write a page: whether lessons help, their history, the judge, what waits for approval"
    )
    report.add_argument("--out", type=Path, metavar="FILE", help="the page (default: threadwright-lessons.html here)")
    listed = acts.add_parser(
        "list", help="a line for each lesson: its status, and how tasks went with it and without it"
    )
    export = acts.add_parser("export", help="write the lessons as lines of JSON")
    export.add_argument("file", nargs="?", type=Path, metavar="FILE", help="a new file (default: output)")
    for one in (report, listed, export):
        one.add_argument("--guild", default="", metavar="ID", help="only of one server (default: all)")
    bring = acts.add_parser(
        "import",
        help="read in what `lessons export` wrote; imported lessons start on probation and are measured from zero",
        description="Lessons never move between servers by themselves; this is how whoever runs the bot copies them.",
    )
    bring.add_argument("file", type=Path, metavar="FILE", help="what `lessons export` wrote")
    where = bring.add_mutually_exclusive_group(required=True)
    where.add_argument("--guild", default="", metavar="ID", help="the server that gets them")
    where.add_argument("--everywhere", action="store_true", help="lessons for all servers")


def existing_folder(value: str) -> Path:
    """A folder that is there, by its whole path."""
    folder = Path(value).expanduser().resolve()
    if not folder.is_dir():
        raise argparse.ArgumentTypeError(f"{value!r} is not a folder")
    return folder


def _days(value: str) -> float:
    try:
        days = float(value)
    except ValueError:
        days = 0.0
    if not 0 < days < 36_500:
        raise argparse.ArgumentTypeError("write days, more than 0")
    return days


def add_keeping(commands: Commands) -> None:
    """Add the options of `backup`, `export` and `import`."""
    backup = commands.add_parser(
        "backup",
        help="copy everything into one file, even while the bot runs, and verify it",
        description="Databases, workspaces, checkpoints, lessons and settings; no token, no key. Nothing is overwritten.",
    )
    backup.add_argument("place", nargs="?", type=Path, metavar="FILE", help="a new file, or a folder (default: here)")
    export = commands.add_parser(
        "export",
        help="write one task, or all of a thread, as lines of JSON, exactly as they are stored",
        usage="threadwright export (EXECUTION | --thread ID | --all FOLDER) [FILE] [--files] [--env-file PATH]",
    )
    export.add_argument(
        "names", nargs="*", metavar="EXECUTION [FILE]", help="the task's id, and a new file (default: output)"
    )
    export.add_argument("--thread", default="", metavar="ID", help="all tasks of this thread")
    export.add_argument(
        "--all",
        type=_named,
        metavar="FOLDER",
        help="the logs of every thread, each into a file of its own in a new folder, with small facts and set times; "
        "no lessons, and nothing that waits to be read or sent",
    )
    export.add_argument(
        "--files", action="store_true", help="with the checkpoints of its files, where they are on a disk"
    )
    bring = commands.add_parser(
        "import",
        help="restore a backup into an empty home, or add an exported task to any home, to read and replay it",
        description="A backup is restored whole or not at all; nothing existing is overwritten.",
    )
    bring.add_argument(
        "file", type=_named, metavar="FILE", help="what `backup` or `export` wrote; of --all, the folder"
    )
    bring.add_argument("--into", type=_named, metavar="FOLDER", help="another home than THREADWRIGHT_HOME")


def _named(value: str) -> Path:
    """Read a path; an empty one, such as a script's empty variable, does not stand for the current folder."""
    if not value.strip():
        raise argparse.ArgumentTypeError("it is empty: write a name")
    return Path(value)


def _key(value: str) -> tuple[str, Path]:
    from bot.cli.checks.model_access import KEYED

    name, mark, file = value.partition("=")
    if name.lower() not in KEYED or not mark or not file:
        raise argparse.ArgumentTypeError(f"write PROVIDER=FILE; a provider is one of {', '.join(KEYED)}")
    return name.lower(), Path(file).expanduser()


def _base_url(value: str) -> tuple[str, str]:
    from bot.cli.setup.model_questions import SPEAKS

    name, _, url = value.partition("=")
    if name.lower() not in SPEAKS or not url:
        raise argparse.ArgumentTypeError(f"write PROVIDER=URL; a provider is one of {', '.join(SPEAKS)}")
    return name.lower(), url


def _tier(value: str) -> tuple[int, str]:
    number, _, names = value.partition("=")
    if number not in ("1", "2", "3", "4") or not names.strip():
        raise argparse.ArgumentTypeError("write N=MODEL, where N is 1, 2, 3 or 4")
    return int(number), names


def _price(value: str) -> str:
    from agentic.models.providers.prices import price_from

    try:
        price_from(value)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return value
