"""The tools of one agent, bound to its world: made for an execution, over the world of its thread.

The world is opened at the first call that needs it; a task that only talks never costs a sandbox.
"""

from __future__ import annotations

import asyncio
import contextlib
import difflib
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic import JsonValue, ValidationError

from agentic.core.events.execution_events import (
    UNEXPOSED,
    AllowancesEnded,
    AllowanceUsed,
    Exposure,
    FileChange,
    Permission,
    Person,
    StaleFile,
    ToolStarted,
)
from agentic.core.fold.exposure import cut_off, merged
from agentic.core.prompt.tools_on_demand import BUDGET_TOKENS
from agentic.ports.children import Children
from agentic.ports.errors import (
    CallNotBegun,
    PathRefused,
    RemoteError,
    SandboxError,
    SandboxLost,
    SandboxUnavailable,
)
from agentic.ports.failpoints import reach
from agentic.ports.runtime import (
    Found,
    NotBegun,
    Observation,
    Perception,
    Prepared,
    Preview,
    PutBack,
    Refused,
    Saved,
    Toolbox,
    ToolSpec,
)
from agentic.ports.way_out import RefusedHost
from agentic.remotes.thread_remote import WayOut
from agentic.tools.approval.disposable_files import excuses, only_looks, shown_to_a_person
from agentic.tools.ask_stronger import STRONGER_TOOL
from agentic.tools.ask_user import ASK_TOOL
from agentic.tools.base.argument_schema import quotable
from agentic.tools.base.observation import failed, refused
from agentic.tools.base.on_demand import doors_to
from agentic.tools.base.secret_placeholders import (
    IN_COMMAND,
    IN_REQUEST,
    mask,
    placeholders_in,
    refusal,
)
from agentic.tools.base.stored_outputs import KeptOutputs
from agentic.tools.base.terminal_text import visible
from agentic.tools.base.tool import APPROVED, AgentWorld, AnyTool, CallContext
from agentic.tools.files.edit import EDIT_TOOL, MULTI_EDIT_TOOL
from agentic.tools.files.glob import GLOB_TOOL
from agentic.tools.files.grep import GREP_TOOL
from agentic.tools.files.list import LIST_TOOL
from agentic.tools.files.read import READ_TOOL
from agentic.tools.files.read_output import READ_OUTPUT_TOOL
from agentic.tools.files.write import WRITE_TOOL
from agentic.tools.finish import FINISH_TOOL
from agentic.tools.notes import NOTE_TOOL, REPORT_TOOL, TODO_TOOL
from agentic.tools.plan import PLAN_MODE_TOOL, PROPOSE_TOOL
from agentic.tools.shell.jobs import JOB_TOOL
from agentic.tools.shell.python import PYTHON_TOOL
from agentic.tools.shell.shell import SHELL_TOOL
from agentic.workspace.savepoints import RestoredFiles, Savepoints, called_off
from agentic.workspace.snapshots.snapshot_store import Snapshots
from agentic.workspace.workspace import RealWorld

WorldSource = Callable[[], Awaitable[RealWorld]]
"""Gives the thread's world; it may be asked again after a sandbox was lost."""

SaveWorkspace = Callable[[], Awaitable[Saved]]
"""Keeps the workspace as it is."""
InspectWorkspace = Callable[[str, tuple[FileChange, ...]], Awaitable[Found]]
"""What in it is neither as in a checkpoint nor as these later changes left it."""


@dataclass(frozen=True, slots=True)
class People:
    """What a toolbox needs of the people of its thread while a call runs."""

    keep: Callable[[tuple[str, ...]], Awaitable[str]]
    """Adds hosts to what is chosen for the thread, and says so; may be asked twice for the same."""
    may_still: Callable[[Person], Awaitable[bool]]
    """Whether somebody who allowed something for a whole task could allow it now."""


_NOT_OF_CHILDREN = (PYTHON_TOOL, ASK_TOOL, PLAN_MODE_TOOL, PROPOSE_TOOL)
"""The interpreter and its variables are the parent's, and nobody can be asked."""

STANDARD: tuple[AnyTool, ...] = (
    SHELL_TOOL, JOB_TOOL, PYTHON_TOOL, READ_TOOL, WRITE_TOOL, EDIT_TOOL, MULTI_EDIT_TOOL, LIST_TOOL, GLOB_TOOL,
    GREP_TOOL, READ_OUTPUT_TOOL, TODO_TOOL, NOTE_TOOL, REPORT_TOOL, STRONGER_TOOL, ASK_TOOL,
    PLAN_MODE_TOOL, PROPOSE_TOOL, FINISH_TOOL,
)  # fmt: skip

OF_CHILDREN = tuple(tool for tool in STANDARD if tool not in _NOT_OF_CHILDREN)
ACKNOWLEDGE_SECONDS = 1.0
"""So long a sandbox may take to end all that runs in it and to say so; its own grace is 0.06 s."""
AT_HAND_SECONDS = 60.0
"""So long a call that has not begun waits for its sandbox; what takes longer (a queue) it waits for as begun."""
LOOK_SECONDS = 4.0
"""What is looked at before a person is asked to approve a call: so long, and so much of it."""
PREVIEW_SECONDS = 300.0
"""So long it may take to find out what a call would do outside; a stop does not wait for it."""
_INSTEAD: Mapping[Permission, str] = {"execute": IN_COMMAND, "admin": IN_REQUEST}
"""What can be done instead of writing a secret's placeholder into what acts."""
LOST = (
    "The sandbox was lost ({reason}) and is made anew at the next call. The workspace is as it was; variables of the"
    " Python interpreter, background commands and /tmp are gone."
)

STIRRED = (
    "Something that an earlier call left running {did}. What was there is back{but}. If it was meant, stop what runs and do it"
    " in one call that you wait for, so that a person can be asked."
)


class StandardToolbox(Toolbox):
    """The standard tools; ``agent`` names this agent where other agents of the thread are told of its changes.

    With ``masks``, secrets of known form in files and outputs are shown as placeholders, also to the log.
    """

    def __init__(
        self,
        world: WorldSource,
        tools: Sequence[AnyTool] = STANDARD,
        agent: str = "agent",
        save: SaveWorkspace | None = None,
        inspect: InspectWorkspace | None = None,
        masks: bool = True,
        snapshots: Snapshots | None = None,
        people: People | None = None,
        way_out: WayOut | None = None,
        children: Children | None = None,
    ) -> None:
        self._children = children
        self._people = people
        self._way_out = way_out
        self._source = world
        self._save = save
        self._inspect = inspect
        self._snapshots = snapshots
        self._savepoints: Savepoints | None = None
        self._specs = tuple(tool.spec for tool in tools)
        if sum(spec.tokens for spec in self._specs) > BUDGET_TOKENS:
            doors = doors_to(self._specs)
            tools, self._specs = (*tools, *doors), (*self._specs, *(door.spec for door in doors))
        self._tools = {tool.name: tool for tool in tools}
        self._agent = agent
        self._masks = masks
        self._world: AgentWorld | None = None
        self._opening = asyncio.Lock()
        self._lost = ""
        """Why the sandbox went away, until the agent was told."""
        self._told = UNEXPOSED
        """What its commands may reach, as it was told last."""
        self._made = False
        """There was a sandbox since this agent began."""

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools, in a stable order."""
        return self._specs

    def prepare(
        self, tool: str, arguments: dict[str, JsonValue], created: frozenset[str] = frozenset()
    ) -> Prepared | Refused:
        """Validate a call, and say whether a person must approve it; pure, never raises for what a model wrote."""
        known = self._tools.get(tool)
        if known is None:
            return Refused(self._unknown(tool))
        acts = self._masks and known.permission in _INSTEAD
        stray = _placeholder_in(arguments) if acts else ""
        done = refusal(stray, "run", _INSTEAD[known.permission]) if stray else ""
        return Refused(done) if done else known.prepare(arguments, created)

    @property
    def diary(self) -> str:
        """Where the sandbox writes down what becomes of an unkeyed call that begins now; '' for nowhere."""
        return self._world.real.diary if self._world is not None else ""

    async def recall(self, intent: ToolStarted, created: frozenset[str] = frozenset()) -> Observation | NotBegun | None:
        """What became of an unkeyed call whose owner died, as its sandbox wrote it down; None where nobody knows.

        What it destroyed is put back, also where nobody knows how far it got.
        """
        known = self._tools.get(intent.tool)
        if known is None or not intent.diary:
            return None
        approved = bool(intent.approval)
        try:
            real = (await self._open()).real
            call = CallContext(_key(intent.call, approved), 0.0, _unheard, self._open)
            seen = await known.recall(intent.arguments, call, lambda key: real.remembered(intent.diary, key))
        except (SandboxError, ValidationError):  # the latter: an earlier version's arguments
            return None
        if not isinstance(seen, NotBegun):
            prepared = Prepared(
                intent.arguments, intent.args_sha, intent.effect, created=created, approved=approved,
                allowed=intent.allowed,
            )  # fmt: skip
            back = await self._settled(known, _key(intent.call, approved), prepared)
            if back is not None and not back.beside:
                seen = self._undone(back)
        if not isinstance(seen, Observation):
            return seen
        now = merged(seen.exposure, await real.exposure())
        return self._shown(replace(seen, exposure=merged(now, cut_off(now))))

    async def run(self, tool: str, call: str, prepared: Prepared, on_output: Callable[[str], None]) -> Observation:
        """Run a prepared call; a tool's failure is an observation, a missing or lost sandbox is raised."""
        known = self._tools.get(tool)
        if known is None:
            return refused(self._unknown(tool))
        handed: list[int] = []
        """How often the world had handed out a sandbox when this call asked for it first."""

        async def world() -> AgentWorld:
            opened = await self._open()
            opened.real.lend(prepared.reach)
            handed.append(opened.real.handed)
            return opened

        try:
            reach("tool.effect.before")
            key = _key(call, prepared.approved)
            since, not_run = await self._held(known, key, prepared)
            if not_run is not None:
                return self._shown(_with_told(not_run, since))
            try:
                approved = prepared.state if prepared.approved else ""
                context = CallContext(
                    key, prepared.timeout, on_output, world, approved, self._way_out, self._children,
                    attended=prepared.attended, replies=prepared.replies, skills=prepared.skills,
                )  # fmt: skip
                seen = await _observe(known, prepared, context)
            except asyncio.CancelledError:
                back = await self._settled(known, key, prepared)
                if back is None and since is None:
                    raise
                # It has ended, and this is to be told.
                ended = Observation("cancelled", "Cancelled while it ran.")
                told = self._undone(back, since) if back and not back.beside else _with_told(ended, since, back)
                return self._shown(replace(told, exposure=await self._exposed()))
            reach("tool.effect.after")
            back = await self._settled(known, key, prepared)
            if back is not None and not back.beside:
                seen = self._undone(back, since)
            seen = self._with_refusals(_with_told(seen, since, back))
            seen = replace(seen, exposure=merged(seen.exposure, await self._exposed()))
            if prepared.lasting and seen.opened_hosts and self._people is not None:
                seen = replace(seen, preview=f"{seen.preview} {await self._people.keep(seen.opened_hosts)}")
        except SandboxUnavailable as none:
            if self._world is None or not handed or handed[0] == self._world.real.handed:
                raise CallNotBegun(str(none)) from none
            self._lost = f"no other can be had: {none}"
            raise SandboxLost(self._lost) from none
        except SandboxLost as lost:
            self._lost = str(lost)
            raise
        return self._shown(seen)

    async def _held(
        self, tool: AnyTool, key: str, prepared: Prepared
    ) -> tuple[RestoredFiles | None, Observation | None]:
        """Keep the workspace as it is before a call: what was put back then, and why the call does not run after all."""
        savepoints, since = await self._guard(tool, prepared), None
        if savepoints is not None:
            since = await savepoints.hold(key, excuses(prepared), shown_to_a_person(prepared))
            savepoints.waived = savepoints.waived or prepared.unkept
        if called_off():
            if since is None:
                raise asyncio.CancelledError
            return since, Observation("cancelled", "Not run: it was stopped before.")
        if prepared.allowed is not None and (lapsed := await self._lapsed(prepared.allowed, savepoints)):
            return since, lapsed
        return since, await self._unkept(tool, savepoints, prepared) if savepoints is not None else None

    async def _lapsed(self, allowed: AllowanceUsed, savepoints: Savepoints | None) -> Observation | None:
        """That a call does not run although somebody allowed it for the whole task; None where that still counts.

        Nobody has looked at the call itself: so it runs only where what it destroys beside would be put back.
        """
        if savepoints is None or not savepoints.holds:
            why = f"nothing could be restored now: {savepoints.problem if savepoints else 'no copies are kept'}"
        elif self._people is not None and not await self._people.may_still(allowed.by):
            why = f"{allowed.by.name} may no longer allow this"
        else:
            return None
        told = f"Not run: it was allowed for the whole task, but {why}. Call it again, and a person is asked."
        return replace(refused(told), events=(AllowancesEnded(person=allowed.by.id, why=why),))

    def _with_refusals(self, seen: Observation) -> Observation:
        """The observation with what the network refused meanwhile; a question to a person has no room for it."""
        if self._world is None or seen.question is not None or seen.put_back is not None:
            return seen
        refused = self._world.real.refused()
        if not refused:
            return seen
        told = "\n".join((seen.preview, *map(_refused_host, refused))).lstrip("\n")
        return replace(seen, preview=told, refused_hosts=tuple(each.host for each in refused))

    async def _exposed(self) -> Exposure:
        """What its commands reached since this was asked last; what they may reach, where it is another than then."""
        if self._world is None:
            return UNEXPOSED
        exposure = await self._world.real.exposure()
        known, self._told = self._told, exposure.model_copy(update={"untrusted": ()})
        return exposure if exposure != known else UNEXPOSED

    async def _unkept(self, tool: AnyTool, savepoints: Savepoints, prepared: Prepared) -> Observation | None:
        """That a person is asked before a call that could destroy what nobody can put back; None where nobody has to be."""
        if savepoints.holds or savepoints.waived or only_looks(prepared):
            return None
        why = f"runs where nothing that a command destroys can be restored: {savepoints.problem}"
        state = await self.state_of(tool.name, prepared.arguments)
        return Observation("failed", f"Not run: it {why}.", put_back=PutBack(why, state, unkept=True))

    async def _guard(self, tool: AnyTool, prepared: Prepared) -> Savepoints | None:
        """The way back from what a call does; None where it runs no command."""
        if self._snapshots is None or tool.permission != "execute" or prepared.effect != "unkeyed":
            return None
        if self._savepoints is None:
            self._savepoints = Savepoints(self._snapshots, (await self._open()).real)
        return self._savepoints

    async def _settled(self, tool: AnyTool, key: str, prepared: Prepared) -> RestoredFiles | None:
        """What was put back of what a call, or what ran beside it, destroyed; None where nothing had to be."""
        savepoints = await self._guard(tool, prepared)
        return await savepoints.settle(key, excuses(prepared)) if savepoints is not None else None

    @staticmethod
    def _undone(back: RestoredFiles, since: RestoredFiles | None = None) -> Observation:
        """That what a call destroyed was put back, and that a person is to be asked."""
        before = f", and before it something that was left running {since.destroyed}" if since is not None else ""
        did, left = f"{back.destroyed}{before}", "; ".join(each.left for each in (back, since) if each and each.left)
        return Observation(
            "failed",
            f"It {did}. What was there is back.",
            changes=back.changes,
            put_back=PutBack(did, left=left, losses=tuple(sorted(back.losses))),
        )

    async def state_of(self, tool: str, arguments: dict[str, JsonValue]) -> str:
        """A hash of what a gated call would touch; '' where it cannot be looked at.

        Where a call will run in a sandbox there is one when this returns: else a crash while it is made would leave an
        intent behind, and an outcome that nobody knows of a call that never began.
        """
        known = self._tools.get(tool)
        command = known.look(arguments) if known is not None else ""
        await self._at_hand()
        if not command:
            return ""
        try:
            async with asyncio.timeout(LOOK_SECONDS + 1.0):
                world = await self._open()
                seen = await world.real.own(command, timeout=LOOK_SECONDS, scan=False)
        except (SandboxError, TimeoutError):
            return ""
        return hashlib.sha256(seen.output).hexdigest() if not seen.timed_out else ""

    async def preview(self, tool: str, prepared: Prepared) -> Preview | Refused:
        """What a call would do outside, with secrets hidden; ``Refused`` says why it could not be done at all."""
        known = self._tools.get(tool)
        if known is None:
            return Refused(self._unknown(tool))
        call = CallContext("preview", prepared.timeout, _unheard, self._open, way_out=self._way_out)
        try:
            async with asyncio.timeout(PREVIEW_SECONDS):
                seen = await known.preview(prepared, call)
        except (SandboxError, RemoteError) as problem:
            return Refused(self._hidden(visible(str(problem))))
        except TimeoutError:
            return Refused("What it would do could not be shown to a person in time. Try again later.")
        return replace(seen, shown=self._hidden(visible(seen.shown)), gate=self._hidden(visible(seen.gate)))

    async def _at_hand(self) -> None:
        """The sandbox is made; what prevents it is told by the call itself."""
        if self._made:
            return
        try:
            async with asyncio.timeout(AT_HAND_SECONDS):
                await (await self._open()).real.stat(".")
            self._made = True
        except SandboxLost as lost:
            self._lost = str(lost)
        except (SandboxError, TimeoutError):
            return

    async def checkpoint(self) -> Saved:
        """Save the workspace as it is; needs no sandbox, and what fails is a ``problem``.  What is beside it is named."""
        if self._save is None:
            return Saved(problem="no copies of this workspace are kept")
        beside = await self._world.real.beside() if self._world is not None else ()
        return replace(await self._save(), not_kept=beside)

    async def inspect(self, manifest: str, since: tuple[FileChange, ...]) -> Found:
        """What differs from this checkpoint and these later changes; needs no sandbox."""
        if self._inspect is None:
            return Found(problem="no copies of this workspace are kept")
        return await self._inspect(manifest, since)

    async def perceive(self) -> Perception:
        """What changed in the world since the last call of this method; nothing while no world was opened.

        What cannot be looked at now is told next time: a look is never what an execution breaks off over.
        """
        world = self._world
        if world is None:
            return Perception()
        try:
            seen = await world.real.perceive(world.model)
        except SandboxLost as lost:
            self._lost = str(lost)
            seen = Perception()
        except SandboxError:
            seen = Perception()  # it is told at the next look; a call that is held up by the same says so itself
        exposure = await self._exposed()
        lost, self._lost = self._lost, ""
        environment = LOST.format(reason=visible(lost)) if lost else seen.environment
        stale = tuple(
            StaleFile(path=visible(file.path), diff=self._hidden(visible(file.diff)), by=visible(file.by))
            for file in seen.stale
        )
        return Perception(stale, tuple(visible(change) for change in seen.changes), environment, exposure)

    @property
    def restoring(self) -> int | None:
        """How many files of the workspace are restored after a call that has ended; None where none are."""
        return self._world.real.restoring if self._world is not None else None

    async def settle(self) -> None:
        """End every effect that still runs, background commands too; return when the sandbox says they ended.

        A sandbox that does not say so is ended from outside, which the kernel confirms.
        """
        if self._world is None:
            return
        self._world.real.lend(())  # what the task might reach ends with it
        try:
            async with asyncio.timeout(ACKNOWLEDGE_SECONDS):
                await self._world.real.cancel()
        except (SandboxError, TimeoutError):
            await self._world.real.close()

    async def _open(self) -> AgentWorld:
        async with self._opening:
            if self._world is None:
                real = await self._source()
                self._world = AgentWorld(real, real.new_model(self._agent), KeptOutputs(), masks=self._masks)
            return self._world

    def _shown(self, seen: Observation) -> Observation:
        """The observation as it is logged: nothing in it acts, and no secret of known form stands in it."""
        output = self._hidden(seen.output.decode("utf-8", "replace")).encode() if seen.output else seen.output
        preview, error = self._hidden(visible(seen.preview)), self._hidden(visible(seen.error))
        hosts = tuple(self._hidden(visible(host)) for host in seen.refused_hosts)
        back = seen.put_back
        if back is not None:
            destroyed, left, shown = (self._hidden(visible(text)) for text in (back.destroyed, back.left, back.shown))
            back = replace(back, destroyed=destroyed, left=left, shown=shown)
        return replace(seen, preview=preview, error=error, output=output, put_back=back, refused_hosts=hosts)

    def _hidden(self, text: str) -> str:
        return mask(text).text if self._masks else text

    def _unknown(self, tool: str) -> str:
        alike = difflib.get_close_matches(tool[:60].lower(), self._tools, n=1)
        hint = f" Did you mean {alike[0]}?" if alike else ""
        return f"There is no tool '{quotable(tool)}'.{hint} The tools are: {', '.join(self._tools)}."


class ChildToolbox(StandardToolbox):
    """The tools of an agent beside others in one world: its end ends only what it began itself.

    Of calls that may change files one runs at a time, so that what each changed, or destroyed, is told apart from what the
    others did meanwhile.
    """

    async def run(self, tool: str, call: str, prepared: Prepared, on_output: Callable[[str], None]) -> Observation:
        """Run a prepared call, in its turn."""
        known = self._tools.get(tool)
        if prepared.effect != "unkeyed" and (known is None or known.permission != "write"):
            return await super().run(tool, call, prepared, on_output)
        async with (await self._open()).real.changing:
            return await super().run(tool, call, prepared, on_output)

    async def perceive(self) -> Perception:
        """What changed since the last look; while another's call changes files, that is told at the next one."""
        world = self._world
        if world is None or world.real.changing.locked():
            return Perception()
        async with (
            world.real.changing
        ):  # a look takes in all changes, also those that a call is about to tell as its own
            return await super().perceive()

    async def _exposed(self) -> Exposure:
        """What commands of any agent here reached, where this one was not told: its siblings read what they left."""
        if self._world is None:
            return UNEXPOSED
        real = self._world.real
        now = await real.exposure()
        real.reached = merged(real.reached, now)
        exposure = now.model_copy(update={"untrusted": real.reached.untrusted, "private": real.reached.private})
        known, self._told = self._told, exposure
        return exposure if exposure != known else UNEXPOSED

    async def settle(self) -> None:
        """End its background commands; what runs of its calls ends with the calls."""
        world = self._world
        if world is None:
            return
        while world.begun:
            with contextlib.suppress(SandboxError):
                await world.real.stop(world.begun.pop())


def _with_told(seen: Observation, *backs: RestoredFiles | None) -> Observation:
    """The observation, with what was put back of what other commands than this one did."""
    told = [
        STIRRED.format(did=back.destroyed, but=f", except {back.left}" if back.left else "")
        for back in backs
        if back and back.beside
    ]
    return replace(seen, preview="\n".join((seen.preview, *told))) if told else seen


def _refused_host(refused: RefusedHost) -> str:
    ask = "" if refused.listed else " If you need it, call `network` with it."
    return f"The network refused {refused.host}: {refused.why}.{ask}"


def _placeholder_in(arguments: Mapping[str, JsonValue]) -> str:
    """A placeholder in what was written, however deep it stands; '' where there is none."""
    left: list[JsonValue] = [*arguments.values()]
    while left:
        value = left.pop()
        if isinstance(value, str) and (found := placeholders_in(value)):
            return found[0]
        if isinstance(value, dict | list):
            left += value.values() if isinstance(value, dict) else value
    return ""


def _key(call: str, approved: bool) -> str:
    """Under which key a call is written down: one that runs again because a person let it is another effect."""
    return f"{call}{APPROVED}" if approved else call


def _unheard(_: str) -> None:
    """What runs no more says nothing."""


async def _observe(tool: AnyTool, prepared: Prepared, call: CallContext) -> Observation:
    """The tool's observation; what the world refuses is one too."""
    try:
        return await tool.run(prepared, call)
    except (SandboxUnavailable, SandboxLost):
        raise
    except PathRefused as path:
        return refused(str(path), path.barred, path.place)
    except (SandboxError, RemoteError) as problem:
        return failed(str(problem))
