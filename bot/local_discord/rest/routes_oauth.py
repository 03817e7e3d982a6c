"""The endpoint with which an application exchanges a code for a token.

https://docs.discord.com/developers/topics/oauth2: forms, not JSON; the client by HTTP Basic or in the form; errors as
RFC 6749 writes them, not as the rest of the API does.
"""

from __future__ import annotations

from base64 import b64decode
from urllib.parse import parse_qsl

from aiohttp import web

from bot.local_discord.model.json_fields import Json, encode
from bot.local_discord.rest.endpoint import PREFIX, Api
from bot.local_discord.rest.oauth_grants import TOKEN_SECONDS, OAuthRefused

FORM_BYTES = 16_384


class OAuthRoutes:
    """https://discord.com/developers/docs/topics/oauth2#authorization-code-grant"""

    def __init__(self, api: Api) -> None:
        self._grants = api.oauth

    def routes(self) -> list[web.RouteDef]:
        """Return the endpoint, with and without the API's version."""
        return [web.post(prefix + "/oauth2/token", self.token) for prefix in (PREFIX, "/api")]

    async def token(self, request: web.Request) -> web.Response:
        """A token for a code."""
        raw = await request.content.read(FORM_BYTES)
        form = dict(parse_qsl(raw.decode("utf-8", "replace"), max_num_fields=20))
        client = form.get("client_id", ""), form.get("client_secret", "")
        if header := request.headers.get("Authorization"):
            client = _basic(header)
        if not self._grants.knows(*client):
            return _as_json({"error": "invalid_client"}, 401)
        try:
            token = self._grants.exchange(form)
        except OAuthRefused as refused:
            return _as_json({"error": refused.error, "error_description": str(refused)}, 400)
        return _as_json(
            {"token_type": "Bearer", "access_token": token, "expires_in": TOKEN_SECONDS, "scope": "identify"}, 200
        )


def _basic(header: str) -> tuple[str, str]:
    try:
        name, _, secret = b64decode(header.removeprefix("Basic "), validate=True).decode().partition(":")
    except ValueError:
        return "", ""
    return name, secret


def _as_json(body: Json, status: int) -> web.Response:
    headers = {"Cache-Control": "no-store"}
    return web.Response(body=encode(body), status=status, headers=headers, content_type="application/json")
