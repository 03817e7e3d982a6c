"""The file that names the servers, in the shape that other clients use; what is wrong in it is said, server by server.

    {"mcpServers": {"time":    {"command": "uvx", "args": ["mcp-server-time"], "readOnly": ["*"]},
                    "tracker": {"url": "https://tracker.example.org/mcp",
                                "headers": {"Authorization": "Bearer ${TRACKER_TOKEN}"}, "tools": ["search", "create_*"]},
                    "desk":    {"url": "https://desk.example.org/mcp", "oauth": true}}}

Whoever owns the machine writes it, and nobody else: what it says of a server (that a tool only reads, that it may be called
twice) is believed only together with what the server says of itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from ipaddress import ip_address
from pathlib import Path
from typing import Literal, cast
from urllib.parse import SplitResult, urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError

FILE = "mcp.json"
MOST_SERVERS = 32
FILE_BYTES = 256 * 1024
SECONDS = 60.0
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]|_(?!_)){0,31}")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]{0,100})\}")
_LOCAL = ("localhost", "localhost.")


class _WrittenOAuth(BaseModel):
    """How one signs in to a server, as it stands in the file."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    client_id: str = Field(default="", alias="clientId", max_length=2_000)
    client_secret: str = Field(default="", alias="clientSecret")
    scopes: str = Field(default="", max_length=2_000)
    issuer: str = Field(default="", max_length=2_000)
    callback_port: int = Field(default=0, alias="callbackPort", ge=0, le=65_535)
    grant: Literal["authorization_code", "client_credentials"] = "authorization_code"


class _Written(BaseModel):
    """One server as it stands in the file; what only other clients know is passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    type: str = ""
    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = Field(default_factory=dict)
    cwd: str = "."
    url: str = ""
    headers: dict[str, str] = Field(default_factory=dict)
    disabled: bool = False
    tools: tuple[str, ...] = ("*",)
    read_only: tuple[str, ...] = Field(default=(), alias="readOnly")
    idempotent: tuple[str, ...] = ()
    timeout: float = Field(default=SECONDS, ge=1, le=3600)
    private: bool = False
    oauth: _WrittenOAuth | bool | None = None


@dataclass(frozen=True, slots=True)
class Launch:
    """A server that runs in the sandbox of the thread that uses it."""

    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    cwd: str = "."


@dataclass(frozen=True, slots=True)
class OAuthClient:
    """How one signs in to a server: what is '' is found out, registered or agreed to when somebody does."""

    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    scopes: str = ""
    issuer: str = ""
    """The only authorization server that may be used; a secret has one."""
    port: int = 0
    """Where on this machine the browser comes back to."""
    unattended: bool = False
    """It signs in by its own secret, with nobody there."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server that is reached over HTTP; ``headers`` may hold secrets and are shown nowhere."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    private: bool = False
    """Its host may have an address of a private network."""
    oauth: OAuthClient | None = None
    """Somebody has to sign in to it."""

    @property
    def host(self) -> str:
        """The host, in lower case."""
        return (urlsplit(self.url).hostname or "").lower()


@dataclass(frozen=True, slots=True)
class McpServer:
    """One server, and how far the owner of the machine trusts it."""

    name: str
    reached: Launch | Endpoint
    tools: tuple[str, ...] = ("*",)
    read_only: tuple[str, ...] = ()
    idempotent: tuple[str, ...] = ()
    seconds: float = SECONDS
    """How long it may take to start, and for one call."""

    def allows(self, tool: str) -> bool:
        """Whether the owner lets a tool be used at all."""
        return _listed(tool, self.tools)

    def reads(self, tool: str) -> bool:
        """Whether the owner says that it only reads."""
        return _listed(tool, self.read_only)

    def repeats(self, tool: str) -> bool:
        """Whether the owner says that calling it twice does what calling it once does."""
        return _listed(tool, self.idempotent)

    @property
    def shows_private(self) -> bool:
        """What it answers may not be public: it knows who we are, or stands in a private network."""
        there = self.reached
        return isinstance(there, Endpoint) and bool(there.headers or there.private or there.oauth)

    @property
    def in_sandbox(self) -> bool:
        """It runs in the sandbox, and its calls may change the workspace."""
        return isinstance(self.reached, Launch)


@dataclass(frozen=True, slots=True)
class ServerFile:
    """What the file says; ``problems`` say what is wrong in it and what to do, one a line."""

    servers: tuple[McpServer, ...] = ()
    problems: tuple[str, ...] = ()


def load(path: Path, environment: Mapping[str, str]) -> ServerFile:
    """Read the file; none is no servers."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return ServerFile()
    except OSError as error:
        return ServerFile(problems=(f"{path} cannot be read: {error.strerror or error}.",))
    if len(content) > FILE_BYTES:
        return ServerFile(problems=(f"{path} has more than {FILE_BYTES // 1024} KB; it is not read.",))
    try:
        written: object = json.loads(content)
    except (ValueError, RecursionError) as error:
        return ServerFile(problems=(f"{path} is no JSON: {error}. No server of it is used.",))
    servers = cast(dict[str, object], written).get("mcpServers") if isinstance(written, dict) else None
    if not isinstance(servers, dict):
        return ServerFile(problems=(f'{path} needs {{"mcpServers": {{"name": {{…}}}}}} around its servers.',))
    return _servers(path, cast(dict[str, object], servers), environment)


def _servers(path: Path, written: dict[str, object], environment: Mapping[str, str]) -> ServerFile:
    read: dict[str, McpServer] = {}
    problems: list[str] = []
    for name, one in written.items():
        try:
            server = _server(name, one, environment)
        except ValueError as wrong:
            problems.append(f"{path}, server {name[:60]!r}: {wrong}")
            continue
        if server is None:
            continue
        if server.name.lower() in {known.lower() for known in read}:
            problems.append(f"{path}, server {name!r}: another one has this name already.")
        elif len(read) == MOST_SERVERS:
            problems.append(f"{path}, server {name!r}: at most {MOST_SERVERS} servers are used.")
        else:
            read[server.name] = server
    return ServerFile(tuple(sorted(read.values(), key=lambda server: server.name)), tuple(problems))


def _server(name: str, written: object, environment: Mapping[str, str]) -> McpServer | None:
    """One server, None where it is switched off; raises ``ValueError`` with what is wrong and what to do."""
    if not _NAME.fullmatch(name):
        raise ValueError("a name has 1 to 32 letters, digits, '-' or single '_', and begins with a letter or digit.")
    try:
        one = _Written.model_validate(written)
    except ValidationError as wrong:
        first = wrong.errors(include_url=False, include_input=False)[0]
        raise ValueError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}.") from None
    if one.disabled:
        return None
    if one.type == "sse":
        raise ValueError("the old HTTP+SSE transport is not supported; give the address of its streamable HTTP.")
    if bool(one.command) == bool(one.url):
        raise ValueError("it needs either a command, which runs in the sandbox, or a url.")
    reached = _launch(one) if one.command else _endpoint(one, environment)
    return McpServer(name, reached, one.tools, one.read_only, one.idempotent, one.timeout)


def _launch(one: _Written) -> Launch:
    for variable, value in one.env.items():
        if _VARIABLE.search(value):
            raise ValueError(
                f"env.{variable} would put a secret of this machine into the sandbox, where the agent could read it. "
                "Use a server with a url for what needs a secret: its headers are sent from outside of the sandbox."
            )
    return Launch((one.command, *one.args), one.env, one.cwd)


def _endpoint(one: _Written, environment: Mapping[str, str]) -> Endpoint:
    try:
        parts = urlsplit(one.url)
        host, _ = (parts.hostname or "").lower(), parts.port
    except ValueError as wrong:
        raise ValueError(f"its url cannot be read: {wrong}.") from None
    if parts.scheme not in ("http", "https") or not host:
        raise ValueError("its url has to begin with https:// or http://, and to name a host.")
    if parts.username or parts.password:
        raise ValueError("its url holds a password; use headers with ${VARIABLE} instead.")
    private = one.private or _is_private(host)
    if parts.scheme == "http" and not private:
        raise ValueError(
            "http:// would send what is said in the clear; use https://, or set private for a host of yours."
        )
    headers = {name: _filled(f"headers.{name}", value, environment) for name, value in one.headers.items()}
    return Endpoint(one.url, headers, private, _oauth(one, parts, environment))


def _oauth(one: _Written, url: SplitResult, environment: Mapping[str, str]) -> OAuthClient | None:
    if not one.oauth:
        return None
    if any(name.lower() == "authorization" for name in one.headers):
        raise ValueError("it has both oauth and an Authorization header; take one of them away.")
    if url.scheme != "https" and not on_this_machine(url.hostname or ""):
        raise ValueError("oauth would send its tokens in the clear; use https://, or a server on this machine.")
    if isinstance(one.oauth, bool):
        return OAuthClient()
    written, unattended = one.oauth, one.oauth.grant == "client_credentials"
    secret = _filled("oauth.clientSecret", written.client_secret, environment)
    if unattended and not (written.client_id and secret and written.issuer):
        raise ValueError("client_credentials need oauth.clientId, oauth.clientSecret as ${VARIABLE}, and oauth.issuer.")
    if secret and not (written.client_id and written.issuer):  # or the server would choose who is sent it
        raise ValueError(
            "oauth.clientSecret needs oauth.clientId and oauth.issuer beside it. The issuer is the https:// address of "
            "whoever gave you the secret; it is sent nowhere else."
        )
    return OAuthClient(
        written.client_id, secret, written.scopes, written.issuer, written.callback_port, unattended=unattended
    )


def _filled(name: str, value: str, environment: Mapping[str, str]) -> str:
    """A value with its variables filled in."""

    def value_of(found: re.Match[str]) -> str:
        known = environment.get(found[1], "")
        if not known:
            raise ValueError(f"{name} needs the environment variable {found[1]}, which is not set.")
        return known

    filled = _VARIABLE.sub(value_of, value)
    if not filled.isprintable() or not filled.isascii():
        raise ValueError(f"{name} holds characters that no header can have.")
    return filled


def on_this_machine(host: str) -> bool:
    """Whether a host, as it is written, is this machine itself."""
    try:
        return host.lower() in _LOCAL or ip_address(host).is_loopback
    except ValueError:
        return False


def _is_private(host: str) -> bool:
    """Whether the file itself names an address of a private network."""
    if host in _LOCAL:
        return True
    try:
        address = ip_address(host)
    except ValueError:
        return False
    return address.is_private or address.is_loopback


def _listed(tool: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(tool, pattern) for pattern in patterns)
