"""`threadwright setup`: ask for what is needed, check each answer at once, and write `.env` in THREADWRIGHT_HOME.

It can be run again at any time: it shows the present settings (never a secret), and Enter keeps them. Nothing is
written until everything was answered, so that Ctrl-C leaves the old file as it was.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bot.cli.arguments import SANDBOXES
from bot.cli.checks import discord_token, provider_key
from bot.cli.console import note, say
from bot.cli.setup import env_file
from bot.cli.setup.prompts import NoAnswer, SetupPrompts, Unusable
from bot.config.home import HomeUnusable, own
from bot.config.settings import (
    PREFIX,
    Settings,
    SettingsMistaken,
    read_settings,
)
from bot.config.settings_sources import (
    ENV_FILE,
    HOME,
    home_of,
    read,
)

MISTAKEN, FAILED, DONE = 64, 1, 0
TOKEN = "DISCORD_TOKEN"  # noqa: S105 - the name of a setting
API = f"{PREFIX}DISCORD_API"
NO_PROVIDER = "none"
_MARKS: Mapping[str, str] = {"ok": "✔", "warning": "!", "wrong": "✘", "unknown": "?"}


@dataclass(frozen=True, slots=True)
class SetupArguments:
    """The command's arguments; None for what has to be asked."""

    file: Path | None = None
    """The file to write; None for the one in the home."""
    local: bool = False
    token_file: Path | None = None
    key_files: tuple[tuple[str, Path], ...] = ()
    """(provider, file that holds its key)."""
    sandbox: str | None = None
    usd: str | None = None
    turns: str | None = None
    minutes: str | None = None
    proposals: bool = False


class SetupFailed(Exception):
    """An argument is wrong; the message says which and why."""


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
        read(self.file)  # nothing is kept in a file that others can write
        self.there = env_file.read(self.file)
        self.new: dict[str, str] = {}
        self.runs = True

    def run(self) -> int:
        """Ask each part in turn, then write the file."""
        say(f"Settings are kept in {self.file}. Enter keeps what stands in [brackets].")
        self.discord()
        self.models()
        self.sandbox()
        self.caps()
        return self.write()

    # --- Discord ----------------------------------------------------------------------------------------------

    def discord(self) -> None:
        """Ask for the token and check it with Discord; none means a local guild."""
        say("\nDiscord")
        had = self.there.get(TOKEN, "")
        if self.order.local:
            self._be_local(had)
            return
        if self.order.token_file is not None:
            checked = self._checked(_content(self.order.token_file), again=False)
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
            checked = self._checked(self.new.get(TOKEN, had), again=False)
        self.runs = checked is not None and checked.usable

    def _asked_for_token(self, had: str) -> discord_token.Checked | None:
        question = "Token of your bot" + ("" if had else " (Enter: none, use a local guild on this machine)")
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
        api = os.environ.get(API) or self.there.get(API) or discord_token.API
        checked = asyncio.run(discord_token.check(_token(token), api))
        for finding in checked.findings:
            say(f"  {_MARKS[finding.verdict]} {finding.said}" + (f": {finding.todo}" if finding.todo else ""))
        refused = any(finding.name == "token" and finding.verdict == "wrong" for finding in checked.findings)
        if refused and not again:
            raise SetupFailed("Discord refuses the token.")
        if refused:
            return None
        if checked.invite:
            say(f"  Invite it: {checked.invite}")
        self._set(TOKEN, _token(token))
        return checked

    def _be_local(self, had: str) -> None:
        if had:
            self._set(TOKEN, "")
        say("  ✔ a local guild: a Discord of your own on this machine, with a page to chat in")

    # --- models -----------------------------------------------------------------------------------------------

    def models(self) -> None:
        """Ask for keys of providers, and check each."""
        say("\nModels")
        has = [each for each in provider_key.PROVIDERS.values() if self._value(each.variable)]
        for each in has:
            say(f"  ✔ {each.variable} is set")
        if self.order.key_files:
            for name, file in self.order.key_files:
                self._key(provider_key.PROVIDERS[name], _content(file), again=False)
            return
        while name := self._asked_for_provider():
            provider = provider_key.PROVIDERS[name]
            had = self._value(provider.variable)
            while True:
                key = self.ask(
                    f"Key of {provider.title}", f"--key {name}=FILE", proposal=had, shown="set" if had else "",
                    secret=True, read=_key,
                )  # fmt: skip
                if self._key(provider, key, again=self.questions.at_terminal):
                    break
        if not any(self._value(each.variable) for each in provider_key.PROVIDERS.values()):
            say("  ! no key: a model on your own machine (Ollama) is offered if it runs, else a scripted tour")

    def _asked_for_provider(self) -> str:
        names = (*provider_key.PROVIDERS, NO_PROVIDER)

        def read(said: str) -> str:
            name = said.lower()
            if name not in names:
                raise Unusable(f"Write one of: {', '.join(names)}.")
            return "" if name == NO_PROVIDER else name

        question = f"Which provider's key? ({', '.join(names[:-1])}; Enter to skip)"
        return self.ask(question, "--key PROVIDER=FILE", proposal=NO_PROVIDER, read=read)

    def _key(self, provider: provider_key.Provider, key: str, *, again: bool) -> bool:
        """Check a key and keep it; False where it is wrong and can be asked ``again``."""
        verdict, said = asyncio.run(provider_key.check(provider, _key(key), {**self.there, **os.environ}))
        say(f"  {_MARKS[verdict]} {said}")
        if verdict == "wrong" and not again:
            raise SetupFailed(f"{provider.title} refuses the key.")
        if verdict == "wrong":
            return False
        self._set(provider.variable, _key(key))
        return True

    # --- sandbox and caps -------------------------------------------------------------------------------------

    def sandbox(self) -> None:
        """Ask where commands run; the choice is really tried."""
        say("\nSandbox")
        name = f"{PREFIX}SANDBOX"
        had = self.there.get(name) or "auto"
        given = self.order.sandbox
        question = "Where commands run (auto: Docker, else bubblewrap; host has no walls)"
        chosen = _sandbox(given) if given else self.ask(question, "--sandbox", proposal=had, read=_sandbox)
        from bot.cli.doctor import sandbox

        found = asyncio.run(sandbox(Settings.model_construct(sandbox=chosen, sandbox_image=self._image())))
        say(
            f"  {'✔' if found.state == 'ok' else '!'} {found.adapter}: {found.why}"
            + (f"; {found.todo}" if found.todo else "")
        )
        if chosen != "auto" or name in self.there:
            self._set(name, chosen)

    def _image(self) -> str:
        return self.there.get(f"{PREFIX}SANDBOX_IMAGE") or str(Settings.model_fields["sandbox_image"].default)

    def caps(self) -> None:
        """Ask what one task may cost at most."""
        say("\nCaps: where one of them is reached, a task ends or asks")
        self._cap("US dollars one task may spend", "--usd", self.order.usd, ("MAX_USD",), float)
        sorts = ("MAX_TURNS_SIMPLE", "MAX_TURNS_MEDIUM", "MAX_TURNS_COMPLEX")
        self._cap("Turns of a simple, a medium and a complex task", "--turns", self.order.turns, sorts, int)
        self._cap("Minutes one task may take", "--minutes", self.order.minutes, ("MAX_MINUTES",), float)

    def _cap(
        self, question: str, flag: str, given: str | None, fields: tuple[str, ...], kind: type[float] | type[int]
    ) -> None:
        had = [self.there.get(PREFIX + each) or f"{Settings.model_fields[each.lower()].default:g}" for each in fields]

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
            self._set(PREFIX + name, value)

    # --- the file ---------------------------------------------------------------------------------------------

    def write(self) -> int:
        """Write what changed, and say what still prevents a start."""
        say("")
        if self.new or not env_file.is_private(self.file):
            if self.home is not None:
                own(self.home)
            env_file.write(self.file, self.new)
            say(f"Written: {self.file}, readable by you alone ({', '.join(self.new) or 'nothing changed'}).")
        else:
            say(f"{self.file} is as it was.")
        for name, value in self.new.items():
            if os.environ.get(name) not in (None, value):
                note(f"{name} also stands in the environment, which counts more than {self.file}.")
        mistakes = _mistakes(self.file)
        for mistake in mistakes:
            note(f"In {self.file}: {mistake}")
        if mistakes or not self.runs:
            note("It cannot run like this; change what is marked ✘ or named here, then run setup again.")
            return FAILED
        say("Start it: threadwright run" + ("" if self.home is not None else f" --env-file {self.file}"))
        return DONE

    def _value(self, name: str) -> str:
        return self.new.get(name) or self.there.get(name, "")

    def _set(self, name: str, value: str) -> None:
        if self.there.get(name) != value and (value or name in self.there):
            self.new[name] = value


def _open(checked: discord_token.Checked) -> bool:
    return any(finding.verdict in ("wrong", "warning") for finding in checked.findings)


def _token(said: str) -> str:
    token = said.strip().removeprefix("Bot ").strip()
    if not _is_word(token):
        raise Unusable("A token holds no blanks. Copy the token alone, from your application's page Bot.")
    return token


def _key(said: str) -> str:
    key = said.strip()
    if not key or not _is_word(key):
        raise Unusable("A key is one word. Copy it from your account at the provider.")
    return key


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


def _content(file: Path) -> str:
    text = file.read_text(encoding="utf-8", errors="replace").strip()
    if not text:
        raise SetupFailed(f"{file} is empty.")
    return text


def _mistakes(file: Path) -> tuple[str, ...]:
    """Return the mistakes in the file that would prevent a start."""
    try:
        read_settings(file if file.exists() else None)
    except SettingsMistaken as mistaken:
        return tuple(str(mistake) for mistake in mistaken.mistakes)
    return ()
