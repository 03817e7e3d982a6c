"""What the outbox posts: once, in order, with footer, files and buttons, whatever fails in between."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence

import pytest

from agentic.core.events.execution_events import OutboxItem
from agentic.ports.errors import StoreUnavailable
from agentic.stores.sqlite.store import SQLiteStore
from bot.local_discord.faults.rules import (
    Delayed,
    ErrorAnswer,
    RateLimited,
    Reset,
    Rule,
)
from bot.local_discord.local_discord import LocalGuild
from bot.local_discord.model.permission_flags import Permission
from bot.outbound.compose import ARCHIVE, FILES_AT_MOST
from bot.outbound.discord_api import nonce_of
from bot.rendering.discord_text import LIMIT
from tests.integration.bot.talking import Scenery, running_bot
from tests.stores import fresh_store


def notice(thread: int, number: int, text: str = "", **more: object) -> OutboxItem:
    item = OutboxItem(
        key=f"x1.{number}.0", thread=str(thread), execution="x1", sort="notice", text=text or f"n{number}"
    )
    return item.model_copy(update=more)


async def put(scenery: Scenery, *items: OutboxItem) -> None:
    await scenery.store.put_outbox(items)
    scenery.bot.outbox.poke()


async def test_the_final_answer_is_fresh_loud_and_has_footer_files_and_buttons(scenery: Scenery) -> None:
    thread = await scenery.mention("fix it")
    scenery.files["src/a.py"] = b"x = 1\n"
    claims = [{"text": "the tests pass", "command": "pytest -q", "exit_code": 0, "verdict": "proven"}, {"text": "fast"}]
    await scenery.talk.finish(
        scenery.talk.newest(thread), "Fixed.", claims=claims, files=["src/a.py", "gone.txt"], confidence=74
    )
    answer = await scenery.says(thread, "Fixed.")
    assert not answer.silent
    assert "✔ the tests pass — `pytest -q` → exit 0" in answer.content
    assert "◻ unproven: fast" in answer.content
    assert answer.content.splitlines()[-1].startswith("-# ")
    assert "confidence 74" in answer.content.splitlines()[-1]
    assert "Not attached: `gone.txt`" in answer.content
    assert [(file.filename, scenery.guild.file(file.id)) for file in answer.attachments] == [("a.py", b"x = 1\n")]
    execution = scenery.talk.newest(thread)
    assert answer.custom_ids() == (f"tw:vote:up:{execution}.3.0", f"tw:vote:down:{execution}.3.0")


async def test_many_files_come_as_one_archive_with_their_whole_names(scenery: Scenery) -> None:
    thread = await scenery.mention("make pages")
    scenery.files |= {f"site/{n}/page.html": f"page {n}".encode() for n in range(FILES_AT_MOST + 1)}
    await scenery.talk.finish(scenery.talk.newest(thread), "Made.", files=[*scenery.files, "gone.txt"])
    answer = await scenery.says(thread, "Made.")
    (attached,) = answer.attachments
    assert attached.filename == ARCHIVE
    with zipfile.ZipFile(io.BytesIO(scenery.guild.file(attached.id))) as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == scenery.files
    assert "Not attached: `gone.txt`" in answer.content


async def test_items_of_a_thread_keep_their_order_and_parts_their_sequence(scenery: Scenery) -> None:
    thread = await scenery.mention("go")
    long = "\n".join(f"line {number:04}" for number in range(450))
    await put(scenery, notice(thread, 1), notice(thread, 2, long), notice(thread, 3))
    await scenery.says(thread, "n3")
    contents = [message.content for message in scenery.of_bot(thread)][1:]
    assert contents[0] == "n1"
    assert "\n".join(contents[1:-1]) == long
    assert all(len(content) <= LIMIT for content in contents)
    assert contents[-1] == "n3"


async def test_receipts_reply_to_what_they_answer_even_if_it_was_deleted(scenery: Scenery) -> None:
    thread = await scenery.mention("go")
    said = await scenery.guild.post(thread, "use tabs")
    await put(scenery, notice(thread, 1, "seen", sort="receipt", target=str(said.id)))
    assert (await scenery.says(thread, "seen")).reply_to == said.id
    gone = await scenery.guild.post(thread, "or not")
    await scenery.guild.delete(gone.id)
    await put(scenery, notice(thread, 2, "seen too", sort="receipt", target=str(gone.id)))
    assert (await scenery.says(thread, "seen too")).reply_to is None


@pytest.mark.parametrize(
    "fault",
    [ErrorAnswer(503), Reset(), Reset(landed=True), RateLimited(0.2, is_global=True)],
    ids=str,
)
async def test_a_post_that_fails_is_sent_again_and_stands_once(scenery: Scenery, fault: ErrorAnswer) -> None:
    thread = await scenery.mention("go")
    scenery.guild.misbehave(Rule("POST */messages", fault, times=2))
    await put(scenery, notice(thread, 1), notice(thread, 2))
    await scenery.says(thread, "n2")
    assert [message.content for message in scenery.of_bot(thread)][1:] == ["n1", "n2"]


class Amnesic(SQLiteStore):
    """Cannot record receipts: what a process leaves that dies between posting and recording."""

    amnesic = False

    async def delivered(self, key: str, messages: Sequence[str]) -> None:
        if self.amnesic:
            raise StoreUnavailable("the process died here")
        await super().delivered(key, messages)


async def test_what_a_dead_process_had_posted_is_found_and_not_posted_again(guild: LocalGuild) -> None:
    store = fresh_store(Amnesic)
    async with running_bot(guild, store) as scenery:
        thread = await scenery.mention("go")
        await scenery.until_delivered()
        store.amnesic = True
        await scenery.talk.finish(scenery.talk.newest(thread), "The answer.")
        await scenery.says(thread, "The answer.")
        assert len(await store.undelivered()) == 1
    store.amnesic = False
    guild.forget_nonces()
    async with running_bot(guild, store) as scenery:
        await scenery.until_delivered()
        answers = [message for message in scenery.of_bot(thread) if message.content.startswith("The answer.")]
        assert len(answers) == 1
        row = await store.by_message(str(answers[0].id))
        assert row is not None
        assert row.item.sort == "answer"


async def test_a_thread_that_was_never_made_is_made_from_its_task(guild: LocalGuild) -> None:
    async with running_bot(guild) as scenery:
        guild.misbehave(Rule("POST */threads", ErrorAnswer(403, 50013, "Missing Permissions")))
        posted = await guild.post(scenery.general, f"{guild.bot.mention} go")
        await scenery.says(scenery.general, "couldn't open a thread")
        scenery.bot.outbox.retry_now()
        await scenery.says(posted.id, "Starting")


async def test_what_the_bot_may_not_post_is_kept_until_it_may(
    scenery: Scenery, caplog: pytest.LogCaptureFixture
) -> None:
    thread = await scenery.mention("go")
    scenery.guild.deny(scenery.general, Permission.SEND_MESSAGES_IN_THREADS)
    await put(scenery, notice(thread, 1))
    await scenery.until(lambda: "Send Messages in Threads" in caplog.text)
    assert len(await scenery.store.undelivered()) == 1
    scenery.guild.deny(scenery.general)
    await scenery.says(thread, "n1")


async def test_what_was_refused_before_a_right_came_back_is_tried_again_at_once(scenery: Scenery) -> None:
    """The refusal is on its way when the right comes back."""
    thread = await scenery.mention("go")
    scenery.guild.deny(scenery.general, Permission.SEND_MESSAGES_IN_THREADS)
    scenery.guild.misbehave(Rule(f"POST */channels/{thread}/messages", Delayed(1.5, landed=True)))
    await put(scenery, notice(thread, 1))
    await scenery.until(lambda: scenery.guild.misbehaviour.applied)
    scenery.guild.deny(scenery.general)
    await scenery.says(thread, "n1")


async def test_a_long_answer_is_a_file_with_a_beginning(scenery: Scenery) -> None:
    thread = await scenery.mention("go")
    text = "\n".join(f"finding {number}" for number in range(2_000))
    await scenery.talk.finish(scenery.talk.newest(thread), text)
    answer = await scenery.says(thread, "finding 0")
    assert [file.filename for file in answer.attachments] == ["answer.md"]
    assert scenery.guild.file(answer.attachments[0].id).decode().startswith(text)


async def test_content_that_discord_does_not_take_arrives_as_a_file(scenery: Scenery) -> None:
    thread = await scenery.mention("go")
    scenery.guild.misbehave(Rule("POST */messages", ErrorAnswer(400, 50035, "Invalid Form Body")))
    await put(scenery, notice(thread, 1, "odd"))
    message = await scenery.says(thread, "in the file")
    assert scenery.guild.file(message.attachments[0].id) == b"odd"


async def test_content_that_discord_takes_in_no_form_holds_up_nothing_that_follows(scenery: Scenery) -> None:
    thread = await scenery.mention("go")
    await scenery.until_delivered()
    scenery.guild.misbehave(Rule("POST */messages", ErrorAnswer(400, 50035, "Invalid Form Body"), times=2))
    await put(scenery, notice(thread, 1, "odd"))
    await scenery.says(thread, "I couldn't send")
    await put(scenery, notice(thread, 2, "what follows"))
    await scenery.says(thread, "what follows")
    await scenery.until_delivered()


def test_a_nonce_is_the_same_whenever_it_is_made_and_fits() -> None:
    assert nonce_of("x1.2.0", 1, 0) == nonce_of("x1.2.0", 1, 0)
    others = {nonce_of("x1.2.0", 0, 0), nonce_of("x1.2.0", 1, 0), nonce_of("x1.2.0", 0, 1), nonce_of("x1.2.1", 0, 0)}
    assert len(others) == 4
    assert all(len(nonce) <= 25 for nonce in others)


async def test_a_fault_of_ours_in_the_rendering_keeps_no_answer_back(
    scenery: Scenery, caplog: pytest.LogCaptureFixture
) -> None:
    thread = await scenery.mention("go")
    scenery.files = None  # type: ignore[assignment]
    execution = scenery.talk.newest(thread)
    await scenery.talk.finish(execution, "The answer.", files=["a.txt"])
    message = await scenery.says(thread, "in the file")
    assert scenery.guild.file(message.attachments[0].id) == b"The answer."
    assert "could not be rendered" in caplog.text
