"""A local guild's threads as plain text: who said what, with reactions and files.

Buttons are left out: nobody can press them there, and what they say stands in the text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.commandline.markup import plainly

if TYPE_CHECKING:
    from bot.guild import LocalGuild, Message
    from bot.guild.wire import JsonObject


def as_people_see_it(guild: LocalGuild) -> str:
    """Every message of every thread, oldest first."""
    parts: list[str] = []
    for thread in guild.threads():
        parts.append(f"# {thread.name}")
        parts += [_message(guild, message) for message in guild.messages(thread.id)]
    return "\n\n".join(part for part in parts if part)


def _message(guild: LocalGuild, message: Message) -> str:
    lines = [message.content] if message.content else []
    lines += [_embed(embed) for embed in message.embeds]
    lines += [f"[file] {file.filename} ({file.size} bytes)" for file in message.attachments]
    lines += [" ".join(reaction.emoji for reaction in message.reactions)] if message.reactions else []
    body = "\n".join(line for line in lines if line)
    return f"{guild.state.member(message.author_id).name}: {plainly(body)}" if body else ""


def _embed(embed: JsonObject) -> str:
    parts = [embed.get("title"), embed.get("description")]
    footer = embed.get("footer")
    parts.append(footer.get("text") if isinstance(footer, dict) else None)
    return "\n".join(str(part) for part in parts if part)
