"""Every error the agent's packages raise on purpose.

AgenticError
├── ModelError                 a provider's failure: handled by the rules, through ``ModelFailed``
│   ├── ModelUnavailable       5xx, refused connection, overloaded: another model, then later
│   ├── ModelRateLimited       429: later
│   ├── ModelTimedOut          no answer, or a stream that stalled
│   ├── ModelKeyRefused        401, 403: a person must act
│   ├── ModelQuotaUsedUp       the account is empty: a person must act
│   ├── ModelContextOverflow   the request is longer than the model's window
│   ├── ModelContentFiltered   the provider refused the content
│   ├── ModelBadRequest        400: a request the provider does not take
│   │   └── ModelUnknown       404: a name that the provider does not know
│   └── ModelUnpriced          nobody knows what it costs, so it was not asked: the settings must say
├── SandboxError               the place where commands run
│   ├── SandboxUnavailable     there is none: no engine, no image, not allowed
│   │   ├── CallNotBegun       and so a call was not begun: nothing of it was sent anywhere
│   │   └── SandboxRefused     this machine does not let one start; a person must act
│   ├── SandboxLost            it was there and is gone
│   ├── NotSettled             what a call destroyed is not restored yet: whoever goes on with the task does it
│   ├── PathRefused            outside of the workspace, a device, or hidden by .aiignore
│   ├── EditConflict           the file is not what the writer thinks it is
│   └── OutputGone             a saved output that is no longer there
├── StoreError                 the log, the inbox, the outbox, the blobs
│   ├── LeaseLost              another owner has the thread: stop at once, write nothing
│   ├── SequenceConflict       the log is longer than the writer thinks
│   ├── StoreUnavailable       disk full, locked, AWS out of reach: nothing was acknowledged
│   ├── StoreCorrupt           a checksum does not hold
│   └── StoreTooNew            written by a newer version
├── RemoteError                a repository on another machine, or the host of it
│   ├── RepositoryGone         deleted, private, or never there: nobody can tell which
│   ├── TokenRefused           401: missing, wrong or expired; a person must act
│   ├── RightMissing           403: the token is good and may not do this; a person must act
│   ├── ForgeBusy              429: later
│   ├── ForgeRejected          the host understood and does not do it; its words say why
│   ├── ForgeUnclear           5xx, a broken connection: it may have been done, so look before it is asked again
│   ├── AnswerTooLarge         more than is read: asking again soon changes nothing
│   ├── GitFailed              git could not fetch, read or push; nothing was changed there
│   │   └── BranchMoved        somebody pushed meanwhile: nothing was overwritten
│   └── NotPublished           a rule of ours says no; the words say which, and what to do
├── DoorbellSilent             a ring is not heard by anybody: whoever works looks by himself a little later
├── EmbeddingUnavailable       the model of meaning does not answer: words have to do
└── LogInvalid                 events that no execution could have written
"""

from __future__ import annotations

from typing import ClassVar

from agentic.core.events.execution_events import Barred, FailureClass


class AgenticError(Exception):
    """The root: everything this package raises on purpose."""


class ModelError(AgenticError):
    """A provider could not answer; ``failure`` is what the rules read."""

    failure: ClassVar[FailureClass] = "bad_request"

    def __init__(self, message: str, *, model: str = "", retry_after: float | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.model = model
        self.retry_after = retry_after


class ModelUnavailable(ModelError):
    """The provider is down or overloaded."""

    failure = "unavailable"


class ModelRateLimited(ModelError):
    """The provider asks to wait ``retry_after`` seconds."""

    failure = "rate_limited"


class ModelTimedOut(ModelError):
    """No answer in time, or the stream stalled."""

    failure = "timed_out"


class ModelKeyRefused(ModelError):
    """The key is missing, wrong or may not use this model."""

    failure = "key_refused"


class ModelQuotaUsedUp(ModelError):
    """The account has no credit left."""

    failure = "quota_used_up"


class ModelContextOverflow(ModelError):
    """The request is longer than the model's window; ``told`` are the tokens it reads and those of the prompt, where said."""

    failure = "context_overflow"

    def __init__(self, message: str, *, model: str = "", told: tuple[int, int] | None = None) -> None:
        super().__init__(message, model=model)
        self.told = told


class ModelContentFiltered(ModelError):
    """The provider refused the content."""

    failure = "content_filtered"


class ModelBadRequest(ModelError):
    """The provider does not take this request."""

    failure = "bad_request"


class ModelUnknown(ModelBadRequest):
    """The provider does not know this model: its name in the settings is wrong, or it is gone."""

    failure = "model_unknown"


class ModelUnpriced(ModelError):
    """Nobody knows what this model costs, so no budget could be kept with it."""

    failure = "unpriced"


class ModelLibraryBroken(ModelError):
    """The library that asks this model cannot be loaded."""

    failure = "library_broken"


class SandboxError(AgenticError):
    """The place where commands run failed; the message says what to do."""


class SandboxUnavailable(SandboxError):
    """There is no sandbox to run in."""


class CallNotBegun(SandboxUnavailable):
    """There is no sandbox to run a call in, and nothing of the call was sent to any: it had no effect."""


class NotSettled(SandboxError):
    """A call has ended, and its owner ended before what it destroyed was restored: its next owner does it."""


class SandboxRefused(SandboxUnavailable):
    """This machine lets no sandbox of a kind start; ``todo`` says what mends that, ``mendable`` if we can do it."""

    def __init__(self, said: str, todo: str, *, mendable: bool = False) -> None:
        super().__init__(f"{said}. {todo[:1].upper()}{todo[1:]}")
        self.said = said
        self.todo = todo
        self.mendable = mendable


class SandboxLost(SandboxError):
    """The sandbox was there and is gone; what was sent to it has an unknown outcome."""


class PathRefused(SandboxError):
    """The path may not be touched; ``barred`` where a rule keeps the agent off ``place``, and not only what stands there."""

    def __init__(self, path: str, reason: str, barred: Barred = "", place: str = "") -> None:
        super().__init__(f"{path!r} was refused: {reason}")
        self.path = path
        self.reason = reason
        self.barred: Barred = barred
        self.place = place


class EditConflict(SandboxError):
    """The file is not as the writer expected; ``current_sha`` is what it is now ('' = it does not exist)."""

    def __init__(self, path: str, current_sha: str) -> None:
        super().__init__(f"{path!r} changed since it was read")
        self.path = path
        self.current_sha = current_sha


class OutputGone(SandboxError):
    """The saved output is no longer there."""


class StoreError(AgenticError):
    """What was to be kept was not kept."""


class LeaseLost(StoreError):
    """Another owner has the thread."""


class SequenceConflict(StoreError):
    """The log has another length than the writer expected."""

    def __init__(self, execution: str, expected: int, actual: int) -> None:
        super().__init__(f"execution {execution}: expected the log to end at {expected}, it ends at {actual}")
        self.expected = expected
        self.actual = actual


class AppendTooLarge(StoreError):
    """More was to be written at once than one transaction of a store may hold; nothing was."""


class StoreUnavailable(StoreError):
    """The store cannot write now; nothing was acknowledged."""


class StoreCorrupt(StoreError):
    """A stored row does not match its checksum."""


class StoreTooNew(StoreError):
    """The store was written by a newer version of Threadwright."""


class RemoteError(AgenticError):
    """A repository on another machine could not be reached, read or changed; the message says what to do."""


class RepositoryGone(RemoteError):
    """The host knows no such repository, or does not show it to this token."""


class TokenRefused(RemoteError):
    """The host does not take the token."""


class RightMissing(RemoteError):
    """The token is good, and may not do this."""


class ForgeBusy(RemoteError):
    """The host asks to wait ``retry_after`` seconds."""

    def __init__(self, message: str, retry_after: float = 60.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ForgeRejected(RemoteError):
    """The host understood, and does not do it; ``status`` is its HTTP status."""

    def __init__(self, message: str, status: int = 422) -> None:
        super().__init__(message)
        self.status = status


class ForgeUnclear(RemoteError):
    """The host broke off or failed: what was asked for may have been done."""


class AnswerTooLarge(RemoteError):
    """The host has more to say than is read; asking again soon changes nothing."""


class GitFailed(RemoteError):
    """git could not fetch, read or push; nothing was changed at the other end."""


class BranchMoved(GitFailed):
    """Somebody else pushed to the branch; nothing was overwritten."""


class NotPublished(RemoteError):
    """A rule of ours keeps it from being published; the message says which."""


class DoorbellSilent(AgenticError):
    """A ring was not passed on, or cannot be heard now; the message says what to do."""


class EmbeddingUnavailable(AgenticError):
    """The embedding model cannot be loaded or did not answer; what it would have found is found by words alone."""


class LogInvalid(AgenticError):
    """A log that no execution could have written."""
