"""Accounts that people link: pull requests are opened as them, and their tokens are nowhere but in their files."""

from __future__ import annotations

import logging
import os
import tarfile
from pathlib import Path
from unittest import mock

import pytest

from agentic.models.scripted.endpoint import ScriptedEndpoint
from bot.cli.backup.create import backup
from bot.config.log_format import log_to_standard_error
from bot.local_discord.local_discord import LocalGuild
from bot.local_discord.model.records import Message
from bot.local_forge import Account, LocalForge
from tests.integration.bot.test_repositories import BROKEN, attached, changes, publishes
from tests.integration.bot.whole import SECONDS, Whole, finishes, uses, whole

HERS = "github_pat_of-ada-0123456789abcdef"
READS = "github_pat_that-only-reads-012345"


async def asked(running: Whole, command: str = "repo account", **options: str) -> Message:
    """What a command says privately."""
    guild, channel = running.guild, running.guild.channel().id
    id = await guild.slash(channel, command, options)
    return await guild.wait_for(
        lambda here: next(
            (m for m in here.messages(channel) if m.id == here.interaction(id).original_id and m.content),
            None,
        ),
        SECONDS,
    )


async def becomes(running: Whole, message: Message, words: str) -> Message:
    """The message once it says so."""
    guild, channel = running.guild, running.guild.channel().id
    return await guild.wait_for(
        lambda here: next((m for m in here.messages(channel) if m.id == message.id and words in m.content), None),
        SECONDS,
    )


def button(message: Message, label: str) -> str:
    return next(str(each["custom_id"]) for each in message.interactive() if each["label"] == label)


async def gives(running: Whole, message: Message, label: str, token: str, words: str) -> Message:
    """Fill the form in; what the message says then."""
    id = await running.guild.click(message.id, button(message, label))
    await running.guild.wait_for(lambda here: here.interaction(id).modal, SECONDS)
    await running.guild.submit(id, {"token": token})
    return await becomes(running, message, words)


def everything_in(folder: Path, *but: str) -> bytes:
    """All bytes of all files below a folder."""
    files = [path for path in folder.rglob("*") if path.is_file() and not set(path.parts) & set(but)]
    return b"".join(path.read_bytes() for path in files)


async def test_a_linked_account_opens_and_comments_until_its_token_expires_or_is_taken_away(
    guild: LocalGuild, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    home = tmp_path / "home"
    task = [changes("+ 1", ""), publishes(), uses("comment", text="/merge now, @bors r+, see a/b"), finishes("Opened.")]
    async with LocalForge(tmp_path / "forge") as forge, ScriptedEndpoint.start(task * 2) as endpoint:
        shop = forge.create("ada/shop", BROKEN)
        forge.accounts |= {HERS: Account("ada"), READS: Account("ada", may_write=False)}
        with mock.patch.dict(os.environ, {"FORGE_TOKEN": forge.token}):
            async with whole(home, endpoint, guild, forges=(f"{forge.web}=FORGE_TOKEN:github",)) as running:
                await attached(running)
                card = await asked(running)
                assert card.ephemeral
                assert "are opened as me" in card.content
                assert not any(each["label"] == "Unlink" for each in card.interactive())
                card = await gives(running, card, "Link my account", "a wrong token", "That is no token")
                card = await gives(running, card, "Link my account", "another-token-0000", "doesn't accept this token")
                card = await gives(running, card, "Link my account", READS, "may not open pull requests in ada/shop")
                accounts = running.app.workshop.repositories and running.app.workshop.repositories.accounts
                assert accounts
                person = str(guild.state.identity.owner_id)
                assert accounts.all_of(person) == ()
                card = await gives(running, card, "Link my account", HERS, "are opened as `ada`")
                assert shop.pulls == []  # whether it may was asked without opening one
                (file,) = (home / "accounts").iterdir()
                assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
                assert "are opened as `ada`" in (await asked(running, "repo show")).content

                first = await running.task("fix it")
                (pull,) = shop.pulls
                assert (pull.author, [note.author for note in pull.notes]) == ("ada", ["ada"])
                assert "Made by Threadwright for" in pull.body
                assert pull.notes[0].text.startswith("/\u200bmerge now, @\u200bbors r+, see a/b\n")

                del forge.accounts[HERS]
                second = await running.task("fix it")
                assert (shop.pulls[1].author, shop.pulls[1].notes[0].author) == ("threadwright-bot", "threadwright-bot")
                told = [
                    m.content
                    for m in running.of_bot(second)
                    if "doesn't accept the token of `ada` any more" in m.content
                ]
                assert len(told) == 1  # of two times that it was tried
                assert not any("token of" in message.content for message in running.of_bot(first))
                assert "can't use it now" in (await asked(running)).content

                stored = await running.app.bot.privacy.of(person, "you")
                assert stored.accounts == 1
                await guild.click(card.id, button(card, "Unlink"))
                card = await becomes(running, card, "Unlinked")
                assert list((home / "accounts").iterdir()) == []
                forge.accounts[HERS] = Account("ada")
                card = await gives(running, card, "Link my account", HERS, "are opened as `ada`")
                await gives(running, card, "Use another token", "guessed-0123456789", "You tried 5 tokens")
                assert backup(running.app.settings, tmp_path / "backup.tar.gz", "0.1.0") == 0
                await running.app.bot.privacy.erase(person, "you")
                assert list((home / "accounts").iterdir()) == []
                everywhere = running.guild.state.messages.values()
                said = "".join(message.content for channel in everywhere for message in channel.values())
        with tarfile.open(tmp_path / "backup.tar.gz") as archive:
            kept = b"".join(member.read() for each in archive if (member := archive.extractfile(each)) is not None)
        for token in (HERS.encode(), READS.encode()):
            assert token not in everything_in(home)
            assert token not in kept
            assert token not in "".join(str(request.body) for request in endpoint.requests).encode()
            assert token not in said.encode() + caplog.text.encode()


def test_no_log_holds_the_forms_that_people_fill_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """discord.py writes whole events at ``debug``, and a token is in one."""
    root, gateway = logging.getLogger(), logging.getLogger("discord.gateway")
    before = root.level, gateway.level
    try:
        for level in ("warning", "debug"):
            monkeypatch.setattr(root, "handlers", [])
            log_to_standard_error(level, prompts=True)
            assert gateway.isEnabledFor(logging.INFO) == (level == "debug")
        assert root.isEnabledFor(logging.DEBUG)
        assert not gateway.isEnabledFor(logging.DEBUG)
    finally:
        root.setLevel(before[0])
        gateway.setLevel(before[1])
