"""``codebase_search``: find the places of code that a question is about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pydantic import Field

from agentic.code_index.code_search import CodeFound, CodeSearch
from agentic.code_index.code_words import asked_words
from agentic.code_index.grammars import unreadable
from agentic.code_index.index_file import ChunkPlace
from agentic.extras import missing
from agentic.ports.errors import PathRefused, StoreError
from agentic.ports.runtime import Observation
from agentic.sandbox.protocol.results import FileText
from agentic.tools.base.observation import failed, listed
from agentic.tools.base.paths import FolderPath
from agentic.tools.base.terminal_text import one_line
from agentic.tools.base.tool import AgentWorld, Arguments, CallContext, Tool
from agentic.tools.files.file_access import tell_missing

HEAD_LINES = 8
LINE_CHARACTERS = 200


class CodebaseSearchArguments(Arguments):
    """A question, and where to look."""

    query: str = Field(
        min_length=1, max_length=1_000, description="What the code does, in plain words, or names that occur in it."
    )
    path: FolderPath = Field(default="", description="File or folder, default the workspace.")
    limit: int = Field(default=8, ge=1, le=20, description="Most places, default 8.")


def codebase_search_tool(search: CodeSearch) -> Tool[CodebaseSearchArguments]:
    """Return the tool over the indexes of all threads."""

    async def act(arguments: CodebaseSearchArguments, call: CallContext) -> Observation:
        if not asked_words(arguments.query):
            return failed("There is no word in the query. Use grep to look for signs.")
        world = await call.world()
        at = await world.real.stat(arguments.path or ".")
        if at is None:
            return await tell_missing(arguments.path, world)
        real, path = world.real, "" if at.path == "." else at.path
        try:
            found = await search.search(
                real.thread, real.workspace, await real.hidden(), arguments.query, path=path, most=arguments.limit
            )
        except StoreError as problem:
            return failed(f"The code cannot be searched now: {problem}. Use grep.")
        files = await _files(found.places, world)
        shown = [text for place in found.places if (text := _tell_place(place, files))]
        where = f" below {path}" if path else ""
        if not shown:
            shown = [f"Nothing{where} has to do with this query. Ask in other words, or use grep for a pattern."]
        return listed(world.hide("\n\n".join((*shown, "\n".join(_tell_search(found))))), world.outputs)

    return Tool(
        name="codebase_search",
        description=(
            "Find the places of code or text that a question is about, best first, without knowing names or files; for an"
            " exact text or a pattern use grep. What .gitignore names is not searched."
        ),
        example=CodebaseSearchArguments(query="where is the price of a cart rounded", path="src"),
        act=act,
        effect="read",
        permission="read",
    )


async def _files(places: Sequence[ChunkPlace], world: AgentWorld) -> dict[str, list[str]]:
    """The lines of the files, as the agent may see them, of those that are still as they were searched."""
    found: dict[str, list[str]] = {}
    for place in places:
        if place.path not in found:
            file = await _read(place.path, world)
            same = file is not None and file.sha == place.sha
            found[place.path] = (await world.seen(file.text)).text.split("\n") if file is not None and same else []
    return found


async def _read(path: str, world: AgentWorld) -> FileText | None:
    try:
        return await world.real.read(path)
    except PathRefused:
        return None


def _tell_place(place: ChunkPlace, files: Mapping[str, list[str]]) -> str:
    lines = files[place.path][place.first - 1 : place.last]
    if not lines:
        return ""
    head = [f"{number}\t{_short(line)}" for number, line in enumerate(lines, place.first) if line.strip()][:HEAD_LINES]
    names = f"  ({one_line(place.names)})" if place.names else ""
    return "\n".join((f"{one_line(place.path)}:{place.first}-{place.last}{names}", *head))


def _short(line: str) -> str:
    line = line.rstrip()
    return line[:LINE_CHARACTERS] + ("…" if len(line) > LINE_CHARACTERS else "")


def _tell_search(found: CodeFound) -> Iterator[str]:
    """How much was searched, and what was not."""
    update = found.update
    meaning = "" if not found.to_embed else " by words and meaning"
    if found.embedded < found.to_embed:
        meaning += f" (of {found.embedded} in {found.to_embed} pieces so far)"
    yield f"… {update.files:,} files were searched{meaning}."
    cut = sorted({grammar for place in found.places if (grammar := unreadable(place.path))})
    if cut and (lacks := missing("code")) is not None:
        yield f"… Files in {', '.join(cut)} are cut by lines, not along their syntax: {lacks}."
    if update.waiting:
        yield f"… {update.waiting:,} new or changed files were not read yet; search again to have them searched too."
    out = update.left_out
    for reason, count in out.counts.items():
        files = "1 file" if count == 1 else f"{count:,} files"
        yield f"… Not searched: {files}, {reason} (such as {one_line(out.examples[reason])})."
