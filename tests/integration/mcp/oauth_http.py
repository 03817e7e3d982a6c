"""The odd server behind a sign-in, and the authorization server that it names, both on loopback.

It does what real ones do: registers clients, checks PKCE, redirect and resource, takes each token for renewal once and
withdraws all that came of a sign-in where one comes twice.  What it should get wrong is a field.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import secrets
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import parse_qs, urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

import pytest

from .odd_http import OddHttp

Json = dict[str, Any]


@dataclass
class SignIns:
    """An authorization server; ``asked`` holds each request for a token."""

    clients: dict[str, Json] = field(default_factory=dict[str, Json])
    codes: dict[str, Json] = field(default_factory=dict[str, Json])
    access: dict[str, str] = field(default_factory=dict[str, str])
    """The resource that each good token is for."""
    renewals: dict[str, bool] = field(default_factory=dict[str, bool])
    """Each token for renewal, and whether it was used."""
    asked: list[Json] = field(default_factory=list[Json])
    seconds: int = 3600
    issuer: str = ""
    audience: str = ""
    """For whom tokens are, instead of for whom they were asked."""
    refuses: str = ""
    declines: bool = False
    lose: int = 0
    """So many answers to renewals are lost on the way."""
    forgives: bool = False
    """One that comes twice is taken: its answer may have been lost."""
    wrong_iss: str = ""
    metadata: Json = field(default_factory=dict[str, Any])
    """Said of itself instead."""
    held: threading.Event | None = None
    """Renewals wait for it."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def describe(self) -> Json:
        """Its metadata."""
        return {
            "issuer": self.issuer, "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token", "registration_endpoint": f"{self.issuer}/register",
            "code_challenge_methods_supported": ["S256"], "authorization_response_iss_parameter_supported": True,
            "token_endpoint_auth_methods_supported": ["none", "client_secret_basic"], **self.metadata,
        }  # fmt: skip

    def authorize(self, asked: dict[str, str]) -> str:
        """A person says yes: where their browser is sent to."""
        assert asked["redirect_uri"] in self.clients[asked["client_id"]]["redirect_uris"]
        assert asked["code_challenge_method"] == "S256"
        code = secrets.token_urlsafe(16)
        self.codes[code] = asked
        said = {"error": "access_denied"} if self.declines else {"code": code}
        back = {**said, "state": asked["state"], "iss": self.wrong_iss or self.issuer}
        return f"{asked['redirect_uri']}?{urlencode(back)}"

    def token(self, form: dict[str, str], basic: str) -> tuple[int, Json, bool]:
        """Status, answer, and whether it is lost on the way."""
        with self.lock:
            self.asked.append({**form, "basic": basic})
            if self.refuses:
                return 400, {"error": self.refuses, "error_description": "secret words"}, False
            resource = form["resource"]
            if form["grant_type"] == "client_credentials":
                if basic != base64.b64encode(b"us:our-secret").decode():
                    return 401, {"error": "invalid_client"}, False
                return 200, self.issue(resource, renews=False), False
            if form["grant_type"] == "authorization_code":
                asked = self.codes.pop(form["code"], None)
                digest = hashlib.sha256(form["code_verifier"].encode()).digest()
                challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
                if asked is None or asked["code_challenge"] != challenge or asked["resource"] != resource:
                    return 400, {"error": "invalid_grant"}, False
                return 200, self.issue(resource), False
            spent = self.renewals.get(form["refresh_token"])
            if spent is None or (spent and not self.forgives):
                self.access.clear()
                self.renewals.clear()
                return 400, {"error": "invalid_grant"}, False
            self.renewals[form["refresh_token"]] = True
            lost, self.lose = self.lose > 0, max(self.lose - 1, 0)
            return 200, self.issue(resource), lost

    def issue(self, resource: str, *, renews: bool = True) -> Json:
        """New tokens."""
        token, renewal = f"at-{secrets.token_urlsafe(24)}", f"rt-{secrets.token_urlsafe(24)}"
        self.access[token] = self.audience or resource
        given = {"access_token": token, "token_type": "bearer", "expires_in": self.seconds}
        if renews:
            self.renewals[renewal] = False
            given["refresh_token"] = renewal
        return given

    @property
    def renewed(self) -> int:
        """How often a renewal was asked for."""
        return [each["grant_type"] for each in self.asked].count("refresh_token")


class GuardedOdd(OddHttp):
    """Answers 401 to whoever is not signed in; ``moved`` sends calls elsewhere."""

    def __init__(self, folder: Path, *flags: str) -> None:
        super().__init__(folder, *flags)
        self.sign_ins = SignIns()
        self.named: list[str] = []
        """The issuers that it names."""
        self.moved = ""
        self.arrived: list[str] = []
        """What came to where it was moved."""
        self.elsewhere: list[str] = []
        """What came to another place of its own."""
        self.refused = 0
        self.echoes = False
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                outer.post(self)

            def do_GET(self) -> None:
                outer.get(self)

            def log_message(self, *_: object) -> None:
                pass

        self.issuer_server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.issuer_server.daemon_threads = True
        self.sign_ins.issuer = f"http://127.0.0.1:{self.issuer_server.server_address[1]}"
        self.named = [self.sign_ins.issuer]
        threading.Thread(target=self.issuer_server.serve_forever, daemon=True).start()

    def get(self, request: BaseHTTPRequestHandler) -> None:
        """Metadata, and a person's browser."""
        parts = urlsplit(request.path)
        if parts.path == "/.well-known/oauth-protected-resource":
            self.reply(request, 200, {"resource": self.url, "authorization_servers": self.named})
        elif parts.path == "/.well-known/oauth-authorization-server":
            self.reply(request, 200, self.sign_ins.describe())
        elif parts.path == "/authorize":
            asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
            self.reply(request, 302, {}, Location=self.sign_ins.authorize(asked))
        else:
            self.reply(request, 404, {})

    def post(self, request: BaseHTTPRequestHandler) -> None:
        """Registration, tokens, and where calls were moved to."""
        body = request.rfile.read(int(request.headers["Content-Length"])).decode()
        if request.path == "/register":
            client = f"client{len(self.sign_ins.clients)}"
            self.sign_ins.clients[client] = json.loads(body)
            self.reply(request, 201, {**json.loads(body), "client_id": client})
        elif request.path == "/token":
            form = {name: values[0] for name, values in parse_qs(body).items()}
            if form["grant_type"] == "refresh_token" and self.sign_ins.held is not None:
                self.sign_ins.held.wait(60)
            basic = request.headers.get("Authorization", "").removeprefix("Basic ")
            status, answer, lost = self.sign_ins.token(form, basic)
            if lost:
                request.close_connection = True
            else:
                self.reply(request, status, answer)
        else:
            self.arrived.append(request.headers.get("Authorization", ""))
            self.reply(request, 404, {})

    def serve(self, request: BaseHTTPRequestHandler) -> None:
        """One POST to the server itself."""
        if urlsplit(request.path).path != "/mcp":
            request.rfile.read(int(request.headers["Content-Length"]))
            self.elsewhere.append(request.headers.get("Authorization", ""))
            self.reply(request, 404, {})
            return
        given = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if self.sign_ins.access.get(given) != self.url:
            request.rfile.read(int(request.headers["Content-Length"]))
            self.refused += 1
            where = f"{self.sign_ins.issuer}/.well-known/oauth-protected-resource"
            self.reply(request, 401, {}, **{"WWW-Authenticate": f'Bearer resource_metadata="{where}", scope="tools"'})
        elif self.moved:
            request.rfile.read(int(request.headers["Content-Length"]))
            self.reply(request, 307, {}, Location=self.moved)
        elif self.echoes:
            message = json.loads(request.rfile.read(int(request.headers["Content-Length"])))
            self.reply(request, 200, self.odd.text(message.get("id"), f"You sent {given}"))
        else:
            super().serve(request)

    def reply(self, request: BaseHTTPRequestHandler, status: int, answer: Json, **headers: str) -> None:
        """JSON."""
        body = json.dumps(answer).encode()
        with contextlib.suppress(OSError):
            request.send_response(status)
            for name, value in {
                "Content-Type": "application/json",
                "Content-Length": str(len(body)),
                **headers,
            }.items():
                request.send_header(name, value)
            request.end_headers()
            request.wfile.write(body)

    def close(self) -> None:
        """End both."""
        self.issuer_server.shutdown()
        self.issuer_server.server_close()
        super().close()


class _Stay(HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> Request | None:
        """Follow nothing."""
        return None


def browse(address: str, *, back: bool = True) -> str:
    """A person opens the address and says yes; where the browser ends, and whether it gets there."""
    with pytest.raises(HTTPError) as sent:
        build_opener(_Stay).open(address, timeout=60)
    there = str(sent.value.headers["Location"])
    sent.value.close()
    if back:
        assert knock(there) == 200
    return there


def knock(address: str) -> int:
    """A browser goes there; the status."""
    try:
        with build_opener().open(address, timeout=60) as page:
            return int(page.status)
    except HTTPError as refused:
        with refused:
            return refused.code


@contextlib.contextmanager
def guarded_odd(folder: Path, *flags: str) -> Iterator[GuardedOdd]:
    """Both on loopback, closed afterwards."""
    server = GuardedOdd(folder, *flags)
    try:
        yield server
    finally:
        server.close()
