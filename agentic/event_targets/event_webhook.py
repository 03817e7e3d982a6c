"""Events as signed HTTP requests, by the rules of Standard Webhooks (standardwebhooks.com), one event a request.

``webhook-id`` is the event's key.  ``webhook-signature`` is an HMAC-SHA256 over id, time and body, so what is sent later or
elsewhere again can be told.  Where a request goes is judged as for the web's tools: never to an address of a private network,
unless the owner named that host.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
from collections.abc import AsyncIterator, Callable, Sequence
from urllib.parse import urlsplit

from agentic.core.outside.outside_events import AnyOutsideEvent, as_json
from agentic.egress.host_list import HTTP, HTTPS, Authority, HostList, NoHost, host_name
from agentic.event_targets.event_target import EventTarget, NotDelivered, waves
from agentic.web.web_client import Asker, WebClient, WebRequest, WebTrouble

SECRET_PREFIX = "whsec_"  # noqa: S105 - the form, not a secret
SECRET_BYTES = 24
MAKE_SECRET = 'echo "whsec_$(openssl rand -base64 32)"'  # noqa: S105 - how to make one
SIDE_BY_SIDE = 8
"""Requests at a time, each for another execution."""
TAKEN = range(200, 300)
_MEANING = {
    401: "it refuses the signature: give it the secret in THREADWRIGHT_EVENTS_WEBHOOK_SECRET",
    403: "it refuses the signature: give it the secret in THREADWRIGHT_EVENTS_WEBHOOK_SECRET",
    404: "there is nothing at that address: correct THREADWRIGHT_EVENTS_WEBHOOK",
    410: "it wants no events any more: take THREADWRIGHT_EVENTS_WEBHOOK out",
}


def key_from(secret: str) -> bytes:
    """The key that a secret stands for.  Raises ``ValueError``."""
    try:
        key = base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not secret.startswith(SECRET_PREFIX) or len(key) < SECRET_BYTES:
        raise ValueError(f"it is whsec_ and at least {SECRET_BYTES} bytes in base64; make one with: {MAKE_SECRET}")
    return key


def check_address(url: str, own: frozenset[Authority]) -> None:
    """Raise ``ValueError`` for an address that no event could be sent to; ``own``: hosts of the own network that may be."""
    try:
        at = urlsplit(url)
        named = Authority(host_name(at.hostname or ""), at.port or (HTTPS if at.scheme == "https" else HTTP))
    except NoHost as wrong:
        raise ValueError(f"{wrong}; write https://host/path") from None
    except ValueError:
        raise ValueError("it is no address that can be read; write https://host/path") from None
    if at.scheme not in ("https", "http") or at.username is not None or at.password is not None:
        raise ValueError("it is an address that begins with https://, without a name or password in it")
    if named in own:
        return
    if at.scheme == "http":
        raise ValueError(
            f"it sends events in the open: write https://, or name {named} in THREADWRIGHT_NETWORK_PRIVATE"
        )
    if named.port != HTTPS:
        raise ValueError(
            f"only port 443 is open for https: name {named} in THREADWRIGHT_NETWORK_PRIVATE to allow another"
        )


def signature(key: bytes, id: str, timestamp: str, body: bytes) -> str:
    """What the header ``webhook-signature`` says."""
    signed = hmac.new(key, f"{id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(signed).decode()}"


class EventWebhook(EventTarget):
    """Posts events; ``seconds`` is the time of the machine since 1970."""

    name = "webhook"

    def __init__(self, url: str, key: bytes, client: WebClient, seconds: Callable[[], float]) -> None:
        self._url, self._key, self._client, self._seconds = url, key, client, seconds
        self._asker = Asker()
        self.place = urlsplit(url).hostname or ""
        self._hosts = HostList(frozenset({host_name(self.place)}))

    async def deliver(self, events: Sequence[AnyOutsideEvent]) -> AsyncIterator[str]:
        """Post them, several executions side by side; the first that is not taken ends it."""
        for wave in waves(events, SIDE_BY_SIDE):
            problems = await asyncio.gather(*(self._post(event) for event in wave))
            for event, problem in zip(wave, problems, strict=True):
                if not problem:
                    yield event.key
            for problem in filter(None, problems):
                raise NotDelivered(problem)

    async def close(self) -> None:
        """Look up no more names."""
        self._client.close()

    async def _post(self, event: AnyOutsideEvent) -> str:
        """Why it was not taken; '' where it was."""
        body, timestamp = as_json(event), str(int(self._seconds()))
        headers = (
            ("Content-Type", "application/json"),
            ("webhook-id", event.key),
            ("webhook-timestamp", timestamp),
            ("webhook-signature", signature(self._key, event.key, timestamp, body)),
        )
        try:
            answer = await self._client.send(WebRequest(self._url, "POST", headers, body), self._policy, self._asker)
        except WebTrouble as trouble:
            return f"{trouble}. Look at THREADWRIGHT_EVENTS_WEBHOOK, and whether that host is up"
        if answer.status in TAKEN:
            return ""
        return f"{self.place} answered {answer.status}: {_MEANING.get(answer.status, 'look at its log')}"

    async def _policy(self) -> HostList:
        return self._hosts
