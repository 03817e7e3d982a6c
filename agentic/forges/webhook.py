"""Deliveries of GitHub's, Forgejo's and Gitea's webhooks: whether one is signed, and which repository it names; pure.

Nothing else in a delivery is read. What happened is asked of the host, so one that is forged, doubled, lost or late
changes nothing.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from ipaddress import ip_address
from urllib.parse import unquote_to_bytes

from pydantic import BaseModel, Field, ValidationError

SIGNATURES = ("X-Hub-Signature-256", "X-Forgejo-Signature", "X-Gitea-Signature")
"""Headers with the HMAC-SHA256 of the body: GitHub's begins with ``sha256=``."""
SECRET_CHARACTERS = 16
_FORM = b"payload="


class _Named(BaseModel):
    full_name: str = Field(max_length=200)


class _Delivery(BaseModel):
    repository: _Named


def is_signed(headers: Mapping[str, str], body: bytes, secret: str) -> bool:
    """Whether whoever sent it knows the secret; takes the same time for every wrong signature."""
    right = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest().encode()
    given = [headers[name].removeprefix("sha256=").encode("utf-8", "replace") for name in SIGNATURES if name in headers]
    return any(hmac.compare_digest(right, each) for each in given)


def repository_named(body: bytes) -> str:
    """The ``owner/name`` that a delivery is about, '' for none; it comes as JSON, or as a form that holds JSON."""
    if body.startswith(_FORM):
        body = unquote_to_bytes(body.removeprefix(_FORM).replace(b"+", b" "))
    try:
        return _Delivery.model_validate_json(body).repository.full_name
    except ValidationError:
        return ""


def address_from(written: str, usual_port: int = 8091, least: int = 1) -> tuple[str, int]:
    """Where to listen, from ``127.0.0.1:8091``; with a ``least`` of 0 the port may be 0, for any that is free.

    Raises ``ValueError``, which says what to write.
    """
    host, _, port = written.strip().rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not (port.isascii() and port.isdecimal() and least <= int(port[:6]) < 65_536):
        raise ValueError(f"{written[:60]!r} has no port from {least} to 65535; write 127.0.0.1:{usual_port}")
    if host == "localhost":
        return host, int(port)
    try:
        return str(ip_address(host)), int(port)
    except ValueError:
        raise ValueError(
            f"{written[:60]!r} names no address of this machine; write 127.0.0.1:{port}, or 0.0.0.0:{port} for every address"
        ) from None
