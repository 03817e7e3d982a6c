"""What a person did in Discord, as an inbox item, as something they are told, or as nothing; pure.

A plain message means what the state of its thread says: a task where the agent is idle, guidance where it works, the
answer where it asked.  A word is a command only if it is the whole message.  Whoever may not do a thing is told so if
they addressed the bot, and ignored otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from agentic.core.events import InboxItem, Sort
from bot.emoji import command
from bot.gestures import commanded
from bot.inputs import House, Ignored, Kind, Outcome, Said, Scene, Told, Wanted, unheard
from bot.refusals import IN_THE_THREAD, NOT_YOURS, VIEWER
from bot.render import one_line
from bot.rights import may_steer

NO_TASK = "What should I do? Write it after my name, for example: “the tests fail, fix the code”."
UNREADABLE: Mapping[Kind, str] = {
    "voice": "I cannot listen to voice messages. Please write what I should do.",
    "poll": "I cannot take a poll as a task. Please write what I should do.",
    "forwarded": "A forwarded message is not an order. Say in your own words what I should do, and paste what matters.",
    "sticker": "I can only read text. Please write what I should do.",
}
FILES_ONLY = "I got {names}, but not what to do with it. Please send it again with a sentence."
TASKS_ONLY = "files are taken with a task, not while one is running"
SIDE = "Side questions are not built yet. Without `. btw` it reaches the running task as guidance."


def translate_message(said: Said, scene: Scene, house: House) -> Outcome:
    """What a message asks for."""
    if said.kind == "system":
        return Ignored("a message of Discord itself")
    if refused := unheard(said.speaker, house):
        return refused
    if not said.addressed and (scene.state == "unknown" or not said.thread):
        return Ignored("not addressed")
    if said.speaker.level == "viewer":
        return Told(VIEWER) if said.addressed else Ignored("a viewer")
    if told := UNREADABLE.get(said.kind):
        return Told(told)
    text = without_mentions(said.text, house.mentions)
    if not text:
        return _without_text(said)
    return _by_words(said, scene, text)


def translate_edit(said: Said, id: str, thread: str, task: str, house: House) -> Outcome:
    """What an edit of a running task's message asks for; ``task`` is how it read when it began."""
    if refused := unheard(said.speaker, house):
        return refused
    text = without_mentions(said.text, house.mentions)
    if said.speaker.level == "viewer" or text in ("", task):
        return Ignored("nothing that concerns the task was changed")
    return InboxItem(
        id=id, thread=thread, sort="edited", author=said.speaker.person(), at=said.at, text=text, message=said.id
    )


def _without_text(said: Said) -> Outcome:
    if not said.files:
        return Told(NO_TASK)
    names = ", ".join(file.name for file in said.files[:3])
    return Told(FILES_ONLY.format(names=names))


def _by_words(said: Said, scene: Scene, text: str) -> Outcome:
    if said.addressed and (word := text.casefold()) in ("status", "help"):
        return Wanted("status" if word == "status" else "help")
    found = command(text)
    if found and (found[0] == "stop" or scene.state != "asking"):
        if scene.state == "unknown":
            return Told(IN_THE_THREAD)
        return commanded(found, scene, said.speaker, _item(said, found[0], text=found[1]))
    if said.thread and text.startswith(". btw "):
        return Told(SIDE)
    if said.thread and text.startswith(". "):
        queued: Sort = "queue" if scene.state in ("busy", "asking") else "task"
        return _item(said, queued, text=text[2:].strip())
    return _plain(said, scene, text)


def _plain(said: Said, scene: Scene, text: str) -> Outcome:
    if scene.state in ("unknown", "idle"):
        return _item(said, "task", text=text)
    if not may_steer(said.speaker.level, said.speaker.id, scene.requester):
        return Told(NOT_YOURS)
    if scene.state == "asking":
        return _item(said, "answer", text=text, target=scene.question)
    return _item(said, "guidance", text=text)


def _item(said: Said, sort: Sort, *, text: str, target: str = "") -> InboxItem:
    files = said.files
    if sort not in ("task", "queue"):
        files = tuple(file.model_copy(update={"path": "", "skipped": TASKS_ONLY}) for file in files)
    return InboxItem(
        id=said.id, thread=said.thread or said.id, sort=sort, author=said.speaker.person(), at=said.at, text=text,
        message=said.id, files=files, target=target, channel="" if said.thread else said.channel,
    )  # fmt: skip


def without_mentions(text: str, ids: tuple[str, ...]) -> str:
    """The text without mentions of the bot (or of its own role), however they are written."""
    if not ids or "<@" not in text:
        return text.strip()
    own = "|".join(map(re.escape, ids))
    return re.sub(rf"[ \t]*<@[!&]?(?:{own})>[ \t]*", " ", text).strip()


def title_of(text: str) -> str:
    """A thread's name: the first words of its task, 1-100 characters."""
    return one_line(re.sub(r"<[@#][!&]?\d+>", "", text), 80) or "A task"
