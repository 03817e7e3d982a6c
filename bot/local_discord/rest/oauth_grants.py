"""Who allowed what to an application by OAuth2: codes that are exchanged once, and tokens that tell who somebody is."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlencode, urlsplit

from bot.local_discord.model.clock import Clock
from bot.local_discord.model.errors import ApiError

CODE_SECONDS, TOKEN_SECONDS = 60.0, 604_800
KEPT = 200
"""Codes and tokens at most; the oldest goes first."""


@dataclass(frozen=True, slots=True)
class AuthorizeRequest:
    """What an application asks of a person."""

    redirect_uri: str
    state: str
    challenge: str
    """S256 of a verifier; '' for none."""

    def back(self, **said: str) -> str:
        """Where the person's browser goes with an answer."""
        return f"{self.redirect_uri}?{urlencode(said | ({'state': self.state} if self.state else {}))}"


@dataclass(frozen=True, slots=True)
class _Code:
    asked: AuthorizeRequest
    user: int
    until: float


class OAuthRefused(Exception):
    """A token is not given; ``error`` is RFC 6749's word for why."""

    def __init__(self, error: str, description: str) -> None:
        super().__init__(description)
        self.error = error


class OAuthGrants:
    """The grants of the one application that there is."""

    def __init__(self, client_id: int, bot_token: str, clock: Clock) -> None:
        self.client_id = str(client_id)
        self.client_secret = hashlib.sha256(f"client secret\n{bot_token}".encode()).hexdigest()[:32]
        self._clock = clock
        self._codes: dict[str, _Code] = {}
        self._tokens: dict[str, tuple[int, float]] = {}

    def asked(self, query: dict[str, str]) -> AuthorizeRequest:
        """What the address of the authorize page asks; raises ``ApiError`` for what is refused there."""
        if query.get("client_id") != self.client_id:
            raise ApiError(400, 0, "Unknown application")
        if query.get("response_type") != "code" or query.get("scope") != "identify":
            raise ApiError(400, 0, "Only response_type=code with scope=identify is there")
        redirect = query.get("redirect_uri", "")
        if not _on_this_machine(redirect):
            raise ApiError(400, 0, "Invalid OAuth2 redirect_uri")
        method, challenge = query.get("code_challenge_method", ""), query.get("code_challenge", "")
        if (method or challenge) and (method != "S256" or len(challenge) != 43):
            raise ApiError(400, 0, 'Unsupported "code_challenge_method"')
        return AuthorizeRequest(redirect, query.get("state", "")[:1000], challenge)

    def allow(self, asked: AuthorizeRequest, user: int) -> str:
        """Make a code for a person; returns where their browser goes."""
        code = secrets.token_urlsafe(24)
        self._codes[code] = _Code(asked, user, self._clock.monotonic() + CODE_SECONDS)
        for old in list(self._codes)[:-KEPT]:
            del self._codes[old]
        return asked.back(code=code)

    def exchange(self, form: dict[str, str]) -> str:
        """Return a token for a code; raises ``OAuthRefused``."""
        if form.get("grant_type") != "authorization_code":
            raise OAuthRefused("unsupported_grant_type", "Only authorization_code is there")
        code = self._codes.pop(form.get("code", ""), None)  # also a wrong try uses it up
        if code is None or self._clock.monotonic() >= code.until:
            raise OAuthRefused("invalid_grant", 'Invalid "code" in request.')
        if form.get("redirect_uri") != code.asked.redirect_uri:
            raise OAuthRefused("invalid_grant", 'Invalid "redirect_uri" in request.')
        if code.asked.challenge:
            _check_verifier(form.get("code_verifier", ""), code.asked.challenge)
        token = secrets.token_urlsafe(24)
        self._tokens[token] = code.user, self._clock.monotonic() + TOKEN_SECONDS
        for old in list(self._tokens)[:-KEPT]:
            del self._tokens[old]
        return token

    def user(self, token: str) -> int | None:
        """Whose token it is; None for nobody's."""
        user, until = self._tokens.get(token, (None, 0.0))
        return user if self._clock.monotonic() < until else None

    def knows(self, client_id: str, client_secret: str) -> bool:
        """Whether it is the application itself that asks."""
        given = f"{client_id}:{client_secret}".encode("utf-8", "replace")
        return hmac.compare_digest(given, f"{self.client_id}:{self.client_secret}".encode())


def _check_verifier(verifier: str, challenge: str) -> None:
    if len(verifier) < 43:
        raise OAuthRefused("invalid_request", 'Invalid "code_verifier"')
    made = urlsafe_b64encode(hashlib.sha256(verifier.encode("utf-8", "replace")).digest()).rstrip(b"=").decode()
    if not hmac.compare_digest(made.encode(), challenge.encode("utf-8", "replace")):
        raise OAuthRefused("invalid_grant", 'Invalid "code_verifier"')


def _on_this_machine(address: str) -> bool:
    """Whether a redirect stays here; Discord has a list of each application's instead."""
    try:
        parts = urlsplit(address)
        host = parts.hostname or ""
        return (
            parts.scheme == "http"
            and not (parts.query or parts.fragment)
            and (host == "localhost" or ip_address(host).is_loopback)
        )
    except ValueError:
        return False
