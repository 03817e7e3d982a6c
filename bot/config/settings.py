"""Every setting, in one frozen object that is read once at start and passed down.

A setting's name is ``THREADWRIGHT_`` and the field's name in capitals, except those in ``OWN_NAMES``. Values come from the
environment, then from the files that `settings_sources.py` names. All mistakes are reported at once, each with what to
write instead, so that nobody has to start the bot five times to find five mistakes.

Providers' own variables (``OPENAI_API_KEY`` and the like) are not fields: the libraries that need them read them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import (
    AliasChoices,
    BeforeValidator,
    Field,
    PrivateAttr,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from agentic.aws.aws_place import AwsPlace, check_queue, events_place
from agentic.core.events.execution_events import Level
from agentic.egress.host_list import private_places
from agentic.event_targets.event_webhook import MAKE_SECRET, check_address, key_from
from agentic.forges.hosts import host_from
from agentic.forges.repository_list import pattern_from
from agentic.forges.webhook import SECRET_CHARACTERS, address_from
from agentic.models.providers.prices import ModelFacts, price_from
from agentic.ports.forge import ForgeHost
from bot.config.home import COPIES, LESSONS, databases
from bot.config.settings_errors import (
    OWN_NAMES,
    PREFIX,
    Mistake,
    SettingsMistaken,
    unknown_names,
    variable,
    wrong_values,
)
from bot.config.settings_sources import (
    PROVIDER_VARIABLES,
    Sources,
    gather,
    home_of,
)
from bot.rendering.secrets import secrets_of

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


_TABLE = re.compile(r"[A-Za-z0-9_.-]{3,255}")
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")

OFF = "off"
TOKEN_CHARACTERS = 32
"""So many a token has at least that opens the console."""

Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)]
"""Names separated by commas."""


class Settings(BaseSettings):
    """Everything that can be set; `.env.example` shows each description above its setting."""

    model_config: ClassVar[SettingsConfigDict] = SettingsConfigDict(
        env_prefix=PREFIX,
        env_ignore_empty=True,
        extra="ignore",
        frozen=True,
    )

    discord_token: SecretStr | None = Field(
        default=None,
        validation_alias=AliasChoices(*OWN_NAMES["discord_token"]),
        description="Your bot's token. Without it the bot starts its own Discord on this machine, to try it out.",
    )
    discord_api: str = Field(
        default="https://discord.com/api/v10",
        description="The address of Discord's API. Change it for a proxy, or for a local guild in another process.",
    )
    home: Path = Field(
        default=Path("~/.threadwright"),
        description="The folder where everything is kept: database, workspaces, settings.",
    )
    store: Literal["sqlite", "aws", "memory"] = Field(
        default="sqlite",
        description="Where the bot keeps its data: 'sqlite' on disk; 'aws' in DynamoDB, S3 and SQS, for many machines; "
        "'memory' loses everything at the end, for trying out.",
    )
    aws_table: str = Field(
        default="",
        validation_alias=AliasChoices(*OWN_NAMES["aws_table"]),
        description="The table in DynamoDB.",
    )
    aws_bucket: str = Field(
        default="",
        validation_alias=AliasChoices(*OWN_NAMES["aws_bucket"]),
        description="The bucket for files of threads and for what is too large for the table; it has to be versioned.",
    )
    aws_doorbell_queue: str = Field(
        default="",
        validation_alias=AliasChoices(*OWN_NAMES["aws_doorbell_queue"]),
        description="The address of the standard queue that tells workers which thread to look at.",
    )
    aws_events_queue: str = Field(
        default="",
        validation_alias=AliasChoices(*OWN_NAMES["aws_events_queue"]),
        description="The URL of an SQS queue that gets a message for what happens in tasks, as THREADWRIGHT_EVENTS_FILE has "
        "it; one that ends in .fifo keeps the order of a task. With any store. Empty: none is sent.",
    )
    aws_region: str = Field(
        default="",
        validation_alias=AliasChoices(*OWN_NAMES["aws_region"]),
        description="The region of table, bucket and queues, such as eu-central-1.",
    )
    aws_endpoint: str = Field(
        default="",
        validation_alias=AliasChoices(*OWN_NAMES["aws_endpoint"]),
        description="Another address than Amazon's, such as that of a local AWS (`make aws-local`).",
    )
    retention_days: int = Field(
        default=30,
        ge=0,
        le=36_500,
        description="Days until a finished task is deleted: its log, outputs, checkpoints and message ids. Lessons, files and "
        "open tasks stay. 0 keeps everything.",
    )
    tier_1: Names = Field(
        default=(),
        description="Models for small talk, without tools.",
    )
    tier_2: Names = Field(default=(), description="Models that start each task.")
    tier_3: Names = Field(default=(), description="Models that take over when tier 2 is stuck.")
    tier_4: Names = Field(default=(), description="The strongest and most expensive models, used last.")
    task_model: Literal["owner", "operator", "executor"] = Field(
        default="owner",
        description="Who may choose the model of one task by beginning it with `model: NAME`: an 'owner', an 'operator' or "
        "every 'executor'. `/model`, for a thread or channel, stays with owners.",
    )
    triage: Literal["model", "rules"] = Field(
        default="model",
        description="How the bot tells small talk from a task when the words don't make it clear: 'model' asks the first "
        "model of tier 1 (takes a second and a few hundred tokens), 'rules' treats it as a task.",
    )
    advise_first: bool = Field(
        default=False,
        description="When a model is stuck, a stronger one first gives one piece of advice and takes over only if that "
        "doesn't help. False: it takes over at once.",
    )
    failure_escalates: bool = Field(
        default=True,
        description="A stronger model takes over when a model gives up, or says “done” although its tests fail. False: the "
        "task ends.",
    )
    come_down: bool = Field(
        default=False,
        description="After a stronger model solved the hard part and 3 turns went well, the cheaper model continues. Once per "
        "task.",
    )
    trials: Literal["auto", "offer", "never"] = Field(
        default="offer",
        description="What happens when a task's check fails: 'auto' tries again with what was learned (up to 3 attempts, "
        "within the task's money), 'offer' puts 🔄 under the answer, 'never' does nothing.",
    )
    complex_starts_higher: bool = Field(default=False, description="Start tasks that look complex one tier higher.")
    judge: Literal["auto", "always", "off"] = Field(
        default="auto",
        description="Whether a model of another family rates finished work (three requests each): 'auto' rates a sample until "
        "50 rated tasks are known to be right or wrong, then as often as it proved useful; 'always' rates every "
        "task; 'off' none.",
    )
    judge_model: str = Field(
        default="",
        description="The model that rates. It never rates work of its own family. Empty: the first model of another family in "
        "tiers 2, 3, 1 and 4.",
    )
    lessons_held_back: float = Field(
        default=0.1,
        ge=0.0,
        le=0.5,
        description="How often a matching lesson is left out on purpose, to measure whether lessons help. 0.1 is one time in "
        "ten; 0 measures nothing.",
    )
    embeddings: Literal["auto", "off"] = Field(
        default="auto",
        description="Whether lessons and code are also found by meaning, not only by words. 'auto' does it where "
        "threadwright[embeddings] is installed (in a clone: `make embeddings`); 'off' never.",
    )
    code_search: Literal["on", "off"] = Field(
        default="on",
        description="Whether agents can search the code of their workspace by a question. 'on' keeps an index of each "
        "workspace that was searched.",
    )
    transcription: str = Field(
        default="",
        description="The model that writes down voice messages, such as `openai/gpt-4o-mini-transcribe` or "
        "`groq/whisper-large-v3-turbo`. Without one, people are asked to write instead.",
    )
    schema_models: Names = Field(
        default=(),
        description="Models that work better with a fixed JSON format than with tool calls. Names may contain * and ?.",
    )
    prices: Names = Field(
        default=(),
        description="Prices of models that are not in LiteLLM's price list, as name=in/out in US dollars per million tokens. "
        "Cache prices and context window may follow: name=in/out/read/write@window. A model without a price is "
        "not used.",
    )
    sandbox: Literal["auto", "docker", "bubblewrap", "host"] = Field(
        default="auto",
        description="Where commands run: 'auto' uses Docker, else bubblewrap, else runs no commands; 'docker' or 'bubblewrap' "
        "only that one; 'host' has no sandbox at all, commands have your rights.",
    )
    sandbox_image: str = Field(
        default="threadwright-sandbox:local",
        description="The Docker image of the sandboxes, built from deploy/sandbox. A digest (sha256:…) accepts exactly that "
        "one.",
    )
    network_private: str = Field(
        default="",
        description="Hosts of your own network (a company's package index, say) that a list of hosts may name: host or "
        "host:port, separated by spaces. Private addresses are refused under every other name.",
    )
    search_url: str = Field(
        default="",
        description="The address of a SearXNG that answers in JSON, such as https://search.example.org, to search the web. "
        "Empty: public search engines. Whether agents may is chosen in Discord (`/settings set name:network value:@web`).",
    )
    forges: Names = Field(
        default=(),
        description="Hosts of repositories, each with the variable that holds its token: github.com=GITHUB_TOKEN, or "
        "git.example.org=FORGEJO_TOKEN:forgejo; the first is meant where only owner/name is written.",
    )
    repositories: Names = Field(
        default=(),
        description="Repositories that may be worked on: owner/name or owner/*, with SERVER_ID: before it where only that "
        "server may. Needed once the bot is in more than one server, since the token is the same for all.",
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
    webhooks: str = Field(
        default="",
        description="Where webhooks of GitHub or Forgejo are received, such as 127.0.0.1:8091, so that checks are noticed at "
        "once. Empty: pull requests are only polled.",
    )
    webhook_secret: SecretStr | None = Field(
        default=None,
        description="The secret that the host signs its webhooks with, at least 16 characters; without it none is received.",
    )
    events_file: Path | None = Field(
        default=None,
        description="A file that gets a line of JSON for what happens in tasks (started, a turn, a question, ended): "
        "docs/outside-events.schema.json. It is renamed at 16 MB, and 4 older ones are kept.",
    )
    events_webhook_secret: SecretStr | None = Field(
        default=None,
        description="The secret that these requests are signed with, as Standard Webhooks has it; make one with: "
        'echo "whsec_$(openssl rand -base64 32)"',
    )
    events_webhook: str = Field(
        default="",
        description="The address that the same events are posted to, such as https://example.org/threadwright. Its host may "
        "be in your own network only if THREADWRIGHT_NETWORK_PRIVATE names it.",
    )
    pull_request_seconds: float = Field(
        default=20.0,
        ge=0.05,
        le=3_600.0,
        description="Seconds until a pull request is looked at again after something changed there; where nothing changes, "
        "the pause grows to 30 times that. No model is asked.",
    )
    mask_secrets: bool = Field(
        default=True,
        description="Replace keys, tokens and passwords by placeholders such as [secret: GitHub token] before models, logs "
        "and exports see them. Your files keep them.",
    )
    max_sandboxes: int = Field(
        default=32,
        ge=1,
        le=1000,
        description="How many sandboxes may exist at once; more have to wait, so that memory is not used up.",
    )
    max_executions: int = Field(
        default=64, ge=1, le=10_000, description="How many tasks may run at once; more wait in line."
    )
    drain_seconds: float = Field(
        default=5.0,
        ge=0,
        le=600,
        description="When the bot is stopped, seconds that a running request or command gets to finish.",
    )
    max_turns_simple: int = Field(default=10, ge=1, le=1000, description="Turns a simple task may take.")
    max_turns_medium: int = Field(default=20, ge=1, le=1000, description="Turns a medium task may take.")
    max_turns_complex: int = Field(default=35, ge=1, le=1000, description="Turns a complex task may take.")
    max_usd: float = Field(
        default=5.0, gt=0, description="US dollars one task may spend. At the limit it asks for more, or ends."
    )
    max_daily_usd_person: float | None = Field(
        default=None, gt=0, description="US dollars all tasks of one person may spend a day (UTC). Empty: no limit."
    )
    max_daily_usd_server: float | None = Field(
        default=None, gt=0, description="US dollars all tasks in one server may spend a day (UTC). Empty: no limit."
    )
    max_daily_usd: float | None = Field(
        default=None, gt=0, description="US dollars all tasks of this bot may spend a day (UTC). Empty: no limit."
    )
    max_tokens: int = Field(default=2_000_000, ge=1_000, description="Tokens one task may use.")
    history: Literal["auto", "append", "seed", "replay_all"] = Field(
        default="auto",
        description="How much of a task's history each request repeats: 'append' lets it grow and shortens it in steps, "
        "'seed' shortens it each turn, 'replay_all' never; 'auto' picks what is cheapest with this provider's "
        "cache.",
    )
    history_tokens: int = Field(
        default=15_000, ge=1_000, description="With 'append', shorten the history when it has more tokens than this."
    )
    instructions: str = Field(
        default="",
        max_length=8_000,
        description="Text added to every task's instructions, as the last word: no rule file overrides it.",
    )
    max_minutes: float = Field(default=60.0, gt=0, description="Minutes one task may take.")
    request_seconds: float = Field(
        default=300.0,
        ge=1,
        le=3_600,
        description="Seconds one request to a model may take. Slow local models need more.",
    )
    owners: Names = Field(
        default=(),
        description="Discord roles whose members may do everything, also change settings. Write role ids, not names: anybody "
        "can name a role. Server administrators are always owners.",
    )
    operators: Names = Field(
        default=(),
        description="Ids of roles whose members may approve risky steps, change budgets and handle everyone's tasks.",
    )
    viewers: Names = Field(default=(), description="Ids of roles whose members may only look.")
    default_level: Level = Field(
        default="executor", description="What everyone else may do: 'executor' gives tasks, 'viewer' only looks."
    )
    speaking_bots: Names = Field(
        default=(),
        description="Ids of bots and webhooks that may give tasks. All others are ignored, so that bots don't talk in "
        "circles.",
    )
    command_guilds: Names = Field(
        default=(),
        description="Ids of servers for the slash commands; changes show there at once. Empty: all servers.",
    )
    custom_emoji: Names = Field(
        default=(),
        description="Your own emoji for a sign, as id=sign, such as 1234567890=🛑.",
    )
    guild_port: int = Field(
        default=0,
        ge=0,
        le=65_535,
        description="Port of the local guild on 127.0.0.1. 0: the port of the last start if it is free, else another.",
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="warning", description="How much is logged to standard error."
    )
    log_format: Literal["text", "json"] = Field(
        default="text",
        description="How an entry of the log looks: 'text' for people; 'json', a line each, with the ids of thread, task, "
        "request and call, for programs.",
    )
    log_prompts: bool = Field(
        default=False,
        description="With THREADWRIGHT_LOG_LEVEL=debug, also log what is sent to models and what they answer.",
    )
    trace_content: bool = Field(
        default=False,
        description="With OTEL_EXPORTER_OTLP_ENDPOINT, traces also hold words: tasks, answers, arguments and results of "
        "tools, shortened and without secrets. Whoever reads the traces reads these.",
    )
    health: str = Field(
        default="",
        description="Where the bot says whether it is well (/healthz, /readyz), such as 127.0.0.1:8092; `threadwright health` "
        "asks there. Empty: nowhere.",
    )
    console: str = Field(
        default="127.0.0.1:8094",
        description="Where the console is: what the agent thought, saw, did and cost, in a browser. If nothing is set here "
        "and the port is taken, it takes any that is free; port 0 always does. 'off': there is none.",
    )
    console_url: str = Field(
        default="",
        description="The address that links to the console begin with, where people reach it by another one, such as "
        "https://threadwright.example.org. Empty: the address it listens at.",
    )
    console_token: SecretStr | None = Field(
        default=None,
        description="Whoever knows this token may open the console from elsewhere and sees everything; at least 32 "
        "characters, make one with: openssl rand -hex 32",
    )
    discord_client_id: str = Field(
        default="",
        validation_alias=AliasChoices(*OWN_NAMES["discord_client_id"]),
        description="The bot's application id, so that people can sign in to the console with Discord and see what they see "
        "there.",
    )
    discord_client_secret: SecretStr | None = Field(
        default=None,
        validation_alias=AliasChoices(*OWN_NAMES["discord_client_secret"]),
        description="The client secret beside it (OAuth2 in the developer portal).",
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

    @field_validator("search_url")
    @classmethod
    def _searched_at(cls, value: str) -> str:
        if value and (not value.startswith(("https://", "http://")) or "?" in value or "#" in value):
            raise ValueError("it is an address that begins with https://, without anything behind a ?")
        return value.rstrip("/")

    @field_validator("aws_table")
    @classmethod
    def _table(cls, value: str) -> str:
        if value and not _TABLE.fullmatch(value):
            raise ValueError(
                "a table's name has 3 to 255 letters, digits, '_', '-' and '.'; it is no address and no ARN"
            )
        return value

    @field_validator("aws_bucket")
    @classmethod
    def _bucket(cls, value: str) -> str:
        if value and not _BUCKET.fullmatch(value):
            raise ValueError("a bucket's name has 3 to 63 small letters, digits, '-' and '.', without s3:// before it")
        return value

    @field_validator("aws_events_queue", "aws_doorbell_queue")
    @classmethod
    def _queue(cls, value: str) -> str:
        if value:
            check_queue(value)
        return value

    @field_validator("aws_doorbell_queue")
    @classmethod
    def _doorbell(cls, value: str) -> str:
        if value.endswith(".fifo"):
            raise ValueError(
                "it is a FIFO queue, which is too slow for this; make a standard queue and write its address"
            )
        return value

    @field_validator("aws_endpoint")
    @classmethod
    def _endpoint(cls, value: str) -> str:
        if value and not value.startswith(("https://", "http://")):
            raise ValueError("it is an address that begins with https://, or http:// for a local AWS")
        return value.rstrip("/")

    @field_validator("custom_emoji")
    @classmethod
    def _paired(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not all(pair.partition("=")[0].strip().isdigit() and pair.partition("=")[2].strip() for pair in value):
            raise ValueError("each is an emoji's id, '=' and the sign it stands for")
        return value

    @field_validator("forges")
    @classmethod
    def _forges(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for written in value:
            host_from(written)
        return value

    @field_validator("repositories")
    @classmethod
    def _repositories(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for written in value:
            pattern_from(written)
        return value

    @field_validator("webhooks")
    @classmethod
    def _listening(cls, value: str) -> str:
        if value:
            address_from(value)
        return value.strip()

    @field_validator("health")
    @classmethod
    def _asked_at(cls, value: str) -> str:
        if value:
            address_from(value, usual_port=8092)
        return value.strip()

    @field_validator("console")
    @classmethod
    def _shown_at(cls, value: str) -> str:
        if value.strip() != OFF:
            address_from(value, usual_port=8094, least=0)
        return value.strip()

    @field_validator("console_url")
    @classmethod
    def _linked_at(cls, value: str) -> str:
        if value and (not value.startswith(("https://", "http://")) or any(mark in value for mark in "?# ()<>")):
            raise ValueError("it is an address that begins with https://, without anything behind a ? or #")
        return value.rstrip("/")

    @field_validator("console_token")
    @classmethod
    def _hard_to_guess(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and len(value.get_secret_value()) < TOKEN_CHARACTERS:
            raise ValueError(f"it has fewer than {TOKEN_CHARACTERS} characters; make one with: openssl rand -hex 32")
        return value

    @field_validator("discord_client_id")
    @classmethod
    def _application(cls, value: str) -> str:
        if value and not (value.isdecimal() and len(value) <= 20):
            raise ValueError("it is a number of about 18 digits, on the bot's page in the developer portal")
        return value

    @field_validator("webhook_secret")
    @classmethod
    def _long_enough(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and len(value.get_secret_value()) < SECRET_CHARACTERS:
            raise ValueError(f"it has fewer than {SECRET_CHARACTERS} characters; make one with: openssl rand -hex 32")
        return value

    @field_validator("command_guilds")
    @classmethod
    def _ids(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not all(id.isdecimal() and len(id) <= 20 for id in value):
            raise ValueError("each is a server's id, a number of about 18 digits; developer mode lets you copy it")
        return value

    @field_validator("network_private")
    @classmethod
    def _hosts(cls, value: str) -> str:
        private_places(value)
        return value

    @field_validator("events_file")
    @classmethod
    def _whole_path(cls, value: Path | None) -> Path | None:
        if value is not None and not value.expanduser().is_absolute():
            raise ValueError("it does not begin with / or ~, so it would be another file wherever you are")
        return value.expanduser() if value is not None else None

    @field_validator("events_webhook_secret")
    @classmethod
    def _signs(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None:
            key_from(value.get_secret_value())
        return value

    @field_validator("events_webhook")
    @classmethod
    def _posted_to(cls, value: str, others: ValidationInfo) -> str:
        if value.strip():
            check_address(value.strip(), private_places(others.data.get("network_private", "")))
            if others.data.get("events_webhook_secret") is None:
                raise ValueError(
                    f"events are posted signed: set THREADWRIGHT_EVENTS_WEBHOOK_SECRET too ({MAKE_SECRET})"
                )
        return value.strip()

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
    def webhook_address(self) -> tuple[str, int] | None:
        """Where webhooks are received; None for nowhere."""
        return address_from(self.webhooks) if self.webhooks else None

    @property
    def aws_place(self) -> AwsPlace | None:
        """Where everything is kept on AWS; None where it is not kept there."""
        if self.store != "aws":
            return None
        return AwsPlace(
            self.aws_table, self.aws_bucket, self.aws_region, self.aws_endpoint,
            self.aws_doorbell_queue, self.aws_events_queue, self.home / COPIES,
        )  # fmt: skip

    @property
    def events_place(self) -> AwsPlace | None:
        """Where the queue is that events go to; None for nowhere."""
        url = self.aws_events_queue
        return events_place(url, self.aws_region, self.aws_endpoint) if url else None

    def stores(self) -> list[Path | AwsPlace]:
        """Every store of this bot that is there: its own, then those of single tasks, newest first."""
        files = databases(self.home)
        if self.aws_place is None:
            return [*files]
        return [self.aws_place, *(path for path in files if path.parent != self.home)]

    @property
    def kept_in(self) -> Path | AwsPlace:
        """What people look for where something is missing: the home, or what stands in for it."""
        return self.aws_place or self.home

    @property
    def lessons_place(self) -> Path | AwsPlace:
        """Where lessons are kept; a file need not be there yet."""
        return self.aws_place or self.home / LESSONS

    @property
    def health_address(self) -> tuple[str, int] | None:
        """Where the process says whether it is well; None for nowhere."""
        return address_from(self.health) if self.health else None

    @property
    def console_address(self) -> tuple[str, int] | None:
        """Where the console is; None where there is none, also because processes share no store that it could read."""
        if self.console == OFF or self.store == "memory":
            return None
        return address_from(self.console, least=0)

    @property
    def secrets(self) -> frozenset[str]:
        """What this process holds and nobody is to read: secret settings, and what the environment calls secret."""
        held = (getattr(self, name) for name in type(self).model_fields)
        tokens = (os.environ.get(host.variable, "").strip() for host in self.forge_hosts)
        return secrets_of(os.environ) | frozenset(
            (*(secret.get_secret_value() for secret in held if isinstance(secret, SecretStr)), *filter(None, tokens))
        )

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
    said = {field: files[name] for field in fields if (name := variable(field)) in files and field not in OWN_NAMES}
    for names in OWN_NAMES.values():
        if not any(name in sources.environment for name in names):  # one of its names there wins over the other here
            said |= {name: files[name] for name in names if name in files}
    try:
        settings = Settings(**said)  # pyright: ignore[reportArgumentType]  # texts, as the environment has them
    except ValidationError as error:
        raise SettingsMistaken(mistakes + tuple(wrong_values(error, fields))) from None
    if mistakes := (*mistakes, *_wrong_for_aws(settings)):
        raise SettingsMistaken(mistakes)
    settings._env_file = sources.env_file  # pyright: ignore[reportPrivateUsage]
    return settings


def _wrong_for_aws(settings: Settings) -> Iterator[Mistake]:
    """Yield what the store on AWS cannot do without, and what it cannot do with."""
    if settings.store == "aws":
        needed = {"aws_table": ("the table", settings.aws_table), "aws_bucket": ("the bucket", settings.aws_bucket)}
        for field, (what, value) in needed.items():
            if not value:
                problem = f"it is not set, and THREADWRIGHT_STORE=aws keeps everything in {what} of that name"
                yield Mistake(variable(field), problem, f"Write the name of {what}; `make aws-local` makes one to try")
        if settings.aws_doorbell_queue and settings.aws_doorbell_queue == settings.aws_events_queue:
            problem = "it is the queue of events too, and workers would take events for rings, and delete them"
            yield Mistake(variable("aws_doorbell_queue"), problem, "Write the address of another queue")


def honour_provider_variables(sources: Sources) -> None:
    """Put the variables of providers and of OpenTelemetry from files into the environment, for their libraries."""
    os.environ.update(sources.for_libraries())
