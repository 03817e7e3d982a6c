"""Every setting, in one frozen object that is read once at start and passed down.

A setting's name is ``THREADWRIGHT_`` and the field's name in capitals, except ``DISCORD_TOKEN``. Values come from the
environment, then from the files that `settings_sources.py` names. All mistakes are reported at once, each with what to
write instead, so that nobody has to start the bot five times to find five mistakes.

Providers' own variables (``OPENAI_API_KEY`` and the like) are not fields: the libraries that need them read them.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import AliasChoices, BeforeValidator, Field, PrivateAttr, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from agentic.core.events.execution_events import Level
from agentic.forges.hosts import host_from
from agentic.models.providers.prices import ModelFacts, price_from
from agentic.ports.forge import ForgeHost
from bot.config.settings_errors import (
    PREFIX,
    Mistake,
    SettingsMistaken,
    unknown_names,
    variable,
    wrong_values,
)
from bot.config.settings_sources import (
    PROVIDER_VARIABLES,
    TOKEN,
    Sources,
    gather,
    home_of,
)

__all__ = [
    "PREFIX",
    "PROVIDER_VARIABLES",
    "Mistake",
    "Settings",
    "SettingsMistaken",
    "honour_provider_variables",
    "read_settings",
    "variable",
]


def _split(value: object) -> object:
    if isinstance(value, str):
        return tuple(name.strip() for name in value.split(",") if name.strip())
    return value


Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)]
"""Names separated by commas."""


class Settings(BaseSettings):
    """Everything that can be set; each description is the reason the setting exists."""

    model_config: ClassVar[SettingsConfigDict] = SettingsConfigDict(
        env_prefix=PREFIX,
        env_ignore_empty=True,
        extra="ignore",
        frozen=True,
    )

    discord_token: SecretStr | None = Field(
        default=None,
        validation_alias=AliasChoices("DISCORD_TOKEN"),
        description="The bot's token. Without it a local guild is started, a Discord of your own on this machine.",
    )
    discord_api: str = Field(
        default="https://discord.com/api/v10",
        description="Address of Discord's API; another one for a proxy, or for a local guild in another process.",
    )
    home: Path = Field(
        default=Path("~/.threadwright"),
        description="Folder for everything that must survive a restart: the database and the workspaces.",
    )
    store: Literal["sqlite", "memory"] = Field(
        default="sqlite", description="Where events are kept; 'memory' forgets everything at the end, for trying out."
    )
    retention_days: int = Field(
        default=30,
        ge=0,
        le=36_500,
        description="Days after which the log of a finished task is deleted, with its outputs, checkpoints and messages' "
        "ids; lessons, files and open tasks stay. With 0 nothing expires.",
    )
    tier_1: Names = Field(
        default=(), description="Models of the ultra-fast tier (no tools), in order of preference, as LiteLLM names."
    )
    tier_2: Names = Field(default=(), description="Models of the fast tier, with tools; executions start here.")
    tier_3: Names = Field(default=(), description="Models of the balanced tier; escalations come here.")
    tier_4: Names = Field(default=(), description="Models of the premium tier; the last to be asked, and the dearest.")
    triage: Literal["model", "rules"] = Field(
        default="model",
        description="Whether a message is talk or a task where its words do not say so: 'model' asks the first model of "
        "tier 1 (a second, and a few hundred tokens), 'rules' takes it for a task.",
    )
    advise_first: bool = Field(
        default=False,
        description="Where it is stuck, a stronger model first gives one piece of advice, and takes over only if that does "
        "not help; else it takes over at once.",
    )
    failure_escalates: bool = Field(
        default=True,
        description="A model that says it cannot do a task, or calls done what its tests deny, hands over to a stronger one "
        "instead of ending.",
    )
    come_down: bool = Field(
        default=False,
        description="After a stronger model got past what was hard, and nothing failed for 3 turns, the cheaper one goes on; "
        "once in a task.",
    )
    trials: Literal["auto", "offer", "never"] = Field(
        default="offer",
        description="A task whose check failed: 'auto' tries it again by itself with what was learned, up to 3 attempts in "
        "all and within the money of one task; 'offer' puts 🔄 under its answer; 'never' does neither.",
    )
    complex_starts_higher: bool = Field(
        default=False, description="A task that looks complex begins a tier above the starting one."
    )
    judge: Literal["auto", "always", "off"] = Field(
        default="auto",
        description="Whether a model of another family is asked three times what it thinks of a task's work: 'auto' on a "
        "sample until 50 judged tasks are known to be right or wrong, then by what it proved to be worth; 'always' on each.",
    )
    judge_model: str = Field(
        default="",
        description="The model that judges; it is not asked about work of its own family. Empty: the first of another "
        "family in tiers 2, 3, 1 and 4.",
    )
    lessons_held_back: float = Field(
        default=0.1,
        ge=0.0,
        le=0.5,
        description="The share of the times a lesson fits a task at which it is left out by chance: what becomes of those "
        "tasks is what its use is measured against. With 0 nothing is measured so.",
    )
    embeddings: Literal["auto", "off"] = Field(
        default="auto",
        description="Lessons are found by meaning as well as by words where the extra for it is installed (`make "
        "embeddings`): 'off' leaves it alone.",
    )
    schema_models: Names = Field(
        default=(),
        description="Models that answer better in a fixed JSON shape than with native calls; * and ? may stand in it.",
    )
    prices: Names = Field(
        default=(),
        description="Prices of models that LiteLLM does not know, as name=in/out in US dollars a million tokens; what the "
        "cache costs and the context window may follow: name=in/out/read/write@window.",
    )
    sandbox: Literal["auto", "docker", "bubblewrap", "host"] = Field(
        default="auto",
        description="Where commands run: 'auto' takes Docker, else bubblewrap, else refuses; 'host' has no walls.",
    )
    sandbox_image: str = Field(
        default="threadwright-sandbox:local",
        description="Docker image of the sandboxes, built from deploy/sandbox; its digest (sha256:…) names it and no other.",
    )
    forges: Names = Field(
        default=(),
        description="Hosts of repositories, each with the variable that holds its token: github.com=GITHUB_TOKEN, or "
        "git.example.org=FORGEJO_TOKEN:forgejo; the first is meant where only owner/name is written.",
    )
    forge_ssh_key: Path | None = Field(
        default=None,
        description="Private key for git over SSH instead of HTTPS, with the hosts' keys in `known_hosts` beside it; pull "
        "requests still need the token.",
    )
    repository_mb: int = Field(
        default=2048,
        ge=1,
        le=1_000_000,
        description="Megabytes that a repository may have; a larger one is not fetched.",
    )
    mask_secrets: bool = Field(
        default=True,
        description="Keys, tokens and passwords of known form in files and outputs reach models, logs and exports as "
        "placeholders such as [secret: GitHub token]; the files themselves keep them.",
    )
    max_sandboxes: int = Field(
        default=32, ge=1, le=1000, description="Sandboxes at once; further ones wait, so that memory stays bounded."
    )
    max_executions: int = Field(
        default=64, ge=1, le=10_000, description="Executions at once; further threads wait their turn, in order."
    )
    drain_seconds: float = Field(
        default=5.0,
        ge=0,
        le=600,
        description="When it is told to end, so long a request or command that runs may take to end by itself.",
    )
    max_turns_simple: int = Field(default=10, ge=1, le=1000, description="Turns a simple task may take.")
    max_turns_medium: int = Field(default=20, ge=1, le=1000, description="Turns a medium task may take.")
    max_turns_complex: int = Field(default=35, ge=1, le=1000, description="Turns a complex task may take.")
    max_usd: float = Field(
        default=5.0, gt=0, description="US dollars one execution may spend; it ends visibly when they are spent."
    )
    max_daily_usd_person: float | None = Field(
        default=None, gt=0, description="US dollars the tasks of one person may spend a day (UTC); empty for no limit."
    )
    max_daily_usd_server: float | None = Field(
        default=None, gt=0, description="US dollars all tasks in one server may spend a day (UTC); empty for no limit."
    )
    max_daily_usd: float | None = Field(
        default=None, gt=0, description="US dollars all tasks of this bot may spend a day (UTC); empty for no limit."
    )
    max_tokens: int = Field(default=2_000_000, ge=1_000, description="Tokens one execution may use.")
    history: Literal["auto", "append", "seed", "replay_all"] = Field(
        default="auto",
        description="How much of a task's history each request carries: 'append' lets it grow and shortens it in steps, "
        "'seed' shortens it each turn, 'replay_all' never; 'auto' chooses by whether the provider keeps a cache.",
    )
    history_tokens: int = Field(
        default=15_000, ge=1_000, description="With so many tokens of history it is shortened, where it grows in steps."
    )
    instructions: str = Field(
        default="",
        max_length=8_000,
        description="Text for the system prompt of every task: house rules, preferred tools.",
    )
    max_minutes: float = Field(default=60.0, gt=0, description="Minutes one execution may take.")
    request_seconds: float = Field(
        default=300.0,
        ge=1,
        le=3_600,
        description="Seconds one request to a model may take; slow local models need more.",
    )
    owners: Names = Field(
        default=(),
        description="Ids of Discord roles whose members may change settings and allow the host; others can take a name.",
    )
    operators: Names = Field(
        default=(), description="Ids of Discord roles whose members may act on everyone's executions and budgets."
    )
    viewers: Names = Field(
        default=(), description="Ids of Discord roles whose members may only look, not start or stop anything."
    )
    default_level: Level = Field(
        default="executor", description="The right of everyone without one of these roles; 'viewer' closes the bot."
    )
    speaking_bots: Names = Field(
        default=(), description="Ids of bots and webhooks that may give tasks; all others are ignored, against loops."
    )
    command_guilds: Names = Field(
        default=(),
        description="Ids of servers to register the slash commands in, where changes show at once; empty: everywhere.",
    )
    custom_emoji: Names = Field(
        default=(),
        description="Custom emoji that stand for a sign, such as 1234567890=🛑; a name alone proves nothing.",
    )
    guild_port: int = Field(
        default=0,
        ge=0,
        le=65_535,
        description="Port of the local guild on 127.0.0.1; 0 takes the one of the last start if it is free, else another.",
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="warning", description="How much is written to standard error."
    )
    log_prompts: bool = Field(
        default=False,
        description="With THREADWRIGHT_LOG_LEVEL=debug, libraries log what they send and get as well: prompts and answers.",
    )

    _env_file: Path | None = PrivateAttr(default=None)

    @property
    def env_file(self) -> Path | None:
        """The file given by `--env-file`."""
        return self._env_file

    @field_validator("home")
    @classmethod
    def _absolute(cls, value: Path) -> Path:
        return home_of(str(value)).absolute()

    @field_validator("discord_api")
    @classmethod
    def _address(cls, value: str) -> str:
        if not value.startswith(("https://", "http://")):
            raise ValueError("it is an address that begins with https://")
        return value.rstrip("/")

    @field_validator("custom_emoji")
    @classmethod
    def _paired(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not all(pair.partition("=")[0].strip().isdigit() and pair.partition("=")[2].strip() for pair in value):
            raise ValueError("each is an emoji's id, '=' and the sign it stands for")
        return value

    @field_validator("forges")
    @classmethod
    def _hosts(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for written in value:
            host_from(written)
        return value

    @field_validator("command_guilds")
    @classmethod
    def _ids(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not all(id.isdecimal() and len(id) <= 20 for id in value):
            raise ValueError("each is a server's id, a number of about 18 digits; developer mode lets you copy it")
        return value

    @field_validator("judge_model")
    @classmethod
    def _one_model(cls, value: str) -> str:
        if "," in value:
            raise ValueError("it is the name of one model")
        return value.strip()

    @field_validator("prices")
    @classmethod
    def _priced(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for price in value:
            price_from(price)
        return value

    @field_validator("discord_token", mode="before")
    @classmethod
    def _bare_token(cls, value: object) -> object:
        if isinstance(value, str) and any(letter.isspace() for letter in value.strip()):
            raise ValueError("it holds a blank; copy the token alone, without 'Bot ' before it")
        return value

    @property
    def signs(self) -> dict[str, str]:
        """Ids of custom emoji, each with the sign it stands for."""
        return {one.strip(): sign.strip() for one, _, sign in (pair.partition("=") for pair in self.custom_emoji)}

    @property
    def priced(self) -> dict[str, ModelFacts]:
        """The models that were given a price."""
        return dict(price_from(price) for price in self.prices)

    @property
    def levels(self) -> dict[str, Level]:
        """Discord roles (ids or names), each with its level."""
        named: tuple[tuple[Names, Level], ...] = (
            (self.viewers, "viewer"), (self.operators, "operator"), (self.owners, "owner"),
        )  # fmt: skip
        return {role: level for roles, level in named for role in roles}

    @property
    def forge_hosts(self) -> tuple[ForgeHost, ...]:
        """The hosts of repositories."""
        return tuple(host_from(written) for written in self.forges)

    @property
    def tiers(self) -> tuple[tuple[str, ...], ...]:
        """The configured models of tiers 1 to 4."""
        return (self.tier_1, self.tier_2, self.tier_3, self.tier_4)


def read_settings(env_file: Path | None = None) -> Settings:
    """Read the environment and the files; raises ``SettingsMistaken`` with every mistake at once."""
    return settings_from(gather(env_file, os.environ))


def settings_from(sources: Sources) -> Settings:
    """Return the settings of these sources; raises ``SettingsMistaken`` with every mistake at once."""
    fields = Settings.model_fields
    mistakes = (*unknown_names(sources.names(), fields), *sources.mixed())
    files = sources.from_files()
    said = {name if name == TOKEN else field: files[name] for field in fields if (name := variable(field)) in files}
    try:
        settings = Settings(**said)  # pyright: ignore[reportArgumentType]  # texts, as the environment has them
    except ValidationError as error:
        raise SettingsMistaken(mistakes + tuple(wrong_values(error, fields))) from None
    if mistakes:
        raise SettingsMistaken(mistakes)
    settings._env_file = sources.env_file  # pyright: ignore[reportPrivateUsage]
    return settings


def honour_provider_variables(sources: Sources) -> None:
    """Put the providers' variables from files into the environment, for their libraries."""
    os.environ.update(sources.for_providers())
