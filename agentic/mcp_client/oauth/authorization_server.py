"""Authorization servers: which one a server of tools names, where it takes requests, and the requests themselves.

What a server says of where one signs in is a stranger's word.  So nothing is asked at an address of a private network that
the file does not name, nothing in the clear but on this machine, no redirect is followed, and who the issuer is has to
stand in its own metadata (RFC 8414) as in the server's (RFC 9728).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

import httpx2
from mcp.client.auth.utils import (
    build_oauth_authorization_server_metadata_discovery_urls,
    build_protected_resource_metadata_discovery_urls,
    create_oauth_metadata_request,
    extract_resource_metadata_from_www_auth,
    extract_scope_from_www_auth,
    get_client_metadata_scopes,
    handle_auth_metadata_response,
    handle_protected_resource_response,
    issuers_match,
)
from mcp.shared.auth import OAuthMetadata, ProtectedResourceMetadata
from mcp.shared.auth_utils import check_resource_allowed, resource_url_from_server_url
from mcp_types import LATEST_PROTOCOL_VERSION

from agentic.egress.addresses import refusal
from agentic.mcp_client.guarded_http import GuardedTransport, Resolve, resolved
from agentic.mcp_client.oauth.kept_tokens import TokenTrouble
from agentic.mcp_client.server_file import Endpoint, on_this_machine

SECONDS = 15.0
ANSWER_BYTES = 256 * 1024
_HELLO = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {
        "protocolVersion": LATEST_PROTOCOL_VERSION, "capabilities": {},
        "clientInfo": {"name": "threadwright", "version": "0.1.0"},
    },
}  # fmt: skip
_UNREACHED = httpx2.HTTPError, httpx2.StreamError, httpx2.InvalidURL, OSError


@dataclass(frozen=True, slots=True)
class SignInPlace:
    """Where one signs in to a server, and what for."""

    issuer: str
    resource: str
    metadata: OAuthMetadata
    scope: str
    """What is asked for where the file names no scopes."""


class AuthorizationHttp:
    """Requests to the authorization server of one server, one connection each."""

    def __init__(self, endpoint: Endpoint, resolve: Resolve = resolved) -> None:
        named = urlsplit(endpoint.oauth.issuer).hostname if endpoint.oauth is not None else None
        self._endpoint = endpoint
        self._own = frozenset(filter(None, (endpoint.host if endpoint.private else "", (named or "").lower())))
        self._resolve = resolve

    def check(self, url: str) -> None:
        """Raises ``TokenTrouble`` where nobody is sent to this address, neither we nor a browser."""
        parts = urlsplit(url)
        host = (parts.hostname or "").lower()
        why = _literal(host, own_network=host in self._own)
        if (
            parts.username
            or parts.password
            or not url.isprintable()
            or not url.isascii()
            or set(url) & set(" <>\"'`\\")
        ):
            why = "it is written in a way that misleads"
        elif parts.scheme != "https" and not (parts.scheme == "http" and on_this_machine(host) and host in self._own):
            why = "it is no https:// one"
        if why:
            raise TokenTrouble(f"the address {parts.scheme}://{host} that it names for signing in is not used: {why}")

    async def send(self, request: httpx2.Request) -> httpx2.Response:
        """The answer, read whole; a redirect is an answer.  Raises ``TokenTrouble`` where there is none."""
        self.check(str(request.url))
        transport = GuardedTransport(self._own, self._resolve)
        host = request.url.host
        try:
            async with (
                asyncio.timeout(SECONDS),
                httpx2.AsyncClient(transport=transport, timeout=SECONDS, trust_env=False) as client,
                client.stream(
                    request.method, request.url, headers=request.headers, content=await request.aread()
                ) as answer,
            ):
                return httpx2.Response(answer.status_code, headers=_plain(answer), content=await _read(answer))
        except _UNREACHED as error:
            raise TokenTrouble(f"{host}, where one signs in to it, did not answer: {_words(error)}") from None

    async def challenge(self) -> httpx2.Response:
        """What the server says to whoever is not signed in.  Raises ``TokenTrouble``."""
        headers = {
            **self._endpoint.headers, "Accept": "application/json, text/event-stream", "Content-Type": "application/json",
        }  # fmt: skip
        transport = GuardedTransport(self._own, self._resolve)
        try:
            async with (
                asyncio.timeout(SECONDS),
                httpx2.AsyncClient(transport=transport, timeout=SECONDS, trust_env=False) as client,
                client.stream("POST", self._endpoint.url, headers=headers, content=json.dumps(_HELLO)) as answer,
            ):
                return httpx2.Response(answer.status_code, headers=answer.headers)
        except _UNREACHED as error:
            raise TokenTrouble(f"it did not answer: {_words(error)}") from None


async def found(endpoint: Endpoint, http: AuthorizationHttp, before: str = "") -> SignInPlace:
    """Where one signs in; of several, the issuer that the file names or that it was ``before``.  Raises ``TokenTrouble``."""
    oauth = endpoint.oauth
    assert oauth is not None
    challenge = await http.challenge()
    protected = await _protected(endpoint, http, extract_resource_metadata_from_www_auth(challenge))
    named = [str(each) for each in protected.authorization_servers] if protected is not None else []
    origin = _origin(endpoint.url)
    wished = oauth.issuer or before
    issuer = next((each for each in named if wished and issuers_match(each, wished)), named[0] if named else origin)
    if oauth.issuer and not issuers_match(issuer, oauth.issuer):
        raise TokenTrouble(
            f"it sends one to {issuer} to sign in, and mcp.json names {oauth.issuer}; nothing was sent there"
        )
    metadata = await _metadata(http, issuer if named else None, endpoint.url, issuer)
    grants = ["client_credentials"] if oauth.unattended else ["authorization_code", "refresh_token"]
    scope = get_client_metadata_scopes(extract_scope_from_www_auth(challenge), protected, metadata, grants)
    resource = str(protected.resource) if protected is not None else resource_url_from_server_url(endpoint.url)
    return SignInPlace(str(metadata.issuer), resource, metadata, scope or "")


async def _protected(endpoint: Endpoint, http: AuthorizationHttp, told: str | None) -> ProtectedResourceMetadata | None:
    """What the server says of itself; None where it says nothing, as before 2025-06-18."""
    here = resource_url_from_server_url(endpoint.url)
    for url in build_protected_resource_metadata_discovery_urls(told, endpoint.url):
        answer = await http.send(create_oauth_metadata_request(url))
        if answer.status_code >= httpx2.codes.INTERNAL_SERVER_ERROR:
            raise TokenTrouble(
                f"it answered with HTTP {answer.status_code} when asked where one signs in; try again later"
            )
        protected = await handle_protected_resource_response(answer)
        if protected is None:
            continue
        if not check_resource_allowed(requested_resource=here, configured_resource=str(protected.resource)):
            raise TokenTrouble(f"it calls itself {protected.resource}, which it is not; nobody signs in there")
        return protected
    return None


async def _metadata(http: AuthorizationHttp, named: str | None, url: str, issuer: str) -> OAuthMetadata:
    for place in build_oauth_authorization_server_metadata_discovery_urls(named, url):
        ok, metadata = await handle_auth_metadata_response(await http.send(create_oauth_metadata_request(place)))
        if not ok:
            raise TokenTrouble(f"{issuer}, where one signs in to it, cannot be asked now; try again later")
        if metadata is None:
            continue
        if not issuers_match(str(metadata.issuer), issuer):
            raise TokenTrouble(f"{issuer} says that it is {metadata.issuer}; nobody signs in there")
        for address in (metadata.authorization_endpoint, metadata.token_endpoint, metadata.registration_endpoint):
            if address is not None:
                http.check(str(address))
        return metadata
    raise TokenTrouble(f"{issuer}, where one signs in to it, does not say how (RFC 8414)")


def _words(error: Exception) -> str:
    return str(error).rstrip(".") or type(error).__name__


def _literal(host: str, *, own_network: bool) -> str:
    """Why a host that is written as an address is not used."""
    if on_this_machine(host):
        return "" if own_network else "it is this machine"
    try:
        ip_address(host)
    except ValueError:
        return ""
    return refusal(host, own_network=own_network)


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _plain(answer: httpx2.Response) -> Mapping[str, str]:
    """Its headers, without those of how it was packed: it is unpacked."""
    return {"Content-Type": answer.headers.get("Content-Type", "")}


async def _read(answer: httpx2.Response) -> bytes:
    read = bytearray()
    async for piece in answer.aiter_bytes():
        read += piece
        if len(read) > ANSWER_BYTES:
            raise httpx2.StreamError(f"its answer has more than {ANSWER_BYTES // 1024} KB")
    return bytes(read)
