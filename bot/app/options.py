"""What the Discord side needs of the settings."""

from __future__ import annotations

from bot.config.settings import Settings
from bot.inbound.parse import HERE, Options

ON_AWS = "in the AWS account that runs the bot, and on its computers"


def options_from(settings: Settings, *, local: bool) -> Options:
    """What the Discord side needs of the settings."""
    return Options(
        roles=settings.levels,
        default_level=settings.default_level,
        custom_emoji=settings.signs,
        speaking_bots=frozenset(settings.speaking_bots),
        retention_days=settings.retention_days,
        kept_where=HERE if settings.aws_place is None else ON_AWS,
        command_guilds=() if local else settings.command_guilds,
        secrets=settings.secrets,
    )
