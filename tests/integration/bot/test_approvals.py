"""Approvals: exactly what would run, why and until when; given by who may when they press, once, and named."""

from __future__ import annotations

import pytest

from bot.local_discord.local_discord import LocalGuild
from bot.local_discord.model.permission_flags import Permission
from tests.integration.bot.seeking import GATE, UNTIL, court, decided, seeking
from tests.integration.bot.test_questions import closed, told


async def test_it_shows_exactly_what_would_run_why_who_may_and_until_when(guild: LocalGuild) -> None:
    async with court(guild) as scenery:
        _, shown = await seeking(scenery, "rm -rf build && make", fallback="rm -r build", cwd="/workspace/a")
        for text in (
            "```sh\nrm -rf build && make\n```", "And if that fails:\n```sh\nrm -r build\n```", '"cwd": "/workspace/a"',
            "🔐 **Approval needed.** This deletes whole folders:\n",
            f"-# An operator decides. Covers this one command. Denied automatically <t:{int(UNTIL.timestamp())}:R>.",
        ):  # fmt: skip
            assert text in shown.content
        assert [button["label"] for button in shown.interactive()] == ["Allow once", "Deny", "Stop the task"]
        assert not shown.silent


async def test_what_was_put_back_is_said_with_what_is_not_back_and_what_a_yes_does(guild: LocalGuild) -> None:
    async with court(guild) as scenery:
        back = GATE.model_copy(update={"reason": "deleted 12 files", "put_back": True, "left": "a.txt (it is open)"})
        _, shown = await seeking(scenery, "make fresh", gate=back)
        said = "I ran it, and it deleted 12 files. I restored what was there, except a.txt (it is open)."
        assert (
            f"🔐 **May I run this again?** What it destroys besides this is restored, and I ask anew.\n{said}"
            in shown.content
        )
        assert "make fresh" in shown.content


async def test_f31_what_hides_or_reorders_in_a_command_is_written_out_where_it_is_approved(guild: LocalGuild) -> None:
    async with court(guild) as scenery:
        hostile = "ls \u202efr- mr\u202c; echo a\u200bb\U000e0041\u00a0c\u2066d\u3164"
        _, shown = await seeking(scenery, hostile)
        written = "ls ⟨U+202E⟩fr- mr⟨U+202C⟩; echo a⟨U+200B⟩b⟨U+E0041⟩⟨U+00A0⟩c⟨U+2066⟩d⟨U+3164⟩"
        assert written in shown.content
        assert "invisible or text-reordering characters" in shown.content
        assert not set(hostile) & set(shown.content) - set(" lsfr-m;echoabd")


async def test_a_long_command_is_whole_in_a_file_and_that_is_said(guild: LocalGuild) -> None:
    async with court(guild) as scenery:
        command = "echo " + " ".join(f"word{n}\u200b" for n in range(2_000)) + "; rm -rf /"
        _, shown = await seeking(scenery, command)
        assert len(shown.content) <= 2_000
        assert "only the beginning" in shown.content
        kept = guild.file(shown.attachments[0].id).decode()
        assert kept == command.replace("\u200b", "⟨U+200B⟩")


@pytest.mark.parametrize(
    ("number", "choice", "words"), [(0, "allow", "Allowed once** by chief"), (1, "deny", "Denied** by chief")]
)
async def test_who_may_decides_and_is_named(guild: LocalGuild, number: int, choice: str, words: str) -> None:
    async with court(guild) as scenery:
        thread, shown = await seeking(scenery)
        await guild.click(shown.id, shown.custom_ids()[number], author="chief")
        await scenery.until(lambda: len(scenery.talk.got) == 2)
        answer = scenery.talk.got[1]
        assert (answer.sort, answer.text, answer.target, answer.author.level) == (
            "answer",
            str(number + 1),
            "q1",
            "operator",
        )
        await scenery.talk.add(scenery.talk.newest(thread), decided(choice))
        end = await closed(scenery, shown)
        assert words in end.content
        assert "rm -rf build" in end.content


async def test_it_says_that_it_expired(guild: LocalGuild) -> None:
    async with court(guild) as scenery:
        thread, shown = await seeking(scenery)
        await scenery.talk.add(scenery.talk.newest(thread), decided("deny", "Threadwright", "0"))
        assert "Nobody decided in time, so it was denied" in (await closed(scenery, shown)).content


@pytest.mark.wall("rights")
async def test_whose_task_it_is_may_not_approve_it_by_press_by_word_or_by_sign_but_may_stop_it(
    guild: LocalGuild,
) -> None:
    async with court(guild) as scenery:
        thread, shown = await seeking(scenery)
        await guild.click(shown.id, shown.custom_ids()[0], author="bob")
        await told(scenery, thread, "Only an operator can allow or deny this", "bob")
        await guild.post(thread, "allow once", author="bob")
        await scenery.says(thread, "Only an operator can allow or deny this")
        await guild.react(shown.id, "✅", author="bob")
        await guild.click(shown.id, shown.custom_ids()[2], author="bob")
        await scenery.until(lambda: len(scenery.talk.got) == 2)
        assert scenery.talk.got[1].sort == "stop"


@pytest.mark.wall("rights")
async def test_f40_whom_discord_does_not_let_write_there_decides_nothing_whatever_their_role(guild: LocalGuild) -> None:
    async with court(guild) as scenery:
        thread, shown = await seeking(scenery)
        guild.deny(scenery.general, Permission.SEND_MESSAGES_IN_THREADS, member="chief")
        await guild.click(shown.id, shown.custom_ids()[0], author="chief")
        await told(scenery, thread, "You're a viewer here", "chief")
        await guild.react(shown.id, "🛑", author="chief")
        await guild.click(shown.id, shown.custom_ids()[0])
        await scenery.until(lambda: len(scenery.talk.got) == 2)
        assert scenery.talk.got[1].author.id == str(guild.you.id)


@pytest.mark.wall("rights")
async def test_f40_what_the_bot_may_not_do_nobody_gets_done_through_it_but_a_stop(guild: LocalGuild) -> None:
    async with court(guild) as scenery:
        thread, shown = await seeking(scenery)
        guild.deny(scenery.general, Permission.SEND_MESSAGES_IN_THREADS)
        await guild.click(shown.id, shown.custom_ids()[0])
        await told(scenery, thread, "I'm not allowed to write in this thread")
        await guild.click(shown.id, shown.custom_ids()[2])
        await scenery.until(lambda: any(item.sort == "stop" for item in scenery.talk.got))
        assert "answer" not in {item.sort for item in scenery.talk.got}
