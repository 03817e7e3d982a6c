"""``/workspace clean``: an act of the thread like an undo, in the whole product; its way back; done again after a crash."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agentic.core.events.execution_events import InboxItem, WorkspaceRestored
from agentic.models.scripted.endpoint import ScriptedEndpoint
from bot.actions.clean import WITHOUT_COPY, Cleaning
from bot.local_discord.local_discord import LocalGuild
from bot.local_discord.model.records import Message
from tests.integration.bot.test_undoing import ANN, ROW, Scene
from tests.integration.bot.whole import SECONDS, Whole, finishes, uses, whole
from tests.scripts import reopen

MADE = (
    "ln -s {outside} link; mkdir -p src/.git private node_modules; echo 1 > src/.git/config; "
    "echo 2 > '-rf * $(touch x)'; echo > node_modules/m.js; mkfifo pipe"
)


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    """Cleaning goes through a sandbox, which ends with the test."""
    made = Scene(tmp_path)
    yield made
    await made.workshop.sandboxes.close()


def names(folder: Path) -> set[str]:
    reopen(folder)
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}


def item(text: str = "") -> InboxItem:
    return InboxItem(id="900", thread="100", sort="clean", author=ANN, at=datetime.now(UTC), text=text)


async def asked(running: Whole, thread: int, choice: int, **options: object) -> Message:
    """Use the command and press one of its two buttons; what the confirmation says then."""
    guild = running.guild
    id = await guild.slash(thread, "workspace clean", options)  # type: ignore[arg-type]

    def shown(here: LocalGuild) -> Message | None:
        original = here.interaction(id).original_id
        return next((m for m in here.messages(thread, viewer=None) if m.id == original and m.content), None)

    question = await guild.wait_for(shown, SECONDS)
    await guild.click(question.id, question.custom_ids()[choice])
    return await guild.wait_for(lambda here: m if (m := shown(here)) and not m.components else None, SECONDS)


async def test_cleaning_deletes_everything_but_what_a_person_hid_and_can_be_put_back(
    guild: LocalGuild, tmp_path: Path
) -> None:
    script = [
        uses("shell", command=MADE.format(outside=tmp_path / "outside.txt")),
        finishes(),
        uses("list", path="."),
        finishes("Looked."),
    ]
    async with ScriptedEndpoint.start(script) as endpoint, whole(tmp_path / "home", endpoint, guild) as running:
        thread = await running.task("make files")
        folder = running.workspace(thread)
        hidden = {".aiignore": "kept[1].env\nprivate/\n", "kept1.env": "TOKEN=1", "private/x": "1"}
        for name, text in hidden.items():
            (folder / name).write_text(text)
        (tmp_path / "outside.txt").write_text("stays")
        before = names(folder)
        assert (await asked(running, thread, 1)).content == "Nothing was deleted."
        assert names(folder) == before
        assert "in the thread how it went" in (await asked(running, thread, 0)).content
        receipt = await running.says(thread, "The workspace is empty now: 3 files")
        assert "saved as checkpoint `" in receipt.content
        assert "Not saved, and gone for good: `node_modules`" in receipt.content
        assert "Left in place, because it can't be copied: `pipe`" in receipt.content
        assert names(folder) == {*hidden, "pipe"}
        assert (tmp_path / "outside.txt").read_text() == "stays"
        await running.app.threads.idle(str(thread))
        assert await running.app.store.pending(str(thread)) == []
        (cleaned,) = [
            e for e in await running.outcome((await running.executions(thread))[0]) if e.kind == "workspace_restored"
        ]
        assert isinstance(cleaned, WorkspaceRestored)
        assert cleaned.way == "clean"
        (button,) = receipt.interactive()
        assert button["label"] == "Restore"
        await guild.click(receipt.id, str(button["custom_id"]))
        back = await running.says(thread, "Back from before the cleaning: restored 2 files")
        assert "and git's commits and branches in `src`" in back.content
        assert names(folder) == before - {"node_modules/m.js"}
        await running.task("look", thread)
        assert "deleted all files of the workspace" not in endpoint.requests[-1].text(), "it was put back"


async def test_cleaning_again_after_a_crash_changes_nothing_more(scene: Scene) -> None:
    cleaning = scene.acts.cleaning
    await scene.executed("one", ("a.txt", "1"), ("b.txt", "2"))
    wish = item()
    past = await cleaning._newest(wish)  # pyright: ignore[reportPrivateUsage]
    assert past is not None
    kept = await cleaning._keep(wish, past)  # pyright: ignore[reportPrivateUsage]
    (scene.files / "a.txt").unlink()  # the process died in the middle of it
    lease = await scene.store.acquire("100", "test")
    assert lease is not None
    first = await scene.acts.act(wish, ROW, lease)
    assert "2 files" in first.text, "what the first attempt had deleted is counted too"
    assert names(scene.files) == set()
    (scene.files / "new.txt").write_text("made since")
    assert await Cleaning(cleaning.restoring).clean(wish) == first
    assert names(scene.files) == {"new.txt"}
    restored = [e.event for e in await scene.store.read_outcome("one") if isinstance(e.event, WorkspaceRestored)]
    assert [one.kept for one in restored] == [kept]


async def test_where_no_copy_can_be_kept_nothing_is_deleted_unless_a_person_says_so(scene: Scene) -> None:
    (scene.files / "a.txt").write_text("1")
    lease = await scene.store.acquire("100", "test")
    assert lease is not None
    refused = await scene.acts.act(item(), ROW, lease)
    assert "Nothing was deleted" in refused.text
    assert names(scene.files) == {"a.txt"}
    for_good = await scene.acts.act(item(WITHOUT_COPY), ROW, lease)
    assert for_good.text == "The workspace is empty now: 1 file, 1 B deleted. No copy was kept, as you asked."
    assert names(scene.files) == set()
