"""Signing in with Discord: OAuth2's authorization code grant with PKCE, only to learn who somebody is.

https://docs.discord.com/developers/topics/oauth2; that Discord takes ``code_challenge`` (S256, with a verifier of at
least 43 characters) says its /.well-known/oauth-authorization-server. The token is used once and forgotten.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated
from urllib.parse import urlencode, urlsplit

import aiohttp
from pydantic import BaseModel, Field, ValidationError

from agentic.core.events.execution_events import Person
from bot.console.access.console_address import is_loopback

AUTHORIZE = "https://discord.com/oauth2/authorize"
SECONDS = 10.0
"""So long Discord has for its answers together."""
AT_ONCE = 8
ANSWER_BYTES = 100_000


class SignInFailed(Exception):
    """Nobody is signed in; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """What a browser keeps while somebody is at Discord: the answer has to name the state, and needs the verifier."""

    state: str
    verifier: str

    @classmethod
    def new(cls) -> Attempt:
        """One that nobody can guess."""
        return cls(secrets.token_urlsafe(24), secrets.token_urlsafe(48))

    @property
    def challenge(self) -> str:
        """What Discord is told of the verifier."""
        return urlsafe_b64encode(hashlib.sha256(self.verifier.encode()).digest()).rstrip(b"=").decode()


class _Token(BaseModel):
    access_token: Annotated[str, Field(min_length=1, max_length=400, pattern=r"^[!-~]+$")]


class _User(BaseModel):
    id: Annotated[str, Field(pattern=r"^[0-9]{1,20}$")]
    username: str
    global_name: str | None = None


class DiscordSignIn:
    """Asks Discord, at the address ``api``, as the application ``client_id``."""

    def __init__(self, api: str, client_id: str, client_secret: str) -> None:
        self._api, self._id = api, client_id
        self._client = aiohttp.encode_basic_auth(client_id, client_secret)
        self._asking = asyncio.Semaphore(AT_ONCE)
        self.local = is_loopback(urlsplit(api).hostname or "")
        """Whether it is a Discord of this machine, whose page no other machine reaches."""

    def address(self, attempt: Attempt, redirect: str) -> str:
        """Where a browser goes to be asked."""
        parts = urlsplit(self._api)  # a proxy of the API has no page for people
        asked = {
            "response_type": "code", "client_id": self._id, "scope": "identify", "state": attempt.state,
            "redirect_uri": redirect, "code_challenge": attempt.challenge, "code_challenge_method": "S256",
        }  # fmt: skip
        page = f"{parts.scheme}://{parts.netloc}/oauth2/authorize" if self.local else AUTHORIZE
        return f"{page}?{urlencode(asked)}"

    async def person(self, attempt: Attempt, code: str, redirect: str) -> Person:
        """Who came back with a code. Raises ``SignInFailed``."""
        form = {
            "grant_type": "authorization_code", "code": code, "redirect_uri": redirect, "code_verifier": attempt.verifier,
        }  # fmt: skip
        try:
            async with asyncio.timeout(SECONDS), self._asking, aiohttp.ClientSession(auto_decompress=False) as session:
                headers = {"Authorization": self._client, "Accept-Encoding": "identity"}
                token_url, user_url = f"{self._api}/oauth2/token", f"{self._api}/users/@me"
                async with session.post(token_url, data=form, headers=headers, allow_redirects=False) as answer:
                    token = _Token.model_validate_json(await _content(answer)).access_token
                headers["Authorization"] = f"Bearer {token}"
                async with session.get(user_url, headers=headers, allow_redirects=False) as answer:
                    user = _User.model_validate_json(await _content(answer))
        except (TimeoutError, aiohttp.ClientError) as error:
            raise SignInFailed("Discord does not answer now. Try again in a moment.") from error
        except ValidationError as error:
            raise SignInFailed("Discord answered something else than who you are. Try again.") from error
        return Person(id=user.id, name=(user.global_name or user.username)[:100], level="viewer")


async def _content(answer: aiohttp.ClientResponse) -> bytes:
    if answer.status != HTTPStatus.OK:
        raise SignInFailed("Discord did not accept this sign-in. Try again; each takes one try.")
    content = b""
    while len(content) < ANSWER_BYTES and (more := await answer.content.read(ANSWER_BYTES)):
        content += more
    return content
