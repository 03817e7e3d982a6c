"""`threadwright setup`: ask for what is needed, check each answer at once, and write `.env` in THREADWRIGHT_HOME.

It can be run again at any time: it shows the present settings (never a secret), and Enter keeps them. Nothing is
written until everything was answered, so that Ctrl-C leaves the old file as it was.
"""

from __future__ import annotations

import asyncio
import os
import signal
from dataclasses import dataclass, field
from pathlib import Path

from bot.cli.arguments import SANDBOXES
from bot.cli.checks import discord_token
from bot.cli.console import note, tell
from bot.cli.setup import env_file
from bot.cli.setup.draft import Draft
from bot.cli.setup.model_questions import ModelArguments, ModelQuestions
from bot.cli.setup.prompts import MARKS, NoAnswer, SetupFailed, SetupPrompts, Unusable, secret_in
from bot.config.home import HomeUnusable, own
from bot.config.models import models_from, prices_from
from bot.config.settings import (
    PREFIX,
    Settings,
    SettingsMistaken,
    settings_from,
)
from bot.config.settings_sources import (
    ENV_FILE,
    HOME,
    gather,
    home_of,
)

MISTAKEN, FAILED, DONE = 64, 1, 0
TOKEN = "DISCORD_TOKEN"  # noqa: S105 - the name of a setting
API = f"{PREFIX}DISCORD_API"
GUIDE = f"""\
  How to get the bot's token (5 minutes; docs/discord-setup.md says more):
    1. Open {discord_token.PORTAL} and log in.
    2. Press “New Application”, give it a name, press “Create”.
    3. Open “Bot” on the left. Under “Privileged Gateway Intents”
       switch on “Message Content Intent” and press “Save Changes”.
       Without it the bot can't read what people write.
    4. On the same page press “Reset Token”, confirm, then press “Copy”.
       Discord shows the token only this once.
  You don't have to choose permissions: the invite link asks for these eight."""


@dataclass(frozen=True, slots=True)
class SetupArguments:
    """The command's arguments; None for what has to be asked."""

    file: Path | None = None
    """The file to write; None for the one in the home."""
    local: bool = False
    token_file: Path | None = None
    models: ModelArguments = field(default_factory=ModelArguments)
    sandbox: str | None = None
    usd: str | None = None
    turns: str | None = None
    minutes: str | None = None
    proposals: bool = False


def setup(order: SetupArguments) -> int:
    """Ask, check, write; returns the exit code."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a parent may have told its children to ignore Ctrl-C
    try:
        return _Setup(order).run()
    except NoAnswer as why:
        note(str(why))
        return MISTAKEN
    except (SetupFailed, Unusable) as why:
        note(f"{why} Nothing was written.")
        return FAILED
    except (SettingsMistaken, HomeUnusable) as mistaken:
        note(f"{mistaken}\nNothing was written.")
        return FAILED
    except OSError as error:
        note(f"{error.filename or order.file or 'The file'} cannot be used: {error.strerror}. Nothing was written.")
        return FAILED
    except KeyboardInterrupt:
        note("\nEnded. Nothing was written.")
        raise


class _Setup:
    def __init__(self, order: SetupArguments) -> None:
        self.order = order
        self.questions = SetupPrompts(proposals=order.proposals)
        self.ask = self.questions.ask
        self.home = None if order.file else home_of(os.environ.get(HOME, ""))
        self.file = order.file or home_of(os.environ.get(HOME, "")) / ENV_FILE
        self.draft = Draft(self.file)
        self.models = ModelQuestions(order.models, self.questions, self.draft)
        self.invite = ""
        """The link to open where the bot is in no server yet."""
        self.runs = True

    def run(self) -> int:
        """Ask each part in turn, then write the file."""
        tell(f"Your settings go into {self.file}. Enter keeps what is in [brackets]. Ctrl-C ends it without writing.")
        self.discord()
        self.models.sources()
        if self.order.usd is None and not self.order.proposals:
            tell("\nMoney")
        self._cap("US dollars one task may spend at most", "--usd", self.order.usd, ("MAX_USD",), float)
        more = self.questions.sure("Change more: models of the tiers, sandbox, turns, minutes?", "--yes")
        if more:
            self.models.tiers()
        self.sandbox(more=more)
        self.caps(more=more)
        return self.write()

    # --- Discord ----------------------------------------------------------------------------------------------

    def discord(self) -> None:
        """Ask for the token and check it with Discord; none means a local guild."""
        tell("\nDiscord")
        had = self.draft.there.get(TOKEN, "")
        if self.order.local:
            self._be_local(had)
            return
        if self.order.token_file is not None:
            checked = self._checked(secret_in(self.order.token_file), again=False)
        else:
            checked = self._asked_for_token(had)
        if checked is None:
            self._be_local(had)
            return
        while (
            checked is not None
            and _open(checked)
            and self.questions.again("Change that in the developer portal or in your server")
        ):
            checked = self._checked(self.draft.value(TOKEN), again=False)
        self.runs = checked is not None and checked.usable

    def _asked_for_token(self, had: str) -> discord_token.Checked | None:
        if not had and not self.order.proposals:
            tell(GUIDE)
            for name, permission in discord_token.NEEDED.items():
                tell(f"    {name:<26}{permission.why}")
            tell("  No Discord at hand? Press Enter: you get a page to chat in, on this machine.")
        elif not self.order.proposals:
            tell(f"  For a new token: {discord_token.PORTAL} → your application → Bot → Reset Token")
        question = "Token of your bot" + ("" if had else " (not shown as you type; Enter: none)")
        while True:
            token = self.ask(
                question, "--discord-token-file or --local", proposal=had, shown="set" if had else "", secret=True,
                read=_token,
            )  # fmt: skip
            if not token:
                return None
            checked = self._checked(token, again=self.questions.at_terminal and not self.order.proposals)
            if checked is not None:
                return checked

    def _checked(self, token: str, *, again: bool) -> discord_token.Checked | None:
        """Print what Discord says of a token; raises ``SetupFailed`` where it is invalid, unless it can be asked
        ``again``.
        """
        api = os.environ.get(API) or self.draft.there.get(API) or discord_token.API
        checked = asyncio.run(discord_token.check(_token(token), api))
        for finding in checked.findings:
            tell(f"  {MARKS[finding.verdict]} {finding.said}" + (f": {finding.todo}" if finding.todo else ""))
        refused = any(finding.name == "token" and finding.verdict == "wrong" for finding in checked.findings)
        if refused and not again:
            raise SetupFailed("Discord refuses the token.")
        if refused:
            return None
        if checked.invite:
            tell(f"  Invite it: {checked.invite}")
        self.invite = checked.invite if any(each.name == "server" and each.alone for each in checked.findings) else ""
        self.draft.set(TOKEN, _token(token))
        return checked

    def _be_local(self, had: str) -> None:
        if had:
            self.draft.set(TOKEN, "")
        tell("  ✔ A local server: your own Discord on this machine, with a page to chat in")

    # --- sandbox and caps -------------------------------------------------------------------------------------

    def sandbox(self, *, more: bool) -> None:
        """Try where commands run; ask about it where ``more`` is asked."""
        tell("\nSandbox")
        name = f"{PREFIX}SANDBOX"
        chosen = self.draft.there.get(name) or "auto"
        if self.order.sandbox:
            chosen = _sandbox(self.order.sandbox)
        elif more:
            question = "Where commands run (auto: Docker, else bubblewrap; host: no sandbox at all)"
            chosen = self.ask(question, "--sandbox", proposal=chosen, read=_sandbox)
        from bot.cli.doctor import sandbox

        found = asyncio.run(sandbox(Settings.model_construct(sandbox=chosen, sandbox_image=self._image())))
        tell(
            f"  {'✔' if found.state == 'ok' else '!'} {found.adapter}: {found.why}"
            + (f"\n    → {found.todo}" if found.todo else "")
        )
        if chosen != "auto" or name in self.draft.there:
            self.draft.set(name, chosen)

    def _image(self) -> str:
        return self.draft.there.get(f"{PREFIX}SANDBOX_IMAGE") or str(Settings.model_fields["sandbox_image"].default)

    def caps(self, *, more: bool) -> None:
        """Set how long one task may take; ask about it where ``more`` is asked."""
        if more:
            tell("\nLimits of one task: when it reaches one, it asks or ends")
        sorts = ("MAX_TURNS_SIMPLE", "MAX_TURNS_MEDIUM", "MAX_TURNS_COMPLEX")
        if more or self.order.turns is not None:
            self._cap("Turns of a simple, a medium and a complex task", "--turns", self.order.turns, sorts, int)
        if more or self.order.minutes is not None:
            self._cap("Minutes one task may take", "--minutes", self.order.minutes, ("MAX_MINUTES",), float)

    def _cap(
        self, question: str, flag: str, given: str | None, fields: tuple[str, ...], kind: type[float] | type[int]
    ) -> None:
        had = [
            self.draft.there.get(PREFIX + each) or f"{Settings.model_fields[each.lower()].default:g}" for each in fields
        ]

        def read(said: str) -> str:
            return _numbers(said, len(fields), kind)

        if given is not None:
            try:
                said = read(given)
            except Unusable as why:
                raise NoAnswer(f"{flag}: {why} Nothing was written.") from None
        else:
            said = self.ask(question, flag, proposal=" ".join(had), read=read)
        for name, value in zip(fields, said.split(), strict=True):
            self.draft.set(PREFIX + name, value)

    # --- the file ---------------------------------------------------------------------------------------------

    def write(self) -> int:
        """Write what changed, say what still prevents a start, and what to do next."""
        tell("")
        new = self.draft.new
        if new or not env_file.is_private(self.file):
            if self.home is not None:
                own(self.home)
            env_file.write(self.file, new)
            tell(f"Written: {self.file} (only you can read it). Changed: {', '.join(new) or 'nothing'}.")
        else:
            tell(f"Nothing changed in {self.file}.")
        for name, value in new.items():
            if os.environ.get(name) not in (None, value):
                note(f"{name} is also set in the environment, which wins over {self.file}.")
        mistakes = _mistakes(self.file)
        for mistake in mistakes:
            note(f"In {self.file}: {mistake}")
        if mistakes or not self.runs:
            note("The bot can't run like this. Fix what is marked ✘ or named here, then run setup again.")
            return FAILED
        self._say_next()
        return DONE

    def _say_next(self) -> None:
        file = "" if self.home is not None else f" --env-file {self.file}"
        steps = [f"Invite the bot to your server: {self.invite}"] if self.invite else []
        steps += [f"Check everything: threadwright doctor{file}", f"Start it: threadwright run{file}"]
        tell("\nNext")
        for number, step in enumerate(steps, 1):
            tell(f"  {number}. {step}")
        if self.draft.value(TOKEN):
            tell("  Then write @ and its name in a channel, and what to do. To keep it running: docs/discord-setup.md")


def _open(checked: discord_token.Checked) -> bool:
    return any(finding.verdict in ("wrong", "warning") for finding in checked.findings)


def _token(said: str) -> str:
    token = said.strip().removeprefix("Bot ").strip()
    if not _is_word(token):
        raise Unusable("A token holds no blanks. Copy only the token, from the page “Bot” of your application.")
    return token


def _is_word(said: str) -> bool:
    return said.isascii() and said.isprintable() and " " not in said


def _sandbox(said: str) -> str:
    if said.lower() not in SANDBOXES:
        raise Unusable(f"Write one of: {', '.join(SANDBOXES)}.")
    return said.lower()


def _numbers(said: str, count: int, kind: type[float] | type[int]) -> str:
    words = said.replace(",", " ").split()
    try:
        numbers = [kind(word) for word in words]
    except ValueError:
        numbers = []
    whole = "whole " if kind is int else ""
    if len(numbers) != count or not all(0 < number < 1_000_000 for number in numbers):
        what = f"a {whole}number" if count == 1 else f"{count} {whole}numbers, with blanks between"
        raise Unusable(f"Write {what}, more than 0.")
    return " ".join(words)


def _mistakes(file: Path) -> tuple[str, ...]:
    """Return the mistakes in the file that would prevent a start."""
    try:
        sources = gather(file if file.exists() else None, os.environ)
        settings = settings_from(sources)
        models_from(settings, {**os.environ, **sources.for_libraries()}, prices_from(settings))
    except SettingsMistaken as mistaken:
        return tuple(str(mistake) for mistake in mistaken.mistakes)
    return ()
