"""The pages with which somebody signs in and out, by the console's token or with Discord."""

from __future__ import annotations

import logging
import re
import secrets
from collections import deque
from collections.abc import Awaitable, Callable
from time import monotonic
from urllib.parse import quote, unquote, urlsplit

from aiohttp import web

from agentic.core.events.execution_events import Person
from bot.console.access.browser_sessions import LIFE_SECONDS, BrowserSessions
from bot.console.access.console_address import ConsoleAddress, is_loopback
from bot.console.access.discord_sign_in import Attempt, DiscordSignIn, SignInFailed
from bot.console.access.form_data import read_form
from bot.console.page_templates import Pages

SESSION, ATTEMPT = "session", "sign-in"
ATTEMPT_SECONDS = 600
TRIES, WITHIN_SECONDS = 10, 60.0
"""Wrong tokens in a minute that get a page; a right one is let in all the same, and is too long to be guessed."""
NO_DISCORD = "Nobody can sign in with Discord here."
_LOCAL = re.compile(r"/(?![/\\])[!-\[\]-~]{0,1000}")
_CODE = re.compile(r"[\w.-]{1,400}")

Answering = Callable[[web.Request], Awaitable[web.StreamResponse]]
log = logging.getLogger(__name__)


class SignIn:
    """Signs people in. ``owner`` tells as whom somebody acts who has the token."""

    def __init__(
        self,
        pages: Pages,
        sessions: BrowserSessions,
        owner: Callable[[], Awaitable[Person]],
        token: str = "",
        discord: DiscordSignIn | None = None,
    ) -> None:
        self._pages, self._sessions, self._owner = pages, sessions, owner
        self._token, self._discord = token, discord
        self._wrong: deque[float] = deque(maxlen=TRIES)
        self.address = ConsoleAddress("", 0)

    @property
    def possible(self) -> bool:
        """Whether there is a way to sign in."""
        return bool(self._token or self._discord)

    @property
    def possible_from_elsewhere(self) -> bool:
        """Whether there is one for people at other machines."""
        return bool(self._token or (self._discord and not self._discord.local))

    def _discord_for(self, request: web.Request) -> DiscordSignIn | None:
        """The Discord that whoever asks can sign in with: they have to reach its page."""
        found, people = self._discord, urlsplit(self.address.public).hostname or request.url.host or ""
        return None if found is not None and found.local and not is_loopback(people) else found

    def routes(self) -> list[tuple[str, str, Answering]]:
        """What answers to somebody who is not in yet."""
        return [
            ("GET", "/sign-in", self.page),
            ("POST", "/sign-in", self.by_token),
            ("GET", "/sign-in/discord", self.to_discord),
            ("GET", "/sign-in/discord/back", self.from_discord),
        ]

    def leading_to(self, request: web.Request) -> web.Response:
        """Send somebody who has to sign in first; they come back to where they wanted to go."""
        return self._sent(
            f"{self.address.public}/sign-in?to={quote(local_path(request.rel_url.raw_path_qs), safe='/')}"
        )

    async def page(self, request: web.Request) -> web.StreamResponse:
        """The form."""
        return self._page(request, local_path(request.query.get("to", "")))

    async def by_token(self, request: web.Request) -> web.StreamResponse:
        """Sign in whoever knows the token."""
        form = await read_form(request)
        to = local_path(form.get("to", ""))
        given = form.get("token", "").strip()[:1000].encode("utf-8", "replace")
        if not self._token or not secrets.compare_digest(given, self._token.encode()):
            return self._refuse(request, to)
        return self._enter(await self._owner(), to, everything=True)

    def _refuse(self, request: web.Request, to: str) -> web.Response:
        now = monotonic()
        many = len(self._wrong) == TRIES and now - self._wrong[0] < WITHIN_SECONDS
        if not many:
            self._wrong.append(now)
            if len(self._wrong) == TRIES and now - self._wrong[0] < WITHIN_SECONDS:
                log.warning("%s wrong tokens were tried at the console within a minute", TRIES)
            return self._page(request, to, "Wrong token.", 403)
        return self._page(request, to, "Too many wrong tokens were tried. The right one works all the same.", 429)

    async def to_discord(self, request: web.Request) -> web.StreamResponse:
        """Send a browser to Discord."""
        if (discord := self._discord_for(request)) is None:
            raise web.HTTPNotFound(text=NO_DISCORD)
        to = local_path(request.query.get("to", ""))
        if self._elsewhere(request):
            return self._sent(f"{self.address.public}/sign-in/discord?to={quote(to, safe='/')}")
        attempt = Attempt.new()
        answer = self._sent(discord.address(attempt, self._redirect(request)))
        kept = f"{attempt.state}.{attempt.verifier}.{quote(to, safe='/')}"
        self._set(answer, ATTEMPT, kept, ATTEMPT_SECONDS)
        return answer

    async def from_discord(self, request: web.Request) -> web.StreamResponse:
        """Sign in whoever comes back from Discord, if this browser went there."""
        if (discord := self._discord_for(request)) is None:
            raise web.HTTPNotFound(text=NO_DISCORD)
        state, _, rest = request.cookies.get(self.address.cookie(ATTEMPT), "")[:4_000].partition(".")
        verifier, _, to = rest.partition(".")
        to = local_path(unquote(to))
        said = request.query.get("state", "").encode("utf-8", "replace")
        if not state or not verifier or not secrets.compare_digest(said, state.encode("utf-8", "replace")):
            return self._page(
                request, to, "This sign-in was not begun in this browser, or too long ago. Try again.", 403
            )
        code = request.query.get("code", "")
        try:
            if not _CODE.fullmatch(code):
                raise SignInFailed("Discord was not allowed to say who you are.")
            person = await discord.person(Attempt(state, verifier), code, self._redirect(request))
        except SignInFailed as failed:
            answer = self._page(request, to, str(failed), 403)
        else:
            answer = self._enter(person, to, everything=False)
        self._set(answer, ATTEMPT, "", 0)
        return answer

    def sign_out(self, request: web.Request) -> web.Response:
        """End the session of a browser."""
        self._sessions.end(request.cookies.get(self.address.cookie(SESSION), ""))
        answer = self._sent("/sign-in" if self.possible else "/")
        self._set(answer, SESSION, "", 0)
        return answer

    def _enter(self, person: Person, to: str, *, everything: bool) -> web.Response:
        answer = self._sent(to)
        self._set(answer, SESSION, self._sessions.begin(person, everything=everything), LIFE_SECONDS)
        return answer

    def _page(self, request: web.Request, to: str, trouble: str = "", status: int = 200) -> web.Response:
        text = self._pages.render(
            "sign_in.html", viewer=None, to=to, trouble=trouble, by_token=bool(self._token),
            discord=self._discord_for(request),
        )  # fmt: skip
        return web.Response(text=text, content_type="text/html", status=status)

    def _sent(self, to: str) -> web.Response:
        return web.Response(status=303, headers={"Location": to})

    def _set(self, answer: web.Response, name: str, value: str, seconds: int) -> None:
        answer.set_cookie(
            self.address.cookie(name), value, max_age=seconds, path="/", httponly=True, samesite="Lax",
            secure=self.address.secure,
        )  # fmt: skip

    def _elsewhere(self, request: web.Request) -> bool:
        """Whether a browser came by another address than people use, where Discord could not send it back to."""
        return bool(self.address.public) and self.address.public.partition("://")[2] != request.host.lower()

    def _redirect(self, request: web.Request) -> str:
        return f"{self.address.public or f'http://{request.host}'}/sign-in/discord/back"


def local_path(to: str) -> str:
    """A path of the console; anything else becomes its first page, so that no link to the sign-in leads elsewhere."""
    return to if _LOCAL.fullmatch(to) else "/"
