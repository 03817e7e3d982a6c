"""What people read when an execution breaks off: what happened, whose fault it is, what to do."""

from __future__ import annotations

from agentic.ports.errors import (
    AgenticError,
    LeaseLost,
    ModelKeyRefused,
    ModelQuotaUsedUp,
    SandboxLost,
    SandboxUnavailable,
    StoreCorrupt,
    StoreUnavailable,
)

GO_ON = "Nothing is lost: write anything here to go on from where it stopped."

DAMAGED = "What was stored of this task is damaged and is not used: {trouble}. It cannot go on: give it again in a new thread."


def in_plain_words(trouble: Exception) -> str:
    """One message for the thread about an error that ended an asyncio task of ours."""
    if isinstance(trouble, StoreCorrupt):
        return f"⚠️ {DAMAGED.format(trouble=trouble)}"
    for kind, words in _WORDS:
        if isinstance(trouble, kind):
            told = str(trouble).strip().rstrip(".")
            return f"⚠️ {words.format(trouble=told)} {GO_ON}"
    if isinstance(trouble, AgenticError):
        return f"⚠️ The work broke off: {trouble}. {GO_ON}"
    return (
        f"⚠️ A fault in Threadwright itself broke this off ({type(trouble).__name__}). It is ours, not yours, and the "
        f"details are in the bot's log. {GO_ON}"
    )


_WORDS: tuple[tuple[type[AgenticError], str], ...] = (
    (
        SandboxUnavailable,
        "There is no sandbox to work in: {trouble}. Whoever runs the bot: `threadwright doctor` shows more.",
    ),
    (SandboxLost, "The sandbox went away in the middle of the work: {trouble}."),
    (ModelKeyRefused, "The model provider refused the key: {trouble}. Whoever runs the bot has to set a valid one."),
    (ModelQuotaUsedUp, "The account at the model provider is used up: {trouble}. Whoever runs the bot has to fill it."),
    (LeaseLost, "Another running process took this thread over: {trouble}."),
    (StoreUnavailable, "The bot could not write its log: {trouble}. Whoever runs it should look at the disk."),
)
