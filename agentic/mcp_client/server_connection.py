"""One connection to one server: opened by a task of its own, asked by whoever holds it, ended by its owner.

What a server sends is foreign: it may be late, wrong, huge or nothing.  Each of these becomes a value that says what is known:
whether the server was reached at all, whether it answered, and what.  A request whose answer was lost is never sent again
here.  The SDK's own check of results against a tool's schema is not used, because it would match patterns of a stranger on
the loop that serves everybody.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Protocol, TypeVar, cast

import anyio
import httpx2
import mcp_types as types
from mcp.client._transport import TransportStreams
from mcp.client.client import Client
from mcp.client.session import ClientRequestContext, ClientSession, IncomingMessage
from mcp.shared.exceptions import MCPError
from pydantic import JsonValue, TypeAdapter, ValidationError

from agentic.mcp_client.agreed_tools import MOST_TOOLS, NAME_CHARACTERS, Pinned, described

PAGES = 60
LIST_CHARACTERS = 2_000_000
"""Of all descriptions of a server: they are counted at the start of each task."""
CLOSE_SECONDS = 4.0
GRACE_SECONDS = 3.0
"""So much longer than the SDK's own time-out a call is waited for."""
VERSION = "0.1.0"
_SERVER_ERROR = "Server returned an error response"
_SESSION_OVER = "Session terminated"
"""What the SDK says of an answer that has no words of its own."""

log = logging.getLogger(__name__)

T = TypeVar("T")
P = TypeVar("P", bound=types.PaginatedResult)
_CALLED: TypeAdapter[types.CallToolResult | types.InputRequiredResult] = TypeAdapter(
    types.CallToolResult | types.InputRequiredResult
)
_OBJECT = TypeAdapter(dict[str, JsonValue])

Elicited = types.ElicitRequestFormParams | types.ElicitRequestURLParams


class Reached(Protocol):
    """A way to a server, used once."""

    def streams(self) -> AbstractAsyncContextManager[TransportStreams]:
        """The transport."""
        ...

    @property
    def why(self) -> str:
        """What is known of why it does not answer."""
        ...


class ServerTrouble(Exception):
    """A server did not do what was asked; ``sent``: the request may have reached it, and what it did is not known."""

    def __init__(self, why: str, *, sent: bool, answered: bool = False, over: bool = False) -> None:
        super().__init__(why)
        self.sent = sent
        self.over = over
        """It says that the session is over, and so did nothing: a new one can be begun."""
        self.answered = answered
        """It did answer: with an error, or with what is no valid answer."""


@dataclass(frozen=True, slots=True)
class InputWanted:
    """A server asks something before it goes on: its requests by key, and its opaque state."""

    requests: Mapping[str, Elicited]
    state: str | None = None
    afresh: bool = False
    """A server of an older protocol: the call begins anew, and it asks again."""


@dataclass(slots=True)
class _Asking:
    """A call of which a server of an older protocol may ask something in the middle."""

    given: Sequence[tuple[str, types.ElicitResult]] = ()
    """What people answered before: the server's words, and the answer."""
    asked: list[Elicited] = field(default_factory=list[Elicited])
    count: int = 0


class McpConnection:
    """Owns a task that holds the connection; ``close`` ends it, and so does the server."""

    def __init__(self, name: str, reached: Reached, seconds: float) -> None:
        self._name = name
        self._reached = reached
        self._seconds = seconds
        self._client: Client | None = None
        self._closing = asyncio.Event()
        self._opened = asyncio.Event()
        self._asking: list[_Asking] = []
        self.stale = True
        """The list of tools may have changed since it was read last."""
        self._failure: BaseException | None = None
        self._owner = asyncio.create_task(self._hold(), name=f"mcp {name}")

    @property
    def lives(self) -> bool:
        """It can be asked."""
        return not self._owner.done() and not self._closing.is_set()

    @property
    def protocol(self) -> str:
        """The version that was agreed on."""
        return self._client.protocol_version if self._client is not None else ""

    async def open(self) -> None:
        """Wait until it stands.  Raises ``ServerTrouble``."""
        opened = asyncio.create_task(self._opened.wait())
        try:
            await asyncio.wait((opened, self._owner), timeout=self._seconds, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            await self.close()
            raise
        finally:
            opened.cancel()
        if self._client is None:
            await self.close()
            late = f"it did not answer within {self._seconds:g} s" if self._failure is None else ""
            raise ServerTrouble(self._words(late), sent=False)

    async def close(self) -> None:
        """End it; what it ran in a sandbox is gone when this returns."""
        self._closing.set()
        if self._client is None:
            self._owner.cancel()  # it may be waiting for a server that never answers
        _, late = await asyncio.wait((self._owner,), timeout=CLOSE_SECONDS)
        if late:
            self._owner.cancel()
            await asyncio.wait((self._owner,), timeout=CLOSE_SECONDS)

    async def tools(self) -> tuple[Pinned, ...]:
        """Its tools, by name.  Raises ``ServerTrouble``."""
        self.stale = False
        found: dict[str, Pinned] = {}
        size = 0
        async for page in self._pages(lambda session, params: session.list_tools(params=params)):
            for tool in page.tools:
                if _named(tool.name):
                    found[tool.name] = _pinned(tool)
                    size += len(tool.description or "") + len(str(tool.input_schema))
            if size > LIST_CHARACTERS:
                raise ServerTrouble(
                    "it describes its tools at such length that nobody reads it", sent=True, answered=True
                )
            if len(found) > MOST_TOOLS:
                raise ServerTrouble(f"it has more than {MOST_TOOLS:,} tools", sent=True, answered=True)
        return tuple(found[name] for name in sorted(found))

    async def prompts(self) -> tuple[types.Prompt, ...]:
        """Its prompts."""
        pages = self._pages(lambda session, params: session.list_prompts(params=params))
        found = [prompt async for page in pages for prompt in page.prompts]
        return tuple(sorted(found, key=lambda prompt: prompt.name)[:MOST_TOOLS])

    async def resources(self) -> tuple[types.Resource, ...]:
        """Its resources."""
        pages = self._pages(lambda session, params: session.list_resources(params=params))
        found = [resource async for page in pages for resource in page.resources]
        return tuple(sorted(found, key=lambda resource: resource.uri)[:MOST_TOOLS])

    def has(self) -> tuple[bool, bool]:
        """Whether it has prompts, and resources."""
        known = self._client.session.server_capabilities if self._client is not None else None
        return (known.prompts is not None, known.resources is not None) if known is not None else (False, False)

    async def call(
        self,
        tool: str,
        arguments: dict[str, JsonValue],
        seconds: float,
        *,
        state: str | None = None,
        responses: Mapping[str, types.ElicitResult] | None = None,
        given: Sequence[tuple[str, types.ElicitResult]] = (),
    ) -> types.CallToolResult | InputWanted:
        """Call a tool once; what it asks comes back.  Raises ``ServerTrouble``."""
        params = types.CallToolRequestParams(
            name=tool,
            arguments=arguments,
            input_responses=dict(responses) if responses else None,
            request_state=state,
        )
        asking = _Asking(given)
        self._asking.append(asking)
        try:
            came = await self._ask(
                lambda session: session.send_request(
                    types.CallToolRequest(params=params), _CALLED, request_read_timeout_seconds=seconds
                ),
                seconds,
            )
        finally:
            self._asking.remove(asking)
        if asking.asked:
            return InputWanted({str(number): each for number, each in enumerate(asking.asked)}, afresh=True)
        return _wanted(came) if isinstance(came, types.InputRequiredResult) else came

    async def prompt(self, name: str, arguments: dict[str, str], seconds: float) -> types.GetPromptResult:
        """A prompt with its arguments filled in.  Raises ``ServerTrouble``."""
        return await self._ask(lambda session: session.get_prompt(name, arguments), seconds)

    async def resource(self, uri: str, seconds: float) -> types.ReadResourceResult:
        """What stands at an address of the server's.  Raises ``ServerTrouble``."""
        return await self._ask(lambda session: session.read_resource(uri), seconds)

    # --- the connection ---

    async def _hold(self) -> None:
        try:
            async with Client(
                self._reached.streams(),
                client_info=types.Implementation(name="threadwright", version=VERSION),
                elicitation_callback=self._elicited,
                message_handler=self._heard,
                cache=None,
                read_timeout_seconds=self._seconds,
            ) as client:
                self._client = client
                self._opened.set()
                await self._closing.wait()
        except asyncio.CancelledError:
            raise
        except Exception as failure:  # noqa: BLE001 - whatever a server makes of the SDK is told to whoever asks
            self._failure = failure
            log.info("the connection to the MCP server %s broke: %r", self._name, first_of(failure))

    async def _heard(self, message: IncomingMessage) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self.stale = True

    async def _elicited(self, context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        """A server of an older protocol asks in the middle of a call: it gets an earlier answer of a person's, or none yet."""
        if len(self._asking) != 1:
            return types.ElicitResult(action="cancel")  # whose question it is cannot be told
        (asking,) = self._asking
        number, asking.count = asking.count, asking.count + 1
        if number < len(asking.given) and asking.given[number][0] == params.message:
            return asking.given[number][1]
        asking.asked.append(params)
        return types.ElicitResult(action="cancel")

    # --- requests ---

    async def _ask(self, act: Callable[[ClientSession], Awaitable[T]], seconds: float) -> T:
        """Ask once, at most so many seconds; a call that is given up takes the connection with it."""
        if self._client is None or not self.lives:
            raise ServerTrouble(self._words("the connection is closed"), sent=False)
        asked = asyncio.ensure_future(_awaited(act(self._client.session)))
        try:
            done, _ = await asyncio.wait(
                (asked, self._owner), timeout=seconds + GRACE_SECONDS, return_when=asyncio.FIRST_COMPLETED
            )
        except asyncio.CancelledError:
            asked.cancel()
            await self.close()
            raise
        if asked in done:
            return await self._answer(asked, seconds)
        asked.cancel()
        await self.close()
        unsent = isinstance(first_of(self._failure), httpx2.ConnectError | httpx2.ConnectTimeout)
        late = "" if self._owner in done else f"it did not answer within {seconds:g} s"
        raise ServerTrouble(self._words(late), sent=not unsent)

    async def _answer(self, asked: asyncio.Future[T], seconds: float) -> T:
        try:
            return asked.result()
        except MCPError as error:
            if error.code == types.REQUEST_TIMEOUT:
                await self.close()
                raise ServerTrouble(f"it did not answer within {seconds:g} s", sent=True) from None
            if error.code == types.CONNECTION_CLOSED:
                await self.close()
                unsent = isinstance(first_of(self._failure), httpx2.ConnectError | httpx2.ConnectTimeout)
                raise ServerTrouble(self._words("the connection broke"), sent=not unsent) from None
            if error.code == types.INTERNAL_ERROR and error.message == _SERVER_ERROR:
                lost = bool(getattr(self._reached, "gateway_failed", False))
                raise ServerTrouble(self._reached.why or error.message, sent=True, answered=not lost) from None
            over = error.code == types.INVALID_REQUEST and error.message == _SESSION_OVER
            raise ServerTrouble(f"it answered: {error.message}", sent=True, answered=True, over=over) from None
        except ValidationError as wrong:
            what = f"its answer is no valid one ({wrong.error_count()} mistakes, the first: {_first(wrong)})"
            raise ServerTrouble(what, sent=True, answered=True) from None
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            raise ServerTrouble(self._words("the connection broke"), sent=True) from None
        except (RuntimeError, ValueError, TypeError, KeyError, RecursionError) as odd:
            raise ServerTrouble(f"what it said cannot be used: {odd}", sent=True, answered=True) from None

    async def _pages(
        self, page: Callable[[ClientSession, types.PaginatedRequestParams | None], Awaitable[P]]
    ) -> AsyncGenerator[P]:
        cursor: str | None = None
        seen: set[str] = set()
        for _ in range(PAGES):
            params = types.PaginatedRequestParams(cursor=cursor) if cursor is not None else None
            one = await self._ask(lambda session, params=params: page(session, params), self._seconds)
            yield one
            cursor = one.next_cursor
            if cursor is None:
                return
            if cursor in seen:
                break
            seen.add(cursor)
        raise ServerTrouble("its list has no end", sent=True, answered=True)

    def _words(self, otherwise: str) -> str:
        """Why it does not answer, as far as is known."""
        failure = first_of(self._failure)
        said = f"{failure}" if failure is not None and str(failure) != _SERVER_ERROR else ""
        return "; ".join(dict.fromkeys(part for part in (otherwise, self._reached.why, said) if part)) or "it ended"


def first_of(failure: BaseException | None) -> BaseException | None:
    """The first of several that came together."""
    while isinstance(failure, BaseExceptionGroup):
        failure = cast("BaseExceptionGroup[BaseException]", failure).exceptions[0]
    return failure


async def _awaited(work: Awaitable[T]) -> T:
    return await work


def _named(name: str) -> bool:
    return 0 < len(name) <= NAME_CHARACTERS and name.isprintable()


def _pinned(tool: types.Tool) -> Pinned:
    hints = tool.annotations
    return described(
        tool.name,
        tool.description or "",
        _OBJECT.validate_python(tool.input_schema),
        reads=hints is not None and hints.read_only_hint is True,
        idempotent=hints is not None and hints.idempotent_hint is True,
    )


def _wanted(came: types.InputRequiredResult) -> InputWanted:
    asked: dict[str, Elicited] = {}
    for key, request in (came.input_requests or {}).items():
        if not isinstance(request, types.ElicitRequest):
            raise ServerTrouble("it wants what is not offered here (sampling or roots)", sent=True, answered=True)
        asked[key] = request.params
    return InputWanted(asked, came.request_state)


def _first(wrong: ValidationError) -> str:
    first = wrong.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc']))[:100]}: {first['msg'][:200]}"
