"""Answers as cards: where a server chose them, where they fit, and where Discord takes them; else as messages, once."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import JsonValue

from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from bot.local_discord.local_discord import LocalGuild
from bot.local_discord.messages import limits
from bot.local_discord.messages.limits import text_of
from bot.local_discord.model.records import Message, MessageFlag
from tests.faults.staging import guild
from tests.integration.bot.whole import SECONDS, Whole, uses, whole

__all__ = ["guild"]

LONG = "\n\n".join(f"Paragraph {number}: " + "what was found in the cart. " * 12 for number in range(9))
TOO_LONG = LONG * 2
CLAIM: dict[str, JsonValue] = {
    "text": "total adds up what is in it",
    "command": "python3 -c 'import cart'",
    "exit_code": 0,
}
CLAIMS: list[JsonValue] = [CLAIM]
WRITE = {"path": "cart.py", "content": "def total(x):\n    return sum(x)\n"}


def script(request: CapturedRequest) -> Reply:
    """It writes a file and proves it, where it is told to; the task says how long the answer is."""
    text = request.text()
    answer = TOO_LONG if "far too long" in text else LONG if "long" in text else "The total was wrong; now it adds up."
    if not request.answers:
        return uses("write", **WRITE)
    if len(request.answers) == 1:
        return uses("shell", command=str(CLAIM["command"]), reasoning="to see")
    return uses("finish", answer=answer, claims=CLAIMS)


def is_card(message: Message) -> bool:
    return bool(message.flags & MessageFlag.IS_COMPONENTS_V2)


async def answered(bot: Whole, task: str) -> tuple[int, list[Message]]:
    """The messages with the answer to a task in a thread of its own."""
    guild = bot.guild
    posted = await guild.post(guild.channel().id, f"{guild.bot.mention} {task}", author="bob")
    await guild.wait_for(lambda _: any(said(one, "👍") for one in bot.of_bot(posted.id)), SECONDS)
    await bot.app.delivered(str(posted.id), SECONDS)
    return posted.id, [one for one in bot.of_bot(posted.id) if said(one, "adds up") or said(one, "Paragraph")]


def said(message: Message, words: str) -> bool:
    shown = [str(button.get("emoji")) + str(button.get("label")) for button in message.interactive()]
    return words in f"{message.content}{text_of(message.components) if is_card(message) else ''}{shown}"


async def test_an_answer_is_a_card_where_that_was_chosen_and_fits_and_text_everywhere_else(
    guild: LocalGuild, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ScriptedEndpoint.start(script) as endpoint, whole(tmp_path, endpoint, guild) as bot:
        bob = guild.add_member("bob")
        _, plain = await answered(bot, "fix the total")
        assert [is_card(one) for one in plain] == [False]

        options = {"name": "answers", "value": "card", "scope": "server"}
        await guild.slash(guild.channel().id, "settings set", options)
        await guild.wait_for(lambda g: "notifications show no words" in str(g.messages(g.channel().id)), SECONDS)

        _, (card,) = await answered(bot, "fix the total")
        assert is_card(card)
        assert (card.content, card.embeds) == ("", ())
        text = text_of(card.components)
        for words in ("now it adds up.", "**What I changed**", "**How I know**", "-# ", f"<@{bob.id}>"):
            assert words in text, words
        assert [part["type"] for part in card.components] == [17, 1]
        assert card.pings.users == (bob.id,), "the person is called from inside of the card"
        await guild.click(card.id, next(one for one in card.custom_ids() if one.startswith("tw:undo")))
        await guild.wait_for(
            lambda g: any("Redo" in str(b.get("label")) for b in g.state.find_message(card.id).interactive()), SECONDS
        )
        assert text_of(guild.state.find_message(card.id).components) == text

        _, (card,) = await answered(bot, "fix the total, and say it long")
        assert is_card(card), "what took two messages is one card"
        _, several = await answered(bot, "fix the total, and say it far too long")
        assert several
        assert not any(map(is_card, several))

        monkeypatch.setattr(limits, "LAID_OUT_TEXT", 10)  # Discord counts otherwise than it says
        _, refused = await answered(bot, "fix the total")
        assert [is_card(one) for one in refused] == [False], "said once, as text"
        assert len(refused) == 1
