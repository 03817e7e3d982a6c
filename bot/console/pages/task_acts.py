"""What somebody does with a task: words, answers and buttons, which go to the bot, where the rights of the chat apply."""

from __future__ import annotations

from typing import cast, get_args

from aiohttp import web

from bot.console.access.viewer import Viewer
from bot.console.bot_channel import BotSilent, Deed, Done, Wish
from bot.console.console_context import Console, Route, task_path
from bot.console.logs.task_log import TaskLog
from bot.console.pages.task import TASK, act_values

WISHES = frozenset(cast("tuple[str, ...]", get_args(Wish)))
NO_DEED = "This form is not complete. Open the page again."
LONGEST = 20_000
"""Characters that are passed on; the bot says how long words may be."""


async def act(console: Console, request: web.Request, viewer: Viewer) -> web.Response:
    """Have the bot do what a form says, and show what it answers."""
    log = await console.task(request, viewer)
    form = await request.post()
    said = {name: str(value) for name, value in form.items() if isinstance(value, str)}
    try:
        done = await console.bot.act(_deed(log, said), viewer)
    except BotSilent as silent:
        done = Done(str(silent), done=False)
    values = {"log": log, "path": task_path(log), "done": done, "wish": said.get("do", ""), **act_values(console, log)}
    if request.headers.get("HX-Request") == "true":
        return console.page("acted_part.html", viewer, **values)
    return console.page("acted.html", viewer, **values)


def _deed(log: TaskLog, said: dict[str, str]) -> Deed:
    """The deed that a form describes. Raises ``HTTPBadRequest``."""
    do, _, option = said.get("do", "").partition(".")
    number, _, part = option.partition(".")
    turn, form = said.get("turn", ""), said.get("once", "")
    if do not in WISHES or not form or (do == "choose" and not number.isdecimal()):
        raise web.HTTPBadRequest(text=NO_DEED)
    return Deed(
        f"{form}.{said['do']}"[:300], log.row.thread, log.execution, cast("Wish", do),
        text=said.get("text", "")[:LONGEST].replace("\r\n", "\n"), question=said.get("question", "")[:200],
        part=part[:100], number=int(number[:4]) if number else 0, turn=int(turn[:6]) if turn.isdecimal() else 0,
        checkpoint=said.get("checkpoint", "")[:100],
    )  # fmt: skip


ROUTES: tuple[Route, ...] = (("POST", TASK + "/act", act),)
