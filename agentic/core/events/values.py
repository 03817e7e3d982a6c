"""The values that events are made of: frozen, and like the events only ever added to."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

__all__ = [
    "CALL_TOOL", "FACTS", "REASONS", "TOUR", "UNEXPOSED", "Act", "Attempt", "BlobRef", "Block", "CallBlock",
    "ChosenLesson", "Claim", "Complexity", "Confidence", "ConfidenceParts", "Departure", "EarlierResult", "Effect",
    "EquippedSkill", "Expected", "Exposure", "ExposureFact", "FailureClass", "FileChange", "FileRef", "Finding",
    "Frozen", "Level", "Moment", "Option", "Outcome", "Outside", "Part", "Permission", "Person", "Policy",
    "Purpose", "QuotedMessage", "Reason", "ReasoningBlock", "RoleTemplate", "RuleFile", "RuleScope", "Segments",
    "Sort", "StaleFile", "Status", "StopReason", "TextBlock", "Tier", "Todo", "ToolRef", "Usage", "Watcher",
    "WithheldLesson", "WorkspaceGuide",
]  # fmt: skip

Effect = Literal["read", "keyed", "unkeyed"]
"""read: may run again and beside others; keyed: may run again with its key; unkeyed: never runs twice."""
Permission = Literal["read", "write", "execute", "admin"]
Outside = Literal["no", "network", "remote", "always"]
"""Whether a call can change or tell something outside of the workspace: never; where commands reach hosts beyond the
package indexes; at the host of the thread's repository; by what it is for."""
RuleScope = Literal["thread", "channel", "guild", "everywhere"]
"""Where a rule counts; everywhere: in all servers of the bot."""
ExposureFact = Literal["untrusted", "private", "outside"]
FACTS: tuple[ExposureFact, ...] = ("untrusted", "private", "outside")
"""What the rule of two looks at: words that anybody may have written, what is not public, an act outside."""
Level = Literal["viewer", "executor", "operator", "owner"]
Complexity = Literal["simple", "medium", "complex"]
Purpose = Literal["turn", "triage", "advice", "watcher", "judge", "reflection", "summary", "screening"]
Expected = Literal["", "met", "missed", "unclear"]
StopReason = Literal["end", "tool_use", "length", "filtered", "other"]
Outcome = Literal["ok", "failed", "denied", "cancelled", "unknown", "refused"]
Reason = Literal["done", "stopped", "failed", "stuck", "limit", "budget", "cancelled", "tour"]
"""tour: no model is configured, and what stands in for one has shown what there is to see; no task was worked on."""
Sort = Literal[
    "task", "guidance", "answer", "stop", "pause", "resume", "feedback", "correction", "queue", "side", "retry",
    "continue", "escalate", "ask", "extend", "deleted", "edited", "fork", "undo", "merge", "reject", "redo", "rewind",
    "clean", "trial", "revoke",
]  # fmt: skip
FailureClass = Literal[
    "unavailable", "rate_limited", "timed_out", "key_refused", "quota_used_up", "context_overflow",
    "content_filtered", "bad_request", "cancelled", "lost", "library_broken", "unpriced",
    "model_unknown",
]  # fmt: skip
Status = Literal["progressing", "stuck", "done"]
REASONS = 3
"""So many reasons are kept of each fact of an exposure, the first ones."""
CALL_TOOL = "call_tool"
"""The tool through which a model calls those whose descriptions no prompt holds."""
TOUR = "scripted/tour"
"""The name that stands in the tiers where no model is configured."""
Moment = Literal["first_change", "turns", "question", "end", "restore", "leaving"]
"""Why a checkpoint is taken: before the first change, so many turns after the last, before a person is asked, at the end,
before people had files put back, where its process ends in order."""


class Frozen(BaseModel):
    """A value that never changes; unknown fields of newer versions are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class BlobRef(Frozen):
    """Content stored once under its hash; ``size`` in bytes."""

    sha: str
    size: int
    media: str = "text/plain"


class FileRef(Frozen):
    """A file a person attached, as it was put into the workspace; ``skipped`` says why one was not."""

    name: str
    path: str = ""
    size: int = 0
    skipped: str = ""
    media: str = ""
    """The media type of a picture, by its bytes and not by its name; '' of any other file."""
    sha: str = ""
    width: int = 0
    height: int = 0
    """Of a picture; 0 where it is damaged."""
    foreign: bool = False
    """From a message of somebody else, which the person replied to or passed on."""


class Person(Frozen):
    """Who said something, with the right they had when they said it."""

    id: str
    name: str
    level: Level = "executor"


class Exposure(Frozen):
    """What the rule of two looks at, each a noun phrase for people; a fact without words does not hold.

    At most ``REASONS`` of each are kept, the first ones.  No person is named.
    """

    untrusted: tuple[str, ...] = ()
    """What was read that anybody may have written, also by earlier tasks of the thread: "the log of a check"."""
    private: tuple[str, ...] = ()
    """What can be read that is not public: "attached files"."""
    reach: tuple[str, ...] = ()
    """Hosts beyond the package indexes that its commands reach."""
    fetches: bool = False
    """Its commands reach some host, be it a package index."""
    remote: str = ""
    """Where it publishes: "acme/shop at github.com"."""

    def __bool__(self) -> bool:
        return bool(self.untrusted or self.private or self.reach or self.fetches or self.remote)


UNEXPOSED = Exposure()


class Departure(Frozen):
    """Why the rule of two asks about one call: all three facts, each in words."""

    to: str
    """Where it acts or tells something outside of the workspace."""
    untrusted: tuple[str, ...]
    private: tuple[str, ...]


class Act(Frozen):
    """One thing that a person can let a whole task do: a kind of act, and what it may be done to.

    ``path``: a file or folder as seen from the workspace, without a pattern.
    """

    kind: Literal["delete", "empty"]
    path: str


class Finding(Frozen):
    """One reason why a call needs approval, as the end of "It …".

    ``acts``: all that it would do, where that can be allowed for a whole task; else empty.
    """

    text: str
    acts: tuple[Act, ...] = ()


class ToolRef(Frozen):
    """What the rules need to know of a tool; recorded so that replay needs no tools."""

    name: str
    effect: Effect = "unkeyed"
    permission: Permission = "execute"
    version: int = 1
    cognitive: bool = False
    asks: bool = False
    """It puts a question to a person."""
    untrusted: bool = False
    """Its results hold what anybody may have written."""
    private: bool = False
    """Its results hold what is not public."""
    outside: Outside = "no"
    tokens: int = 0
    """About how many its description takes in a prompt; 0 in logs from before that was recorded."""


class RoleTemplate(Frozen):
    """A role: what the model is told, what its tools may do, where it works.  It never widens what anybody may."""

    name: str
    text: str
    description: str = ""
    may: tuple[Permission, ...] = ()
    """What its tools may do."""
    tools: tuple[str, ...] = ()
    """Tools that it has besides, by name; ``*`` at the end of one stands for whatever follows."""
    refuses: tuple[str, ...] = ()
    """Tools that it does not have, in the same way."""
    tier: int = 0
    """The tier it prefers to begin in, 0 for the usual one."""
    levels: tuple[int, ...] = ()
    """The tiers it may work in; () for all."""
    rules: tuple[str, ...] = ()
    """Rule files that count for it, beside those that count for every role."""
    other_family: bool = False
    """It is not asked of a model whose own work it would look at, nor as a helper of a model of the same family."""


class RuleFile(Frozen):
    """What people want of every task in a place."""

    name: str
    text: str
    description: str = ""
    priority: int = 0
    """The highest comes first."""
    overrides: tuple[str, ...] = ()
    """Rules that it takes the place of."""
    roles: tuple[str, ...] | None = None
    """The roles that it is for, None for all; any role may name it besides."""
    scope: RuleScope = "guild"


class WorkspaceGuide(Frozen):
    """A file in which a workspace's authors say how agents should work there, as it was when the task began."""

    path: str
    text: str
    cut: bool = False
    """It is longer than what is quoted."""


class Tier(Frozen):
    """Models of one strength, in order of preference."""

    number: int
    models: tuple[str, ...]


class Watcher(Frozen):
    """A small agent that is shown a part of the work: it may note something, or object to calls before they begin.

    It can only narrow: it approves nothing, and what it says is data.
    """

    name: str
    when: Literal["before model", "before action"] = "before model"
    may: Literal["note", "veto"] = "note"
    every: int = 5
    """Before a model: it is asked after so many turns."""
    tools: tuple[str, ...] = ()
    """Before an action: names of tools whose calls it is shown; one that ends with * stands for all that begin so."""
    matching: tuple[str, ...] = ()
    """Before an action: words of which a call must hold one to be shown; () for none."""
    tier: int = 1
    if_it_fails: Literal["go on", "ask"] = "go on"
    """What follows where it gives no answer: nothing, or a person is asked about the calls."""
    instruction: str = ""


class Policy(Frozen):
    """Every number the rules read (behaviour.md); whole and versioned in ``Started``.

    Units: ``*_usd`` US dollars, ``*_minutes`` minutes, ``*_seconds`` seconds, tokens as providers count them.
    """

    version: int = 1
    turns_simple: int = 10
    turns_medium: int = 20
    turns_complex: int = 35
    max_tokens: int = 2_000_000
    max_usd: float = 5.0
    max_minutes: float = 60.0
    answer_tokens: int = 8_192
    parallel_reads: int = 8
    attended: bool = True
    tiers: tuple[Tier, ...] = ()
    starting_tier: int = 2
    start_chosen: str = ""
    """The model or tier that somebody chose to begin with: then neither role nor complexity moves the beginning."""
    same_error_escalates: int = 3
    escalation_hysteresis: int = 2
    empty_answers_nudged: int = 2
    textual_answers_nudged: int = 1
    model_attempts: int = 5
    retry_base_seconds: float = 1.0
    request_seconds: float = 300.0
    tool_seconds: float = 120.0
    approval_minutes: float = 15.0
    checkpoint_turns: int = 5
    checkpoint_turns_simple: int = 3
    crashes: int = 3
    """Owners that may end in the middle of it before it is left alone."""
    history: Literal["append", "seed", "replay_all"] = "append"
    history_tokens: int = 15_000
    """With so much history it is compacted, in strategy ``append``."""
    turns_kept: int = 3
    """Turns that stand in full after a compaction."""
    summary_tokens: int = 1_500
    """Bound of what a compaction leaves of all earlier turns."""
    summary_seconds: float = 60.0
    windows: dict[str, int] = Field(default_factory=dict)
    """Tokens that each model of the tiers reads, where that is known."""
    productivity_turns: int = 3
    snapshot_from: int = 2
    snapshot_every: int = 2
    snapshots: int = 5
    repeats_nudged: int = 3
    repeats_escalate: int = 4
    stale_turns_nudged: int = 4
    """After so many turns that told nothing new, it is told so."""
    stale_turns_escalate: int = 6
    low_confidence: int = 30
    low_confidence_turns: int = 2
    unchanged_turns_escalate: int = 5
    corrections_escalate: int = 2
    failure_escalates: bool = True
    """That a model says it cannot do it, or calls done what the log denies, is no end while there is a stronger one."""
    advise_first: bool = False
    """A stronger model gives one advice before it takes over."""
    advice_tokens: int = 700
    advice_seconds: float = 90.0
    come_down: bool = False
    """Easy steps that remain go back to the tier below, once."""
    come_down_turns: int = 3
    """After so many turns running in which nothing failed."""
    complex_starts_higher: bool = False
    """A complex task begins a tier above the starting one."""
    prices: dict[str, tuple[float, float]] = Field(default_factory=dict)
    """What each model of the tiers costs, where that is known: US dollars a million tokens, in and out."""
    triage_by_model: bool = True
    """Where the rules are unsure what a task is, a cheap model is asked."""
    lesson_tokens: int = 300
    reflections_kept: int = 3
    trials: Literal["auto", "offer", "never"] = "offer"
    """Whether a task that failed is tried again by itself, where something can verify it; else 🔄 is offered."""
    trials_most: int = 3
    """Attempts at one task in all, the first included."""
    subagent_depth: int = 1
    """How deep children may have children of their own; with 0 it has none."""
    hold_back: float = 0.1
    """The share of showings of a lesson that are left out at random, so that what it does is measured."""
    rule_of_two: tuple[ExposureFact, ...] = ()
    """The facts that are looked at; with all three the next act outside is put to a person.  Logs from before the rule have
    none; only tests leave one out."""
    shows_named_only: bool = False
    """With an answer go the files that the model named; where it named none, logs from before this showed all it changed."""

    @property
    def tour(self) -> bool:
        """No model is configured: whatever is said is said by the scripted tour, and nothing is to be counted of it."""
        return bool(self.tiers) and all(model == TOUR for tier in self.tiers for model in tier.models)


class EarlierResult(Frozen):
    """What an earlier execution of the same thread answered and changed."""

    execution: str
    task: str
    reason: Reason
    answer: str
    files: tuple[str, ...] = ()
    model: str = ""
    """The one that was asked last for a turn; '' from before that was kept."""
    since: tuple[str, ...] = ()
    """What people did about it afterwards: undid it, merged or deleted its branch."""


class ChosenLesson(Frozen):
    """A lesson or reflection shown to this execution, and why it was chosen."""

    id: str
    kind: Literal["reflection", "strategy", "pitfall", "fact"]
    text: str
    why: str = ""


class WithheldLesson(Frozen):
    """A lesson that fitted and was not shown: held back at random to measure it, or crowded out by better ones."""

    id: str
    arm: Literal["held_back", "crowded"]
    why: str = ""


class EquippedSkill(Frozen):
    """A skill that a task may read, as somebody approved it; ``sha`` names the copy that is kept of its folder."""

    name: str
    description: str
    sha: str


class QuotedMessage(Frozen):
    """A message of the thread from before, quoted as data."""

    author: str
    text: str
    trusted: bool = False
    """By the person of the task, by an operator, or by the bot itself; else by anybody."""
    what: str = ""
    """What it is where it is no message, as a noun phrase: "the log of a check"."""


class FileChange(Frozen):
    """A file of the workspace that an effect changed; a sha is '' where the file did not exist."""

    path: str
    kind: Literal["added", "modified", "deleted"]
    sha_before: str = ""
    sha_after: str = ""


class Attempt(Frozen):
    """What one of several commands of a call came to; tests are None where none were counted."""

    command: str
    exit_code: int | None = None
    tests_passed: int | None = None
    tests_failed: int | None = None
    tests_skipped: int | None = None


class Usage(Frozen):
    """Tokens of one request; ``input`` excludes what was read from or written to the provider's cache."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0

    @property
    def total(self) -> int:
        """All tokens that were billed in some way."""
        return self.input + self.output + self.cache_read + self.cache_write


class TextBlock(Frozen):
    """Text of an answer."""

    type: Literal["text"] = "text"
    text: str


class ReasoningBlock(Frozen):
    """Reasoning of an answer; ``opaque`` is the provider's signed form, sent back only to that provider."""

    type: Literal["reasoning"] = "reasoning"
    text: str = ""
    opaque: str = ""
    provider: str = ""


class CallBlock(Frozen):
    """A tool call of an answer, as the model wrote it.

    ``problem`` says why its arguments cannot be used: ``malformed`` (``raw`` holds what it was), ``cut_off``.
    """

    type: Literal["call"] = "call"
    provider_id: str
    tool: str
    arguments: dict[str, JsonValue] = Field(default_factory=dict)
    problem: Literal["", "malformed", "cut_off"] = ""
    raw: str = ""

    @property
    def meant(self) -> CallBlock:
        """The call that is meant: ``call_tool`` calls the tool that it names, whose description no prompt holds."""
        named, arguments = self.arguments.get("tool"), self.arguments.get("arguments", {})
        if self.tool != CALL_TOOL or self.problem or not isinstance(named, str) or not isinstance(arguments, dict):
            return self
        return self if named == CALL_TOOL else self.model_copy(update={"tool": named, "arguments": arguments})


Block = Annotated[TextBlock | ReasoningBlock | CallBlock, Field(discriminator="type")]


class Segments(Frozen):
    """A request as references, so that "exactly as sent" costs linear space.

    ``history_through`` is the log position up to which the history was rendered; ``history_sha`` chains over its
    messages and lets a later rendering be compared with what was sent.
    """

    system: BlobRef
    tools: BlobRef
    history_from: int = 0
    history_through: int = 0
    history_sha: str = ""
    tail: str = ""


class ConfidenceParts(Frozen):
    """What the heuristic was made of (behaviour.md)."""

    self_report: float
    tool_ok: float
    same_error: int
    tests: float
    progress: float
    corrections: int


class Confidence(Frozen):
    """0-100: ``heuristic`` steers the rules, ``shown`` is what people see."""

    shown: int
    heuristic: int
    parts: ConfidenceParts
    calibrator: str = "none"
    """What ``shown`` was fitted by; 'none' where it is the heuristic, and so an estimate."""
    moved_from: tuple[int, int] | None = None
    """(shown, heuristic) before the votes that people gave while it ran; None where none moved it."""


class Claim(Frozen):
    """What the agent says it did, with evidence and the verdict of the log on it."""

    text: str
    command: str = ""
    exit_code: int | None = None
    file: str = ""
    sha: str = ""
    verdict: Literal["proven", "unproven", "contradicted"] = "unproven"
    note: str = ""


class Option(Frozen):
    """One answer a question offers; the first one is recommended, unless another one says that it is."""

    id: str
    label: str
    description: str = ""
    who_may: Level | None = None
    """The least level that may choose it, where that is above the question's."""
    recommended: bool = False


class Part(Frozen):
    """One of several questions that are asked together; ``id`` is unique within them."""

    id: str
    text: str
    options: tuple[Option, ...] = ()


class Todo(Frozen):
    """One line of the agent's to-do list."""

    text: str
    state: Literal["open", "doing", "done"] = "open"


class StaleFile(Frozen):
    """A file this agent has read and another changed since; ``diff`` is short."""

    path: str
    diff: str = ""
    by: str = ""
    """Who changed it and how, as the end of a sentence; '' where nobody knows."""
