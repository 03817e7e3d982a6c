"""``http``: one request to a server.  What may change something there is approved by a person, and never repeated."""

from __future__ import annotations

from dataclasses import replace

from pydantic import Field, field_validator

from agentic.core.events.execution_events import Effect, Finding
from agentic.ports.runtime import Observation
from agentic.tools.base.observation import listed
from agentic.tools.base.terminal_text import clean
from agentic.tools.base.tool import Arguments, CallContext, Tool
from agentic.tools.web.web_access import DATA, SPARE_SECONDS, ThreadWeb, of_own, opened, told
from agentic.web.page_process import decoded
from agentic.web.page_reader import LONGEST
from agentic.web.web_client import Method, WebAnswer, WebBounds, WebRequest, WebTrouble, WebUnanswered

READS: tuple[Method, ...] = ("GET", "HEAD")
HEADERS, HEADER_CHARACTERS = 30, 4_000
BODY = 200_000
_NAME = frozenset("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz")
_OURS = frozenset(("host", "content-length", "transfer-encoding", "connection", "upgrade", "expect", "trailer", "te",
                   "accept-encoding", "proxy-authorization", "proxy-connection"))  # fmt: skip
_UNKNOWN = (
    "Outcome unknown: {why}. The request may have been received and have had its effect, and it was not repeated. Look at the"
    " state there before you go on."
)


class HttpArguments(Arguments):
    """A request."""

    url: str = Field(min_length=8, max_length=2_000, description="https://…")
    method: Method = Field(default="GET", description="Default GET. Others than GET and HEAD need a person's approval.")
    headers: dict[str, str] = Field(default_factory=dict, max_length=HEADERS)
    body: str = Field(default="", max_length=BODY, description="As it is sent; say what it is with Content-Type.")

    @field_validator("headers")
    @classmethod
    def _sendable(cls, written: dict[str, str]) -> dict[str, str]:
        for name, value in written.items():
            if not name or not set(name.lower()) <= _NAME:
                raise ValueError(f"{name[:60]!r} is no name of a header")
            if name.lower() in _OURS:
                raise ValueError(f"{name} is set by the client itself; leave it out")
            if not value.isprintable() or len(value) > HEADER_CHARACTERS:
                raise ValueError(f"the value of {name} must be one line of at most {HEADER_CHARACTERS:,} characters")
        return written


def http_tool(web: ThreadWeb) -> Tool[HttpArguments]:
    """Return the tool over the web as a thread may reach it."""

    async def act(arguments: HttpArguments, call: CallContext) -> Observation:
        world = await opened(call)
        request = WebRequest(
            arguments.url, arguments.method, tuple(arguments.headers.items()), arguments.body.encode("utf-8", "replace")
        )
        try:
            answer = await web.client.send(request, web.policy, web.asker)
        except WebTrouble as trouble:
            if isinstance(trouble, WebUnanswered) and trouble.sent and arguments.method not in READS:
                return Observation("unknown", _UNKNOWN.format(why=clean(str(trouble)).rstrip(".")))
            return told(trouble)
        return replace(listed(world.hide(clean(_shown(answer))), world.outputs), exposure=of_own(answer.private))

    return Tool(
        name="http",
        description=(
            "Send one HTTP request and see status, headers and body as they come; redirects are not followed. For an API; to"
            " read a page use fetch."
        ),
        example=HttpArguments(url="https://api.example.org/v1/items?limit=5", headers={"Accept": "application/json"}),
        act=act,
        effect="unkeyed",
        effects=_effect,
        permission="admin",
        untrusted=True,
        outside="always",
        seconds=lambda _: WebBounds().seconds + SPARE_SECONDS,
        gates=_gates,
    )


def _gates(arguments: HttpArguments, created: frozenset[str]) -> tuple[Finding, ...]:
    return () if arguments.method in READS else (Finding(text=f"sends a {arguments.method} request"),)


def _effect(arguments: HttpArguments) -> Effect:
    return "read" if arguments.method in READS else "unkeyed"


def _shown(answer: WebAnswer) -> str:
    lead = [DATA.format(what="An answer of a server"), f"HTTP {answer.status} from {answer.url}"]
    lead += [f"{name}: {value[:500]}" for name, value in answer.headers[:40]]
    whole = decoded(answer.body, answer.charset)
    text = whole[:LONGEST]
    lead += ["(Only its beginning was read: it is too long.)"] if answer.cut or len(whole) > LONGEST else []
    if "\0" in text[:8_192]:
        text = f"({len(answer.body):,} bytes that are no text)"
    return "\n".join((*lead, "", text))
