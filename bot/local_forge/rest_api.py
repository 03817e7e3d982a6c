"""The API in the shapes of both kinds of host; what differs between them is in ``Shape``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from aiohttp import web

from bot.local_forge.forge_records import Account, CheckRun, HostedRepository, Note, Pull
from bot.local_forge.git_endpoint import branches, tip

Json = dict[str, object]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Shape:
    """How one kind of host writes what it has."""

    kind: Literal["github", "forgejo"]
    web: str

    def repository(self, held: HostedRepository) -> Json:
        """A repository."""
        empty = not branches(held.folder)
        shown: Json = {
            "full_name": held.full, "name": held.name, "owner": {"login": held.owner}, "private": held.private,
            "default_branch": held.default_branch, "permissions": {"pull": True, "push": held.may_push, "admin": False},
        }  # fmt: skip
        if self.kind == "github":
            return shown | {"size": 0 if empty else 40, "pushed_at": None if empty else "2026-11-01T10:00:00Z"}
        return shown | {"size": 0 if empty else 40, "empty": empty}

    def pull(self, held: HostedRepository, pull: Pull) -> Json:
        """A pull request."""
        place = "pull" if self.kind == "github" else "pulls"
        shown: Json = {
            "number": pull.number, "id": 1000 + pull.number, "title": pull.title, "body": pull.body, "state": pull.state,
            "html_url": f"{self.web}/{held.full}/{place}/{pull.number}", "draft": pull.draft, "user": {"login": pull.author},
            "head": self._end(held, pull.fork or held.owner, pull.head, pull.sha),
            "base": self._end(held, held.owner, pull.base),
        }  # fmt: skip
        if self.kind == "github":
            return shown | {"merged_at": "2026-11-02T10:00:00Z" if pull.merged else None}
        return shown | {"merged": pull.merged, "draft": pull.title.startswith("WIP: ")}

    def _end(self, held: HostedRepository, owner: str, branch: str, sha: str = "") -> Json:
        """One end of a pull request."""
        id = 500 + sum(f"{owner}/{held.name}".encode())
        return {
            "ref": branch, "sha": sha or tip(held.folder, branch), "label": f"{owner}:{branch}",
            "repo": {"id": id, "full_name": f"{owner}/{held.name}"},
        }  # fmt: skip

    def note(self, note: Note) -> Json:
        """A comment or a review."""
        shown: Json = {"id": note.id, "user": {"login": note.author}, "body": note.text}
        if note.kind == "review":
            return shown | {"state": "CHANGES_REQUESTED" if self.kind == "github" else "REQUEST_CHANGES"}
        if note.kind == "line":
            where = "line" if self.kind == "github" else "position"
            return shown | {"path": note.path, where: note.line}
        return shown

    def run(self, held: HostedRepository, run: CheckRun) -> Json:
        """A check run of GitHub's."""
        done = run.state != "pending"
        return {
            "id": run.id, "name": run.name, "status": "completed" if done else "in_progress",
            "conclusion": run.state if done else None, "app": {"slug": "github-actions"},
            "html_url": f"{self.web}/{held.full}/actions/runs/{run.id}", "output": {"title": run.name, "summary": ""},
        }  # fmt: skip

    def status(self, held: HostedRepository, run: CheckRun) -> Json:
        """A status of Forgejo's, as its Actions write it."""
        return {
            "context": run.name, "status": run.state, "description": f"{run.name}: {run.state}",
            "target_url": f"/{held.full}/actions/runs/{run.id}/jobs/0",
        }  # fmt: skip


def answer(
    held: HostedRepository, shape: Shape, method: str, path: str, request: web.Request, body: Json, who: Account
) -> web.Response:
    """Answer a request below ``/repos/{owner}/{name}``; ``path`` is what follows."""
    if method != "GET" and not who.may_write:
        return no(403, "Resource not accessible by personal access token")
    parts = path.strip("/").split("/")
    match method, parts:
        case "GET", [""]:
            return _json(shape.repository(held))
        case "GET", ["branches", *name]:
            branch = "/".join(name)
            if not tip(held.folder, branch):
                return no(404, "Branch not found")
            return _json({"name": branch, "protected": branch in held.protected})
        case "GET", ["pulls"]:
            return _json([shape.pull(held, each) for each in _page(_sought(held, shape, request), request)])
        case "POST", ["pulls"]:
            return _open(held, shape, body, who)
        case "GET", ["commits", sha, "check-runs"] if shape.kind == "github":
            return _json({"check_runs": [shape.run(held, each) for each in _page(held.checks.get(sha, []), request)]})
        case "GET", ["commits", sha, "status"]:
            runs = [] if shape.kind == "github" else held.checks.get(sha, [])
            return _json({"state": "pending", "statuses": [shape.status(held, each) for each in _page(runs, request)]})
        case "GET", ["actions", "jobs" | "runs", id, *_]:
            return _log(held, id)
        case method, ["pulls" | "issues", number, *rest] if number.isdecimal() and held.pull(int(number)) is not None:
            pull = held.pull(int(number))
            assert pull is not None
            return _of_pull(held, shape, pull, method, rest, body, request, who)
        case _:
            return no(404, "Not Found")


def _of_pull(
    held: HostedRepository, shape: Shape, pull: Pull, method: str, rest: list[str], body: Json, request: web.Request,
    who: Account,
) -> web.Response:  # fmt: skip
    match method, rest:
        case "GET", []:
            return _json(shape.pull(held, pull))
        case "PATCH", []:
            pull.title, pull.body = str(body.get("title", pull.title)), str(body.get("body", pull.body))
            if body.get("state") in ("open", "closed") and not pull.merged:
                pull.state = "open" if body["state"] == "open" else "closed"
            return _json(shape.pull(held, pull))
        case "POST", ["comments"]:
            note = Note(held.next(), who.login, str(body.get("body", "")))
            pull.notes.append(note)
            return _json(shape.note(note), 201)
        case "GET", ["comments"]:
            kind = "line" if "/pulls/" in request.path else "comment"
            notes = [each for each in pull.notes if each.kind == kind]
            return _json([shape.note(each) for each in (_page(notes, request) if shape.kind == "github" else notes)])
        case "GET", ["reviews"]:
            reviews = _page([each for each in pull.notes if each.kind == "review"], request)
            lines = [each.review for each in pull.notes if each.kind == "line"]
            return _json([shape.note(each) | {"comments_count": lines.count(each.id)} for each in reviews])
        case "GET", ["reviews", id, "comments"]:
            return _json([shape.note(each) for each in pull.notes if each.kind == "line" and str(each.review) == id])
        case _:
            return no(404, "Not Found")


def _sought(held: HostedRepository, shape: Shape, request: web.Request) -> list[Pull]:
    state, head = request.query.get("state", "open"), request.query.get("head", "")
    found = [each for each in held.pulls if state == "all" or each.state == state]
    if shape.kind == "github" and head:
        found = [each for each in found if f"{each.fork or held.owner}:{each.head}" == head]
    return found


def _page(rows: Sequence[T], request: web.Request) -> Sequence[T]:
    """One page of a list, of as many as are asked for, but no more than both kinds of host give out at once."""
    size = min(int(request.query.get("per_page") or request.query.get("limit") or 30), 50)
    first = (int(request.query.get("page", "1")) - 1) * size
    return rows[first : first + size]


def _open(held: HostedRepository, shape: Shape, body: Json, who: Account) -> web.Response:
    head, base = str(body.get("head", "")), str(body.get("base", ""))
    if not tip(held.folder, head) or not tip(held.folder, base):
        return no(422, "Validation Failed: head or base is invalid")
    if any((each.head, each.base, each.state, each.fork) == (head, base, "open", "") for each in held.pulls):
        status = 422 if shape.kind == "github" else 409
        return no(status, f"A pull request already exists for {held.owner}:{head}.")
    if tip(held.folder, head) == tip(held.folder, base):
        return no(422, f"No commits between {base} and {head}")
    draft = bool(body.get("draft"))
    pull = Pull(held.next(), str(body.get("title", "")), str(body.get("body", "")), head, base, draft, author=who.login)
    held.pulls.append(pull)
    return _json(shape.pull(held, pull), 201)


def _log(held: HostedRepository, id: str) -> web.Response:
    for runs in held.checks.values():
        for run in runs:
            if str(run.id) == id:
                return web.Response(text=run.log)
    return no(404, "Not Found")


def no(status: int, message: str, headers: dict[str, str] | None = None) -> web.Response:
    """A refusal in words."""
    return _json({"message": message}, status, headers)


def _json(content: object, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    return web.Response(text=json.dumps(content), status=status, content_type="application/json", headers=headers)
