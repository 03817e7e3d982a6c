"""What a person did in Discord, as an inbox item, as something they are told, or as nothing; pure.

A plain message means what the state of its thread says: a task where the agent is idle, guidance where it works, the
answer where it asked.  A word is a command only if it is the whole message.  Whoever may not do a thing is told so if
they addressed the bot, and ignored otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from agentic.core.events import FileRef, InboxItem, Level, Person, Sort
from bot.conversation import ThreadState
from bot.emoji import Meaning, command, meaning
from bot.render import one_line
from bot.rights import may_steer

Kind = Literal["text", "voice", "poll", "forwarded", "sticker", "system"]


@dataclass(frozen=True, slots=True)
class Speaker:
    """Who did it; ``itself`` is the bot."""

    id: str
    name: str
    level: Level = "executor"
    bot: bool = False
    itself: bool = False

    def person(self) -> Person:
        """As the log keeps it."""
        return Person(id=self.id, name=self.name, level=self.level)


@dataclass(frozen=True, slots=True)
class Said:
    """A message; ``thread`` is '' in a plain channel, ``addressed`` says whether it mentions the bot."""

    id: str
    channel: str
    thread: str
    text: str
    at: datetime
    speaker: Speaker
    addressed: bool = False
    kind: Kind = "text"
    files: tuple[FileRef, ...] = ()


@dataclass(frozen=True, slots=True)
class Reacted:
    """A reaction given or taken back on a message that belongs to ``thread``; ``target`` says what it shows."""

    id: str
    message: str
    thread: str
    emoji: str
    at: datetime
    speaker: Speaker
    custom_id: str = ""
    target: str = ""
    added: bool = True


@dataclass(frozen=True, slots=True)
class Clicked:
    """A button: an option of a question, a vote under an answer (``vote`` is 'up' or 'down'), or ``halt``."""

    id: str
    message: str
    thread: str
    at: datetime
    speaker: Speaker
    question: str = ""
    label: str = ""
    vote: str = ""
    target: str = ""
    halt: bool = False


@dataclass(frozen=True, slots=True)
class Scene:
    """What the thread is doing, which question is open, and whose execution it is."""

    state: ThreadState
    question: str = ""
    requester: str = ""


@dataclass(frozen=True, slots=True)
class House:
    """What was configured: the bot's own ids to strip from mentions, bots that may speak, custom emoji by id."""

    mentions: tuple[str, ...] = ()
    speaking_bots: frozenset[str] = frozenset()
    custom_emoji: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Told:
    """Nothing is done, and the person is told why and what to do."""

    text: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """A read-only command, written to the bot as a message."""

    command: Literal["status", "help"]


@dataclass(frozen=True, slots=True)
class Ignored:
    """Nothing is done or said; the reason is for the log."""

    reason: str


Outcome = InboxItem | Told | Wanted | Ignored

BUILT: frozenset[Sort] = frozenset({"task", "guidance", "answer", "queue", "stop", "feedback", "correction"})
"""What an execution understands in this version; the rest is answered plainly."""

VIEWER = "You may look here, but not start or steer tasks. Ask an operator of this server for the right to."
NOT_YOURS = "That is someone else's task. Its author or an operator can steer it; 🛑 stops it."
NOTHING_RUNS = "Nothing is running here. Write what I should do."
IN_THE_THREAD = "That works in a task's thread. Here, write my name and a task, and I open one."
NO_TASK = "What should I do? Write it after my name, for example: “the tests fail, fix the code”."
ANSWERED = "This question is no longer open."
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
    if refused := _refused(said.speaker, house):
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
    if refused := _refused(said.speaker, house):
        return refused
    text = without_mentions(said.text, house.mentions)
    if said.speaker.level == "viewer" or text in ("", task):
        return Ignored("nothing that concerns the task was changed")
    return InboxItem(
        id=id, thread=thread, sort="edited", author=said.speaker.person(), at=said.at, text=text, message=said.id
    )


def _refused(speaker: Speaker, house: House) -> Ignored | None:
    if speaker.itself:
        return Ignored("its own")
    if speaker.bot and speaker.id not in house.speaking_bots:
        return Ignored("a bot or webhook")
    return None


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
        return _command(found, scene, said.speaker, _item(said, found[0], text=found[1]))
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


def translate_reaction(reacted: Reacted, scene: Scene, house: House) -> Outcome:
    """What a reaction asks for; taking one back undoes a vote and nothing else."""
    if refused := _refused(reacted.speaker, house):
        return refused
    found = meaning(reacted.emoji, reacted.custom_id, house.custom_emoji)
    if found is None:
        return Ignored("a sign without a meaning here")
    if reacted.speaker.level == "viewer":
        return Ignored("a viewer")
    if not reacted.added and found[0] != "feedback":
        return Ignored("taken back, and what it asked for stays")
    item = InboxItem(
        id=reacted.id, thread=reacted.thread, sort=found[0], author=reacted.speaker.person(), at=reacted.at,
        text=found[1] if reacted.added else "none", message=reacted.message, target=reacted.target,
    )  # fmt: skip
    if found[0] != "stop" and not may_steer(reacted.speaker.level, reacted.speaker.id, scene.requester):
        return Ignored("not their task")
    return _command(found, scene, reacted.speaker, item)


def translate_click(clicked: Clicked, scene: Scene) -> Outcome:
    """What a button asks for."""
    if clicked.speaker.level == "viewer":
        return Told(VIEWER)
    if clicked.halt:
        item = InboxItem(
            id=clicked.id, thread=clicked.thread, sort="stop", author=clicked.speaker.person(), at=clicked.at,
            message=clicked.message,
        )  # fmt: skip
        return _command(("stop", ""), scene, clicked.speaker, item)
    if not may_steer(clicked.speaker.level, clicked.speaker.id, scene.requester):
        return Told(NOT_YOURS)
    if not clicked.vote and (scene.state != "asking" or scene.question not in ("", clicked.question)):
        return Told(ANSWERED)
    return InboxItem(
        id=clicked.id, thread=clicked.thread, sort="feedback" if clicked.vote else "answer",
        author=clicked.speaker.person(), at=clicked.at, text=clicked.vote or clicked.label, message=clicked.message,
        target=clicked.target if clicked.vote else clicked.question,
    )  # fmt: skip


def _command(found: Meaning, scene: Scene, speaker: Speaker, item: InboxItem) -> Outcome:
    sort = found[0]
    if sort not in BUILT:
        return Told(f"“{sort}” is not built yet. You can write to me in the thread, and 🛑 stops a task.")
    if sort == "stop":
        return item if scene.state in ("busy", "asking") else Told(NOTHING_RUNS)
    if not may_steer(speaker.level, speaker.id, scene.requester):
        return Told(NOT_YOURS)
    return item


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
