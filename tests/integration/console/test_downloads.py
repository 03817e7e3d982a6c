"""Files of a task, asked for as a browser does, of the console on a real store."""

from __future__ import annotations

import html
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urljoin

import aiohttp
import orjson
import pytest_asyncio
from pydantic import JsonValue

from agentic.core.events.execution_events import (
    CallBlock,
    Envelope,
    FeedbackGiven,
    ModelAnswered,
    ModelRequested,
    Segments,
    SubagentFinished,
    ToolFinished,
    ToolStarted,
)
from agentic.core.events.ids import call_id
from agentic.core.state.conversation import ToolSpec
from agentic.stores.factory import open_store
from bot.config.home import DATABASE
from bot.config.settings import Settings
from bot.console.process import console
from tests.integration.console.logs import ANN, BEGAN, THREAD, end, events, started, turn, written

SECRET = "ghp_" + "a1B2" * 9
NAMED = "abcd1234efgh5678ijkl"
"""A secret by its name alone."""
PASSWORD, WORLD = "hunter2", "/world/7/m2.2"
FAR = "far away"
HELPER, FOREIGN = "c" + "1" * 15, "c" + "2" * 15
TASK = f"/t/{THREAD}/x1"
Get = Callable[[str], Awaitable["Answer"]]


@dataclass(frozen=True)
class Answer:
    """A file as a browser gets it."""

    status: int
    name: str
    kind: str
    text: str


@pytest_asyncio.fixture
async def get(tmp_path: Path) -> AsyncIterator[Get]:
    """Asks the console for a path; its store has one task of three turns, with a secret everywhere."""
    store = open_store(tmp_path / DATABASE)
    ref = await store.put_blob(f"{SECRET} and all the rest of it".encode())
    tool = ToolSpec("shell", f"Runs with {SECRET}", {"type": "object"}, "unkeyed", "execute")
    system = await store.put_blob(f"You are an agent. {SECRET}".encode())
    segments = Segments(system=system, tools=await store.put_blob(orjson.dumps([tool])))
    request, answered, begun, *rest = turn(1, result=f"it says {SECRET}")
    assert isinstance(request, ModelRequested)
    assert isinstance(answered, ModelAnswered)
    assert isinstance(begun, ToolStarted)
    given: dict[str, JsonValue] = {
        "command": "look", "api_key": NAMED, "env": {"token": NAMED}, "note": "as it was", "passwords": [PASSWORD],
        "headers": [["X-Api-Key", NAMED], ["Accept", "anything"]],
    }  # fmt: skip
    call = CallBlock(provider_id="p1", tool="shell", arguments=given)
    rest = [
        answered.model_copy(update={"blocks": (*answered.blocks[:-1], call)}),
        begun.model_copy(update={"arguments": given}), *rest,
    ]  # fmt: skip
    log = [
        started(f"Fix it with {SECRET}"), request.model_copy(update={"segments": segments}), *rest,
        *turn(2, text=f"I see {SECRET} {FAR:>5000}"),
        *(SubagentFinished(child=child, result="done") for child in (HELPER, FOREIGN)),
        *turn(3)[:-2],
        ToolFinished(call=call_id("r3", 0), outcome="ok", preview="cut", output=ref), *end(),
    ]  # fmt: skip
    await written(store, "x1", log)
    await written(store, HELPER, events(18))
    await written(store, FOREIGN, [started("secret plans", thread="99")], thread="99")
    vote = FeedbackGiven(by=ANN, vote="down", why=f"it printed {SECRET}")
    await store.append_outcome("x1", [Envelope(execution="x1", seq=1, at=BEGAN, fence=1, event=vote)])
    await store.close()
    async with console(Settings(_env_file=None, home=tmp_path)) as server, aiohttp.ClientSession() as browser:  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
        await server.open("127.0.0.1", 0)
        port = server.address[1]

        async def asked(path: str) -> Answer:
            async with browser.get(f"http://127.0.0.1:{port}{path}") as answer:
                name = answer.headers.get("Content-Disposition", "")
                return Answer(answer.status, name, answer.content_type, await answer.text())

        yield asked


async def test_each_file_is_a_download_without_secrets(get: Get) -> None:
    kinds = {
        "export.html": "text/html", "export.md": "text/markdown", "export.jsonl": "application/jsonl",
        "export.atif.json": "application/json", "turn/1.md": "text/markdown", "call/r3.0.md": "text/markdown",
    }  # fmt: skip
    found = {path: await get(f"{TASK}/{path}") for path in kinds}
    assert {path: (each.status, each.kind) for path, each in found.items()} == {
        path: (200, kind) for path, kind in kinds.items()
    }
    seen = {
        **found,
        **{
            path: await get(f"{TASK}{path}")
            for path in ("", "/logs", "/event/3", "/event/4", "/terminal", "/world?turn=2", WORLD, "/world/7/m2.1")
        },
    }
    hidden = (SECRET[6:], NAMED, PASSWORD)
    assert [path for path, each in seen.items() if any(word in each.text for word in hidden)] == []
    assert [path for path in (WORLD, "/world?turn=2") if "X-Api-Key" not in seen[path].text] == []
    assert [path for path in ("export.jsonl", "/event/3", "/event/4") if "as it was" not in seen[path].text] == []
    assert [path for path, each in found.items() if "[redacted]" not in each.text] == []
    assert found["export.html"].name == 'attachment; filename="threadwright-x1.html"'
    assert found["call/r3.0.md"].name == 'attachment; filename="threadwright-x1-call-r3.0.md"'
    for path in ("export.html", "export.md", "call/r3.0.md"):
        assert "and all the rest of it" in found[path].text  # the whole output beside what the model saw
    lines = [Envelope.model_validate_json(line) for line in found["export.jsonl"].text.splitlines()]
    assert [each.event.kind for each in lines[-2:]] == ["finished", "feedback_given"]
    assert [each.seq for each in lines[:-1]] == list(range(1, len(lines)))
    trajectory = json.loads(found["export.atif.json"].text)
    assert trajectory["steps"][0]["message"] == "You are an agent. [redacted]"
    assert trajectory["steps"][2]["observation"]["results"][0]["source_call_id"] == "r1.0"
    assert trajectory["agent"]["tool_definitions"][0]["function"]["description"] == "Runs with [redacted]"
    assert [each["trajectory_id"] for each in trajectory["subagent_trajectories"]] == [HELPER]
    assert found["turn/1.md"].text.startswith("## Turn 1\n")
    assert "Turn 2" not in found["turn/1.md"].text


async def test_what_is_not_there_is_said_and_each_page_of_a_task_has_the_links(get: Get) -> None:
    for path in ("turn/77.md", "call/r9.9.md"):
        assert (await get(f"{TASK}/{path}")).status == 404
    assert (await get(f"/t/{THREAD}/nobody/export.html")).status == 404
    page = await get(TASK)
    for path in ("export.html", "export.md", "export.jsonl", "export.atif.json", "turn/2.md", "call/r2.0.md"):
        assert f'href="{TASK}/{path}"' in page.text


COPIED = {
    f"{TASK}/world?turn=2": "Turn 2: the request", TASK + WORLD: "look", f"{TASK}/world/7/m1.0": "Fix it with",
    f"{TASK}/identity": "System prompt", f"{TASK}/why/4": "Why event 4", f"{TASK}/metrics": "By turn",
    f"{TASK}/terminal": "it says", f"{TASK}/terminal/5": "it says", f"{TASK}/event/3": "[redacted]",
    f"{TASK}/timeline": "Where the time went", f"{TASK}/at?turn=1": "At the end of turn 1", f"/compare/x1/{HELPER}": "Outcome",
    f"/t/{THREAD}/{HELPER}/files/of?path=src/part_3.py": "Over the whole task",
}  # fmt: skip
COPY = re.compile(r'<a href="([^"]+as=markdown)" data-copy>')


async def test_each_part_is_copied_as_markdown_without_secrets(get: Get) -> None:
    for path, words in COPIED.items():
        links = COPY.findall((await get(path)).text)
        copied = [await get(urljoin(path, html.unescape(link))) for link in links[:4]]
        assert {(one.status, one.kind, one.name[-4:]) for one in copied} == {(200, "text/markdown", '.md"')}, path
        text = "".join(one.text for one in copied)
        assert words in text.replace("\\[", "[").replace("\\]", "]"), path
        assert not any(word in text for word in (SECRET[6:], NAMED, PASSWORD, "as=markdown", "<a ")), path
    for path in ("/world?turn=77", "/event/7777"):
        missing = await get(f"{TASK}{path}{'&' if '?' in path else '?'}as=markdown")
        assert (missing.status, missing.kind) == (404, "text/html")


async def test_a_request_is_copied_whole(get: Get) -> None:
    """Of a page with the newest messages the earlier ones too, and of long parts all."""
    address = f"/t/{THREAD}/{HELPER}/world?turn=18"
    page, copied = await get(address), await get(f"{address}&as=markdown")
    assert ('id="message-1"' in page.text, 'id="message-35"' in page.text) == (False, True)
    assert (copied.text.count("Result of"), "35. **To the agent**" in copied.text) == (18, True)
    assert FAR not in (await get(f"{TASK}/world?turn=3")).text
    assert FAR in (await get(f"{TASK}/world?turn=3&as=markdown")).text
