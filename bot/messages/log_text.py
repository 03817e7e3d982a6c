"""A log as a story: one line an event, nothing for events that people need not read; pure."""

from __future__ import annotations

from agentic.core.claims import confidence
from agentic.core.events.execution_events import (
    Asked,
    CallBlock,
    CancelRequested,
    CheckpointSaved,
    CommitCreated,
    Compacted,
    DeadlinePassed,
    Decided,
    Envelope,
    Escalated,
    Evaluated,
    Event,
    FeedbackGiven,
    Finished,
    Gated,
    InputReceived,
    Intervened,
    ModelAnswered,
    ModelFailed,
    ModelRequested,
    OwnerChanged,
    PolicyChanged,
    PullRequestOpened,
    Quarantined,
    Reflected,
    Reported,
    RulesChanged,
    Started,
    TextBlock,
    ToolFinished,
    ToolStarted,
    Triaged,
    TrialDecided,
    TurnEnded,
    WakeRequested,
    WorkspaceRestored,
)

WIDTH = 160


def line_of(envelope: Envelope) -> str:
    """Return one event as a line, without its time; '' for events that people need not read."""
    return told(envelope.event)


def told(event: Event) -> str:
    """Describe an event, '' for events that people need not read."""
    match event:
        case Started() as event:
            return f"{event.requester.name} asked: {_short(event.task)}"
        case InputReceived() as event:
            return f"{event.author.name} ({event.sort}): {_short(event.text)}"
        case ModelRequested() as event:
            return f"asked {event.model} (tier {event.tier}, {event.purpose}, attempt {event.attempt})"
        case ModelAnswered() as event:
            return _answered(event)
        case ModelFailed() as event:
            return f"the model failed ({event.failure}): {_short(event.message)}"
        case ToolStarted() as event:
            return f"started {event.tool} {_short(str(event.arguments))}"
        case ToolFinished() as event:
            code = "" if event.exit_code is None else f" (exit {event.exit_code})"
            return f"  {event.outcome}{code}: {_short(event.preview)}"
        case _:
            return _judged(event)


def _judged(event: Event) -> str:
    match event:
        case TurnEnded() as event:
            return f"turn {event.turn} ended, confidence {confidence.told(event.confidence, None)}"
        case Asked() as event:
            return f"asked the person ({event.sort}): {_short(event.text)}".rstrip()
        case Decided() as event:
            return f"{event.by.name} chose: {_short(event.choice or event.text)}"
        case Intervened() as event:
            return f"rule {event.rule}: {_short(event.text)}"
        case Escalated() as event:
            return f"moved from tier {event.from_tier} to {event.to_tier}: {event.trigger}"
        case Compacted() as event:
            return f"shortened the history ({event.why}): kept {event.kept} messages and a summary of the rest"
        case OwnerChanged() as event:
            return "another process took over" + (f": {event.reason}" if event.reason else "")
        case WakeRequested() as event:
            return f"will be woken at {event.at:%Y-%m-%d %H:%M} UTC: {_short(event.why)}"
        case Finished() as event:
            return f"{event.reason}: {_short(event.answer)}"
        case Evaluated() | FeedbackGiven() | Reflected() | TrialDecided():
            return _afterwards(event)
        case _:
            return _kept(event)


def _afterwards(event: Evaluated | FeedbackGiven | Reflected | TrialDecided) -> str:
    """Describe events that follow the end."""
    match event:
        case Evaluated():
            return f"scored {event.score} of 100, verifier {event.verifier}"
        case FeedbackGiven():
            return f"{event.by.name} voted {event.vote}" + (f": {_short(event.why)}" if event.why else "")
        case Reflected():
            return f"reflection {event.reflection or event.problem}"
        case TrialDecided():
            return f"another attempt: {event.way}" + (f" ({event.why})" if event.why else "")


def _on_offer(event: CommitCreated | PullRequestOpened) -> str:
    """Describe a branch that people decide about."""
    if isinstance(event, CommitCreated):
        return f"offered branch {event.branch}: {_short(event.message)}"
    return f"published {event.branch} as pull request {event.number} of {event.repository}: {_short(event.title)}"


def _kept(event: Event) -> str:
    """Describe the remaining events, such as approvals and checkpoints; '' for events that people need not read."""
    match event:
        case Triaged():
            return f"taken for {'talk' if event.talk else f'a {event.complexity} task'} (by {event.by})"
        case Gated():
            what = f"restored what {event.call} had destroyed" if event.put_back else f"held back {event.call}"
            return f"{what}, because it {event.reason}: {_level(event.who_may)} must allow it"
        case CancelRequested():
            return f"stopping what runs: {event.reason}"
        case DeadlinePassed():
            return f"time is up ({event.ref})"
        case PolicyChanged():
            return f"allowed more: {_more(event)}"
        case Reported():
            return f"it says: {event.status}, {event.confidence} % sure {_short(event.note)}".rstrip()
        case CheckpointSaved():
            why = event.why.replace("_", " ")
            return f"workspace not saved ({why}): {event.problem}" if event.problem else f"workspace saved ({why})"
        case WorkspaceRestored():
            return f"files were restored{f' by {event.by.name}' if event.by else ''}: {len(event.files)}"
        case CommitCreated() | PullRequestOpened():
            return _on_offer(event)
        case RulesChanged():
            return f"rules of version {event.rules} from here on"
        case Quarantined():
            return f"set aside: {event.reason}"
        case _:
            return ""


def _more(event: PolicyChanged) -> str:
    more = (
        (event.add_turns, "turns"), (event.add_tokens, "tokens"), (event.add_usd, "USD"), (event.add_minutes, "minutes")
    )  # fmt: skip
    return ", ".join(f"{number:g} {what}" for number, what in more if number)


def _level(level: str) -> str:
    return f"an {level}" if level[0] in "aeiou" else f"a {level}"


def _answered(event: ModelAnswered) -> str:
    texts = " ".join(block.text for block in event.blocks if isinstance(block, TextBlock))
    calls = ", ".join(block.tool for block in event.blocks if isinstance(block, CallBlock))
    return f"it answered: {_short(texts)}" + (f" -> {calls}" if calls else "")


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= WIDTH else flat[: WIDTH - 1] + "…"
