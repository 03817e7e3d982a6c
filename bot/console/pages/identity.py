"""The tab Identity: the system prompt as it was sent and where each part of it comes from, role, limits, tools."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from aiohttp import web

from bot.console.access.viewer import Viewer
from bot.console.console_context import Console, Route
from bot.console.pages.task import TASK, tab
from bot.console.views.agent_identity import AgentIdentity, identity_of
from bot.console.views.sent_request import requests_of


async def identity(console: Console, request: web.Request, viewer: Viewer) -> web.Response:
    """Who the agent is, by the request of a turn that was sent last."""
    log = await console.task(request, viewer)
    newest = next((each.seq for each, event in reversed(requests_of(log.events)) if event.purpose == "turn"), 0)
    sent = await console.requests.without_messages(log, newest) if newest else None
    who = identity_of(log.events, log.folded, sent)
    shown = await asyncio.to_thread(_without_secrets, console, who)
    return await tab(console, viewer, log, "identity", "identity.html", who=shown, sent=sent)


def _without_secrets(console: Console, who: AgentIdentity) -> AgentIdentity:
    text = console.discretion.text
    return replace(
        who,
        parts=tuple(replace(part, text=text(part.text), origin=text(part.origin)) for part in who.parts),
        stored=text(who.stored),
        role_origin=text(who.role_origin),
        tools=tuple(replace(tool, description=text(tool.description)) for tool in who.tools),
    )


ROUTES: tuple[Route, ...] = (("GET", TASK + "/identity", identity),)
