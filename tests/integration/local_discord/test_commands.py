"""Slash commands as people use them: options checked by type, bounds and choices, completed while typing, menus."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Literal

import discord
import pytest
from discord import app_commands
from discord.ext import commands as prefixed

from bot.local_discord import (
    ApiError,
    LocalGuild,
    Message,
    Permission,
)
from tests.integration.local_discord.harness import Client, Raw, logged_in, wanted_intents

Said = Callable[[str], Awaitable[Message]]


async def registered(raw: Raw, *options: dict[str, Any], **more: object) -> tuple[int, Any]:
    """What the guild says to a command with these options."""
    body = [{"name": "c", "description": "d", "options": [{"description": "d", **o} for o in options], **more}]
    status, answer, _ = await raw("PUT", f"/applications/{raw.guild.bot_user_id}/commands", body)
    return status, answer


BAD_VALUES = [
    ({"type": 4, "max_value": 5}, 6, "NUMBER_TYPE_MAX"),
    ({"type": 4, "min_value": 1}, 0, "NUMBER_TYPE_MIN"),
    ({"type": 4}, 2**53 + 1, "NUMBER_TYPE_MAX"),
    ({"type": 4}, "seven", "NUMBER_TYPE_COERCE"),
    ({"type": 4}, True, "NUMBER_TYPE_COERCE"),
    ({"type": 10, "max_value": 0.5}, 0.75, "NUMBER_TYPE_MAX"),
    ({"type": 10}, "x", "NUMBER_TYPE_COERCE"),
    ({"type": 5}, "true", "BOOLEAN_TYPE_CONVERT"),
    ({"type": 3}, 5, "STRING_TYPE_CONVERT"),
    ({"type": 3, "max_length": 3}, "four", "BASE_TYPE_MAX_LENGTH"),
    ({"type": 3, "min_length": 3}, "no", "BASE_TYPE_MIN_LENGTH"),
    ({"type": 3, "choices": [{"name": "A", "value": "a"}]}, "b", "BASE_TYPE_CHOICES"),
    ({"type": 4, "choices": [{"name": "One", "value": 1}]}, 2, "BASE_TYPE_CHOICES"),
    ({"type": 6}, "ana", "NUMBER_TYPE_COERCE"),
]


@pytest.mark.parametrize(("option", "value", "code"), BAD_VALUES)
async def test_a_value_outside_the_options_bounds_never_reaches_the_bot(
    raw: Raw, guild: LocalGuild, option: dict[str, Any], value: Any, code: str
) -> None:
    await registered(raw, {"name": "n", **option})
    with pytest.raises(ApiError) as refused:
        await guild.slash(guild.channel().id, "c", {"n": value})
    assert refused.value.code == 50035
    assert code in str(refused.value.errors)


BAD_OPTIONS = [
    ([{"name": "a", "type": 12}], "BASE_TYPE_CHOICES"),
    ([{"name": "a", "type": 3}, {"name": "a", "type": 3}], "APPLICATION_COMMAND_OPTIONS_NAME_INVALID"),
    ([{"name": "a", "type": 3}, {"name": "b", "type": 3, "required": True}], "OPTIONS_REQUIRED_INVALID"),
    ([{"name": "a", "type": 5, "autocomplete": True}], "OPTIONS_AUTOCOMPLETE_INVALID"),
    ([{"name": "a", "type": 3, "autocomplete": True, "choices": [{"name": "x", "value": "x"}]}], "AUTOCOMPLETE"),
    ([{"name": "a", "type": 3, "choices": [{"name": "x", "value": "x"}] * 26}], "BASE_TYPE_BAD_LENGTH"),
    ([{"name": "a", "type": 3, "choices": [{"name": "x"}]}], "BASE_TYPE_REQUIRED"),
    ([{"name": "a", "type": 3, "choices": [{"name": "x", "value": "x" * 101}]}], "BASE_TYPE_MAX_LENGTH"),
]


@pytest.mark.parametrize(("options", "code"), BAD_OPTIONS)
async def test_an_option_that_discord_would_not_take_is_refused_when_registered(
    raw: Raw, options: list[dict[str, Any]], code: str
) -> None:
    status, answer = await registered(raw, *options)
    assert (status, answer["code"]) == (400, 50035)
    assert code in str(answer["errors"])


def lessons(seen: list[object]) -> app_commands.Group:
    """A command with subcommands, one of them in a group, and an option that the bot completes."""
    group = app_commands.Group(name="lessons", description="What was learnt")
    inner = app_commands.Group(name="old", description="Of earlier times", parent=group)
    titles = {"git": 1, "gulp": 2, "make": 3}

    @group.command(description="One of them")
    async def show(interaction: discord.Interaction, number: int, how: Literal["short", "long"] = "short") -> None:
        await interaction.response.send_message(f"lesson {number}, {how}")

    @show.autocomplete("number")
    async def offer(interaction: discord.Interaction, typed: str) -> list[app_commands.Choice[int]]:
        seen.append((typed, interaction.namespace.how))
        return [app_commands.Choice(name=t, value=n) for t, n in titles.items() if t.startswith(str(typed))]

    @inner.command(description="All of them")
    async def everything(interaction: discord.Interaction) -> None:
        await interaction.response.send_message("all of the old ones")

    return group


async def test_an_option_is_completed_while_somebody_types(guild: LocalGuild, client: Client, said: Said) -> None:
    seen: list[object] = []
    client.tree.add_command(lessons(seen))
    await client.tree.sync()
    here = guild.channel().id
    offered = await guild.autocomplete(here, "lessons show", "number", "g", {"how": "long"})
    assert [(c.name, c.value) for c in offered] == [("git", 1), ("gulp", 2)]
    assert await guild.autocomplete(here, "lessons show", "number", "zzz") == []
    assert seen == [("g", "long"), ("zzz", None)]
    await guild.slash(here, "lessons show", {"number": offered[1].value, "how": "long"})
    await said("lesson 2, long")
    await guild.slash(here, "lessons old everything")
    await said("all of the old ones")
    with pytest.raises(ApiError, match="not completed"):
        await guild.autocomplete(here, "lessons show", "how", "s")
    with pytest.raises(LookupError, match="one of its subcommands: everything"):
        await guild.slash(here, "lessons old")


async def test_whoever_types_is_not_kept_waiting_by_a_bot_that_says_nothing(raw: Raw, guild: LocalGuild) -> None:
    await registered(raw, {"name": "n", "type": 3, "autocomplete": True})
    with pytest.raises(TimeoutError, match="did not respond"):
        await guild.autocomplete(guild.channel().id, "c", "n", "x")


async def test_only_choices_answer_somebody_who_types_and_only_to_them(raw: Raw, guild: LocalGuild, wire: Any) -> None:
    await registered(raw, {"name": "n", "type": 3, "autocomplete": True})
    here = guild.channel().id
    offered = asyncio.create_task(guild.autocomplete(here, "c", "n", "x"))
    used = await wire.event("INTERACTION_CREATE")
    assert used["type"] == 4
    assert used["data"]["options"] == [{"name": "n", "type": 3, "value": "x", "focused": True}]
    path = f"/interactions/{used['id']}/{used['token']}/callback"
    assert (await raw("POST", path, {"type": 4, "data": {"content": "no"}}))[1]["code"] == 50035
    many = [{"name": str(n), "value": str(n)} for n in range(26)]
    assert (await raw("POST", path, {"type": 8, "data": {"choices": many}}))[1]["code"] == 50035
    assert (await raw("POST", path, {"type": 8, "data": {"choices": many[:25]}}))[0] == 204
    assert len(await offered) == 25
    await guild.slash(here, "c", {"n": "x"})
    used = await wire.event("INTERACTION_CREATE")
    path = f"/interactions/{used['id']}/{used['token']}/callback"
    assert (await raw("POST", path, {"type": 8, "data": {"choices": []}}))[1]["code"] == 50035
    assert (await raw("POST", path, {"type": 6}))[1]["code"] == 50035, "there is no message to update"


async def test_menus_of_messages_and_members(guild: LocalGuild, client: Client, said: Said) -> None:
    @client.tree.context_menu(name="Quote this")
    async def quote(interaction: discord.Interaction, message: discord.Message) -> None:
        await interaction.response.send_message(f"{message.author.name} said {message.content}")

    @client.tree.context_menu(name="Greet")
    async def greet(interaction: discord.Interaction, member: discord.Member) -> None:
        await interaction.response.send_message(f"hello {member.name}")

    await client.tree.sync()
    ana = guild.add_member("ana")
    message = await guild.post(guild.channel().id, "well", author=ana)
    await guild.use_on(message, "Quote this")
    await said("ana said well")
    await guild.use_on(ana, "Greet", channel=guild.channel().id)
    await said("hello ana")
    with pytest.raises(LookupError):
        await guild.slash(guild.channel().id, "Greet")


async def test_a_hybrid_command_works_typed_and_as_a_slash_command(guild: LocalGuild, said: Said) -> None:
    bot = prefixed.Bot(command_prefix="!", intents=wanted_intents(), guild_ready_timeout=0.1)

    @bot.hybrid_command(description="Twice a number")
    async def twice(context: prefixed.Context[prefixed.Bot], number: int) -> None:
        await context.send(str(number * 2))

    async with logged_in(guild, client=bot):  # type: ignore[arg-type]
        await bot.tree.sync()
        await guild.post(guild.channel().id, "!twice 4")
        await said("8")
        await guild.slash(guild.channel().id, "twice", {"number": 21})
        await said("42")


async def test_who_may_not_use_a_command_is_told_so(raw: Raw, guild: LocalGuild) -> None:
    await registered(raw, default_member_permissions=str(int(Permission.MANAGE_CHANNELS)), contexts=[0])
    ana = guild.add_member("ana")
    with pytest.raises(ApiError) as refused:
        await guild.slash(guild.channel().id, "c", author=ana)
    assert refused.value.code == 50013
    await guild.slash(guild.channel().id, "c")
    with pytest.raises(LookupError, match="No command"):
        await guild.slash((await guild.open_dm()).id, "c")


class Form(discord.ui.Modal, title="About you"):
    """Both ways to write a field: with a label of its own, and in a label around it."""

    name = discord.ui.TextInput[discord.ui.Modal](label="Name", custom_id="name", max_length=5)
    kind = discord.ui.Label[discord.ui.Modal](
        text="Kind",
        component=discord.ui.Select(
            custom_id="kind", options=[discord.SelectOption(label="A", value="a"), discord.SelectOption(label="B")]
        ),
    )

    async def on_submit(self, interaction: discord.Interaction) -> None:
        assert isinstance(self.kind.component, discord.ui.Select)
        await interaction.response.send_message(f"{self.name.value}: {self.kind.component.values}")


async def test_a_form_is_filled_in_within_its_bounds(guild: LocalGuild, client: Client, said: Said) -> None:
    @client.tree.command(description="Asks")
    async def ask(interaction: discord.Interaction) -> None:
        await interaction.response.send_modal(Form())

    await client.tree.sync()
    asked = await guild.slash(guild.channel().id, "ask")
    await guild.wait_for(lambda g: g.interaction(asked).modal)
    for values, code in (
        ({"name": "Annabel", "kind": ["a"]}, "BASE_TYPE_MAX_LENGTH"),
        ({"name": "", "kind": ["a"]}, "BASE_TYPE_REQUIRED"),
        ({"name": "Ana"}, "BASE_TYPE_REQUIRED"),
        ({"name": "Ana", "kind": ["c"]}, "BASE_TYPE_CHOICES"),
    ):
        with pytest.raises(ApiError) as refused:
            await guild.submit(asked, values)
        assert code in str(refused.value.errors)
    await guild.submit(asked, {"name": "Ana", "kind": ["a"]})
    await said("Ana: ['a']")
