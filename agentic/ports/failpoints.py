"""Named points around every commit and every effect, at which the process can be killed for real.

A test that raises an exception says nothing of a crash: handlers run, files are flushed, connections are closed.  So a
point kills its own process with SIGKILL, as the kernel would.  Nothing happens unless the environment says so:

    THREADWRIGHT_FAILPOINT=store.append.before        the first time it is reached
    THREADWRIGHT_FAILPOINT=store.append.before:3      the third time
    THREADWRIGHT_FAILPOINT=*:p0.02:17                 each time with this probability; 17 is the seed

The last words, on standard error, name the point.
"""

from __future__ import annotations

import os
import random
import signal
from collections import Counter
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from typing import Final

VARIABLE: Final = "THREADWRIGHT_FAILPOINT"

POINTS: Final = {
    "loop.commit.before": "Events were noted; neither they nor what follows from them is durable.",
    "loop.commit.after": "Events are durable; nothing that follows from them has begun.",
    "store.append.before": "A transaction with events, outbox items and acknowledgements is about to be asked for.",
    "store.append.after": "It is durable; whoever asked for it has not heard so.",
    "store.outcome.before": "Something is about to be added to what became of an ended execution.",
    "store.outcome.after": "It was added; whoever asked for it has not heard so.",
    "store.blob.renamed": "Large content stands in its file; the row that names it is not written.",
    "group.commit.before": "A group of transactions was run; its COMMIT was not.",
    "group.commit.after": "A group is on disk; nobody who waits for it was told.",
    "wal.copied": "The write-ahead log was copied into the database while nobody waited for it.",
    "inbox.put.before": "What a person did is about to be kept.",
    "inbox.put.after": "It is kept; nobody has looked at it.",
    "inbox.discard.before": "Inbox items were dealt with, and are about to be acknowledged.",
    "inbox.discard.after": "They are acknowledged.",
    "outbox.put.before": "Something that no event caused is about to be said.",
    "outbox.put.after": "It is kept; nobody was told to deliver it.",
    "outbox.delivered.before": "Discord has the message; the receipt is not written.",
    "outbox.delivered.after": "The receipt is written.",
    "lease.acquire.before": "A thread is about to be taken.",
    "lease.acquire.after": "It is taken; nothing was done with it.",
    "lease.renew.before": "The lease is about to be renewed, beside the work.",
    "lease.renew.after": "It was renewed.",
    "lease.release.before": "The work is done; its lease is still held.",
    "lease.release.after": "The lease is given back.",
    "session.save.before": "A thread is about to become a session.",
    "session.save.after": "It is one; what was said there first is kept with it.",
    "fact.set.before": "A small fact (a mark, a progress message, a preference) is about to be written.",
    "fact.set.after": "It was written.",
    "schedule.put.before": "A schedule, or that one of its times has come, is about to be written.",
    "schedule.put.after": "It was written; nobody has acted on it.",
    "schedule.claimed": "That a time has come is kept; nothing has followed from it.",
    "schedule.announced": "The message that a scheduled task begins under is in the outbox; the task is not in an inbox.",
    "schedule.delivered": "The task is in its thread's inbox; its schedule does not say so.",
    "events.delivered": "Somebody outside was told of events; the store does not know.",
    "model.request.before": "The request is durable, and about to be sent.",
    "model.request.after": "The answer is there, and is noted nowhere.",
    "children.begin": "A child execution is about to begin, or to go on; others of the same call may run.",
    "children.ended": "All children of a call have ended; their parent's log does not say so.",
    "tool.effect.before": "The intent is durable; the call has not begun.",
    "tool.effect.after": "The call has had its effect; its result is noted nowhere.",
    "checkpoint.pack.before": "The content of a checkpoint was written, and is not durable.",
    "checkpoint.pack.after": "Its content is durable; no manifest names it.",
    "checkpoint.manifest.before": "Its manifest is written beside its place.",
    "checkpoint.manifest.after": "The checkpoint is there; no log names it.",
    "savepoint.noted.before": "A command destroyed files; nothing says so, and none is put back.",
    "savepoint.noted.after": "That they will be put back is noted.",
    "restore.before": "The way back is planned; no file was touched.",
    "restore.file": "A file was put back, others were not.",
    "restore.after": "All files are put back; nothing says so.",
    "discord.post.before": "A message is about to be posted.",
    "discord.post.after": "It stands in Discord; its id is known to nobody.",
    "discord.edit.before": "A message is about to be edited.",
    "discord.edit.after": "It was edited.",
    "discord.reaction.before": "A reaction is about to be added.",
    "discord.reaction.after": "It was added.",
    "discord.thread.before": "A thread is about to be made.",
    "discord.thread.after": "It was made; nothing says so.",
    "watermark.write.before": "How far channels were read is about to be written.",
    "watermark.write.after": "It was written.",
    "act.before": "Somebody's undo, merge or the like is about to be done; the thread is held.",
    "act.after": "It was done; its receipt is not kept.",
    "act.told": "Its receipt is kept; what was asked for still lies in the inbox.",
    "fork.asked": "The message from which a fork's thread is made is in the outbox.",
    "fork.thread": "The fork's thread stands in Discord; nothing is in it.",
    "checkpoint.adopt": "Some of the content of another thread's checkpoints is linked, no manifest names it.",
    "fork.copies": "The fork has its copies of the workspace; its files are not there.",
    "fork.workspace": "The fork's files are there; it is no session.",
    "fork.log": "The fork's log is durable; the thread that was forked knows nothing of it.",
    "fork.after": "The fork is complete; nobody was told.",
    "fork.told": "It was told; what was asked for still lies in the inbox.",
    "merge.done": "A branch was merged or deleted; nothing says so.",
    "publish.taken": "Commits were taken out of a sandbox into the mirror; the host knows nothing of them.",
    "publish.push.before": "A branch is about to be pushed.",
    "publish.push.after": "The branch is at the host; nothing here says so.",
    "publish.noted": "That it was pushed is noted; no pull request was asked for.",
    "publish.pull.before": "The host has no pull request of the branch, and one is about to be opened.",
    "publish.pull.after": "It is open; no log names it.",
    "publish.comment.before": "A remark is about to be written on a pull request.",
    "publish.comment.after": "It stands there; no log says so.",
    "watch.told": "What a pull request's host says was told or began a task; its row does not know.",
    "task.begin": "A task was taken from the inbox, its files and lessons are there; its log is empty.",
    "task.ended": "Its end is durable; nothing was learned from it, and its thread is still held.",
    "learn.before": "What an ended execution teaches is about to be worked out.",
    "learn.scored": "Its score is in its outcome; no lesson knows how it went.",
    "learn.counted": "How it went is kept for its lessons; nothing was reflected on.",
    "learn.written": "Its reflection is kept; the lesson of that is not.",
    "learn.kept": "Its reflection and its lesson are kept; its outcome does not say so.",
    "learn.judged": "Nothing is left to be learned from it; nothing says so.",
    "learn.after": "It was worked out and kept.",
    "judge.answered": "A judge's readings are paid and in the outcome; nothing was made of them.",
    "lessons.commit.before": "Lessons or reflections were written; their COMMIT was not.",
    "lessons.commit.after": "They are on disk.",
    "recover.before": "The process has started; nothing that was left behind was looked at.",
    "recover.after": "Everything that was left behind is taken up; the bot is not connected.",
    "close.handed.over": "The process ends in order, and each execution at work has noted so.",
}
"""What is true at each point."""


class UnknownFailpoint(ValueError):
    """The environment names a point that there is not."""


@dataclass(slots=True)
class _Order:
    """When the process is to be killed."""

    pattern: str
    time: int = 1
    share: float = 0.0
    luck: random.Random = field(default_factory=random.Random)
    seen: Counter[str] = field(default_factory=Counter[str])

    def is_due(self, name: str) -> bool:
        """Count this passage."""
        if not fnmatchcase(name, self.pattern):
            return False
        self.seen[name] += 1
        return self.luck.random() < self.share if self.share else self.seen[name] == self.time


def reach(name: str) -> None:
    """The process is at this point: it dies here if it was told to."""
    order = _order()
    if order is not None and order.is_due(name):
        os.write(2, f"failpoint {name}\n".encode())
        os.kill(os.getpid(), signal.SIGKILL)


@cache
def _order() -> _Order | None:
    text = os.environ.get(VARIABLE, "")
    if not text:
        return None
    pattern, *more = text.split(":")
    if not any(fnmatchcase(name, pattern) for name in POINTS):
        raise UnknownFailpoint(f"{VARIABLE}: there is no failpoint {pattern!r}; there are: {', '.join(POINTS)}")
    match more:
        case []:
            return _Order(pattern)
        case [time] if time.isdecimal():
            return _Order(pattern, time=int(time))
        case [share] if share.startswith("p"):
            return _Order(pattern, share=float(share[1:]))
        case [share, seed] if share.startswith("p"):
            return _Order(pattern, share=float(share[1:]), luck=random.Random(seed))
        case _:
            raise UnknownFailpoint(f"{VARIABLE}: {text!r} is none of name, name:3, name:p0.02, name:p0.02:seed")
