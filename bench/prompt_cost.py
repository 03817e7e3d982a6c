"""What the prompts of a long task cost by strategy, and whether what was said early is still known at the end.

The product's own loop, rules, prompts, tools and Anthropic wire work through the same 300 turns against the scripted
endpoint, once for each strategy.  The endpoint bills every body as a provider with a prefix cache would (prefix_cache.py).
A cost is in tokens of uncached input; requests for a summary count, with their output at five times.  What the turns
themselves write is the same for all and is left out.

Twenty facts are planted in the first turns, in results of tools, in words of a person and in notes, and stand nowhere
else.  When it is asked for a summary the scripted model lists the facts that stand in that very request, nothing more: a
fact that was lost on the way cannot come back.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

import orjson
from pydantic import JsonValue

from agentic.core.events.execution_events import (
    FileChange,
    InboxItem,
    Noted,
    Person,
    Policy,
    Started,
    Tier,
    ToolRef,
    Usage,
)
from agentic.core.state.conversation import Message, Prompt
from agentic.core.state.execution import Execution
from agentic.core.state.work_log import advanced
from agentic.models.anthropic.request import AnthropicWire
from agentic.models.router import ModelRouter
from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from agentic.ports.runtime import (
    FinishTool,
    Lease,
    Observation,
    Prepared,
    Refused,
    Store,
)
from agentic.prompts import summary_prompt as summary
from agentic.runtime.clock import SystemClock
from agentic.runtime.loop import Loop
from agentic.tools.toolbox import StandardToolbox
from agentic.workspace.workspace import RealWorld
from bench.figures import Figure, size
from bench.prefix_cache import OUTPUT, PrefixCache, Row
from bench.trajectory import THREAD, InProcess
from tests.stores import passing_store

TURNS = size("TURNS", 300, 30)
MEASURED = tuple(turns for turns in (30, 100, 300) if turns <= TURNS)
MODEL = "anthropic/claude-sonnet-4-5"
RESULT = 2_000
FACT = re.compile(r"FACT-\d\d: [a-z]+ is [0-9a-f]{8}")
ASKS = summary.TEXT.splitlines()[0]
ENVIRONMENT = (
    "Date: Sunday, 2026-11-22 (UTC).", "Shell: bash.", "Platform: Linux, Debian 12.",
    "Installed: python3, pip3, git, make, curl, jq, sqlite3, unzip.", "Network: none.",
)  # fmt: skip


def fact(number: int) -> str:
    """A fact that nobody can guess."""
    word = "".join(chr(97 + digit % 26) for digit in hashlib.sha256(f"word {number}".encode()).digest()[:7])
    return f"FACT-{number:02}: {word} is {hashlib.sha256(f'value {number}'.encode()).hexdigest()[:8]}"


IN_RESULTS, SAID, NOTED = range(1, 11), range(11, 17), range(17, 21)
FACTS = tuple(fact(number) for number in (*IN_RESULTS, *SAID, *NOTED))


class Work(InProcess):
    """The product's tools by name, effect and description; what they come to is written here."""

    def __init__(self) -> None:
        super().__init__()
        self.specs = StandardToolbox(_no_world).specs

    def prepare(
        self, tool: str, arguments: dict[str, JsonValue], created: frozenset[str] = frozenset()
    ) -> Prepared | Refused:
        spec = next(spec for spec in self.specs if spec.name == tool)
        sha = hashlib.sha256(orjson.dumps(arguments)).hexdigest()
        return Prepared(arguments, args_sha=sha, effect=spec.effect)

    async def run(self, tool: str, call: str, prepared: Prepared, on_output: Callable[[str], None]) -> Observation:
        if tool == "finish":
            return Observation("ok", "Finished.", completion=FinishTool("done"))
        if tool == "note":
            text = str(prepared.arguments["text"])
            return Observation("ok", "Noted.", events=(Noted(text=text),))
        number = int(str(prepared.arguments["command"]).rpartition("_")[2].removesuffix(".py"))
        changes = (FileChange(path=f"src/module_{number}.py", kind="modified", sha_after=f"{number:064}"),)
        changed = number % 3 == 0 or number < NOTED.start
        return Observation("ok", output(number), exit_code=0, changes=changes if changed else ())


def output(turn: int) -> str:
    """Two kB that look like code, other ones each turn; a fact in the middle of the first ten."""
    lines = [f"line {line}: {hashlib.sha256(f'{turn}/{line}'.encode()).hexdigest()}" for line in range(RESULT // 76)]
    if turn in IN_RESULTS:
        lines.insert(len(lines) // 2, fact(turn))
    return "\n".join(lines)


def next_step(turn: int) -> Reply:
    """The same work for every strategy."""
    if turn > TURNS:
        return Reply("All done.", calls=(("finish", {"answer": "done"}),))
    if turn in NOTED:
        return Reply("I keep this.", calls=(("note", {"text": fact(turn)}),))
    command = f"sed -n {turn},{turn + 40}p src/module_{turn}.py"
    return Reply(f"Module {turn} is next: I look at what it does.", calls=(("shell", {"command": command}),))


@dataclass
class Bill:
    """What the requests of one run cost, each turn with what was asked before it."""

    cache: PrefixCache = field(default_factory=PrefixCache)
    cached: list[float] = field(default_factory=list[float])
    whole: list[float] = field(default_factory=list[float])
    summaries: int = 0
    before: float = 0.0
    last: str = ""

    def take(self, request: CapturedRequest) -> Reply:
        """Bill the request and answer it."""
        billed = self.cache.bill(request.body)
        usage = {"cache_read": int(billed.read), "cache_write": int(billed.written), "input": int(billed.plain)}
        if ASKS in request.text():
            facts = list(dict.fromkeys(FACT.findall(request.text())))
            reply = Reply("\n".join(["Still open: go through the modules in order.", *facts]))
            tokens = len(reply.text) // 4
            self.summaries += 1
            self.before += billed.cost + OUTPUT * tokens
        else:
            self.cached.append(billed.cost + self.before)
            self.whole.append(billed.whole + self.before)
            self.before, self.last, tokens = 0.0, request.text(), 60
            reply = next_step(len(self.cached))
        return Reply(reply.text, reply.calls, usage=Usage(**usage, output=tokens))

    def at(self, turns: int) -> float:
        """The cost of so many turns."""
        return sum(self.cached[:turns])


async def figures() -> AsyncIterator[Figure]:
    """Each strategy at each length, ours against the best and against a full replay, and what is still known."""
    runs = {name: await run(name) for name in ("append", "seed", "replay_all")}
    bills = {name: bill for name, (bill, _) in runs.items()}
    costs = {name: {turns: bill.at(turns) for turns in MEASURED} for name, bill in bills.items()}
    costs["replay_all_uncached"] = {turns: sum(bills["replay_all"].whole[:turns]) for turns in MEASURED}
    costs["line_a_turn"] = lines_appended(runs["replay_all"][1])
    for name, by_turns in costs.items():
        for turns, cost in by_turns.items():
            yield Figure(f"prompt_cost_{name}_{turns}", cost / 1_000, "k tokens", note="of uncached input")
    for turns in MEASURED:
        others = {name: by_turns[turns] for name, by_turns in costs.items() if name != "append"}
        name, best = min(others.items(), key=lambda other: other[1])
        ratio = costs["append"][turns] / min(best, costs["append"][turns])
        yield Figure(
            f"prompt_cost_{turns}_over_best", ratio, "x", "<=", 1.05, f"the best other one is {name}: {best:.0f}"
        )
    for turns, most in ((100, 0.6), (300, 0.3)):
        if turns not in MEASURED:
            continue
        ratio = costs["append"][turns] / costs["replay_all"][turns]
        yield Figure(f"prompt_cost_{turns}_over_replay", ratio, "x", "<=", most, "a full replay with breakpoints")
    known = sum(one in bills["append"].last for one in FACTS)
    note = f"of {len(FACTS)} planted early, in the request of turn {len(bills['append'].cached)}"
    yield Figure("facts_known_at_turn_300", known, "facts", ">=", len(FACTS), note)
    yield Figure("summaries_in_300_turns", bills["append"].summaries, "requests", note="each billed above")


async def run(strategy: str) -> tuple[Bill, Execution]:
    """The work by one strategy, from the first request to the end."""
    async with passing_store() as store:
        return await _worked(store, strategy)


async def _worked(store: Store, strategy: str) -> tuple[Bill, Execution]:
    bill, toolbox, bell = Bill(), Work(), asyncio.Event()
    said = iter(SAID)

    async def script(request: CapturedRequest) -> Reply:
        reply = bill.take(request)
        if len(bill.cached) >= SAID.start and (number := next(said, None)) is not None:
            await store.put(guidance(number))
            bell.set()
        return reply

    async with ScriptedEndpoint.start(script, capture_requests=False) as endpoint:
        router = ModelRouter(endpoint.environment())
        try:
            lease = await store.acquire(THREAD, "bench")
            assert isinstance(lease, Lease)
            loop = Loop(store, router, SystemClock(), build="0.1.0")
            ended = await loop.run(lease, "x1", toolbox, bell, started(toolbox, strategy))
        finally:
            await router.close()
    assert ended.finished is not None
    assert len(bill.cached) > TURNS, f"{strategy} ended after {len(bill.cached)} turns: {ended.finished.answer}"
    bill.cached, bill.whole = bill.cached[:TURNS], bill.whole[:TURNS]
    return bill, ended


def guidance(number: int) -> InboxItem:
    """A fact as a person says it."""
    anna = Person(id="7", name="Anna")
    now = datetime.now(UTC)
    return InboxItem(
        id=f"{number}", thread=THREAD, sort="guidance", author=anna, at=now, text=f"By the way, {fact(number)}."
    )


def started(toolbox: Work, strategy: str) -> Started:
    """A task with the product's policy, and room for so many turns."""
    policy = Policy.model_validate({
        "turns_medium": TURNS + 10, "turns_simple": TURNS + 10, "turns_complex": TURNS + 10, "max_tokens": 10**9,
        "max_usd": 10**6, "max_minutes": 10**6, "history": strategy, "tiers": (Tier(number=2, models=(MODEL,)),),
        "triage_by_model": False,
    })  # fmt: skip
    return Started(
        thread=THREAD,
        task="Read all modules of this service and fix what is wrong with them.",
        requester=Person(id="7", name="Anna"),
        policy=policy,
        tools=tuple(
            ToolRef(name=s.name, effect=s.effect, permission=s.permission, cognitive=s.cognitive) for s in toolbox.specs
        ),
        sandbox="docker, no network",
        environment=ENVIRONMENT,
    )


def lines_appended(replayed: Execution) -> dict[int, float]:
    """For comparison: the last three turns in full, each older one a line in a message of its own, never rewritten."""
    history, wire, cache = replayed.history, AnthropicWire(), PrefixCache()
    turns = [place for place, message in enumerate(history) if message.role == "assistant"]
    system, specs = prompt_of(replayed)
    lines: list[Message] = []
    costs: list[float] = []
    for number, place in enumerate(turns[:TURNS]):
        start = turns[number - 3] if number >= 3 else 1
        if number > 3:
            done = history[turns[number - 4] : start]
            lines = [Message("user", m.text) for m in lines]
            lines.append(Message("user", advanced_line(done), landmark=True))
        prompt = Prompt(system, specs, (*history[:1], *lines, *history[start:place]))
        body: Row = orjson.loads(wire.request("claude", prompt, max_tokens=8_192, stream=False))
        costs.append(cache.bill(body).cost)
    return {turns: sum(costs[:turns]) for turns in MEASURED}


def advanced_line(done: tuple[Message, ...]) -> str:
    """One turn as the work log tells it, with what was said in it."""
    from agentic.core.state.work_log import Chronicle

    lines = [line.text for line in advanced(Chronicle(), done).lines]
    return "\n".join((*lines, *(message.text for message in done if message.role == "user" and message.text)))


def prompt_of(execution: Execution):
    """The system text and tools of a run."""
    from agentic.core.prompt.build import system_text

    return system_text(execution.started), Work().specs


async def _no_world() -> RealWorld:
    raise AssertionError("these tools need no world")
