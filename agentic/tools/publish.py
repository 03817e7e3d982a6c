"""``publish`` and ``comment``: the only ways from a sandbox to the host of its repository.

They exist where the thread has a repository.  Both may be called again with the same arguments and do nothing twice.
"""

from __future__ import annotations

from pydantic import Field

from agentic.ports.errors import NotPublished
from agentic.ports.runtime import Observation, Preview, PutBack
from agentic.remotes.publication import NeedsYes, Order, Published
from agentic.tools.base.observation import failed
from agentic.tools.base.paths import FolderPath
from agentic.tools.base.terminal_text import visible
from agentic.tools.base.tool import Arguments, CallContext, Tool

PUBLISH_SECONDS = 1_500.0
COMMENT_SECONDS = 120.0
FILES_SHOWN = 20
NO_REPOSITORY = "This thread has no repository to publish to."


class PublishArguments(Arguments):
    """What the pull request says, and where it stands."""

    title: str = Field(min_length=1, max_length=200, description="Title of the pull request: one line, what changes.")
    body: str = Field(max_length=20_000, description="What changed and why, and how it was checked. Markdown.")
    branch: str = Field(default="", max_length=100, description="Only for a further pull request: threadwright/<name>.")
    draft: bool = Field(default=False, description="Open it as a draft.")
    repository: FolderPath = Field(default=".", description="Folder of the checkout, if not the workspace itself.")


class CommentArguments(Arguments):
    """What is written on a pull request."""

    text: str = Field(min_length=1, max_length=20_000, description="The comment. Markdown.")
    number: int = Field(default=0, ge=0, description="Number of the pull request, if not the last one of this thread.")


async def _publish(arguments: PublishArguments, call: CallContext) -> Observation:
    if call.way_out is None:
        return failed(NO_REPOSITORY)
    world = await call.world()
    order = Order(arguments.title, arguments.body, arguments.branch, arguments.draft)
    done = await call.way_out.publish(world.real, arguments.repository, order, call.approved, call.on_output)
    if isinstance(done, NeedsYes):
        back = PutBack(done.reason, done.state, shown=done.difference, publishes=True)
        return Observation("failed", f"It {done.reason}.", put_back=back)
    published, event = done
    return Observation("ok", visible(_told(published)), events=(event,))


async def _preview(arguments: PublishArguments, call: CallContext) -> Preview:
    if call.way_out is None:
        raise NotPublished(NO_REPOSITORY)
    world = await call.world()
    order = Order(arguments.title, arguments.body, arguments.branch, arguments.draft)
    seen = await call.way_out.preview(world.real, arguments.repository, order, call.on_output)
    return Preview(seen.difference, seen.state, seen.reason)


def _told(done: Published) -> str:
    pull = done.pull
    more = len(done.files) - FILES_SHOWN
    files = [*done.files[:FILES_SHOWN], *([f"and {more} more"] if more > 0 else [])]
    lines = [
        f"Pull request {pull.number} is open: {pull.url}",
        f"Branch {pull.head} at {done.commit[:10]}, for {pull.base}; {done.commits} commit{'s' if done.commits > 1 else ''}.",
        f"Files: {', '.join(files)}",
    ]
    if not done.pushed:
        lines.append("The branch was there already with these commits; nothing was pushed.")
    if done.open:
        lines.append(f"NOT published, because they are not committed: {', '.join(done.open)}")
    if done.kept:
        kept = (
            f"At the host its {' and '.join(done.kept)} may be somebody's own, so that stays as it is. {done.comment}"
        )
        lines.append(kept.strip())
    if done.moved:
        lines.append(f"The repository {done.moved} is called {done.remote} now.")
    lines.append("Its checks are watched from here on: do not wait for them, you are woken when one fails.")
    return "\n".join(lines)


async def _comment(arguments: CommentArguments, call: CallContext) -> Observation:
    if call.way_out is None:
        return failed(NO_REPOSITORY)
    return Observation("ok", await call.way_out.comment(arguments.number, arguments.text, call.id))


def _head(arguments: PublishArguments) -> str:
    """What an approval is bound to: the commit that is checked out."""
    return f"cd -- '{_quoted(arguments.repository)}' 2>/dev/null && git rev-parse -q --verify 'HEAD^{{commit}}' 2>/dev/null"


def _quoted(path: str) -> str:
    return path.replace("'", "'\\''")


PUBLISH_TOOL = Tool(
    name="publish",
    description=(
        "Push the commits of the checkout to a branch of yours and open its pull request, or bring both up to date. Commit"
        " with git first, and run the checks; files that are not committed are not published. There is no other way out: git"
        " push and the host's API do not work from the sandbox. Use it when the task asks for a pull request, or to fix the"
        " repository. Publish again after a fix: it is the same pull request."
    ),
    example=PublishArguments(
        title="Round prices half up", body="Bankers' rounding lost a cent.\n\nChecked with `pytest -q`: 12 passed."
    ),
    act=_publish,
    effect="keyed",
    permission="write",
    outside="remote",
    seconds=lambda _: PUBLISH_SECONDS,
    looks=_head,
    previews=_preview,
)
COMMENT_TOOL = Tool(
    name="comment",
    description=(
        "Comment on a pull request of this thread, to answer a reviewer. Not for reporting: the person reads you here."
    ),
    example=CommentArguments(text="Done: prices are rounded half up now."),
    act=_comment,
    effect="keyed",
    permission="write",
    outside="remote",
    seconds=lambda _: COMMENT_SECONDS,
)
