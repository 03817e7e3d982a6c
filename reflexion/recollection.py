"""What an agent remembers beyond its thread: which facts are kept, where they hold, and which are recalled.

A fact holds in its own server and nowhere else; one of a repository in tasks on that repository alone; one out of direct
messages in that conversation.  What had been read and who had asked is taken from the log of the task that says it, not
from the agent.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from agentic.core.events.execution_events import Envelope, Person
from agentic.core.fold.fold import fold
from agentic.core.state.execution import Execution
from agentic.ports.runtime import Clock, Store
from agentic.tools.memory.fact_memory import About, FactFound, FactKept, Recalled
from reflexion.errors import LessonStoreError
from reflexion.evaluation.trajectory import read_trajectory
from reflexion.lessons.fact import (
    MOST,
    MOST_WAITING,
    Fact,
    FactScope,
    FactSource,
    Workplace,
    alike,
    fact_id,
    foreign,
    living,
    recalled,
    remembered,
    used,
)
from reflexion.ports import FactStore
from reflexion.text.screening import objections
from reflexion.text.secrets import holds_secret

NOT_SECRETS = "It holds a secret, or the place of one, and secrets are not remembered. Say it without."
NO_REPOSITORY = "This thread has no repository. Say about: server, if it holds for the whole server."
NOWHERE = "No task of this thread runs that call, so nothing is kept or recalled."
FULL = f"No room: {MOST} facts are kept here, or {MOST_WAITING} wait for a person. People can use `/memory forget`."
AWAY = "What is remembered cannot be read or kept just now. Go on without."
UNKNOWN = "There is no fact {id} that holds here; leave 'replaces' out, or recall it first."
_SECRETS = ("a secret", "a place of secrets")
_PLACEHOLDER = "[secret: "
log = logging.getLogger("threadwright.reflexion")


@dataclass(frozen=True, slots=True)
class Recollection:
    """The facts of all servers; each call says for which thread."""

    store: Store
    facts: FactStore
    clock: Clock
    waits: Callable[[Fact], Awaitable[None]]
    """Tells people, once for each call, that a fact waits for them."""
    workplace: Callable[[str], Workplace | None]

    def of(self, thread: str) -> ThreadMemory:
        """What the agents of one thread may remember and recall."""
        return ThreadMemory(self, thread)

    async def count(self, thread: str) -> int:
        """How many facts in use hold in a thread; 0 where that cannot be read."""
        try:
            return sum(fact.status == "active" for fact in await self.known(thread))
        except LessonStoreError as error:
            log.warning("how much is remembered is not known: %s", error)
            return 0

    async def known(self, thread: str) -> tuple[Fact, ...]:
        """All facts that hold in a thread.  Raises ``LessonStoreError``."""
        scopes = await self.scopes(thread)
        found = [fact for scope in scopes for fact in await self.facts.facts_in(scope)]
        return living(found, self.clock.now())

    async def scopes(self, thread: str) -> tuple[FactScope, ...]:
        """The server, and the repository where there is one."""
        session = await self.store.session(thread)
        guild = session.guild if session is not None else ""
        here = FactScope(guild=guild, thread="" if guild else thread)
        place = self.workplace(thread)
        return (here, here.model_copy(update={"repository": place.repository})) if place is not None else (here,)


@dataclass(frozen=True, slots=True)
class _Running:
    """A task that is under way."""

    execution: Execution
    log: Sequence[Envelope]


@dataclass(frozen=True, slots=True)
class ThreadMemory:
    """``agentic.tools.memory.fact_memory.FactMemory`` of one thread."""

    all: Recollection
    thread: str

    async def remember(self, call: str, fact: str, about: About, replaces: str) -> FactKept | str:
        """Keep a fact, or say why not."""
        text = " ".join(fact.split())
        found = objections(text)
        if holds_secret(text) or _PLACEHOLDER in text or any(each in _SECRETS for each in found):
            return NOT_SECRETS
        place = self.all.workplace(self.thread)
        if about == "repository" and place is None:
            return NO_REPOSITORY
        running = await self._running(call)
        if running is None:
            return NOWHERE
        moved = about == "server" and place is not None and place.private
        scopes = await self.all.scopes(self.thread)
        new = self._fact(text, scopes[-1] if moved or about == "repository" else scopes[0], call, running, found)
        try:
            kept = await self._kept(
                new.model_copy(update={"replaces": replaces.strip("`")}), running.execution.requester
            )
        except LessonStoreError as error:
            log.warning("a fact is not kept: %s", error)
            return AWAY
        return replace(kept, moved=True) if isinstance(kept, FactKept) and moved else kept

    async def _kept(self, new: Fact, asker: Person) -> FactKept | str:
        if new.replaces and new.replaces not in {fact.id for fact in await self.all.facts.facts_in(new.scope)}:
            return UNKNOWN.format(id=new.replaces)
        after = await self.all.facts.change_facts(new.scope, partial(remembered, new=new))
        fact = next((each for each in after if each.id == new.id), None)
        if fact is None:
            return FULL
        waits = fact.note if fact.status == "waiting" else ""
        if waits:
            await self.all.waits(fact)
        others = tuple(_found(each, asker) for each in alike(after, fact))
        return FactKept(_found(fact, asker), waits, fact.replaces, others)

    def _fact(self, text: str, scope: FactScope, call: str, running: _Running, found: Sequence[str]) -> Fact:
        execution, now = running.execution, self.all.clock.now()
        read = tuple(dict.fromkeys((*read_trajectory(running.log).untrusted, *execution.exposure.untrusted)))
        why = f"its task read {' and '.join(read)}" if read else f"it contains {' and '.join(found)}" if found else ""
        source = FactSource(
            call=call, execution=execution.id, thread=self.thread, turn=execution.turn.number,
            asked_by=execution.requester.id, asked_level=execution.requester.level, read=read, at=now,
        )  # fmt: skip
        return Fact(
            id=fact_id(scope, text), scope=scope, text=text, status="waiting" if why else "active", note=why,
            sources=(source,), private=bool(execution.exposure.private), created=now,
        )  # fmt: skip

    async def recall(self, call: str, query: str) -> Recalled | str:
        """The facts that fit a question."""
        running = await self._running(call)
        if running is None:
            return NOWHERE
        asker, now = running.execution.requester, self.all.clock.now()
        try:
            known = await self.all.known(self.thread)
            found = recalled(known, query, now)
            for scope in dict.fromkeys(fact.scope for fact in found):
                ids = [fact.id for fact in found if fact.scope == scope and _long_ago(fact, now.date().toordinal())]
                if ids:
                    await self.all.facts.change_facts(scope, partial(used, ids=ids, now=now))
        except LessonStoreError as error:
            log.warning("nothing can be recalled: %s", error)
            return AWAY
        return Recalled(tuple(_found(fact, asker) for fact in found), sum(fact.status == "active" for fact in known))

    async def _running(self, call: str) -> _Running | None:
        """The task that makes this call."""
        for row in await self.all.store.open_executions(self.thread):
            events = [envelope async for envelope in self.all.store.read(row.execution)]
            execution = fold(events)
            if any(each.id == call for each in execution.open_calls):
                return _Running(execution, events)
        return None


def _long_ago(fact: Fact, today: int) -> bool:
    return fact.used is None or fact.used.date().toordinal() < today


def _found(fact: Fact, asker: Person) -> FactFound:
    first = fact.sources[0]
    about = fact.scope.repository or ("this server" if fact.scope.guild else "this conversation")
    return FactFound(
        fact.id, fact.text, about, fact.created, first.thread, first.turn, bool(fact.approved_by), fact.private,
        foreign(fact, asker),
    )  # fmt: skip
