"""The text of `.env.example`, made from the settings: groups with headings, the most needed first.

``python -m bot.config.settings_example > .env.example`` writes it; a test holds the file against it.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from bot.config.settings import Settings, variable

WIDTH = 110
INTRO = """\
Every setting of Threadwright. You need only the first group; `threadwright setup` asks for it and writes the file.
A line that begins with # shows the default. To change it, remove the # and write your value.
Where the file belongs: ~/.threadwright/.env, or anywhere with `threadwright run --env-file PATH`.
`make run` also takes the .env beside the Makefile. No other .env is read.
The environment wins over --env-file, and that over the home's file.
An address in a file is used only with a key from the same file. ${NAME} is not replaced."""


@dataclass(frozen=True, slots=True)
class SettingsGroup:
    """Settings under one heading: fields of ``Settings`` and variables of providers, in order."""

    heading: str
    about: str
    names: tuple[str, ...]


GROUPS = (
    SettingsGroup(
        "1. Must: Discord and one model",
        "The bot's token, and the key of one provider. Without a key, use Ollama (group 2).",
        ("discord_token", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY",
         "MISTRAL_API_KEY", "GROQ_API_KEY", "DEEPSEEK_API_KEY", "XAI_API_KEY"),
    ),
    SettingsGroup(
        "2. Models",
        "With a key nothing here is needed: each provider has defaults. Names are LiteLLM's, such as openai/gpt-5.4 "
        "or ollama_chat/qwen3; separate several with commas, best first. `threadwright doctor` tries them.",
        ("OLLAMA_API_BASE", "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "tier_1", "tier_2", "tier_3", "tier_4", "prices"),
    ),
    SettingsGroup(
        "3. Money and limits",
        "At a limit a task asks for more, or ends if nobody can answer.",
        ("max_usd", "max_daily_usd_person", "max_daily_usd_server", "max_daily_usd", "max_tokens", "max_minutes",
         "max_turns_simple", "max_turns_medium", "max_turns_complex"),
    ),
    SettingsGroup(
        "4. People",
        "Nothing here is needed: administrators of the server are owners, everyone else may give tasks. "
        "To copy ids, switch on developer mode in Discord.",
        ("owners", "operators", "viewers", "default_level", "task_model", "speaking_bots"),
    ),
    SettingsGroup(
        "5. The rest",
        "",
        ("home", "retention_days", "sandbox", "instructions", "mask_secrets", "forges", "repositories", "forge_ssh_key",
         "search_url", "webhooks", "webhook_secret", "events_file", "events_webhook", "events_webhook_secret",
         "aws_events_queue", "trials", "embeddings", "code_search", "transcription",
         "custom_emoji", "command_guilds", "guild_port", "log_level"),
    ),
    SettingsGroup(
        "6. Many machines: AWS",
        "THREADWRIGHT_STORE=aws keeps everything in DynamoDB, S3 and SQS, and needs the table, the bucket and "
        "threadwright[aws] (in a clone: `make aws-store`). "
        "`make aws-local` makes all of it on this machine, to try it. Region, address and key count for "
        "AGENTIC_EVENTS_QUEUE_URL too, with any store. Without a key here, the SDK looks where it always does: "
        "environment, ~/.aws, the role of the machine.",
        ("store", "aws_table", "aws_bucket", "aws_doorbell_queue", "aws_region", "aws_endpoint",
         "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"),
    ),
    SettingsGroup(
        "7. Watching the bot",
        "Nothing here is needed. docs/observability.md shows what there is, with an example. OTEL_… take threadwright[otel], "
        "which a clone has.",
        ("console", "console_url", "console_token", "discord_client_id", "discord_client_secret", "health", "log_format",
         "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_HEADERS", "OTEL_SERVICE_NAME",
         "OTEL_RESOURCE_ATTRIBUTES", "trace_content"),
    ),
    SettingsGroup(
        "8. Experts",
        "The defaults suit most people. Change these only if you know why.",
        ("discord_api", "triage", "complex_starts_higher", "failure_escalates", "advise_first", "come_down",
         "judge", "judge_model", "lessons_held_back", "schema_models", "history", "history_tokens", "request_seconds",
         "sandbox_image", "network_private", "repository_mb", "pull_request_seconds", "max_sandboxes", "max_executions",
         "drain_seconds", "log_prompts", "OPENAI_API_BASE", "HOSTED_VLLM_API_BASE", "HOSTED_VLLM_API_KEY"),
    ),
)  # fmt: skip
LIBRARIES_ABOUT: Mapping[str, str] = {
    "ANTHROPIC_API_KEY": "The key of your provider; one is enough. Prompts, logs and sandboxes never see it.",
    "OLLAMA_API_BASE": "Where your Ollama runs, if not at http://127.0.0.1:11434. Its models are called ollama_chat/NAME.",
    "OPENAI_BASE_URL": "The address of a server of your own that speaks like OpenAI, such as https://models.example.org/v1.",
    "ANTHROPIC_BASE_URL": "The address of a server of your own that speaks like Anthropic.",
    "AWS_ACCESS_KEY_ID": "A key of an account, or below the name of a profile in ~/.aws. Prompts, logs and sandboxes never "
    "see it.",
    "OPENAI_API_BASE": "Another name of OPENAI_BASE_URL.",
    "HOSTED_VLLM_API_BASE": "A vLLM server: its address and its key. Its models are called hosted_vllm/NAME.",
    "OTEL_EXPORTER_OTLP_ENDPOINT": "Where traces and metrics go, over OTLP/HTTP, such as http://127.0.0.1:4318. Empty: "
    "nowhere. OpenTelemetry's other variables are read from the environment.",
    "OTEL_EXPORTER_OTLP_HEADERS": "What is sent with them, such as authorization=Bearer%20KEY.",
    "OTEL_SERVICE_NAME": "The name of this bot there; threadwright where it is empty. Below it, more of your own: "
    "name=value,…",
}


def example() -> str:
    """Return the text of `.env.example`."""
    return "\n".join((*_comment(INTRO), *(line for group in GROUPS for line in _group(group)))) + "\n"


def _group(group: SettingsGroup) -> Iterator[str]:
    yield ""
    yield ""
    yield f"# ── {group.heading} ".ljust(WIDTH, "─")
    yield from _comment(group.about)
    for name in group.names:
        about, assigned = _setting(name)
        yield from ("", *_comment(about)) if about else ()
        yield f"#{assigned}"


def _setting(name: str) -> tuple[str, str]:
    """Return what is said of a setting, and its line with the default."""
    if name.isupper():
        return LIBRARIES_ABOUT.get(name, ""), f"{name}="
    info = Settings.model_fields[name]
    default = "" if info.default in (None, ()) else str(info.default)
    return info.description or "", f"{variable(name)}={default}"


def _comment(text: str) -> Iterator[str]:
    for line in text.splitlines():
        yield from textwrap.wrap(line, WIDTH, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False)


if __name__ == "__main__":
    sys.stdout.write(example())
