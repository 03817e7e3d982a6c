"""What people read of an error: what happened, whose fault it is, what to do.

``WORDS`` is the one table: for each attempted operation, the kinds of error with words of their own; the first that
fits is taken. ``{error}`` stands for the error's message, ``{kind}`` for its class.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto

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
from reflexion.errors import LessonStoreError, ReflexionError


class Attempted(Enum):
    """The operation that an error interrupted."""

    RUN = auto()
    """Working on a task."""
    LOG = auto()
    """Reading the log of a task, which was set aside as damaged."""
    BEGIN = auto()
    """Beginning a task, for the ``tries``-th time."""
    SIDE = auto()
    """Answering a side question, which stays queued."""
    ACT = auto()
    """Carrying out an action on a finished task, such as undo."""
    INTAKE = auto()
    """Storing what a person wrote or did."""
    STOP = auto()
    """Storing a stop that has taken effect already."""
    VOTE = auto()
    """Recording the ``sign`` that ``name`` gave a result; it is retried."""
    COMMAND = auto()
    """Carrying out a command; ``id`` is in the program's log, too."""
    LESSON = auto()
    """Storing a person's decision about a lesson."""


_GO_ON = "Nothing is lost: write anything here to go on from where it stopped."
_OURS = "a fault in Threadwright itself ({kind}). It is ours, not yours, and the details are in the bot's log."
_NOT_BEGUN = "⚠️ I could not begin this, also at try {tries}, so I left it out and nothing of it was done: "
_WITHOUT_IT = " What you wrote after it goes on. Send it again in other words, or without its files."
_AFTERWARDS = "I could not answer your side question now, so I'll take it up after this task: "
_NOT_TAKEN = "⚠️ The {sign} of {name} could not be taken in yet ("
_TAKEN_LATER = "). It is kept, and I try again by myself: nothing has to be done."
_NO_LESSONS = (
    "What was learned cannot be read or kept at the moment, so nothing was changed; tasks run without it. Try this again "
    "in a while. Whoever runs me finds out why with `threadwright doctor`."
)

WORDS: Mapping[Attempted, tuple[tuple[type[Exception], str], ...]] = {
    Attempted.RUN: (
        (
            StoreCorrupt,
            "⚠️ What was stored of this task is damaged and is not used: {error}. It cannot go on: give it again in a new "
            "thread.",
        ),
        (
            SandboxUnavailable,
            "⚠️ There is no sandbox to work in: {error}. Whoever runs the bot: `threadwright doctor` shows more. "
            + _GO_ON,
        ),
        (SandboxLost, "⚠️ The sandbox went away in the middle of the work: {error}. " + _GO_ON),
        (
            ModelKeyRefused,
            "⚠️ The model provider refused the key: {error}. Whoever runs the bot has to set a valid one. " + _GO_ON,
        ),
        (
            ModelQuotaUsedUp,
            "⚠️ The account at the model provider is used up: {error}. Whoever runs the bot has to fill it. " + _GO_ON,
        ),
        (LeaseLost, "⚠️ Another running process took this thread over: {error}. " + _GO_ON),
        (
            StoreUnavailable,
            "⚠️ The bot could not write its log: {error}. Whoever runs it should look at the disk. " + _GO_ON,
        ),
        (AgenticError, "⚠️ The work broke off: {error}. " + _GO_ON),
        (
            Exception,
            "⚠️ A fault in Threadwright itself broke this off ({kind}). It is ours, not yours, and the details are in the "
            "bot's log. " + _GO_ON,
        ),
    ),
    Attempted.LOG: (
        (
            StoreCorrupt,
            "⚠️ What was stored of this task is damaged, so I put it aside and do not go on with it: {error}. Everything "
            "else is as it was: its files are in the workspace, and what you write here now is a new task. Whoever runs the "
            "bot: `threadwright doctor` shows all that is damaged, and `threadwright import BACKUP --into FOLDER` brings "
            "back a copy that `threadwright backup` made.",
        ),
    ),
    Attempted.BEGIN: (
        (AgenticError, _NOT_BEGUN + "{error}." + _WITHOUT_IT),
        (Exception, _NOT_BEGUN + _OURS + _WITHOUT_IT),
    ),
    Attempted.SIDE: (
        (AgenticError, _AFTERWARDS + "{error}."),
        (Exception, _AFTERWARDS + _OURS),
    ),
    Attempted.ACT: (
        (AgenticError, "That could not be done: {error}."),
        (Exception, "That could not be done: " + _OURS),
    ),
    Attempted.INTAKE: (
        (
            StoreCorrupt,
            "What was stored of this task is damaged ({error}), so I cannot take that in. What you write here is a new task; "
            "whoever runs the bot: `threadwright doctor` shows all that is damaged.",
        ),
        (AgenticError, "I could not keep that ({error}), so nothing happens with it. Please do it again in a minute."),
    ),
    Attempted.STOP: (
        (
            AgenticError,
            "⚠️ I interrupted it, but could not write down that you stopped it ({error}). When I am restarted, or when "
            "something is written here, it goes on where it was: stop it again once the disk has room.",
        ),
    ),
    Attempted.VOTE: (
        (AgenticError, _NOT_TAKEN + "{error}" + _TAKEN_LATER),
        (ReflexionError, _NOT_TAKEN + "{error}" + _TAKEN_LATER),
        (Exception, _NOT_TAKEN + "a fault in Threadwright itself, {kind}" + _TAKEN_LATER),
    ),
    Attempted.COMMAND: (
        (LessonStoreError, _NO_LESSONS),
        (AgenticError, "That could not be done: {error}."),
        (ReflexionError, "That could not be done: {error}."),
        (
            Exception,
            "Something of mine broke (fault `{id}`). Please try again; if it stays, tell who runs me that id: the log says "
            "more.",
        ),
    ),
    Attempted.LESSON: (
        (LessonStoreError, _NO_LESSONS),
        (AgenticError, "That could not be done: {error}. Try it again."),
        (ReflexionError, "That could not be done: {error}. Try it again."),
    ),
}


def error_text(attempted: Attempted, error: Exception, **more: object) -> str:
    """Return one message about an error; ``more`` holds the other placeholders of ``attempted``."""
    words = next(words for kind, words in WORDS[attempted] if isinstance(error, kind))
    return words.format(error=str(error).strip().rstrip("."), kind=type(error).__name__, **more)
