"""Registering the commands: only what changed, where it is meant, again where it failed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from agentic.ports.runtime import Store
from bot.app import command_sync
from bot.local_discord.faults.rules import ErrorAnswer, Rule
from bot.local_discord.local_discord import LocalGuild
from tests.integration.bot.talking import Scenery, running_bot
from tests.stores import fresh_store

GLOBAL, OF_GUILD = "PUT /applications/*/commands", "PUT /applications/*/guilds/*/commands"


@asynccontextmanager
async def registered(guild: LocalGuild, store: Store, **options: object) -> AsyncIterator[Scenery]:
    async with running_bot(guild, store, **options) as scenery:
        await scenery.until(lambda: scenery.bot.registration.done.is_set())
        yield scenery


def names(guild: LocalGuild, place: int | None) -> set[str]:
    return {str(command["name"]) for command in guild.commands(place)}


def versions(guild: LocalGuild, place: int | None = None) -> set[str]:
    """Each registration gives new ones."""
    return {str(command["version"]) for command in guild.commands(place)}


async def test_an_unchanged_tree_is_not_registered_at_a_restart_and_a_changed_one_is(
    guild: LocalGuild, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = fresh_store()
    async with registered(guild, store):
        first = versions(guild)
    async with registered(guild, store):
        assert versions(guild) == first
    from bot.cogs.commands.control import ControlCommands

    monkeypatch.setattr(ControlCommands.status.app_command, "description", "Something else")
    async with registered(guild, store):
        second = versions(guild)
        assert second.isdisjoint(first)
    monkeypatch.setattr("bot.cogs.message_menu.NAME", "Ask it")
    async with registered(guild, store):
        assert versions(guild).isdisjoint(second), "a command in the menu of messages counts as well"


async def test_a_registration_that_fails_is_tried_again_until_it_holds(
    guild: LocalGuild, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(command_sync, "FIRST_PAUSE", 0.01)
    guild.misbehave(Rule(GLOBAL, ErrorAnswer(403, 50001, "Missing Access"), times=3))
    store = fresh_store()
    async with registered(guild, store):
        assert {"status", "Ask Threadwright"} <= names(guild, None)
    assert len(guild.misbehaviour.applied) == 3
    assert "could not be registered" in caplog.text
    assert await store.fact(command_sync.FINGERPRINT)


async def test_commands_of_named_servers_stand_there_alone_and_move_when_that_changes(guild: LocalGuild) -> None:
    store, here = fresh_store(), str(guild.guild_id)
    async with registered(guild, store):
        everywhere = names(guild, None)
    async with registered(guild, store, command_guilds=(here,)):
        assert names(guild, guild.guild_id) == everywhere
        assert names(guild, None) == set()
    async with registered(guild, store):
        assert names(guild, None) == everywhere
        assert names(guild, guild.guild_id) == set()
