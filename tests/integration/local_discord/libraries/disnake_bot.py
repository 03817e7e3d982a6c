"""The bot of `scenario`, with disnake."""

from __future__ import annotations

import os

import disnake
from disnake.ext import commands
from disnake.http import Route

Route.BASE = os.environ["REST"]
intents = disnake.Intents.default()
intents.message_content = True
bot = commands.InteractionBot(intents=intents)


@bot.slash_command(name="ping", description="Answers")
async def ping(inter: disnake.ApplicationCommandInteraction) -> None:
    await inter.response.send_message("pong")


@bot.event
async def on_message(message: disnake.Message) -> None:
    if message.author.bot or bot.user not in message.mentions:
        return
    thread = await message.create_thread(name="Answer")
    await message.add_reaction("👀")
    answer = await thread.send("Working", components=[disnake.ui.Button(label="More", custom_id="more")])
    await answer.edit(content="Done")


@bot.event
async def on_button_click(inter: disnake.MessageInteraction) -> None:
    await inter.response.edit_message("Pressed", components=[])


@bot.event
async def on_raw_reaction_add(payload: disnake.RawReactionActionEvent) -> None:
    if str(payload.emoji) == "🛑":
        await bot.get_partial_messageable(payload.channel_id).send("Stopped")


bot.run(os.environ["TOKEN"])
