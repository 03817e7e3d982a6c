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
revoke                   what was allowed for the whole task is asked about again
correction               ❌ or "that was wrong"

``target`` says what it is about: for an answer the question's id, with '#part' behind it for one of several; for
feedback and corrections '<execution>/result' or '<execution>/turn:3', or '' for the newest execution of the thread.
An answer's ``text`` is the chosen option's label, or what the person wrote.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from agentic.core.events.execution_events import Asked, InboxItem
from agentic.core.state.execution import Allowance


def named_fact(thread: str) -> str:
    """The name of the fact that says which title a thread got that a model offered; it gets one once."""
    return f"named: {thread}"


Activity = Literal["idle", "busy", "asking", "paused"]
"""What a thread with an agent is doing."""
ThreadState = Literal["unknown", "idle", "busy", "asking", "paused"]
"""An activity, or that the thread is no session."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """The result of an item: ``text`` is told to the person where it is not empty."""

    accepted: bool
    state: Activity
    text: str = ""
    again: bool = False
    """Whether it was stored before: by this process, or by one that may have ended before it could acknowledge it."""


@dataclass(frozen=True, slots=True)
class StatusView:
    """What a person may know of a thread; unknown fields are empty."""

    state: ThreadState
    execution: str = ""
    task: str = ""
    requester: str = ""
    """Id of the person who asked for the execution."""
    question: str = ""
    """Id of the open question."""
    asked: Asked | None = None
    """The open question itself."""
    paused: str = ""
    """Id of the person who paused it, '' where it is not paused."""
    crashes: int = 0
    """How often its process crashed during it, where it is left alone because of that; else 0."""
    stopped_in: float | None = None
    """Seconds from the stop to its end; None where nobody stopped it."""
    step: str = ""
    turn: int = 0
    tier: int = 0
    model: str = ""
    usd: float = 0.0
    seconds: float = 0.0
    confidence: int | None = None
    """The one number that people see of the newest execution, None where there is none."""
    fitted: bool = False
    """Whether it is fitted on enough earlier tasks; else it is an estimate."""
    queued: int = 0
    allowances: tuple[Allowance, ...] = ()
    """What people allowed for the whole task, while it is open."""
    finished: str = ""
    """How the newest execution ended, '' while it is open."""


class Conversation(Protocol):
    """All threads with an agent, as Discord's handlers see them."""

    async def deliver(self, item: InboxItem, *, guild: str, title: str = "") -> Receipt:
        """Store the item durably, then start or wake the thread's execution; returns without waiting for either.

        ``item.channel`` is the parent channel where the thread is still to be made from the message. An item whose id
        was stored before changes nothing.
        """
        ...

    def state(self, thread: str) -> ThreadState:
        """Return what the thread is doing; ``unknown``, too, where it was given no work since the process began."""
        ...

    async def knows(self, thread: str) -> bool:
        """Whether the thread is a session; from then on ``state`` says what it does."""
        ...

    async def status(self, thread: str) -> StatusView:
        """Describe the thread's newest execution in a person's terms."""
        ...

    async def standing(self, thread: str) -> StatusView:
        """Return the part of ``status`` that decides the meaning of messages and reactions: the state, the requester,
        the open question, who paused it. Does not wait where something runs.
        """
        ...

    async def thread_of_message(self, message_id: str) -> str | None:
        """Return the session a message belongs to: a task's own message, or one that the bot posted."""
        ...
