"""A server over streamable HTTP, with a token where somebody signed in to it.

A redirect is followed by the SDK within one origin only, and comes through the guard again.  A token goes to the server's
own address and nowhere else; where it is refused before anything was done (HTTP 401), it is renewed and the request is made
once more, never twice.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import cast

import httpx2
from mcp.client._transport import TransportStreams
from mcp.client.streamable_http import streamable_http_client

from agentic.mcp_client.guarded_http import CONNECT_SECONDS, GuardedTransport, Resolve, resolved
from agentic.mcp_client.oauth.kept_tokens import TokenTrouble
from agentic.mcp_client.oauth.token_access import NOT_TAKEN, TokenAccess
from agentic.mcp_client.server_file import Endpoint

EVENT_BYTES = 8 << 20
LEAST = 8
"""Characters of a token that is looked for in answers: a shorter one is too likely to be an ordinary word."""
_UNAUTHORIZED, _FORBIDDEN = 401, 403
MORE_RIGHTS = "it wants rights that the sign-in did not give; name them in oauth.scopes of mcp.json, and sign in again"


class SignedTransport(httpx2.AsyncBaseTransport):
    """Sends each request with the token of its server; remembers why the last one could not be."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, access: TokenAccess) -> None:
        self._inner = inner
        self._access = access
        self._url = httpx2.URL(access.endpoint.url)
        self.trouble = ""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send it; without a token it is answered here, so that a request beside it on its way is not lost."""
        if not self._is_own(request.url):
            return await self._inner.handle_async_request(request)
        try:
            token = await self._access.token()
            response = await self._sent(request, token)
            if response.status_code == _UNAUTHORIZED:
                await response.aclose()
                token = await self._access.renewed(token)
                response = await self._sent(request, token)
        except TokenTrouble as trouble:
            self.trouble = str(trouble)
            return httpx2.Response(_UNAUTHORIZED)
        self.trouble = ""
        if response.status_code == _UNAUTHORIZED:
            self.trouble = self._access.todo(NOT_TAKEN)
        elif response.status_code == _FORBIDDEN and "insufficient_scope" in response.headers.get(
            "WWW-Authenticate", ""
        ):
            self.trouble = MORE_RIGHTS
        return response

    async def aclose(self) -> None:
        """Let go of connections."""
        await self._inner.aclose()

    async def _sent(self, request: httpx2.Request, token: str) -> httpx2.Response:
        headers = request.headers.copy()  # the request itself would take the token along when it is sent on elsewhere
        headers["Authorization"] = f"Bearer {token}"
        headers["Accept-Encoding"] = "identity"
        signed = httpx2.Request(
            request.method, request.url, headers=headers, stream=request.stream, extensions=request.extensions
        )
        response = await self._inner.handle_async_request(signed)
        if len(token) < LEAST:
            return response
        stream = _WithoutToken(cast(AsyncIterator[bytes], response.stream), response.stream, token.encode())
        return httpx2.Response(
            response.status_code, headers=response.headers, stream=stream, extensions=response.extensions
        )

    def _is_own(self, url: httpx2.URL) -> bool:
        """Whether it is the server's own address, whatever slash it ends with."""
        own = self._url
        there, here = ((each.scheme, each.host, each.port, each.path.rstrip("/")) for each in (url, own))
        return there == here


class _WithoutToken(httpx2.AsyncByteStream):
    """An answer in which the token that was sent does not stand: some servers repeat what they were sent."""

    def __init__(self, pieces: AsyncIterator[bytes], whole: object, token: bytes) -> None:
        self._pieces = pieces
        self._whole = whole
        self._token = token

    async def __aiter__(self) -> AsyncIterator[bytes]:
        held, hidden = b"", b"*" * len(self._token)
        async for piece in self._pieces:
            text = (held + piece).replace(self._token, hidden)
            keep = self._begun(text)
            held, text = text[len(text) - keep :], text[: len(text) - keep]
            if text:
                yield text
        if held:
            yield held

    def _begun(self, text: bytes) -> int:
        """How many bytes at the end may be the beginning of the token."""
        at = max(0, len(text) - len(self._token) + 1)
        while (at := text.find(self._token[:1], at)) >= 0:
            if self._token.startswith(text[at:]):
                return len(text) - at
            at += 1
        return 0

    async def aclose(self) -> None:
        if isinstance(self._whole, httpx2.AsyncByteStream):
            await self._whole.aclose()


class HttpServer:
    """A server over streamable HTTP; afterwards it knows why that ended."""

    def __init__(
        self,
        endpoint: Endpoint,
        seconds: float,
        access: TokenAccess | None = None,
        resolve: Resolve = resolved,
    ) -> None:
        self._endpoint = endpoint
        self._seconds = seconds
        own = frozenset((endpoint.host,) if endpoint.private else ())
        self._transport = GuardedTransport(own, resolve)
        self._signed = SignedTransport(self._transport, access) if access is not None else None

    @property
    def why(self) -> str:
        """What is known of why it does not answer, '' for nothing."""
        if self._signed is not None and self._signed.trouble:
            return self._signed.trouble
        status = self._transport.status
        asks = (
            " It asks who you are: check the headers of this server in mcp.json, or set oauth there."
            if status in (_UNAUTHORIZED, _FORBIDDEN)
            else ""
        )
        return f"it answered with HTTP {status}.{asks}" if status else ""

    @property
    def gateway_failed(self) -> bool:
        """The last answer was an error of which nobody knows whether the request arrived."""
        unsent = self._signed is not None and self._signed.trouble
        return not unsent and self._transport.status >= httpx2.codes.INTERNAL_SERVER_ERROR

    @asynccontextmanager
    async def streams(self) -> AsyncGenerator[TransportStreams]:
        """The transport."""
        headers: Mapping[str, str] = self._endpoint.headers
        timeout = httpx2.Timeout(CONNECT_SECONDS, read=self._seconds + CONNECT_SECONDS)
        client = httpx2.AsyncClient(
            transport=self._signed or self._transport, headers=headers, timeout=timeout, trust_env=False
        )
        async with (
            client,
            streamable_http_client(self._endpoint.url, http_client=client, max_sse_event_size=EVENT_BYTES) as streams,
        ):
            yield streams
