"""“Always allow this for this task”, in the whole product: shown, used, taken back, and gone with the right to allow it."""

from __future__ import annotations

from pathlib import Path

from agentic.core.events.execution_events import AllowancesEnded, AllowanceUsed, Asked, ToolStarted
from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import Script, ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from bot.local_discord.local_discord import LocalGuild
from bot.local_discord.model.records import Message
from tests.faults.staging import guild
from tests.integration.bot.whole import SECONDS, Whole, finishes, uses, whole

__all__ = ["guild"]

FILL = "mkdir -p data docs && touch data/a docs/a"
STEPS = (
    FILL, "rm -rf data",  # asked: always, for this task
    FILL, "rm -rf data",  # not asked
    "rm -rf data docs",  # asked, since docs is not covered: taken back on the card, then denied
    "rm -rf data",  # asked again: always
    FILL, "rm -rf data",  # refused: whoever allowed it has no role any more
    "rm -rf data",  # asked: denied
)  # fmt: skip
REFUSED = 7
ALWAYS = "Always allow this for this task"


def script(guild: LocalGuild) -> Script:
    """The steps, one a turn; before the one that is to be refused, chief loses the role."""

    def step(request: CapturedRequest) -> Reply:
        done = len(request.answers)
        if done == REFUSED:
            guild.set_roles("chief", ())
        return uses("shell", command=STEPS[done], reasoning="tidy up") if done < len(STEPS) else finishes("It is over.")

    return step


def pressed(message: Message, label: str) -> str:
    """The id of a button by its label."""
    return str(next(button["custom_id"] for button in message.interactive() if button.get("label") == label))


async def question(bot: Whole, thread: int, number: int) -> Message:
    """The approval that is asked for the n-th time, once its message is there."""

    def found(guild: LocalGuild) -> list[Message]:
        return [m for m in guild.messages(thread) if "Approval needed" in m.content and m.interactive()]

    await bot.guild.wait_for(lambda g: len(found(g)) >= number, SECONDS)
    return found(bot.guild)[number - 1]


async def decide(bot: Whole, shown: Message, label: str, said: str) -> None:
    await bot.guild.click(shown.id, pressed(shown, label), author="chief")
    await bot.guild.wait_for(lambda g: said in g.state.find_message(shown.id).content, SECONDS)


async def test_it_is_shown_used_taken_back_and_ends_with_the_right(guild: LocalGuild, tmp_path: Path) -> None:
    guild.add_member("bob")
    guild.add_member("chief", (guild.add_role("chiefs").id,))
    async with (
        ScriptedEndpoint.start(script(guild)) as endpoint,
        whole(tmp_path, endpoint, guild, operators=("chiefs",)) as bot,
    ):
        posted = await guild.post(guild.channel().id, f"{guild.bot.mention} tidy up the folder", author="bob")
        thread = posted.id
        first = await question(bot, thread, 1)
        assert [button.get("label") for button in first.interactive()] == [
            "Allow once",
            "Deny",
            ALWAYS,
            "Stop the task",
        ]
        covers = "Covers this one command, or for this task also later: delete `data` and all in it."
        assert covers in first.content
        await decide(bot, first, ALWAYS, "Allowed for this task** by chief")

        second = await question(bot, thread, 2)
        assert "`data` and `docs`" in second.content
        card = next(m for m in guild.messages(thread) if "Waiting for" in m.content)
        assert "🔓 chief allowed for this task: delete `data` and all in it · done 1×" in card.content
        assert "allowed by chief for this task" in card.content
        await guild.slash(thread, "status", author="bob")
        told = "'Allowed for this task', 'value': 'chief: delete `data` and all in it'"
        await guild.wait_for(lambda g: any(told in str(m.embeds) for m in g.messages(thread, viewer="bob")), SECONDS)
        await guild.click(card.id, pressed(card, "Ask me again"), author="bob")
        await bot.says(thread, "OK, I'll ask again from the next step on.")
        await guild.wait_for(lambda g: "🔓" not in g.state.find_message(card.id).content, SECONDS)
        await decide(bot, second, "Deny", "Denied** by chief")

        third = await question(bot, thread, 3)
        await decide(bot, third, ALWAYS, "Allowed for this task** by chief")
        await question(bot, thread, 4)
        log = await bot.log((await bot.executions(thread))[-1])
        assert [used.by.name for used in log if isinstance(used, AllowanceUsed)] == ["chief", "chief"]
        assert len([one for one in log if isinstance(one, Asked)]) == 4
        assert [one.why for one in log if isinstance(one, AllowancesEnded)] == ["chief may no longer allow this"]
        started = [one for one in log if isinstance(one, ToolStarted) and one.allowed is not None]
        assert [one.approval for one in started] == ["", ""]
