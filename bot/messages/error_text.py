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


_GO_ON = "Nothing is lost: write anything here and I'll continue where I stopped."
_OURS = "a bug in Threadwright ({kind}), not your fault. The details are in the bot's log."
_NOT_BEGUN = "⚠️ I tried {tries} times and couldn't start this, so I skipped it and did nothing: "
_WITHOUT_IT = " What you wrote after it continues. Send it again in other words, or without the files."
_AFTERWARDS = "I couldn't answer your side question now. I'll take it up after this task: "
_NOT_TAKEN = "⚠️ I couldn't process the {sign} of {name} yet ("
_TAKEN_LATER = "). I've kept it and will try again; you don't need to do anything."
_NO_LESSONS = (
    "I can't read or save lessons right now, so nothing was changed; tasks run without them. Try again later. "
    "Whoever runs the bot can find the cause with `threadwright doctor`."
)

WORDS: Mapping[Attempted, tuple[tuple[type[Exception], str], ...]] = {
    Attempted.RUN: (
        (
            StoreCorrupt,
            "⚠️ This task's log is damaged, so it can't continue: {error}. Give me the task again in a new thread.",
        ),
        (
            SandboxUnavailable,
            "⚠️ I have no sandbox to work in: {error}. Ask whoever runs the bot to run `threadwright doctor`. " + _GO_ON,
        ),
        (SandboxLost, "⚠️ The sandbox stopped while I was working: {error}. " + _GO_ON),
        (
            ModelKeyRefused,
            "⚠️ The model provider refused the API key: {error}. Ask whoever runs the bot to set a valid one. " + _GO_ON,
        ),
        (
            ModelQuotaUsedUp,
            "⚠️ The model provider's account has no credit left: {error}. Ask whoever runs the bot to add some. "
            + _GO_ON,
        ),
        (LeaseLost, "⚠️ Another copy of the bot took over this thread: {error}. " + _GO_ON),
        (
            StoreUnavailable,
            "⚠️ The bot couldn't save what it does: {error}. Ask whoever runs the bot to see to that. " + _GO_ON,
        ),
        (AgenticError, "⚠️ The work was interrupted: {error}. " + _GO_ON),
        (
            Exception,
            "⚠️ A bug in Threadwright interrupted this ({kind}), not your fault. The details are in the bot's log. "
            + _GO_ON,
        ),
    ),
    Attempted.LOG: (
        (
            StoreCorrupt,
            "⚠️ This task's log is damaged, so I set the task aside: {error}. Its files are still in the workspace, "
            "and what you write here now starts a new task. Whoever runs the bot can see all damage with "
            "`threadwright doctor` and restore a backup with `threadwright import BACKUP --into FOLDER`.",
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
            "This task's log is damaged ({error}), so I can't use that. What you write here starts a new task. "
            "Whoever runs the bot can see all damage with `threadwright doctor`.",
        ),
        (AgenticError, "I couldn't save that ({error}), so I did nothing. Please try again in a minute."),
    ),
    Attempted.STOP: (
        (
            AgenticError,
            "⚠️ I stopped it, but couldn't save that ({error}). After a restart, or when somebody writes here, it "
            "would continue: stop it again once saving works again.",
        ),
    ),
    Attempted.VOTE: (
        (AgenticError, _NOT_TAKEN + "{error}" + _TAKEN_LATER),
        (ReflexionError, _NOT_TAKEN + "{error}" + _TAKEN_LATER),
        (Exception, _NOT_TAKEN + "a bug in Threadwright, {kind}" + _TAKEN_LATER),
    ),
    Attempted.COMMAND: (
        (LessonStoreError, _NO_LESSONS),
        (AgenticError, "That could not be done: {error}."),
        (ReflexionError, "That could not be done: {error}."),
        (
            Exception,
            "Something broke on my side. Please try again. If it keeps happening, give whoever runs the bot this "
            "number: `{id}`.",
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
