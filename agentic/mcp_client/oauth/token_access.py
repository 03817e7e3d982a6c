"""The token of one server, for every call of this process: renewed once, however many ask, and on the disk before it is used.

The SDK's own provider is not used for this: it forgets after a restart when a token expires and who issued it, begins a
sign-in in the middle of a call, and lets each process renew for itself (python-sdk#3250).  Here the time of expiry, the
issuer and its address for tokens are kept with the token, so a renewal asks nobody where to go.
"""

from __future__ import annotations

import asyncio
import re
import time
from base64 import b64encode
from collections.abc import Mapping
from urllib.parse import quote, urlsplit

import httpx2
from mcp.shared.auth import OAuthToken
from mcp.shared.auth_utils import resource_url_from_server_url
from pydantic import BaseModel, ConfigDict, SecretStr, ValidationError

from agentic.mcp_client.oauth.authorization_server import SECONDS, AuthorizationHttp, found
from agentic.mcp_client.oauth.kept_tokens import Grant, KeptTokens, TokenTrouble
from agentic.mcp_client.server_file import Endpoint, OAuthClient

LONGEST_SECONDS = 10 * 365 * 86_400
NOBODY = "nobody has signed in to it yet"
OVER = "its sign-in is over, because it was not renewed ({why})"
TODO = "An owner signs in{again} with /mcp login, or whoever runs the bot with: threadwright mcp login {name}"
NOT_TAKEN = "it refuses its sign-in, even renewed"
_TOKEN = re.compile(r"[\x21-\x7e]{1,8000}")
_CODE = re.compile(r"[a-z_]{1,60}")
_OVER = frozenset(
    (
        "invalid_grant",
        "invalid_client",
        "unauthorized_client",
        "invalid_scope",
        "unsupported_grant_type",
        "invalid_target",
    )
)


class _Error(BaseModel):
    """An error of RFC 6749; its words are the server's, and are shown to nobody."""

    model_config = ConfigDict(extra="ignore")

    error: str = ""


class TokenAccess:
    """Owns the renewal that is under way."""

    def __init__(self, name: str, endpoint: Endpoint, kept: KeptTokens, http: AuthorizationHttp) -> None:
        assert endpoint.oauth is not None
        self.name = name
        self.endpoint = endpoint
        self.oauth: OAuthClient = endpoint.oauth
        self.kept = kept
        self.http = http
        self.server = resource_url_from_server_url(endpoint.url)
        self._renewing: asyncio.Task[str | TokenTrouble] | None = None

    def grant(self) -> Grant | None:
        """What is kept, as far as it fits to what the file says."""
        grant = self.kept.of(self.server, self.oauth.issuer)
        other_client = grant is not None and self.oauth.client_id not in ("", grant.client_id)
        return None if other_client else grant

    async def token(self) -> str:
        """One that has not expired.  Raises ``TokenTrouble``."""
        grant = self.grant()
        if grant is not None and self._lasts(grant):
            return grant.access_token.get_secret_value()
        return await self.renewed("")

    async def renewed(self, refused: str) -> str:
        """One in place of what the server has refused, '' for one that expired.  Raises ``TokenTrouble``."""
        if self._renewing is None or self._renewing.done():
            self._renewing = asyncio.create_task(self._renewed(refused), name=f"token for {self.name}")
        # whoever stops waiting does not stop it: the old token may have been spent already
        came = await asyncio.shield(self._renewing)
        if isinstance(came, TokenTrouble):
            raise came
        return came

    async def signed_in(self, grant: Grant) -> None:
        """Keep what a sign-in came to, in place of what was before.  Raises ``TokenTrouble``."""
        async with self.kept.alone(self.server, self.oauth.issuer):
            await self._keep(grant)

    async def sign_out(self) -> bool:
        """Forget what is kept; False where there is nothing.  Raises ``TokenTrouble``."""
        async with self.kept.alone(self.server, self.oauth.issuer):
            try:
                return self.kept.forget(self.server, self.oauth.issuer)
            except OSError as error:
                raise TokenTrouble(f"its token cannot be deleted ({error.strerror})") from error

    async def close(self) -> None:
        """Wait until what is under way is on the disk; what waits for another process is given up."""
        if self._renewing is not None:
            _, late = await asyncio.wait((self._renewing,), timeout=SECONDS)
            for each in late:
                each.cancel()

    def signed_out(self) -> str:
        """Why somebody has to sign in before it can be used, '' where nobody has to."""
        grant = self.grant()
        if grant is None:
            return "" if self.oauth.unattended else NOBODY
        return OVER.format(why=grant.refused) if grant.refused else ""

    def todo(self, why: str) -> str:
        """Why it cannot be used, and what to do."""
        return f"{why}. {TODO.format(again='' if why == NOBODY else ' again', name=self.name)}"

    # --- requests for tokens ---

    async def asked(self, grant: Grant, form: Mapping[str, str]) -> Grant:
        """The grant with the token that its issuer gives for this.  Raises ``TokenTrouble``, ``GrantRefused`` for a no."""
        at = time.time()
        form, headers = self._identified(grant, form)
        request = httpx2.Request("POST", grant.token_endpoint, data=form, headers=headers)
        answer = await self.http.send(request)
        host = urlsplit(grant.token_endpoint).hostname
        if answer.status_code not in (httpx2.codes.OK, httpx2.codes.CREATED):
            raise _refusal(answer, host)
        try:
            token = OAuthToken.model_validate_json(answer.content)
        except ValidationError:
            token = None
        if token is None or not _TOKEN.fullmatch(token.access_token):
            raise TokenTrouble(f"{host} answered with what is no token for it")
        last = token.expires_in
        return grant.model_copy(
            update={
                "access_token": SecretStr(token.access_token),
                "refresh_token": SecretStr(token.refresh_token) if token.refresh_token else grant.refresh_token,
                "expires_at": None if last is None else at + min(max(last, 0), LONGEST_SECONDS),
                "scope": token.scope or grant.scope,
                "refused": "",
            }
        )

    def _identified(self, grant: Grant, form: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
        """With who we are, by the way that was agreed on."""
        secret = grant.client_secret.get_secret_value() or self.oauth.client_secret
        filled = {**form, "client_id": grant.client_id, "resource": grant.resource}
        if grant.auth_method == "client_secret_post":
            return {**filled, "client_secret": secret}, {}
        if grant.auth_method == "client_secret_basic":
            both = f"{quote(grant.client_id, safe='')}:{quote(secret, safe='')}"
            return filled, {"Authorization": f"Basic {b64encode(both.encode()).decode()}"}
        return filled, {}

    async def _renewed(self, refused: str) -> str | TokenTrouble:
        try:
            async with self.kept.alone(self.server, self.oauth.issuer):
                grant = self.grant()
                if grant is not None and self._lasts(grant) and grant.access_token.get_secret_value() != refused:
                    return grant.access_token.get_secret_value()  # somebody else was faster
                fresh = await self._fresh(grant)
                await self._keep(fresh)
                return fresh.access_token.get_secret_value()
        except TokenTrouble as trouble:
            return trouble

    async def _fresh(self, grant: Grant | None) -> Grant:
        if self.oauth.unattended:
            return await self._by_secret(grant)
        if grant is None or grant.refused:
            raise TokenTrouble(self.todo(self.signed_out()))
        spent = grant.refresh_token.get_secret_value()
        try:
            if not spent:
                raise GrantRefused("its token has expired, and came without one to renew it")
            await self._keep(grant)  # where nothing can be written, the token that can be used once is not spent
            return await self.asked(grant, {"grant_type": "refresh_token", "refresh_token": spent})
        except GrantRefused as why:
            await self._keep(grant.model_copy(update={"refused": str(why), "refresh_token": SecretStr("")}))
            raise TokenTrouble(self.todo(OVER.format(why=why))) from None

    async def _by_secret(self, grant: Grant | None) -> Grant:
        """As ourselves, with the secret of the file."""
        if grant is None:
            place = await found(self.endpoint, self.http)
            methods = place.metadata.token_endpoint_auth_methods_supported or ["client_secret_basic"]
            post = "client_secret_basic" not in methods
            grant = Grant(
                server=self.server, resource=place.resource, issuer=place.issuer,
                token_endpoint=str(place.metadata.token_endpoint), client_id=self.oauth.client_id,
                auth_method="client_secret_post" if post else "client_secret_basic", access_token=SecretStr(""),
                scope=self.oauth.scopes or place.scope,
            )  # fmt: skip
        scope = {"scope": grant.scope} if grant.scope else {}
        try:
            return await self.asked(grant, {"grant_type": "client_credentials", **scope})
        except GrantRefused as why:
            raise TokenTrouble(
                f"{grant.issuer} does not accept the oauth.clientId and clientSecret of mcp.json ({why})"
            ) from None

    async def _keep(self, grant: Grant) -> None:
        try:
            await asyncio.to_thread(self.kept.keep, grant, self.oauth.issuer)
        except OSError as error:
            raise TokenTrouble(f"its token cannot be kept on the disk ({error.strerror})") from error

    def _lasts(self, grant: Grant) -> bool:
        token = grant.access_token.get_secret_value()
        return bool(token) and not grant.refused and (grant.expires_at is None or time.time() < grant.expires_at)


class GrantRefused(TokenTrouble):
    """An issuer gives no token for what it was shown, now or later; the message is its code for why."""


def _refusal(answer: httpx2.Response, host: str | None) -> TokenTrouble:
    try:
        code = _Error.model_validate_json(answer.content).error
    except ValidationError:
        code = ""
    if code in _OVER:
        return GrantRefused(code)
    told = f" ({code})" if _CODE.fullmatch(code) else ""
    return TokenTrouble(
        f"{host} did not renew its token, and answered with HTTP {answer.status_code}{told}; try again later"
    )
