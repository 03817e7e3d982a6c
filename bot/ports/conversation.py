"""The seam between what Discord shows and what runs: cogs speak to a ``Conversation``, ``bot/threads/registry.py`` is one.

What people do becomes an ``InboxItem`` (``bot/inbound/interpret_message.py``).  Its ``sort`` says what was meant:

task, guidance, answer   a plain message, by the state of the thread: idle, busy, asking
queue                    a task for after the running one
stop                     🛑 or the word alone
pause, resume            ⏸ and ▶: nothing new begins between the two
continue                 ✅: the recommended answer where it asks, resume where it is paused, else a further task
ask                      💬: it asks before it goes on
side                     ``. btw …``: a question beside the running execution
edited, deleted          the task's own message was
undo                     put back what an execution changed; ``target`` is the execution
merge, reject            👍 and 👎 on an offered branch; ``target`` is the offer's id
redo                     take an undo or a cleaning back; ``target`` is the execution
clean                    delete all files of the workspace
retry                    🔄: an execution once more, from the turn in ``text`` or from its beginning
rewind                   go on with an execution that ended, from the checkpoint ``target``
fork                     a new thread that goes on from the checkpoint ``target``, with ``text``; ``channel`` is its parent
escalate                 🚀: a stronger model takes over with the next step; at the top it says so
feedback                 ``text`` is the vote: 'up', 'down', or 'none' where it was taken back
correction               ❌ or "that was wrong"

``target`` says what it is about: for an answer the question's id, with '#part' behind it for one of several; for
feedback and corrections '<execution>/result' or '<execution>/turn:3', or '' for the newest execution of the thread.
An answer's ``text`` is the chosen option's label, or what the person wrote.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from agentic.core.events.execution_events import Asked, InboxItem

Activity = Literal["idle", "busy", "asking", "paused"]
"""What a thread with an agent is doing."""
ThreadState = Literal["unknown", "idle", "busy", "asking", "paused"]
"""The same, or a thread that is no session."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of an item: ``text`` is told to the person where it is not empty."""

    accepted: bool
    state: Activity
    text: str = ""
    again: bool = False
    """It was kept before: by this process or by one that may have died before it could be acknowledged."""


@dataclass(frozen=True, slots=True)
class StatusView:
    """What a person may ask of a thread; fields that are not known are empty."""

    state: ThreadState
    execution: str = ""
    task: str = ""
    requester: str = ""
    """Id of the person whose execution it is."""
    question: str = ""
    """Id of the open question."""
    asked: Asked | None = None
    """The open question itself."""
    paused: str = ""
    """Id of who paused it, '' where it is not."""
    crashes: int = 0
    """How often its process ended in the middle of it, where it is left alone for that; else 0."""
    stopped_in: float | None = None
    """Seconds from the stop to its end, after which nothing of it ran; None where nobody stopped it."""
    step: str = ""
    turn: int = 0
    tier: int = 0
    model: str = ""
    usd: float = 0.0
    seconds: float = 0.0
    confidence: int | None = None
    """The one number that people are shown of the newest execution, None where none is known."""
    fitted: bool = False
    """It follows how enough earlier tasks came out; else it is an estimate."""
    queued: int = 0
    finished: str = ""
    """How the newest execution ended, '' while it is open."""


class Conversation(Protocol):
    """All threads with an agent, as the Discord side sees them."""

    async def deliver(self, item: InboxItem, *, guild: str, title: str = "") -> Receipt:
        """Keep the item durably, then start or nudge the thread's execution; returns without waiting for either.

        ``item.channel`` is the parent channel where the thread is still to be made from the message.
        An item with an id that was ever kept changes nothing.
        """
        ...

    def state(self, thread: str) -> ThreadState:
        """What the thread is doing now; ``unknown``, too, where nothing was asked of it since the process began."""
        ...

    async def knows(self, thread: str) -> bool:
        """Whether the thread is a session; from now on ``state`` says what it does."""
        ...

    async def status(self, thread: str) -> StatusView:
        """The thread's newest execution in a person's terms."""
        ...

    async def standing(self, thread: str) -> StatusView:
        """As much of ``status`` as decides what words and signs mean, at once where something runs: the state, whose
        execution it is, its open question, who paused it."""
        ...

    async def thread_of_message(self, message_id: str) -> str | None:
        """The session a message belongs to: the task's own message, or one that the bot posted."""
        ...
