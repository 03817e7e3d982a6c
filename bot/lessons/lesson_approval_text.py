"""The message that asks for a lesson's approval: its words, why it waits, later the decision; pure.

The lesson's words are code blocks: no link in them can be followed, and they ping nobody.
"""

from __future__ import annotations

from bot.lessons.decisions import decided_by, said_by
from bot.messages.lesson_text import (
    meaning,
    opposite,
    quoted,
    safe,
)
from bot.rendering.discord_text import plain
from reflexion.lessons.lesson import Lesson
from reflexion.text.screening import objections

GONE = "📝 A lesson was waiting here for approval. It no longer exists."
HOW = "-# An owner{where} decides. **Approve**: used in matching tasks. **Edit**: reword it. **Retire**: never used."
WHY = (
    "⏳ It waits because it contains {found}. A model that reads files and web pages wrote this, so a person checks "
    "it before any task uses it."
)


def asked(lesson: Lesson | None) -> str:
    """Return the message for the lesson's present state."""
    if lesson is None:
        return GONE
    if lesson.status == "quarantined":
        how = HOW.format(where=" of this server" if lesson.scope.guild else "")
        head = f"📝 **A lesson waits for approval** `{lesson.id}`"
        return "\n".join((head, quoted(lesson), *_amended(lesson), _why(lesson), how))
    return "\n".join((f"📝 **A lesson from this thread** `{lesson.id}`", quoted(lesson), _became(lesson)))


def already(lesson: Lesson) -> str:
    """Say why nothing is left to decide."""
    return f"This was already decided. {_became(lesson)}"


def _why(lesson: Lesson) -> str:
    found = objections(f"{lesson.trigger}\n{lesson.action}\n{lesson.error_signature}")
    return (
        WHY.format(found=" and ".join(found))
        if found
        else f"⏳ It waits: {safe(lesson.note) or 'a person set it aside.'}"
    )


def _amended(lesson: Lesson) -> list[str]:
    by = said_by(lesson)
    return [f"✏️ {plain(by, 40)} reworded it; it still needs approval."] if by else []


def _became(lesson: Lesson) -> str:
    """Say what a person decided, or how the status changed later, with the reason."""
    who = decided_by(lesson)
    by = f" by {plain(who, 40)}" if who else ""
    why = f" {safe(lesson.note)}" if lesson.note and not who and not opposite(lesson) else ""
    match lesson.status:
        case _ if opposite(lesson):
            became, back = "⚖️ **Set aside**", f"`/lessons approve lesson:{lesson.id}` decides for this one."
        case "retired":
            became, back = f"🗑️ **Retired**{by}", f"`/lessons approve lesson:{lesson.id}` brings it back."
        case "active" if who:
            became, back = f"✅ **Approved**{by}", f"`/lessons retire lesson:{lesson.id}` takes that back."
        case "candidate" if not who:
            became, back = "💤 **Remembered**", f"`/lessons approve lesson:{lesson.id}` makes it active now."
        case "active":
            became, back = "✅ **Active**", f"`/lessons retire lesson:{lesson.id}` ends that."
        case "probation" if not who:
            became, back = "◐ **On probation**", f"`/lessons retire lesson:{lesson.id}` ends that."
        case _:
            became, back = f"✏️ **Reworded**{by}", f"`/lessons retire lesson:{lesson.id}` ends that."
    return f"{became}: {meaning(lesson)}.{why} {back}"
