"""Deliveries of webhooks, signed as GitHub and Forgejo sign theirs."""

from __future__ import annotations

import hashlib
import hmac
import json
import uuid
from dataclasses import dataclass, field
from typing import Literal

import aiohttp

SECONDS = 10.0


@dataclass(slots=True)
class Webhook:
    """Who is told of what happens at the forge."""

    address: str
    secret: str
    kind: Literal["github", "forgejo"] = "github"
    answers: list[int] = field(default_factory=list[int])
    """The status that each delivery was answered with; 0 where it did not arrive."""


async def send(webhook: Webhook, event: str, repository: str) -> None:
    """Deliver one event of a repository."""
    owner, _, name = repository.partition("/")
    body = json.dumps(
        {"action": "completed", "repository": {"full_name": repository, "name": name, "owner": {"login": owner}}}
    ).encode()
    headers = {"Content-Type": "application/json", **signed(webhook, body), **_named(webhook, event)}
    try:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=SECONDS)) as session,
            session.post(webhook.address, data=body, headers=headers) as answer,
        ):
            webhook.answers.append(answer.status)
    except (aiohttp.ClientError, TimeoutError, OSError):
        webhook.answers.append(0)


def signed(webhook: Webhook, body: bytes) -> dict[str, str]:
    """The signatures that this kind of host sends with a body."""
    signature = hmac.new(webhook.secret.encode(), body, hashlib.sha256).hexdigest()
    if webhook.kind == "github":
        return {"X-Hub-Signature-256": f"sha256={signature}"}
    return {"X-Forgejo-Signature": signature, "X-Gitea-Signature": signature}


def _named(webhook: Webhook, event: str) -> dict[str, str]:
    title = "GitHub" if webhook.kind == "github" else "Forgejo"
    return {f"X-{title}-Event": event, f"X-{title}-Delivery": str(uuid.uuid4())}
