"""The tab World: each request to a model as it was sent, what came of it, and what differs from another one.

Reasoning, which the chat shows on request, stands here too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from aiohttp import web
from pydantic import JsonValue

from agentic.core.events.execution_events import Envelope, ModelAnswered, ModelRequested, ReasoningBlock
from agentic.core.state.conversation import Message
from bot.console.access.viewer import Viewer
from bot.console.console_context import Console, Route, task_path
from bot.console.pages.downloads import is_for_markdown
from bot.console.pages.task import TASK, tab
from bot.console.views import sent_request
from bot.console.views.sent_request import Piece, SentRequest
from bot.console.views.shell_session import piece as cut_piece
from bot.console.views.shell_session import pieces
from bot.rendering.secrets import Discretion

AT_ONCE = 30
"""Messages on a page."""
SHOWN, LESS, ROOM = 3_000, 400, 150_000
"""Characters of a part that are shown at first; of one when the page has that many in all already."""
WHOLE = 1_000
"""Messages of a request that is copied."""
MORE_SHOWN, MORE_ROOM = 40_000, 2_000_000
"""Characters of a part of it, and of all parts before they are cut as short as on a full page."""
AROUND, HALF = 16_000, 2_000
"""Characters after a cut that are looked at too, so that no half of a secret is left; the last ones are never shown."""
Row = tuple[Envelope, ModelRequested]


@dataclass(frozen=True, slots=True)
class ShownPiece:
    """A part of a message on a page, cut."""

    piece: Piece
    about: str
    text: str
    cut: bool


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """A message on a page; ``place`` counts from 1."""

    place: int
    role: str
    summary: bool
    added: bool
    """It is not in the request with which this one is compared."""
    breaks: bool
    """It is the first one that the request before had in other words."""
    pieces: tuple[ShownPiece, ...]


async def world(console: Console, request: web.Request, viewer: Viewer) -> web.Response:
    """A request: ``?turn=7`` for that of a turn, ``?request=43`` for the event 43; ``&against=6`` compares two turns."""
    log = await console.task(request, viewer)
    rows = sent_request.requests_of(log.events)
    if not rows:
        return await tab(console, viewer, log, "world", "world_empty.html", live="world")
    row = _chosen(rows, request.query)
    before = _before(rows, row)
    against = _of_turn(rows, request.query.get("against", ""))
    wrong = request.query.get("against", "").strip()[:20] if against is None else ""
    wanted = [each[0].seq for each in (row, before or row, against or row)]
    now, previous, other = await console.requests.of(log, wanted)
    answer = sent_request.answer_to(log.events, now)
    copied = is_for_markdown(request)
    first = 1 if copied else _first(request.query.get("from", ""), now, other if against else None)
    last = min(first - 1 + (WHOLE if copied else AT_ONCE), len(now.messages))

    def heavy() -> dict[str, object]:
        page = _Page(console.discretion, *((MORE_SHOWN, MORE_ROOM) if copied else (SHOWN, ROOM)))
        same = sent_request.alike(other.messages, now.messages)
        broken = sent_request.alike(previous.messages, now.messages)
        breaks = broken + 1 if before is not None and broken < len(previous.messages) else 0
        shown = page.messages(now.messages[first - 1 : last], first, same if against else None, breaks)
        changes = sent_request.difference(other, now) if against else None
        return {
            "messages": shown,
            "outputs": sent_request.whole_outputs(log.events),
            "said": page.messages(each for each in (answer.said, answer.results) if each is not None),
            "system": page.text(now.system or ""),
            "tail": page.text(now.tail),
            "sizes": sent_request.sizes(now),
            "changes": changes and _without_secrets(console.discretion, changes),
            "breaks": sent_request.cache_breaks(previous, now) if before is not None else (),
            "happened": sent_request.happened(log.events, before[0].seq if before else 0, now.seq),
        }

    return await tab(
        console, viewer, log, "world", "world.html", live="world", now=now, before=before, against=against, wrong=wrong,
        first=first,
        last=last, at_once=AT_ONCE, answer=answer,
        others=_others(rows, row), turns=_turns(rows, row), **await asyncio.to_thread(heavy),
    )  # fmt: skip


async def piece(console: Console, request: web.Request, viewer: Viewer) -> web.Response:
    """A part of a request, whole, in pages."""
    log = await console.task(request, viewer)
    seq, name = int(request.match_info["seq"]), request.match_info["piece"]
    if not any(each.seq == seq for each, _ in sent_request.requests_of(log.events)):
        raise web.HTTPNotFound(text="There is no such request.")
    sent = (await console.requests.of(log, [seq]))[0]
    text = await asyncio.to_thread(
        sent_request.piece_text, sent, name, lambda message: _shown_message(console.discretion, message)
    )
    if text is None:
        raise web.HTTPNotFound(text="There is no such part, or it is not stored any more.")
    content, count = text.encode(), pieces(len(text.encode()))
    asked = request.query.get("page", "1")
    number = min(max(int(asked[:7]), 1), count) if asked.isdecimal() else 1
    shown = await asyncio.to_thread(cut_piece, content, number - 1, console.discretion.text)
    path = task_path(log)
    return console.page(
        "long_text.html", viewer, log=log, path=path, text=shown, number=number, count=count, size=len(content),
        title=sent_request.piece_title(sent, name),
        back=f"{path}/world?request={seq}", back_words="The request",
    )  # fmt: skip


async def reasoning(console: Console, request: web.Request, viewer: Viewer) -> web.Response:
    """What the model thought in a turn: a part of a page for htmx, else a page of its own."""
    log = await console.task(request, viewer)
    number = int(request.match_info["turn"])
    rows = sent_request.requests_of(log.events)
    mine = {event.request: event for _, event in rows if event.turn == number and event.purpose == "turn"}
    turn = log.story.turn(number)
    if turn is None:
        raise web.HTTPNotFound(text="There is no such turn.")
    answers = [
        (envelope.seq, [block for block in envelope.event.blocks if isinstance(block, ReasoningBlock)])
        for envelope in log.events[turn.seq - 1 : turn.last]
        if isinstance(envelope.event, ModelAnswered) and envelope.event.request in mine
    ]
    template = "reasoning.html" if request.headers.get("HX-Request") else "reasoning_page.html"
    return console.page(template, viewer, log=log, path=task_path(log), number=number, answers=answers, most=200_000)


class _Page:
    """Cuts the parts of messages, the more the fuller the page is."""

    def __init__(self, discretion: Discretion, most: int, room: int) -> None:
        self._discretion, self._most, self._room, self._shown = discretion, most, room, 0

    def messages(
        self, messages: Iterable[Message], first: int = 1, same: int | None = None, breaks: int = 0
    ) -> list[ShownMessage]:
        shown: list[ShownMessage] = []
        for place, message in enumerate(messages, first):
            parts = sent_request.pieces_of(place, _shown_message(self._discretion, message))
            pieces = tuple(map(self._piece, parts))
            added = same is not None and place > same
            shown.append(ShownMessage(place, message.role, message.landmark, added, place == breaks, pieces))
        return shown

    def _piece(self, piece: Piece) -> ShownPiece:
        return ShownPiece(piece, self._discretion.text(piece.about), *self.text(piece.text))

    def text(self, text: str) -> tuple[str, bool]:
        """As much of a text as is shown at first, without secrets, and whether there is more."""
        most = self._most if self._shown < self._room else LESS
        shown = self._discretion.text(text[: most + AROUND])
        if len(text) > most + AROUND:
            shown = shown[: min(most, max(len(shown) - HALF, 0))]
        cut = len(shown) > most or len(text) > most + AROUND
        self._shown += min(len(shown), most)
        return (shown[:most] + "…" if cut else shown), cut


def _shown_message(discretion: Discretion, message: Message) -> Message:
    """A message whose calls have no secrets by the names in their arguments; its texts are looked through as they are cut."""
    shown = (cast("dict[str, JsonValue]", discretion.by_names(call.arguments)) for call in message.calls)
    calls = tuple(replace(call, arguments=arguments) for call, arguments in zip(message.calls, shown, strict=True))
    return replace(message, calls=calls)


def _without_secrets(discretion: Discretion, changes: sent_request.RequestDifference) -> sent_request.RequestDifference:
    def shown(lines: Sequence[str]) -> tuple[str, ...]:
        return tuple(discretion.text("\n".join(lines)).split("\n")) if lines else ()

    return replace(changes, system=shown(changes.system), tail=shown(changes.tail))


def _chosen(rows: Sequence[Row], query: Mapping[str, str]) -> Row:
    wanted = query.get("request", "")
    if wanted.isdecimal():
        found = next((row for row in rows if row[0].seq == int(wanted[:9])), None)
    elif query.get("turn"):
        found = _of_turn(rows, query["turn"])
    else:
        found = next((row for row in reversed(rows) if row[1].purpose == "turn"), rows[-1])
    if found is None:
        raise web.HTTPNotFound(text="There is no such request in this task.")
    return found


def _of_turn(rows: Sequence[Row], turn: str) -> Row | None:
    """The last request of a turn; one beside the turns where the turn has no other."""
    if not turn.isdecimal():
        return None
    of = [row for row in rows if row[1].turn == int(turn[:9])]
    return next((row for row in reversed(of) if row[1].purpose == "turn"), of[-1] if of else None)


def _before(rows: Sequence[Row], row: Row) -> Row | None:
    """The request before, over whose beginning the provider may keep a cache; a summary is asked over it too."""
    if row[1].purpose not in ("turn", "summary"):
        return None
    return next((each for each in reversed(rows) if each[0].seq < row[0].seq and each[1].purpose == "turn"), None)


def _others(rows: Sequence[Row], row: Row) -> list[Row]:
    """The requests of the same turn."""
    return [each for each in rows if each[1].turn == row[1].turn]


def _turns(rows: Sequence[Row], row: Row) -> tuple[int, int, int]:
    """The turn before, -1 for none; the next one, 0 for none; the last one. Turn 0 is what came before the first."""
    numbers = {event.turn for _, event in rows}
    return (
        max((number for number in numbers if number < row[1].turn), default=-1),
        min((number for number in numbers if number > row[1].turn), default=0),
        max(numbers),
    )


def _first(wanted: str, now: SentRequest, other: SentRequest | None) -> int:
    """The first message on the page, from 1: as asked for, the first one that was added, or of the last page."""
    last = len(now.messages)
    if wanted.isdecimal():
        return max(min(int(wanted[:9]), last), 1)
    if other is not None:
        return max(min(sent_request.alike(other.messages, now.messages) + 1, last), 1)
    return max(last - AT_ONCE + 1, 1)


ROUTES: tuple[Route, ...] = (
    ("GET", TASK + "/world", world),
    ("GET", TASK + r"/world/{seq:\d{1,9}}/{piece:system|tools|tail|m\d{1,7}\.\d{1,4}}", piece),
    ("GET", TASK + r"/reasoning/{turn:\d{1,9}}", reasoning),
)
