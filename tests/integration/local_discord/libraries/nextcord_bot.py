"""The bot of `scenario`, with nextcord."""

from __future__ import annotations

import os

import nextcord
from nextcord.http import Route

Route.BASE = os.environ["REST"]
intents = nextcord.Intents.default()
intents.message_content = True
client = nextcord.Client(intents=intents)


class More(nextcord.ui.View):
    """A button."""

    @nextcord.ui.button(label="More", custom_id="more")
    async def press(self, button: nextcord.ui.Button, interaction: nextcord.Interaction) -> None:
        await interaction.response.edit_message(content="Pressed", view=None)


@client.slash_command(name="ping", description="Answers")
async def ping(interaction: nextcord.Interaction) -> None:
    await interaction.send("pong")


@client.event
async def on_message(message: nextcord.Message) -> None:
    if message.author.bot or client.user not in message.mentions:
        return
    thread = await message.create_thread(name="Answer")
    await message.add_reaction("👀")
    answer = await thread.send("Working", view=More(timeout=None))
    await answer.edit(content="Done")


@client.event
async def on_raw_reaction_add(payload: nextcord.RawReactionActionEvent) -> None:
    if str(payload.emoji) == "🛑":
        await client.get_channel(payload.channel_id).send("Stopped")


client.run(os.environ["TOKEN"])
