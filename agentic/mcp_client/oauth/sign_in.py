"""One sign-in of a person to one server: an address to open, the way back, and what comes of it.

Authorization code with PKCE.  What comes back counts only with the secret that was sent out (``state``) and from the issuer
that was asked (RFC 9207); then the code is changed into a token for this one server (RFC 8707) at the issuer's address.
The issuer that somebody agreed to once is kept; another one needs their yes.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections.abc import Mapping
from urllib.parse import parse_qsl, urlencode, urlsplit

from mcp.client.auth import OAuthFlowError, OAuthRegistrationError, PKCEParameters
from mcp.client.auth.oauth2 import check_registration_usable
from mcp.client.auth.utils import (
    create_client_registration_request,
    handle_registration_response,
    issuers_match,
    validate_authorization_response_iss,
)
from mcp.shared.auth import OAuthClientMetadata
from pydantic import AnyUrl, SecretStr

from agentic.mcp_client.oauth.authorization_server import SignInPlace, found
from agentic.mcp_client.oauth.kept_tokens import Grant, TokenTrouble
from agentic.mcp_client.oauth.redirect_listener import CannotWait, RedirectListener
from agentic.mcp_client.oauth.token_access import GrantRefused, TokenAccess

SECONDS = 600.0
"""So long the browser may take to come back."""
ADDRESS_CHARACTERS = 16_000


class OtherIssuer(TokenTrouble):
    """The server sends one elsewhere than before; somebody has to agree."""

    def __init__(self, name: str, before: str, now: str) -> None:
        super().__init__(
            f"{name} now sends you to {now} to sign in. Before it was {before}. Go there only if you know why"
        )
        self.now = now


class SignIn:
    """Owns the listener; ends when ``finished`` returns, or with ``close``."""

    def __init__(self, access: TokenAccess, place: SignInPlace) -> None:
        self._access = access
        self._place = place
        self._pkce = PKCEParameters.generate()
        self._state = secrets.token_urlsafe(32)
        self._came: asyncio.Future[Mapping[str, str] | None] = asyncio.get_running_loop().create_future()
        self._listener = RedirectListener(self.take)
        self._grant: Grant | None = None
        self.address = ""
        """What a person opens."""

    @property
    def host(self) -> str:
        """Where a person signs in."""
        return urlsplit(self.address).hostname or ""

    @property
    def issuer(self) -> str:
        """Who issues the tokens."""
        return self._place.issuer

    async def open(self) -> None:
        """Wait for the browser from now on.  Raises ``TokenTrouble``."""
        try:
            await self._listener.open(self._access.oauth.port)
            self._grant = await self._client()
        except CannotWait as error:
            raise TokenTrouble(f"{error}. Set another oauth.callbackPort in mcp.json") from None
        except BaseException:
            await self.close()
            raise
        scope = self._access.oauth.scopes or self._place.scope
        query = {
            "response_type": "code", "client_id": self._grant.client_id, "redirect_uri": self._listener.address,
            "state": self._state, "code_challenge": self._pkce.code_challenge, "code_challenge_method": "S256",
            "resource": self._place.resource, **({"scope": scope} if scope else {}),
            **({"prompt": "consent"} if "offline_access" in scope.split() else {}),
        }  # fmt: skip
        endpoint = str(self._place.metadata.authorization_endpoint)
        self.address = f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(query)}"

    def take(self, address: str) -> bool:
        """What a browser was sent to, or a person pasted; False where it belongs to no sign-in that is waited for."""
        if len(address) > ADDRESS_CHARACTERS:
            return False
        try:
            said = dict(parse_qsl(urlsplit(address.strip()).query, max_num_fields=50))
        except ValueError:
            return False
        if not hmac.compare_digest(said.get("state", "").encode(), self._state.encode()) or self._came.done():
            return False
        self._came.set_result(said)
        return True

    async def finished(self) -> None:
        """Wait for the person, then keep what they were given.  Raises ``TokenTrouble``."""
        try:
            async with asyncio.timeout(SECONDS):
                said = await self._came
        except TimeoutError:
            raise TokenTrouble(f"nobody came back from signing in within {SECONDS / 60:.0f} min; begin again") from None
        finally:
            await self.close()
        if said is None:
            raise TokenTrouble("it was given up for another sign-in to the same server, or because the bot ended")
        await self._keep(self._code(said))

    async def close(self) -> None:
        """Wait no more."""
        await self._listener.close()
        if not self._came.done():
            self._came.set_result(None)

    def _code(self, said: Mapping[str, str]) -> str:
        try:
            validate_authorization_response_iss(said.get("iss"), self._place.metadata)
        except OAuthFlowError:
            raise TokenTrouble("the answer came from another issuer than was asked, so it was not used") from None
        if said.get("error"):
            raise TokenTrouble(
                "it was declined there" if said["error"] == "access_denied" else "it failed there; begin again"
            )
        if not said.get("code"):
            raise TokenTrouble("what came back holds no code; begin again")
        return said["code"]

    async def _client(self) -> Grant:
        """Who we are to the issuer: as the file says, or registered for this sign-in."""
        access, place = self._access, self._place
        grant = Grant(
            server=access.server, resource=place.resource, issuer=place.issuer,
            token_endpoint=str(place.metadata.token_endpoint), client_id=access.oauth.client_id,
            access_token=SecretStr(""), scope=access.oauth.scopes or place.scope,
        )  # fmt: skip
        known = place.metadata.token_endpoint_auth_methods_supported or ["client_secret_basic"]
        if grant.client_id:
            secret = "client_secret_basic" if "client_secret_basic" in known else "client_secret_post"
            return grant.model_copy(update={"auth_method": secret if access.oauth.client_secret else "none"})
        if place.metadata.registration_endpoint is None:
            raise TokenTrouble(
                f"{place.issuer} registers nobody by itself: register a client there, and put its oauth.clientId in "
                "mcp.json"
            )
        about = OAuthClientMetadata(
            client_name="Threadwright", redirect_uris=[AnyUrl(self._listener.address)], scope=grant.scope or None,
            token_endpoint_auth_method="none" if "none" in known else None,
        )  # fmt: skip
        request = create_client_registration_request(place.metadata, about, place.issuer)
        try:
            client = await handle_registration_response(await access.http.send(request))
            check_registration_usable(client)
        except OAuthRegistrationError:
            raise TokenTrouble(
                f"{place.issuer} does not register Threadwright: register a client there, and put its oauth.clientId "
                "in mcp.json"
            ) from None
        method = client.token_endpoint_auth_method or ("client_secret_basic" if client.client_secret else "none")
        return grant.model_copy(
            update={
                "client_id": client.client_id, "client_secret": SecretStr(client.client_secret or ""), "auth_method": method,
            }
        )  # fmt: skip

    async def _keep(self, code: str) -> None:
        assert self._grant is not None
        form = {
            "grant_type": "authorization_code", "code": code, "redirect_uri": self._listener.address,
            "code_verifier": self._pkce.code_verifier,
        }  # fmt: skip
        try:
            fresh = await self._access.asked(self._grant, form)
        except GrantRefused as why:
            raise TokenTrouble(f"{self.issuer} did not take what it had sent back ({why}); begin again") from None
        await self._access.signed_in(fresh)


async def begun(access: TokenAccess, agreed: str = "") -> SignIn:
    """A sign-in that can be opened; ``agreed``: an issuer other than before that somebody said yes to.

    Raises ``TokenTrouble``, of that ``OtherIssuer``.
    """
    if access.oauth.unattended:
        raise TokenTrouble("it signs in by itself, with oauth.clientSecret of mcp.json; nobody has to")
    kept = access.kept.of(access.server, access.oauth.issuer)
    before = kept.issuer if kept is not None else ""
    place = await found(access.endpoint, access.http, before)
    if before and not issuers_match(place.issuer, before) and agreed != place.issuer:
        raise OtherIssuer(access.name, before, place.issuer)
    if _misleads(place) and not access.oauth.issuer:
        raise TokenTrouble(
            f"{place.issuer} sends people elsewhere to sign in and does not say there who asked, so the sign-in could be "
            "for somebody else. If you know it, name it as oauth.issuer in mcp.json"
        )
    if "S256" not in (place.metadata.code_challenge_methods_supported or ()):
        raise TokenTrouble(f"{place.issuer} does not say that it knows PKCE with S256, without which nobody signs in")
    return SignIn(access, place)


def _misleads(place: SignInPlace) -> bool:
    """Whether it may lead people to another issuer's page for a code of theirs, which what comes back would not show."""
    asked, issuer = urlsplit(str(place.metadata.authorization_endpoint)), urlsplit(place.issuer)
    return not place.metadata.authorization_response_iss_parameter_supported and asked.hostname != issuer.hostname
