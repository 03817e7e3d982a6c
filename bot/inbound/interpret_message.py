"""Interpret a message as an inbox item, a reply, or nothing; pure.

A plain message means what the state of its thread says: a task where the agent is idle, guidance where it works, the
answer where it asked. A word is a command only if it is the whole message. Whoever lacks the permission is told so if
they addressed the bot, and ignored otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from agentic.core.events.execution_events import InboxItem, Sort
from bot.access.denials import VIEWER
from bot.access.permissions import may_steer
from bot.inbound.emoji import command
from bot.inbound.events import (
    BotIdentity,
    Ignore,
    Kind,
    MessageEvent,
    Outcome,
    Reply,
    ShowCommand,
    ThreadView,
    unheard,
)
from bot.inbound.interpret_reaction import commanded, unanswerable
from bot.rendering.discord_text import inline, one_line
from bot.thread_state.message_meaning import ANSWER, FILES_ONLY, Input, Refuse, meaning_of

NO_TASK = "What should I do? Write it after my name, for example: “the tests fail, fix the code”."
UNREADABLE: Mapping[Kind, str] = {
    "voice": "I can't listen to voice messages. Please write what I should do.",
    "poll": "I can't take a poll as a task. Please write what I should do, such as what you decided.",
    "forwarded": "A forwarded message alone is no task. Reply to it with what I should do, and I'll read it too.",
    "sticker": "I can only read text. Please write what I should do.",
}
FILES_ALONE = "(I attached these without words.)"
EDITED = "(I edited what I wrote before; it now reads:)\n{text}"
_NAMED = re.compile(r"<[@#][!&]?\d+>")
_SIDE = re.compile(r"\.\s*btw\b[,:]?\s+(?P<text>.+)", re.IGNORECASE | re.DOTALL)
_QUEUED = re.compile(r"\.\s+(?P<text>.+)", re.DOTALL)
_WITH_FILES: frozenset[Sort] = frozenset(("task", "queue", "side", "guidance", "answer"))


def translate_message(said: MessageEvent, scene: ThreadView, house: BotIdentity) -> Outcome:
    """Return what a message asks for."""
    if said.kind == "system":
        return Ignore("a message of Discord itself")
    if refused := unheard(said.speaker, house):
        return refused
    if not said.addressed and (scene.state == "unknown" or not said.thread):
        return Ignore("not addressed")
    if said.speaker.level == "viewer":
        return Reply(VIEWER) if said.addressed else Ignore("a viewer")
    if (told := UNREADABLE.get(said.kind)) and not (said.kind == "forwarded" and said.text.strip()):
        return Reply(told)
    text = without_mentions(said.text, house.mentions)
    if not text:
        return _without_text(said, scene)
    return _by_words(said, scene, text)


def translate_edit(said: MessageEvent, id: str, thread: str, task: str, house: BotIdentity) -> Outcome:
    """Return what an edit of a running task's message asks for; ``task`` is its text when the task began."""
    if refused := unheard(said.speaker, house):
        return refused
    text = _unmarked(said, without_mentions(said.text, house.mentions))
    if said.speaker.level == "viewer" or text in ("", task):
        return Ignore("nothing that concerns the task was changed")
    return InboxItem(
        id=id, thread=thread, sort="edited", author=said.speaker.person(), at=said.at, text=text, message=said.id
    )


def translate_afterthought(said: MessageEvent, id: str, thread: str, before: str, house: BotIdentity) -> Outcome:
    """Return what an edit of guidance asks for that the running execution has read; ``before`` is its earlier text."""
    if refused := unheard(said.speaker, house):
        return refused
    text = _unmarked(said, without_mentions(said.text, house.mentions))
    if said.speaker.level == "viewer" or text in ("", before):
        return Ignore("nothing that concerns the task was changed")
    return InboxItem(
        id=id, thread=thread, sort="guidance", author=said.speaker.person(), at=said.at, message=said.id,
        text=EDITED.format(text=text),
    )  # fmt: skip


def _unmarked(said: MessageEvent, text: str) -> str:
    """Remove the sign that queues a message or asks it as a side question."""
    marked = (_SIDE.fullmatch(text) or _QUEUED.fullmatch(text)) if said.thread else None
    return marked["text"].strip() if marked else text


def _without_text(said: MessageEvent, scene: ThreadView) -> Outcome:
    """Interpret a message of files alone: files for the running execution; where none runs, ask what to do with them."""
    if not said.files:
        return Reply(NO_TASK)
    meaning = meaning_of("files", scene.phase) if said.thread else FILES_ONLY
    if isinstance(meaning, Refuse):
        return Reply(meaning.text.format(names=", ".join(inline(file.name) for file in said.files[:3])))
    return _plain(said, scene, FILES_ALONE)


def _by_words(said: MessageEvent, scene: ThreadView, text: str) -> Outcome:
    if said.addressed and (word := text.casefold()) in ("status", "help"):
        return ShowCommand("status" if word == "status" else "help")
    found = command(text)
    if found and (found[0] == "stop" or scene.state != "asking"):
        return commanded(found, scene, said.speaker, _item(said, found[0], text=found[1]))
    if said.thread and (aside := _SIDE.fullmatch(text)):
        return _meant("side", said, scene, aside["text"].strip())
    if said.thread and (queued := _QUEUED.fullmatch(text)):
        return _meant("queue", said, scene, queued["text"].strip())
    return _plain(said, scene, text)


def _plain(said: MessageEvent, scene: ThreadView, text: str) -> Outcome:
    own = may_steer(said.speaker.level, said.speaker.id, scene.requester)
    return _meant("message" if own else "message of another", said, scene, text)


def _meant(done: Input, said: MessageEvent, scene: ThreadView, text: str) -> Outcome:
    meaning = meaning_of(done, scene.phase)
    if isinstance(meaning, Refuse):
        return Reply(meaning.text, key=f"not-yours.{scene.execution}.{said.speaker.id}" if scene.execution else "")
    if meaning != ANSWER:
        return _item(said, meaning.kind, text=text)
    more = scene.asked is not None and scene.asked.sort == "extension"  # its rules say who may give how much
    if not more and (why := unanswerable(scene, said.speaker.level)):
        return Reply(why)
    return _item(said, "answer", text=text, target=scene.question)


def _item(said: MessageEvent, sort: Sort, *, text: str, target: str = "") -> InboxItem:
    return InboxItem(
        id=said.id, thread=said.thread or said.about or said.id, sort=sort, author=said.speaker.person(), at=said.at,
        text=text, message="" if said.about else said.id, files=said.files if sort in _WITH_FILES else (), target=target,
        quoted=said.quoted if sort in _WITH_FILES and sort != "answer" else (),
        channel="" if said.thread else said.channel,
    )  # fmt: skip


def without_mentions(text: str, ids: tuple[str, ...]) -> str:
    """Remove mentions of the bot (or of its own role), however they are written."""
    if not ids or "<@" not in text:
        return text.strip()
    own = "|".join(map(re.escape, ids))
    return re.sub(rf"(?<![ \t])[ \t]*<@[!&]?(?:{own})>[ \t]*", " ", text).strip()


def title_of(text: str) -> str:
    """Return a thread's name: the first words of its task, 1-100 characters."""
    return one_line(_NAMED.sub("", text), 80) or "A task"
