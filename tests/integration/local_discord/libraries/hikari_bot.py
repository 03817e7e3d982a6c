"""The bot of `scenario`, with hikari."""

from __future__ import annotations

import os

import hikari

bot = hikari.GatewayBot(
    os.environ["TOKEN"],
    rest_url=os.environ["REST"],
    banner=None,
    suppress_optimization_warning=True,
    intents=hikari.Intents.ALL_UNPRIVILEGED | hikari.Intents.MESSAGE_CONTENT,
)


@bot.listen()
async def register(_: hikari.StartingEvent) -> None:
    application = await bot.rest.fetch_application()
    ping = bot.rest.slash_command_builder("ping", "Answers")
    await bot.rest.set_application_commands(application.id, [ping])


@bot.listen()
async def answer(event: hikari.GuildMessageCreateEvent) -> None:
    me = bot.get_me()
    if event.is_bot or me is None or me.id not in (event.message.user_mentions_ids or ()):
        return
    thread = await bot.rest.create_message_thread(event.channel_id, event.message_id, "Answer")
    await event.message.add_reaction("👀")
    row = bot.rest.build_message_action_row().add_interactive_button(hikari.ButtonStyle.PRIMARY, "more", label="More")
    message = await bot.rest.create_message(thread, "Working", component=row)
    await message.edit("Done")


@bot.listen()
async def used(event: hikari.InteractionCreateEvent) -> None:
    one = event.interaction
    if isinstance(one, hikari.ComponentInteraction):
        await one.create_initial_response(hikari.ResponseType.MESSAGE_UPDATE, "Pressed", components=[])
    elif isinstance(one, hikari.CommandInteraction):
        await one.create_initial_response(hikari.ResponseType.MESSAGE_CREATE, "pong")


@bot.listen()
async def reacted(event: hikari.GuildReactionAddEvent) -> None:
    if event.emoji_name == "🛑":
        await bot.rest.create_message(event.channel_id, "Stopped")


bot.run(check_for_updates=False)
