"""What people are told when a command fails."""

from __future__ import annotations

import pytest
from discord import app_commands
from discord.ext import commands

from bot.cogs.commands.command_errors import UsedCommand, command_error_text


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (commands.BadArgument("no int"), "did not understand"),
        (commands.MissingPermissions(["administrator"]), "not allowed to use `stop`"),
        (app_commands.MissingPermissions(["administrator"]), "not allowed to use `stop`"),
        (commands.CommandOnCooldown(commands.Cooldown(1, 9), 8.6, commands.BucketType.user), "again in 9 s"),
        (commands.CommandInvokeError(ValueError("secret path")), "Something broke on my side"),
    ],
)
def test_a_failed_command_says_what_to_do_and_nothing_of_our_insides(error: Exception, words: str) -> None:
    told = command_error_text(error, UsedCommand("stop", "/stop"))
    assert words in told
    assert "secret path" not in told
