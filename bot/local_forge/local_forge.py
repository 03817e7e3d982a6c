"""The forge: its repositories, its server on 127.0.0.1, and what goes wrong on demand."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
from collections.abc import Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Self

from aiohttp import web

from bot.local_forge.checks_runner import run_check
from bot.local_forge.forge_records import BOT, FORGE_TOKEN, Account, HostedRepository, Note
from bot.local_forge.git_endpoint import commit, make_bare, serve
from bot.local_forge.misbehaviour import Kind, Misbehaviour
from bot.local_forge.pull_page import HEADERS, pull_page
from bot.local_forge.rest_api import Json, Shape, answer, no
from bot.local_forge.webhook_sender import Webhook, send

_APIS = {"v3": "github", "v1": "forgejo"}


class LocalForge:
    """A host with both APIs: GitHub's below ``/api/v3``, Forgejo's below ``/api/v1``, git at ``/owner/name.git``."""

    def __init__(self, folder: Path, token: str = FORGE_TOKEN) -> None:
        self.folder = folder
        self.token = token
        self.accounts = {token: Account(BOT)}
        """Who each token belongs to; one that is taken out was revoked."""
        self.webhooks: list[Webhook] = []
        """Who is told of what happens."""
        self.repositories: dict[str, HostedRepository] = {}
        self.moved: dict[str, str] = {}
        """Repositories that were renamed: the old name and the new one."""
        self.faults: list[Misbehaviour] = []
        self.requests: list[str] = []
        """Every request, as ``METHOD /path``."""
        self.unchanged = 0
        """How many of them were answered with 304."""
        self.check: tuple[str, tuple[str, ...]] | None = None
        """The name and the command of the check that runs on every push; None for none."""
        self.pushes = folder / "pushes"
        """The pipe into which what a push changes is written."""
        self._pipe = -1
        self._half = b""
        """The part of a line that was read of it."""
        self._runner: web.AppRunner | None = None
        self._port = 0
        self._beside: set[asyncio.Task[object]] = set()

    @property
    def host(self) -> str:
        """Its name in settings and addresses."""
        return f"127.0.0.1:{self._port}"

    @property
    def web(self) -> str:
        """Its address."""
        return f"http://{self.host}"

    async def __aenter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        os.mkfifo(self.pushes)
        self._pipe = os.open(self.pushes, os.O_RDWR | os.O_NONBLOCK)
        asyncio.get_running_loop().add_reader(self._pipe, self._note_pushes)
        app = web.Application(client_max_size=512 * 1024 * 1024)
        app.router.add_route("*", "/{tail:.*}", self._handle)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self._port)
        await site.start()
        server = site._server  # pyright: ignore[reportPrivateUsage]  # the only place that knows the port
        assert isinstance(server, asyncio.Server)
        self._port = server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._beside:
            task.cancel()
        await asyncio.gather(*self._beside, return_exceptions=True)
        if self._runner is not None:
            await self._runner.cleanup()
        asyncio.get_running_loop().remove_reader(self._pipe)
        os.close(self._pipe)
        self.pushes.unlink()

    # --- what people do there -------------------------------------------------------------------------------------

    def create(
        self, full: str, files: Mapping[str, str | None] | None = None, branch: str = "main", *, private: bool = False
    ) -> HostedRepository:
        """Make a repository with these files as its first commit; without files it is empty."""
        owner, _, name = full.partition("/")
        folder = self.folder / owner / f"{name}.git"
        make_bare(folder, branch)
        held = self.repositories[full.lower()] = HostedRepository(owner, name, folder, branch, private=private)
        if files:
            commit(folder, branch, files, "First commit")
        held.happened = lambda event: self._told(held, event)
        return held

    def rename(self, full: str, to: str) -> None:
        """Give a repository another name; the old one leads there."""
        held = self.repositories.pop(full.lower())
        held.owner, _, held.name = to.partition("/")
        self.repositories[to.lower()] = held
        self.moved[full.lower()] = to

    def remove(self, full: str) -> None:
        """Delete a repository."""
        del self.repositories[full.lower()]

    def remark(
        self, held: HostedRepository, number: int, author: str, text: str, path: str = "", line: int = 0
    ) -> None:
        """Somebody writes on a pull request."""
        pull = held.pull(number)
        assert pull is not None
        if path:
            review = Note(held.next(), author, "", "review")
            pull.notes += [review, Note(held.next(), author, text, "line", path, line, review.id)]
        else:
            pull.notes.append(Note(held.next(), author, text))
        held.happened("issue_comment")

    def fault(self, kind: Kind, pattern: str = "*", times: int = 1, seconds: float = 0.0) -> None:
        """Let the next requests that match go wrong."""
        self.faults.append(Misbehaviour(kind, pattern, times, seconds))

    # --- requests ---------------------------------------------------------------------------------------------------

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(f"{request.method} {request.path}")
        fault = next((each for each in self.faults if each.hits(request.method, request.path)), None)
        if fault is not None and (refused := await self._before(fault)) is not None:
            return refused
        answered = await self._answer(request)
        if fault is not None and fault.kind == "fails_after":
            return no(500, "Internal Server Error")
        if fault is not None and fault.kind == "drops_after" and request.transport is not None:
            request.transport.abort()
        return answered

    async def _before(self, fault: Misbehaviour) -> web.Response | None:
        if fault.kind == "slow":
            await asyncio.sleep(fault.seconds)
        refusals = {
            "fails": (500, "Internal Server Error"), "refuses_token": (401, "Bad credentials"), "gone": (404, "Not Found"),
            "lacks_right": (403, "Resource not accessible by personal access token"),
        }  # fmt: skip
        if fault.kind == "limited":
            return no(429, "API rate limit exceeded", {"Retry-After": str(int(fault.seconds) or 1)})
        return no(*refusals[fault.kind]) if fault.kind in refusals else None

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        parts = request.path.strip("/").split("/")
        if request.method == "GET" and len(parts) == 4 and parts[2] in ("pull", "pulls"):
            return await self._page(f"{parts[0]}/{parts[1]}".lower(), parts[3])
        who = self._account(request)
        if who is None:
            return web.Response(
                status=401, text='{"message":"Bad credentials"}', headers={"WWW-Authenticate": 'Basic realm="forge"'}
            )
        if parts[0] == "api" and len(parts) > 2 and parts[1] in _APIS:
            return await self._api(request, parts[1], parts[2:], who)
        if len(parts) >= 3:
            return await self._git(request, f"{parts[0]}/{parts[1].removesuffix('.git')}", "/".join(parts[2:]))
        return no(404, "Not Found")

    async def _api(self, request: web.Request, version: str, parts: list[str], who: Account) -> web.Response:
        shape = Shape("github" if _APIS[version] == "github" else "forgejo", self.web)
        if parts == ["user"]:
            return web.json_response({"login": who.login})
        if parts[0] != "repos" or len(parts) < 3:
            return no(404, "Not Found")
        full = f"{parts[1]}/{parts[2]}".lower()
        rest = "/".join(parts[3:])
        if full in self.moved:
            there = f"{self.web}/api/{version}/repos/{self.moved[full]}/{rest}".rstrip("/")
            return no(301 if request.method == "GET" else 307, "Moved Permanently", {"Location": there})
        held = self.repositories.get(full)
        if held is None:
            return no(404, "Not Found")
        tag = f'"{held.tag()}"'
        if request.method == "GET" and request.headers.get("If-None-Match") == tag:
            self.unchanged += 1
            return web.Response(status=304, headers={"ETag": tag})
        body: Json = json.loads(await request.read() or b"{}") if request.method != "GET" else {}
        answered = await asyncio.to_thread(answer, held, shape, request.method, rest, request, body, who)
        if request.method == "GET" and shape.kind == "github" and answered.status == 200:
            answered.headers["ETag"] = tag
        return answered

    async def _page(self, full: str, number: str) -> web.Response:
        """A pull request's page: a browser has no token, so there is none in private repositories."""
        held = self.repositories.get(full)
        pull = held.pull(int(number)) if held is not None and not held.private and number.isdecimal() else None
        if held is None or pull is None:
            return no(404, "Not Found")
        text = await asyncio.to_thread(pull_page, held, pull)
        return web.Response(text=text, content_type="text/html", headers=HEADERS)

    async def _git(self, request: web.Request, full: str, rest: str) -> web.StreamResponse:
        full = full.lower()
        held = self.repositories.get(self.moved.get(full, full).lower())
        if held is None:
            return no(404, "Not Found")
        if "receive-pack" in f"{rest} {request.query_string}" and not held.may_push:
            return no(403, "Permission to push was denied")
        answered = await serve(request, held, rest, self.pushes)
        self._note_pushes()
        return answered

    def _note_pushes(self) -> None:
        """Take in what pushes have changed, and begin their checks."""
        with contextlib.suppress(BlockingIOError):
            while read := os.read(self._pipe, 65536):
                self._half += read
        *lines, self._half = self._half.split(b"\n")
        folders = {str(held.folder.resolve()): held for held in self.repositories.values()}
        for line in lines:
            before, after, branch, folder = line.decode().split(" ", 3)
            if (held := folders.get(folder)) is not None and before != after:
                held.pushes.append((branch, before.strip("0") and before, after.strip("0") and after))
                self.run_check(held, after.strip("0") and after)

    def run_check(self, held: HostedRepository, sha: str) -> None:
        """Begin the check of a commit, where there is one."""
        if self.check is not None and sha:
            name, command = self.check
            self._begin(run_check(held, sha, name, command))

    def _told(self, held: HostedRepository, event: str) -> None:
        """Tell everybody who wants to hear of it."""
        for webhook in self.webhooks:
            self._begin(send(webhook, event, held.full))

    def _begin(self, work: Coroutine[None, None, object]) -> None:
        task = asyncio.create_task(work)
        self._beside.add(task)
        task.add_done_callback(self._beside.discard)

    def _account(self, request: web.Request) -> Account | None:
        """Whose token a request bears."""
        kind, _, given = request.headers.get("Authorization", "").partition(" ")
        if kind.lower() == "basic":
            try:
                given = base64.b64decode(given).decode().partition(":")[2]
            except ValueError:
                return None
        return self.accounts.get(given)

    def set_check(self, name: str, command: Sequence[str]) -> None:
        """Run this on every push."""
        self.check = (name, tuple(command))
