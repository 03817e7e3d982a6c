"""What may be published, as rules on names and paths; pure.

Whatever an agent or a repository says, a push goes to a branch of ours only, and files that run with the host's own rights
wait for a person.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

from agentic.ports.errors import NotPublished

PREFIX = "threadwright/"
SLUG_CHARACTERS = 40
_BRANCH = re.compile(r"threadwright/[a-z0-9][a-z0-9._-]{0,79}")
_UNFIT = re.compile(r"[^a-z0-9]+")
_ORDER = re.compile(r"(?<![\w/:.])([@/])(?=\w)")
_POWERFUL = (".github", ".forgejo", ".gitea")
"""Folders whose workflows run at the host with rights and secrets of the repository."""
_FOLDERS = ("workflows", "actions")
_ELSEWHERE = (
    ".woodpecker", ".gitlab-ci", ".drone", ".circleci", "jenkinsfile", "azure-pipelines", ".buildkite", ".travis",
)  # fmt: skip
"""What files and folders of other services begin with that run what a repository says."""


def branch_for(written: str, title: str, thread: str) -> str:
    """The branch of a publication: as written, with our prefix, or made of the title.  Raises ``NotPublished``."""
    mark = hashlib.sha256(thread.encode()).hexdigest()[:6]
    if not written:
        slug = _UNFIT.sub("-", title.strip().lower()).strip("-")[:SLUG_CHARACTERS].strip("-")
        return f"{PREFIX}{slug or 'change'}-{mark}"
    branch = written if written.startswith(PREFIX) else f"{PREFIX}{written}"
    if not _BRANCH.fullmatch(branch) or ".." in branch or branch.endswith((".", ".lock")):
        raise NotPublished(
            f"{written[:80]!r} cannot be the branch: write {PREFIX} and lower-case letters, digits and dashes, or leave it "
            "out."
        )
    return branch


def check_branch(branch: str, default: str, base: str, *, protected: bool) -> None:
    """Refuse a branch that is not ours to change.  Raises ``NotPublished``."""
    if not _BRANCH.fullmatch(branch):
        raise NotPublished(f"{branch} is no branch of mine; only those that begin with {PREFIX} are.")
    if branch in (default, base) or protected:
        raise NotPublished(
            f"{branch} is protected or is what the work is for. Leave the branch out, or name another one."
        )


def powerful(paths: Iterable[str]) -> tuple[str, ...]:
    """Those of the paths that hold workflows, or stand where their folders would; in upper or lower case."""
    return tuple(path for path in paths if _is_powerful(path.casefold().split("/")))


def orderless(text: str) -> str:
    """A text as it is written in a person's name: it calls nobody, and holds no command that begins with ``@`` or ``/``.

    It looks as before, with a sign of no width after those. Commands of bare words stay what they are.
    """
    return _ORDER.sub("\\1\u200b", text)


def _is_powerful(parts: list[str]) -> bool:
    if parts[0].startswith(_ELSEWHERE):
        return True
    if parts[0] not in _POWERFUL:
        return False
    return len(parts) == 1 or parts[1] in _FOLDERS
