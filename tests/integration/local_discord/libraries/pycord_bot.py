"""The bot of `scenario`, with py-cord, whose package is called discord as discord.py's is: in an environment of its own."""

from __future__ import annotations

import os

import discord
from discord.http import Route

Route.API_BASE_URL = os.environ["REST"]
intents = discord.Intents.default()
intents.message_content = True
bot = discord.Bot(intents=intents)


class More(discord.ui.View):
    """A button."""

    @discord.ui.button(label="More", custom_id="more")
    async def press(self, button: discord.ui.Button, interaction: discord.Interaction) -> None:
        await interaction.response.edit_message(content="Pressed", view=None)


@bot.slash_command(name="ping", description="Answers")
async def ping(ctx: discord.ApplicationContext) -> None:
    await ctx.respond("pong")


@bot.event
async def on_message(message: discord.Message) -> None:
    if message.author.bot or bot.user not in message.mentions:
        return
    thread = await message.create_thread(name="Answer")
    await message.add_reaction("👀")
    answer = await thread.send("Working", view=More(timeout=None))
    await answer.edit(content="Done")


@bot.event
async def on_raw_reaction_add(payload: discord.RawReactionActionEvent) -> None:
    if str(payload.emoji) == "🛑":
        await bot.get_channel(payload.channel_id).send("Stopped")


bot.run(os.environ["TOKEN"])
