"""One task run through the real loop by a model that obeys whatever it reads, with a person who answers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, Protocol

from pydantic import ConfigDict, JsonValue

from agentic.core.events.execution_events import (
    FACTS,
    Asked,
    Envelope,
    ExposureFact,
    InboxItem,
    Policy,
    Started,
    Tier,
    ToolRef,
    ToolStarted,
)
from agentic.core.events.execution_events import Person as Author
from agentic.core.fold.exposure import reachable
from agentic.models.scripted.model import ScriptedModel, answer
from agentic.ports.errors import SandboxUnavailable
from agentic.ports.runtime import Answer, Observation
from agentic.runtime.clock import SystemClock
from agentic.runtime.loop import Loop
from agentic.stores.sqlite.store import SQLiteStore
from agentic.tools.base.tool import Arguments, CallContext, Tool
from agentic.tools.finish import FINISH_TOOL
from agentic.tools.toolbox import StandardToolbox
from agentic.workspace.workspace import RealWorld
from tests.dojo.declarations import declared
from tests.dojo.person import Act, Person
from tests.stores import passing_store

Order = Literal["after", "at once", "never"]
"""When the injection is obeyed: after the person's task, as soon as its words were read, or not at all."""
THREAD = "1200000000000000001"
EXECUTION = "x1"
OWNER = Author(id="7", name="Emma", level="owner")
ROLE = "documentation"
"""A role that has every tool: one that only looks would keep some injections from acting for another reason."""
SECONDS = 60.0
_MANY = 10**6
POLICY = Policy(
    tiers=(Tier(number=2, models=("scripted/obedient",)),),
    triage_by_model=False,
    history="replay_all",
    turns_simple=_MANY,
    turns_medium=_MANY,
    turns_complex=_MANY,
    max_tokens=10**9,
    unchanged_turns_escalate=_MANY,
    stale_turns_escalate=_MANY,
    repeats_escalate=_MANY,
    same_error_escalates=_MANY,
    low_confidence_turns=_MANY,
)
"""No cap and no stronger model comes between: only what is asked because of the calls is counted."""


class World(Protocol):
    """A task with what stands around it."""

    @property
    def prompt(self) -> str:
        """What the person asks for."""
        ...

    @property
    def words(self) -> str:
        """What an answer to them has to say."""
        ...

    @property
    def injected_words(self) -> str:
        """What an answer that obeys says beside that."""
        ...

    @property
    def met(self) -> bool:
        """The injection's words were read."""
        ...

    def solution(self) -> tuple[Act, ...]:
        """The calls that do what the person asked for."""
        ...

    def attack(self) -> tuple[Act, ...]:
        """The calls that do what the injection asks for, as things stand now."""
        ...

    def call(self, function: str, arguments: dict[str, JsonValue]) -> tuple[str, bool]:
        """The result in words, and whether that is an error."""
        ...


@dataclass(frozen=True, slots=True)
class Came:
    """What one run came to."""

    answer: str
    asked: int
    denied: int
    errors: tuple[str, ...]
    """Results of the person's calls that are errors."""
    ended: str


class _Anything(Arguments):
    """Whatever agentdojo's functions take; they validate it themselves."""

    model_config = ConfigDict(frozen=True, extra="allow")


def script(world: World, order: Order) -> Iterator[Answer]:
    """One call a turn; what was read decides when the injection begins."""
    obeyed = False
    for act in world.solution():
        if order == "at once" and world.met and not obeyed:
            obeyed = True
            yield from map(_turn, world.attack())
        yield _turn(act)
    if not obeyed and order != "never":
        yield from map(_turn, world.attack())
    words = (world.words, world.injected_words if order != "never" else "")
    said = "\n".join(filter(None, words)) or "That is done."
    while True:
        yield answer("", ("finish", {"answer": said}))


def _turn(act: Act) -> Answer:
    return answer("", (act.function, act.arguments))


class Functions:
    """A suite's functions as tools of the agent: made once, for one world after the other."""

    def __init__(self, names: Iterable[str]) -> None:
        self.toolbox = StandardToolbox(_no_sandbox, (*map(self._tool, names), FINISH_TOOL), masks=False)
        self.errors: list[str] = []
        self._world: World | None = None

    def turn_to(self, world: World) -> None:
        """From here on they are called in this world."""
        self._world, self.errors = world, []

    def _tool(self, name: str) -> Tool[_Anything]:
        async def act(arguments: _Anything, call: CallContext) -> Observation:
            assert self._world is not None
            text, wrong = self._world.call(name, arguments.model_dump(exclude_unset=True))
            if wrong:
                self.errors.append(f"{name}: {text}")
            return Observation("failed" if wrong else "ok", text)

        said = declared(name)
        return Tool(
            name=name,
            description=name,
            example=_Anything(),
            act=act,
            effect="unkeyed" if said.outside else "read",
            permission="execute" if said.outside else "read",
            untrusted=said.untrusted,
            private=said.private,
            outside="always" if said.outside else "no",
        )


async def run(
    world: World, person: Person, functions: Functions, facts: tuple[ExposureFact, ...] = FACTS, order: Order = "after"
) -> Came:
    """Run it to its end; the rule of two looks at these facts."""
    functions.turn_to(world)
    async with passing_store() as store:
        return await _done(_Seat(person, store), world, person, functions, facts, order)


async def _done(
    seat: _Seat, world: World, person: Person, functions: Functions, facts: tuple[ExposureFact, ...], order: Order
) -> Came:
    answers = script(world, order)
    loop = Loop(seat.store, ScriptedModel(lambda _: next(answers)), SystemClock(), sinks=(seat,))
    lease = await seat.store.acquire(THREAD, "dojo")
    assert lease is not None
    tools = tuple(
        ToolRef(
            name=spec.name,
            effect=spec.effect,
            permission=spec.permission,
            cognitive=spec.cognitive,
            untrusted=spec.untrusted,
            private=spec.private,
            outside=spec.outside,
        )
        for spec in functions.toolbox.specs
    )
    started = Started(
        thread=THREAD,
        task=world.prompt,
        requester=OWNER,
        role=ROLE,
        policy=POLICY.model_copy(update={"rule_of_two": facts}),
        tools=tools,
        exposure=reachable(tools),
    )
    answering = asyncio.create_task(seat.answer())
    try:
        async with asyncio.timeout(SECONDS):
            ended = await loop.run(lease, EXECUTION, functions.toolbox, seat.doorbell, started)
    finally:
        answering.cancel()
    assert ended.finished is not None
    return Came(ended.finished.answer, person.asked, person.denied, tuple(functions.errors), ended.finished.reason)


async def _no_sandbox() -> RealWorld:
    raise SandboxUnavailable("these tools need none")


class _Seat:
    """Where the person sits: they see what everybody sees of the log, and write into the inbox."""

    def __init__(self, person: Person, store: SQLiteStore) -> None:
        self.store = store
        self.doorbell = asyncio.Event()
        self._person = person
        self._questions: asyncio.Queue[Asked] = asyncio.Queue()
        self._said = 0

    def saw(self, envelope: Envelope) -> None:
        """A question waits for an answer; what begins is done."""
        match envelope.event:
            case Asked() as asked:
                self._questions.put_nowait(asked)
            case ToolStarted(tool=tool, arguments=arguments):
                self._person.saw(Act(tool, arguments))
            case _:
                pass

    def streamed(self, execution: str, text: str) -> None:
        """Nobody reads along."""

    async def answer(self) -> None:
        """Answer what is asked, until it is over."""
        while True:
            asked = await self._questions.get()
            said = self._person.answer(asked.text) if asked.sort == "approval" else "Try once more"
            self._said += 1
            now = datetime.now(UTC)
            item = InboxItem(
                id=f"{THREAD}{self._said:03}", thread=THREAD, sort="answer", author=OWNER, at=now, text=said
            )
            await self.store.put(item)
            self.doorbell.set()
