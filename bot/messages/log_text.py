"""A log as a story: one line an event, nothing for events that people need not read; pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from agentic.core.claims import confidence
from agentic.core.events.execution_events import (
    Act,
    AllowancesEnded,
    AllowanceUsed,
    Asked,
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
    Option,
    OwnerChanged,
    PolicyChanged,
    PullRequestOpened,
    Quarantined,
    Reflected,
    Reported,
    RulesChanged,
    Started,
    SubagentFinished,
    TextBlock,
    ToolFinished,
    ToolStarted,
    Triaged,
    TrialDecided,
    TurnEnded,
    WakeRequested,
    Watched,
    WorkspaceRestored,
)
from agentic.core.fold.fold import MINUTES
from agentic.core.rules.approvals import why_gated
from agentic.core.rules.questions import FREE
from agentic.core.text.answers import in_parts, label_of
from bot.equipment.watcher_text import said

WIDTH = 160


NOTE = "[Note from Threadwright]"
ASKS = {
    "question": "Asks", "approval": "Asks for an approval", "extension": "Asks for more turns, time or money",
    "plan": "Asks about its plan", "approaches": "Asks which approach to take",
}  # fmt: skip
"""Heads for what is asked, by the sort of the question."""
VERIFIED = {"pass": "its check passed", "fail": "its check failed", "none": "no check was run on it"}


@dataclass(slots=True)
class AnswersInWords:
    """What people answered, read event by event: an option that they named by its number, by its label, and all of it once."""

    _asked: Asked | None = None
    _known: dict[str, str] = field(default_factory=dict[str, str])
    _said: set[str] = field(default_factory=set[str])

    def ask(self, event: Asked) -> None:
        """A question is open from here on."""
        self._asked, self._known, self._said = event, {}, set()

    def said(self, event: InputReceived) -> str:
        """Return what somebody wrote, in words where it answers the open question."""
        asked = self._asked
        if asked is None or event.sort not in ("answer", "guidance") or not event.text.strip():
            return event.text
        if not asked.parts:
            words = label_of(asked.options, event.text)
            self._said.add(words)
            return words
        before, self._known = self._known, in_parts(asked, self._known, event)
        self._said |= set(self._known.values())
        new = [part for part in asked.parts if self._known.get(part.id) not in (None, before.get(part.id))]
        return "\n".join(f"{part.text} {self._known[part.id]}" for part in new) or event.text

    def repeats(self, event: Decided) -> bool:
        """True if a decision says nothing that its answers did not say already."""
        labels = labels_of(self._asked) if self._asked is not None else {}
        self._asked = None
        return set(_chosen(event, labels)) <= self._said


def labels_of(asked: Asked) -> dict[str, str]:
    """Return the options of a question, and of its parts, by id."""
    return {option.id: option.label for part in (asked, *asked.parts) for option in part.options}


def question_text(asked: Asked) -> str:
    """Return a question with its parts and what there is to choose."""
    parts = [f"{number}. {part.text}{_options(part.options)}" for number, part in enumerate(asked.parts, 1)]
    whole = f"{asked.text}{_options(asked.options) if asked.sort == 'question' else ''}"
    return "\n".join((whole, *parts))


def _options(options: tuple[Option, ...]) -> str:
    return f" ({' / '.join(option.label for option in options)})" if options else ""


def story(log: Iterable[Envelope]) -> Iterator[tuple[Envelope, str]]:
    """Yield the events that people read, each as a line without its time; a choice by its label."""
    labels: dict[str, str] = {}
    for envelope in log:
        event = envelope.event
        if isinstance(event, Asked):
            labels = labels_of(event)
        if line := told(event, labels):
            yield envelope, line


def told(event: Event, labels: Mapping[str, str] = MappingProxyType({})) -> str:
    """Describe an event, '' for events that people need not read; ``labels`` of the open question's choices by id."""
    match event:
        case Started() as event:
            skills = f" (skills: {', '.join(skill.name for skill in event.skills)})" if event.skills else ""
            return f"{event.requester.name} asked: {_short(event.task)}{skills}"
        case InputReceived() as event:
            return f"{event.author.name} ({event.sort}): {_short(event.text)}"
        case ModelRequested() as event:
            purpose = "" if event.purpose == "turn" else f", for the {event.purpose}"
            again = f", attempt {event.attempt}" if event.attempt > 1 else ""
            return f"asked {event.model} (tier {event.tier}{purpose}{again})"
        case ModelAnswered() as event:
            return _answered(event)
        case ModelFailed() as event:
            return f"the model failed ({event.failure}): {_short(event.message)}"
        case ToolStarted() as event:
            return f"started {event.tool}{_argument(event.arguments)}"
        case ToolFinished() as event:
            code = "" if event.exit_code is None else f" (exit {event.exit_code})"
            return f"  {event.outcome}{code}: {_short(event.preview)}"
        case _:
            return _judged(event, labels)


def _judged(event: Event, labels: Mapping[str, str]) -> str:
    match event:
        case TurnEnded() as event:
            return f"turn {event.turn} ended, confidence {confidence.told(event.confidence, None)}"
        case Asked() as event:
            return f"asked the person ({event.sort}): {_short(event.text)}".rstrip()
        case Decided() as event:
            way = "answered" if event.choice == FREE else "chose"
            return f"{event.by.name} {way}: {_short(', '.join(_chosen(event, labels)))}"
        case Intervened() as event:
            return f"note to the model: {_short(event.text.replace(NOTE, ''))}"
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


def _chosen(event: Decided, labels: Mapping[str, str]) -> tuple[str, ...]:
    """Return what was chosen or said, each thing once."""
    if event.answers:
        return tuple(dict.fromkeys(labels.get(each, each) for each in event.answers.values()))
    numbered = event.choice.isdecimal() and event.text  # an option's number says nothing beside its words
    choice = "" if event.choice == FREE or numbered else labels.get(event.choice, event.choice)
    text = "" if choice and event.text.startswith(f"{event.by.name} denied it") else event.text
    return tuple(dict.fromkeys(filter(None, (choice, text))))


def _afterwards(event: Evaluated | FeedbackGiven | Reflected | TrialDecided) -> str:
    """Describe events that follow the end."""
    match event:
        case Evaluated():
            return f"scored {event.score} of 100: {VERIFIED[event.verifier]}"
        case FeedbackGiven():
            return f"{event.by.name} voted {event.vote}" + (f": {_short(event.why)}" if event.why else "")
        case Reflected():
            return f"nothing learned: {_short(event.problem)}" if event.problem else "learned from this task"
        case TrialDecided():
            return f"another attempt: {event.way}" + (f" ({event.why})" if event.why else "")


def _came_of_it(event: CommitCreated | PullRequestOpened | SubagentFinished | Watched) -> str:
    """Describe a branch that people decide about, how a helper ended, whose own log has its name, or what a watcher said."""
    if isinstance(event, Watched):
        return said(event)
    if isinstance(event, SubagentFinished):
        return f"helper {event.child}: {event.result} in {event.turns} turns, {event.spent_usd:.4f} USD"
    if isinstance(event, CommitCreated):
        return f"offered branch {event.branch}: {_short(event.message)}"
    return f"published {event.branch} as pull request {event.number} of {event.repository}: {_short(event.title)}"


def _kept(event: Event) -> str:
    """Describe the remaining events, such as approvals and checkpoints; '' for events that people need not read."""
    match event:
        case Triaged():
            return f"{'treated as a question' if event.talk else f'rated {event.complexity}'} (by {event.by})"
        case Gated() | AllowanceUsed() | AllowancesEnded():
            return _gate(event)
        case CancelRequested():
            restores = "still restoring what the stopped command destroyed"
            return restores if event.restoring is not None else f"stopping what runs: {event.reason}"
        case DeadlinePassed():
            return "the time for this task is up" if event.ref == MINUTES else "nobody answered in time"
        case PolicyChanged():
            return f"allowed more: {_more(event)}"
        case Reported():
            note = f": {_short(event.note)}" if event.note.strip() else ""
            return f"it says: {event.status}, {event.confidence}% sure{note}"
        case CheckpointSaved():
            why = event.why.replace("_", " ")
            return f"workspace not saved ({why}): {event.problem}" if event.problem else f"workspace saved ({why})"
        case WorkspaceRestored():
            return _restored(event)
        case CommitCreated() | PullRequestOpened() | SubagentFinished() | Watched():
            return _came_of_it(event)
        case RulesChanged():
            return f"rules of version {event.rules} from here on"
        case Quarantined():
            return f"set aside: {event.reason}"
        case _:
            return ""


def _restored(event: WorkspaceRestored) -> str:
    """Describe that files were put back; '' where none were and none were lost."""
    files = f"{len(event.files)} {'file' if len(event.files) == 1 else 'files'}"
    if not event.files:
        return f"could not restore all files: {_short(event.lost)}" if event.lost else ""
    if event.by:
        return f"{event.by.name} restored {files}"
    return f"{files} {'was' if len(event.files) == 1 else 'were'} restored"


def _gate(event: Gated | AllowanceUsed | AllowancesEnded) -> str:
    """Describe that a step was held back, or went on because somebody had allowed it."""
    if isinstance(event, AllowanceUsed):
        return f"went on without asking: allowed by {event.by.name} for this task ({_acts(event.acts)})"
    if isinstance(event, AllowancesEnded):
        return f"asks again from here on: {event.why}"
    what = "restored what a command had destroyed" if event.ran else "held back a step"
    return f"{what}, because it {why_gated(event)}: {_level(event.who_may)} must allow it"


def _acts(acts: tuple[Act, ...]) -> str:
    return ", ".join(f"{act.kind} {act.path}" for act in acts)


def _more(event: PolicyChanged) -> str:
    more = (
        (event.add_turns, "turns"), (event.add_tokens, "tokens"), (event.add_usd, "USD"), (event.add_minutes, "minutes")
    )  # fmt: skip
    return ", ".join(f"{number:g} {what}" for number, what in more if number)


def _level(level: str) -> str:
    return f"an {level}" if level[0] in "aeiou" else f"a {level}"


def _answered(event: ModelAnswered) -> str:
    texts = " ".join(block.text for block in event.blocks if isinstance(block, TextBlock))
    calls = ", ".join(block.tool for block in event.calls)
    said = f"it answered: {_short(texts)}" if texts.strip() else ""
    return " · ".join(filter(None, (said, calls and f"next: {calls}"))) or "it answered nothing"


def _argument(arguments: Mapping[str, object]) -> str:
    """Return what a call is about: its first words, such as a command or a path."""
    first = next((value for value in arguments.values() if isinstance(value, str) and value.strip()), "")
    return f": {_short(first)}" if first else ""


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= WIDTH else flat[: WIDTH - 1] + "…"
