"""Logs of tasks to show, written into a real store as a bot writes them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from agentic.core.events.execution_events import (
    BlobRef,
    CallBlock,
    Confidence,
    ConfidenceParts,
    Envelope,
    Event,
    FileChange,
    Finished,
    InputReceived,
    ModelAnswered,
    ModelRequested,
    Person,
    Policy,
    ReasoningBlock,
    Started,
    TextBlock,
    ToolFinished,
    ToolStarted,
    Triaged,
    TurnEnded,
    Usage,
)
from agentic.core.events.ids import call_id
from agentic.core.rules.decide import RULES_VERSION
from agentic.ports.runtime import Lease, SessionRow, Store

BEGAN = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)
ANN = Person(id="7", name="Ann", level="owner")
THREAD, CHANNEL, GUILD = "1575491652707942400", "1575491652707942000", "1575491652707941000"
PARTS = ConfidenceParts(self_report=70, tool_ok=1, same_error=0, tests=0.5, progress=1, corrections=0)


def started(task: str = "Fix the failing test", **more: object) -> Started:
    return Started.model_validate(
        {
            "thread": THREAD, "task": task, "requester": ANN, "role": "python-coder", "sandbox": "bubblewrap",
            "policy": Policy(), "rules": RULES_VERSION, **more,
        }
    )  # fmt: skip


def turn(number: int, command: str = "python -m pytest -q", result: str = "1 failed", text: str = "") -> list[Event]:
    """A turn with one command."""
    request = f"r{number}"
    call = call_id(request, 0)
    arguments = {"command": command, "reasoning": "to see whether it passes"}
    blocks = (
        ReasoningBlock(text=f"I think about step {number}.", provider="scripted"),
        TextBlock(text=text or f"I look at step {number}."),
        CallBlock(provider_id=f"p{number}", tool="shell", arguments=arguments),
    )
    usage = Usage(input=1200 + 10 * number, output=180, cache_read=900, reasoning=40)
    change = (
        FileChange(kind="modified", path=f"src/part_{number % 9}.py", sha_before="a" * 64, sha_after="b" * 64)
        if number % 3 == 0
        else None
    )
    return [
        ModelRequested(request=request, turn=number, tier=2, model="anthropic/claude-haiku-4-5", reserved_usd=0.02),
        ModelAnswered(request=request, blocks=blocks, usage=usage, usd=0.0031, stop="tool_use"),
        ToolStarted(
            call=call, provider_id=f"p{number}", tool="shell", effect="unkeyed", arguments=arguments, args_sha="0"
        ),
        ToolFinished(
            call=call, outcome="ok", preview=result, exit_code=1, seconds=1.5, changes=(change,) if change else ()
        ),
        TurnEnded(turn=number, confidence=Confidence(shown=60 + number % 20, heuristic=60 + number % 20, parts=PARTS)),
    ]  # fmt: skip


def end(reason: str = "done", answer: str = "The test passes now.") -> list[Event]:
    return [Finished.model_validate({"reason": reason, "answer": answer, "confidence": 81})]


def guidance(text: str, inbox: str = "m1") -> InputReceived:
    return InputReceived(inbox=inbox, sort="guidance", author=ANN, text=text)


def triaged() -> Triaged:
    return Triaged(talk=False, role="python-coder", complexity="complex", why="it names a test")


def events(turns: int, *, ended: bool = True) -> list[Event]:
    """A task of so many turns."""
    log: list[Event] = [started(), triaged()]
    for number in range(1, turns + 1):
        log += turn(number)
    return [*log, *(end() if ended else [])]


def enveloped(execution: str, log: Sequence[Event], after: int = 0, fence: int = 1) -> list[Envelope]:
    """As the store has it, an event each two seconds."""
    return [
        Envelope(execution=execution, seq=seq, at=BEGAN + timedelta(seconds=2 * seq), fence=fence, event=event)
        for seq, event in enumerate(log, after + 1)
    ]


async def written(
    store: Store, execution: str, log: Sequence[Event], *, thread: str = THREAD, blobs: Sequence[tuple[BlobRef, bytes]] = ()
) -> Lease:  # fmt: skip
    """Write a task's log, as a bot that holds the thread; the lease, for what is added later."""
    if await store.session(thread) is None:
        await store.save_session(SessionRow(thread, CHANNEL, GUILD, title="Fix the failing test", created=BEGAN))
    lease = await store.acquire(thread, "bot-1", 3600.0)
    assert lease is not None
    whole = enveloped(execution, log, fence=lease.fence)
    for content in blobs:
        await store.put_blob(content[1], content[0].media)
    await store.append(execution, 0, lease, whole[:90])
    for at in range(90, len(whole), 90):
        await store.append(execution, at, lease, whole[at : at + 90])
    return lease


async def added(store: Store, execution: str, lease: Lease, log: Sequence[Event], after: int) -> None:
    """Add events to a task's log."""
    await store.append(execution, after, lease, enveloped(execution, log, after, lease.fence))
