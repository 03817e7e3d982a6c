"""What a reaction or a click means, by the state of its thread and the rights of who did it; pure."""

from __future__ import annotations

from agentic.core.events import InboxItem, Sort
from bot.emoji import Meaning, meaning
from bot.inputs import Clicked, House, Ignored, Outcome, Reacted, Scene, Speaker, Told, unheard
from bot.refusals import ANSWERED, NOT_YOURS, NOTHING_RUNS, VIEWER
from bot.rights import may_steer

BUILT: frozenset[Sort] = frozenset({"task", "guidance", "answer", "queue", "stop", "feedback", "correction"})
"""What an execution understands in this version; the rest is answered plainly."""


def translate_reaction(reacted: Reacted, scene: Scene, house: House) -> Outcome:
    """What a reaction asks for; taking one back undoes a vote and nothing else."""
    if refused := unheard(reacted.speaker, house):
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
    return commanded(found, scene, reacted.speaker, item)


def translate_click(clicked: Clicked, scene: Scene) -> Outcome:
    """What a button asks for."""
    if clicked.speaker.level == "viewer":
        return Told(VIEWER)
    if clicked.halt:
        item = InboxItem(
            id=clicked.id, thread=clicked.thread, sort="stop", author=clicked.speaker.person(), at=clicked.at,
            message=clicked.message,
        )  # fmt: skip
        return commanded(("stop", ""), scene, clicked.speaker, item)
    if not may_steer(clicked.speaker.level, clicked.speaker.id, scene.requester):
        return Told(NOT_YOURS)
    if not clicked.vote and (scene.state != "asking" or scene.question not in ("", clicked.question)):
        return Told(ANSWERED)
    return InboxItem(
        id=clicked.id, thread=clicked.thread, sort="feedback" if clicked.vote else "answer",
        author=clicked.speaker.person(), at=clicked.at, text=clicked.vote or clicked.label, message=clicked.message,
        target=clicked.target if clicked.vote else clicked.question,
    )  # fmt: skip


def commanded(found: Meaning, scene: Scene, speaker: Speaker, item: InboxItem) -> Outcome:
    """What a sign or a word that is the whole message asks for, by whom and when."""
    sort = found[0]
    if sort not in BUILT:
        return Told(f"“{sort}” is not built yet. You can write to me in the thread, and 🛑 stops a task.")
    if sort == "stop":
        return item if scene.state in ("busy", "asking") else Told(NOTHING_RUNS)
    if not may_steer(speaker.level, speaker.id, scene.requester):
        return Told(NOT_YOURS)
    return item
