"""A person at the local guild's page, without a browser: the page's own requests, from another process."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeAlias, cast

import aiohttp
import pytest
from pydantic import JsonValue

from tests.waiting import eventually

Row: TypeAlias = dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Said:
    """A message as the person sees it."""

    id: str
    author: str
    text: str
    files: tuple[str, ...]
    embeds: str

    @property
    def whole(self) -> str:
        return f"{self.text}\n{self.embeds}"


class Person:
    """Says, reacts and reads."""

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self._session = session
        self._url = url

    async def mention(self, text: str, files: Mapping[str, str] | None = None) -> str:
        """Mention the bot in the first channel, with files; the id of the message, and so of its thread."""
        state = cast("Row", await self._ask("GET", "/ui/state"))
        bot, channels = cast("Row", state["bot"]), cast("list[Row]", state["channels"])
        channel, said = str(channels[0]["id"]), f"<@{bot['id']}> {text}"
        return await self.send(channel, said, files) if files else await self.say(channel, said)

    async def say(self, channel: str, text: str) -> str:
        """Post a message; its id."""
        made = cast("Row", await self._ask("POST", f"/ui/channels/{channel}/messages", {"content": text}))
        return str(made["id"])

    async def send(self, channel: str, text: str, files: Mapping[str, str]) -> str:
        """Post a message with files; its id."""
        form = aiohttp.FormData()
        form.add_field("payload_json", json.dumps({"content": text}), content_type="application/json")
        for number, (name, content) in enumerate(files.items()):
            form.add_field(f"files[{number}]", content.encode(), filename=name)
        async with self._session.post(f"{self._url}/ui/channels/{channel}/messages", data=form) as response:
            assert response.status == 200, f"{response.status} {await response.text()}"
            return str((await response.json())["id"])

    async def react(self, message: str, emoji: str) -> None:
        """Give a reaction."""
        await self._ask("PUT", f"/ui/messages/{message}/reactions/{emoji}")

    async def reads(self, thread: str) -> list[Said]:
        """The thread's messages, oldest first; none where there is no such thread yet."""
        state = cast("Row", await self._ask("GET", "/ui/state"))
        if thread not in [str(row["id"]) for row in cast("list[Row]", state["threads"])]:
            return []
        rows = cast("list[Row]", await self._ask("GET", f"/ui/channels/{thread}/messages"))
        return [_said(row) for row in reversed(rows)]

    async def sees(self, thread: str, pattern: str, seconds: float = 60.0, after: int = 0) -> Said:
        """The first message of the bot in the thread that matches, waited for; ``after`` leaves out the first ones."""
        return await self._until(
            thread, lambda said: re.search(pattern, said.whole) is not None, pattern, seconds, after
        )

    async def _until(self, thread: str, wanted: Callable[[Said], bool], what: str, seconds: float, after: int) -> Said:
        messages: list[Said] = []

        async def said() -> Said | None:
            messages[:] = await self.reads(thread)
            return next((m for m in messages[after:] if m.author == "Threadwright" and wanted(m)), None)

        try:
            found = await eventually(said, what, seconds=seconds)
        except AssertionError:
            there = "\n---\n".join(m.whole for m in messages)
            pytest.fail(f"nobody said {what!r} in the thread; what stands there:\n{there}")
        assert found is not None
        return found

    async def _ask(self, method: str, path: str, body: Row | None = None) -> JsonValue:
        async with self._session.request(method, self._url + path, json=body) as response:
            answer = await response.text()
            assert response.status == 200, f"{method} {path}: {response.status} {answer}"
            return cast("JsonValue", await response.json(content_type=None))


def _said(row: Row) -> Said:
    embeds = "\n".join(str(embed.get("description", "")) for embed in cast("list[Row]", row.get("embeds", [])))
    files = tuple(str(file["filename"]) for file in cast("list[Row]", row.get("attachments", [])))
    author = cast("Row", row["author"])
    return Said(str(row["id"]), str(author["username"]), str(row["content"]), files, embeds)


async def entered(link: str) -> tuple[str, dict[str, str]]:
    """The page's address, and the headers of the session that the key in its link was given for."""
    address, _, key = link.partition("/#key=")
    async with aiohttp.ClientSession() as stranger, stranger.post(f"{address}/ui/session", json={"key": key}) as answer:
        assert answer.status == 200, await answer.text()
        said = cast("dict[str, str]", await answer.json())
    return address, {"Authorization": f"Bearer {said['session']}"}


@asynccontextmanager
async def person(url: str) -> AsyncGenerator[Person]:
    """Open the page by its link, as a browser does, and keep its session."""
    address, headers = await entered(url)
    async with aiohttp.ClientSession(headers=headers) as session:
        yield Person(session, address)
