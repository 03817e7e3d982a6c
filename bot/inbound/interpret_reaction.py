"""Interpret reactions and clicks by the state of the thread and the rights of the person; pure.

A sign on any message of the bot controls what runs in the thread (🛑 ⏸ ▶ ✅ 💬); a judgement (👍 👎 ❌) is about what
that very message shows. Command words that are a whole message are read the same way (``commanded``).
"""

from __future__ import annotations

from agentic.core.events.execution_events import (
    Asked,
    InboxItem,
    Level,
    Sort,
)
from agentic.core.text.amounts import OPERATORS
from agentic.core.text.answers import ends, least
from bot.access.denials import (
    ANSWERED,
    APPROVE_THERE,
    BOT_CANNOT_WRITE,
    BY_BUTTONS,
    ENDED,
    IN_THE_THREAD,
    NO_ADVICE,
    NO_ANSWER,
    VIEWER,
    refused,
)
from bot.access.permissions import (
    Speaker,
    act_of,
    at_least,
    limited,
    may,
    needed,
)
from bot.inbound.emoji import Meaning, meaning
from bot.inbound.events import BotIdentity, ClickEvent, Ignore, Outcome, ReactionEvent, Reply, ThreadView, unheard
from bot.thread_state.message_meaning import ANSWER, TASK, Refuse, meaning_of

CONTINUE = "Continue where you left off."
"""The task that ✅ begins where nothing runs."""
JUDGEMENTS: frozenset[Sort] = frozenset(("feedback", "correction", "merge", "reject", "retry"))
"""Signs that are about what their message shows, not about what runs in the thread."""


def translate_reaction(reacted: ReactionEvent, scene: ThreadView, house: BotIdentity) -> Outcome:
    """Return what a reaction asks for; removing one withdraws a vote and does nothing else."""
    if unwanted := unheard(reacted.speaker, house):
        return unwanted
    found = meaning(reacted.emoji, reacted.custom_id, house.custom_emoji)
    if found is None:
        return Ignore("a sign without a meaning here")
    if reacted.lesson and found[0] in JUDGEMENTS:
        return _on_lesson(reacted)
    if found[0] == "merge" and not reacted.offer:
        return Ignore("no branch is offered there")
    found = _about(found, reacted)
    if not reacted.added and found[0] != "feedback":
        return Ignore("taken back, and what it asked for stays")
    item = InboxItem(
        id=reacted.id, thread=reacted.thread, sort=found[0], author=reacted.speaker.person(), at=reacted.at,
        text=found[1] if reacted.added else "none", message=reacted.message, target=reacted.offer or reacted.target,
    )  # fmt: skip
    outcome = commanded(found, scene, reacted.speaker, item, shown=reacted.question)
    if refusal(found[0], scene, reacted.speaker, shown=reacted.question):
        return Ignore("somebody who may not")
    if found[0] == "feedback" and reacted.question and reacted.question == scene.question:
        return Reply(NO_ANSWER) if reacted.added else Ignore("taken back, and it was no vote")
    return outcome


def _on_lesson(reacted: ReactionEvent) -> Outcome:
    """Interpret a judgement of a lesson's message, which is no vote on the task that taught it."""
    level = limited(reacted.speaker.level, writes=reacted.speaker.writes)
    if not reacted.added or not may(level, "lessons"):
        return Ignore("a judgement of a lesson, which its buttons decide")
    return Reply(BY_BUTTONS, f"lesson {reacted.lesson}")


def _about(found: Meaning, reacted: ReactionEvent) -> Meaning:
    """Turn a vote on an offered branch into merge or delete."""
    if found[0] != "feedback" or not reacted.offer:
        return found
    return ("merge" if found[1] == "up" else "reject", "")


def translate_click(clicked: ClickEvent, scene: ThreadView) -> Outcome:
    """Return what a button asks for."""
    item = _pressed(clicked)
    if why := refusal(item.sort, scene, clicked.speaker, shown=clicked.question, said=item.text):
        return Reply(why)
    if clicked.steer not in (None, "continue") and clicked.execution != scene.execution:
        return Reply(ENDED)
    if item.sort in ("stop", "pause", "resume", "revoke", "continue", "retry"):
        return commanded((item.sort, ""), scene, clicked.speaker, item)
    if item.sort == "answer" and scene.question != clicked.question:
        return Reply(ANSWERED)
    return item


def _pressed(clicked: ClickEvent) -> InboxItem:
    """Return the inbox item of a button; an option is named by its number, whatever its label."""
    sort, text, target = _named(clicked)
    return InboxItem(
        id=clicked.id, thread=clicked.thread, sort=sort, author=clicked.speaker.person(), at=clicked.at, text=text,
        message=clicked.message, target=target,
    )  # fmt: skip


def _named(clicked: ClickEvent) -> tuple[Sort, str, str]:
    if clicked.steer is not None:
        return clicked.steer, "", ""
    if clicked.undo:
        return "undo", "", clicked.undo
    if clicked.redo:
        return "redo", "", clicked.redo
    if clicked.again:
        return "retry", "", clicked.target
    if clicked.offer:
        return clicked.verdict, "", clicked.offer
    if clicked.vote:
        return "feedback", clicked.vote, clicked.target
    part = f"#{clicked.part}" if clicked.part else ""
    return "answer", str(clicked.number + 1), clicked.question + part


def refusal(sort: Sort, scene: ThreadView, speaker: Speaker, *, shown: str = "", said: str = "") -> str:
    """Say why somebody may not do it here and now, '' where they may; ``shown`` is the question of the message.

    ``said`` is their answer to it.
    """
    level = limited(speaker.level, writes=speaker.writes)
    if level == "viewer":
        return VIEWER
    if not scene.bot_writes and sort != "stop":
        return BOT_CANNOT_WRITE
    answers = sort == "answer" or (sort == "continue" and shown)
    if answers and (why := unanswerable(scene, level, said)):
        return why
    act, own = act_of(sort), scene.requester in ("", speaker.id)
    return "" if may(level, act, own=own) else refused(act, needed(act, own=own))


def unanswerable(scene: ThreadView, level: Level, said: str = "") -> str:
    """Say why somebody of this level may not decide the open question, '' where they may.

    Whoever may not grant more of a cap may still end the execution where more is asked for.
    """
    asked = scene.asked
    if asked is None or asked.question != scene.question:
        return ""
    if asked.sort == "extension" and asked.what in OPERATORS:
        return "" if at_least(level, asked.who_may) or ends(asked, said) else refused("budget", asked.who_may)
    needs = least(asked, said)
    needs = "operator" if asked.sort == "approval" and needs == "executor" else needs
    return "" if at_least(level, needs) else refused("approve", needs)


def commanded(found: Meaning, scene: ThreadView, speaker: Speaker, item: InboxItem, *, shown: str = "") -> Outcome:
    """Return what a sign, or a word that is the whole message, asks for, given who sent it and when."""
    sort = found[0]
    if scene.state == "unknown":
        return Reply(IN_THE_THREAD)
    if why := refusal(sort, scene, speaker, shown=shown):
        return Reply(why)
    meant = meaning_of(sort, scene.phase)
    if isinstance(meant, Refuse):
        return Reply(meant.text)
    if sort != "continue":
        return item
    if meant == ANSWER:
        return _advice(scene, item, shown)
    return item.model_copy(update={"sort": meant.kind, "text": CONTINUE if meant == TASK else item.text, "target": ""})


def _advice(scene: ThreadView, item: InboxItem, shown: str) -> Outcome:
    """Interpret ✅ on a question: the answer that it recommends."""
    asked = scene.asked
    if asked is None or not (advice := recommended(asked)):
        return Reply(NO_ADVICE)
    if asked.sort == "approval" and shown != asked.question:
        return Reply(APPROVE_THERE)
    return item.model_copy(update={"sort": "answer", "text": advice, "target": asked.question})


def recommended(asked: Asked) -> str:
    """Return the answer that a question recommends, '' for none: its first option, or the first of each of its parts."""
    if not asked.parts:
        return "1" if asked.options else ""
    if not all(part.options for part in asked.parts):
        return ""
    return "\n".join(f"{number}: 1" for number in range(1, len(asked.parts) + 1))
