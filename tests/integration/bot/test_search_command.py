"""`/search`: what was said and done is found again, by those who may see it, without secrets."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agentic.core.events.execution_events import FileChange, InputReceived, Person, ToolFinished, ToolStarted
from agentic.ports.errors import StoreUnavailable
from agentic.ports.runtime import SessionRow
from agentic.stores.sqlite.store import SQLiteStore
from bot.access import thread_access
from bot.history import thread_search
from bot.local_discord import Permission
from bot.local_discord.local_discord import LocalGuild
from tests.integration.bot.commanding import Desk, desk, words

FOREIGN = "777777777777777777"


async def search(one: Desk, channel: int, text: str, author: str | None = None, page: int = 1) -> str:
    """The answer to `/search`, which only its author sees."""
    answer = await one.slash(channel, "search", {"words": text, "page": page}, author=author)
    assert answer.ephemeral
    return words(answer)


async def task(one: Desk, text: str, answer: str = "All done.") -> int:
    """The thread of a task that ended."""
    thread = await one.scenery.mention(text)
    await one.scenery.talk.finish(one.scenery.talk.newest(thread), answer)
    return thread


async def test_what_was_said_and_done_is_found_with_who_when_and_where(guild: LocalGuild, tmp_path: Path) -> None:
    store = SQLiteStore.open(tmp_path / "x.sqlite")
    try:
        async with desk(guild, store=store) as one:
            thread = await one.scenery.mention("Fix the login page")
            execution = one.scenery.talk.newest(thread)
            eve = Person(id="9", name="Eve")
            await one.scenery.talk.add(
                execution,
                InputReceived(inbox="i", sort="guidance", author=eve, text="it times out after **30** s"),
                ToolStarted(call="c", provider_id="p", tool="shell", effect="unkeyed",
                            arguments={"command": "pytest tests/login -q"}, args_sha="s"),
                ToolStarted(call="d", provider_id="p", tool="shell", effect="unkeyed",
                            arguments={"command": "pytest tests/login -q"}, args_sha="s"),
                ToolStarted(call="e", provider_id="p", tool="shell", effect="unkeyed",
                            arguments={"command": "curl http://login.internal/health"}, args_sha="s"),
                ToolFinished(call="c", outcome="ok", preview="", changes=(FileChange(path="src/login.py", kind="modified"),)),
            )  # fmt: skip
            await one.scenery.talk.finish(execution, "The session cookie was never renewed.")
            later = await task(one, "write about the login")
            here = one.scenery.general
            found = (await search(one, here, "LOGIN")).splitlines()
            links = [line for line in found if line.startswith("<#")]
            assert [f"<#{later}>" in links[0], *(f"<#{thread}>" in line for line in links[1:])] == [True] * len(links)
            assert any("gave this task" in line for line in links)
            assert "> write about the **login**" in found
            assert found.count("> pytest tests/**login** -q") == 1, "what ran twice is listed once"
            assert "> curl http://login.internal/health" in found, "no marks within a link"
            assert "> src/**login**.py" in found
            assert all("<t:" in line for line in links)
            said = await search(one, here, "times 30")
            assert "Eve wrote" in said
            assert r"it **times** out after \*\***30**\*\* s" in said
            assert "I answered" in await search(one, here, '"cookie was"')
            nothing = await search(one, here, '"was cookie"')
            assert nothing.startswith('**Searched in threads that you can see**\nNothing found for “"was cookie"”.')
    finally:
        await store.close()


@pytest.mark.wall("rights")
async def test_only_threads_that_somebody_may_see_are_searched(guild: LocalGuild) -> None:
    guild.add_member("eve")
    async with desk(guild) as one:
        hidden = guild.add_channel("hidden")
        guild.deny(hidden.id, Permission.VIEW_CHANNEL, role=guild.state.identity.everyone_id)
        guild.allow(hidden.id, Permission.VIEW_CHANNEL)
        posted = await guild.post(hidden.id, f"{guild.bot.mention} the zebra plan")
        await one.scenery.says(posted.id, "Starting")
        await one.scenery.until(lambda: str(posted.id) in one.scenery.talk.threads)
        private = await guild.create_thread(one.scenery.general, "quiet corner", private=True)
        await guild.post(private.id, f"{guild.bot.mention} a zebra in private")
        await one.scenery.until(lambda: str(private.id) in one.scenery.talk.threads)
        elsewhere = await one.scenery.mention("zebra of another server")
        row = await one.scenery.store.session(str(elsewhere))
        assert row is not None
        await one.scenery.store.save_session(SessionRow(row.thread, row.channel, FOREIGN))
        here = await task(one, "an open zebra")
        mine = await search(one, one.scenery.general, "zebra")
        assert "zebra** plan" in mine
        assert "another server" not in mine
        seen = await search(one, one.scenery.general, "zebra", author="eve")
        assert f"<#{here}>" in seen
        assert all(part not in seen for part in ("plan", "private", "another server", "not looked into"))
        openly = words(await one.write(one.scenery.general, "!search zebra"))
        assert f"<#{here}>" in openly
        assert all(part not in openly for part in ("plan", "private", "another server"))


@pytest.mark.wall("rights")
async def test_in_a_direct_message_only_that_conversation_is_searched(guild: LocalGuild) -> None:
    guild.add_member("eve")
    guild.add_member("pat")
    async with desk(guild) as one:
        await task(one, "zebra in the server")
        rooms = [(await guild.open_dm(who)).id for who in ("eve", "pat")]
        for room, who in zip(rooms, ("eve", "pat"), strict=True):
            await guild.post(room, f"zebra of {who}", author=who)
        await one.scenery.until(lambda: {str(room) for room in rooms} <= one.scenery.talk.threads.keys())
        found = await search(one, rooms[1], "zebra", author="pat")
        assert "**zebra** of pat" in found
        assert "eve" not in found
        assert "server" not in found


async def test_secrets_are_masked_also_where_a_snippet_would_cut_them(guild: LocalGuild) -> None:
    token = "ghp_" + "a1B2c3D4" * 5
    async with desk(guild) as one:
        await task(one, f"zebra {'word ' * 26}{token}")
        await task(one, f"{token} giraffe")
        for text in ("zebra", "giraffe", "word", "ghp"):
            assert "a1B2c3" not in await search(one, one.scenery.general, text)
        assert "**giraffe**" in await search(one, one.scenery.general, "giraffe")


async def test_foreign_text_pings_and_formats_nothing(guild: LocalGuild) -> None:
    async with desk(guild) as one:
        await task(one, "zebra", "zebra <@1> @everyone [x](http://evil.example) `code` \u202e # head\n> quote")
        answer = await one.slash(one.scenery.general, "search", {"words": "zebra everyone"})
        assert r"**zebra** \<@1\> @**everyone** \[x\](http://evil.example) \`code\` \# head \> quote" in answer.content


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("?!… \u202e", "nothing to look for"), ("a" * 4_000, "too long"), ("NEAR(zebra, 2) OR *", "Nothing found for"),
        ("-zebra", "gave this task"),
    ],
)  # fmt: skip
async def test_odd_words_get_a_plain_answer(guild: LocalGuild, text: str, says: str) -> None:
    async with desk(guild) as one:
        await task(one, "the zebra")
        assert says in await search(one, one.scenery.general, text)


async def test_pages_follow_each_other_and_end(guild: LocalGuild, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread_search, "AT_A_TIME", 2)
    async with desk(guild) as one:
        thread = await one.scenery.mention("zebra 0")
        execution, eve = one.scenery.talk.newest(thread), Person(id="9", name="Eve")
        for number in range(1, 12):
            said = InputReceived(inbox=f"i{number}", sort="guidance", author=eve, text=f"zebra {number}")
            await one.scenery.talk.add(execution, said)
        first, second = [await search(one, thread, "zebra", page=page) for page in (1, 2)]
        assert [f"zebra** {n}\n" in f"{first}\n" for n in (11, 4, 3)] == [True, True, False]
        assert "`page:2`" in first
        assert [f"zebra** {n}\n" in f"{second}\n" for n in (4, 3, 0)] == [False, True, True]
        assert "`page:3`" not in second
        assert "That's all" in await search(one, thread, "zebra", page=3)


async def test_what_somebody_had_erased_is_found_no_more(guild: LocalGuild) -> None:
    guild.add_member("eve")
    async with desk(guild) as one:
        thread = await one.scenery.mention("a zebra task", author="eve")
        await one.scenery.talk.finish(one.scenery.talk.newest(thread))
        assert "zebra" in await search(one, one.scenery.general, "zebra")
        await one.scenery.bot.privacy.erase(one.scenery.talk.got[-1].author.id, "eve")
        assert "Nothing found for" in await search(one, one.scenery.general, "zebra")


async def test_archived_threads_are_asked_about_within_a_bound_that_is_told(
    guild: LocalGuild, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bot.cogs.commands import search as command

    monkeypatch.setattr(command, "LOOKED_UP", 1)
    monkeypatch.setattr(thread_access.Reach, "is_known", _unknown)
    async with desk(guild) as one:
        for text in ("zebra one", "zebra two"):
            await task(one, text)
        said = await search(one, one.scenery.general, "zebra")
        assert "zebra** two" in said
        assert "zebra** one" not in said
        assert "not looked into" in said


async def test_who_is_in_private_threads_is_asked_within_the_same_bound(
    guild: LocalGuild, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bot.cogs.commands import search as command

    asked: list[str] = []
    really = thread_access.Reach._is_in  # pyright: ignore[reportPrivateUsage]

    async def is_in(reach: thread_access.Reach, stand: thread_access.Stand, row: SessionRow) -> bool:
        asked.append(row.thread)
        return await really(reach, stand, row)

    monkeypatch.setattr(command, "LOOKED_UP", 2)
    monkeypatch.setattr(thread_access.Reach, "_is_in", is_in)
    guild.add_member("eve")
    async with desk(guild) as one:
        here = await task(one, "an open zebra")
        for number in range(4):
            private = await guild.create_thread(one.scenery.general, f"corner {number}", private=True)
            await guild.post(private.id, f"{guild.bot.mention} a zebra in private")
            await one.scenery.until(lambda thread=str(private.id): thread in one.scenery.talk.threads)
        seen = await search(one, one.scenery.general, "zebra", author="eve")
        assert f"<#{here}>" in seen
        assert "in private" not in seen
        assert "not looked into" in seen
        assert len(asked) == 2
        assert (await search(one, one.scenery.general, "zebra")).count("in private") == 4, "rights show them, unasked"
        assert len(asked) == 2


async def test_where_many_hits_are_out_of_sight_it_is_told_that_older_ones_were_not_looked_at(
    guild: LocalGuild, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thread_search, "AT_A_TIME", 2)
    monkeypatch.setattr(thread_search, "LOOKED_THROUGH", 2)
    guild.add_member("eve")
    async with desk(guild) as one:
        await task(one, "an open zebra")
        hidden = guild.add_channel("hidden")
        guild.deny(hidden.id, Permission.VIEW_CHANNEL, role=guild.state.identity.everyone_id)
        guild.allow(hidden.id, Permission.VIEW_CHANNEL)
        for number in range(2):
            posted = await guild.post(hidden.id, f"{guild.bot.mention} zebra {number}")
            await one.scenery.until(lambda thread=str(posted.id): thread in one.scenery.talk.threads)
        seen = await search(one, one.scenery.general, "zebra", author="eve")
        assert "only looked at the newest" in seen
        assert "open" not in seen
        assert "only looked at" not in await search(one, one.scenery.general, "open zebra", author="eve")


async def test_what_is_not_taken_in_yet_is_told(guild: LocalGuild, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread_search, "CATCH_UP_SECONDS", 0.0)
    async with desk(guild) as one:

        async def behind() -> bool:
            await asyncio.sleep(0)
            return True

        monkeypatch.setattr(one.scenery.store, "take_in", behind)
        assert "still reading" in await search(one, one.scenery.general, "zebra")


async def test_where_nothing_can_be_taken_in_what_was_is_searched(
    guild: LocalGuild, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with desk(guild) as one:
        await task(one, "the zebra")

        async def full() -> bool:
            raise StoreUnavailable("no room is left")

        monkeypatch.setattr(one.scenery.store, "take_in", full)
        found = await search(one, one.scenery.general, "zebra")
        assert "the **zebra**" in found
        assert "still reading" in found


def _unknown(*_: object) -> bool:
    return False
