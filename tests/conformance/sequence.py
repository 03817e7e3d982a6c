"""What is asked of both, in order; everything happens in a channel made for it, which is deleted at the end.

Paths and bodies name what earlier steps made: `{channel}`, `{message}` …
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import aiohttp

CHANNEL_NAME = "threadwright-conformance"
COMMAND_NAME = "threadwright-conformance"
NOBODY = "1000000000000000000"


@dataclass(frozen=True, slots=True)
class Step:
    """One request: what it is for, what of its answer is kept, and which events are waited for."""

    what: str
    method: str
    path: str
    body: Any = None
    keep: tuple[tuple[str, str], ...] = ()
    events: tuple[str, ...] = ()
    token: str | None = None


@dataclass(frozen=True, slots=True)
class Upload:
    """A body with a file."""

    content: str
    filename: str
    data: bytes

    def __call__(self) -> aiohttp.FormData:
        form = aiohttp.FormData(quote_fields=False)
        form.add_field("payload_json", f'{{"content":"{self.content}"}}', content_type="application/json")
        form.add_field("files[0]", self.data, filename=self.filename, content_type="text/plain")
        return form


MESSAGES = "/channels/{channel}/messages"
ONE = MESSAGES + "/{message}"
COMMANDS = "/applications/{application}/guilds/{guild}/commands"
BUTTON = {"type": 1, "components": [{"type": 2, "style": 1, "label": "b", "custom_id": "conformance"}]}
EMBED = {"title": "t", "description": "d", "fields": [{"name": "n", "value": "v"}], "footer": {"text": "f"}}
THUMB = "%F0%9F%91%8D"

WHO = (
    Step("the bot", "GET", "/users/@me"),
    Step("its application", "GET", "/oauth2/applications/@me", keep=(("application", "id"),)),
    Step("the gateway's limits", "GET", "/gateway/bot"),
    Step("the guild", "GET", "/guilds/{guild}"),
    Step("its roles", "GET", "/guilds/{guild}/roles"),
    Step("no token", "GET", "/users/@me", token="none"),
    Step("an unknown guild", "GET", f"/guilds/{NOBODY}"),
    Step("an unknown user", "GET", f"/users/{NOBODY}"),
    Step("an unknown channel", "GET", f"/channels/{NOBODY}"),
)
SPEAKING = (
    Step(
        "a new channel",
        "POST",
        "/guilds/{guild}/channels",
        {"name": CHANNEL_NAME, "type": 0},
        (("channel", "id"),),
        ("CHANNEL_CREATE",),
    ),
    Step("the channel", "GET", "/channels/{channel}"),
    Step(
        "a message",
        "POST",
        MESSAGES,
        {"content": "one", "nonce": "c-1", "enforce_nonce": True},
        (("message", "id"),),
        ("MESSAGE_CREATE",),
    ),
    Step("its nonce again", "POST", MESSAGES, {"content": "one", "nonce": "c-1", "enforce_nonce": True}),
    Step("the message", "GET", ONE),
    Step("the history", "GET", MESSAGES + "?limit=5"),
    Step("an edit", "PATCH", ONE, {"content": "two"}, events=("MESSAGE_UPDATE",)),
    Step(
        "an embed, a button, a reply",
        "POST",
        MESSAGES,
        {"embeds": [EMBED], "components": [BUTTON], "message_reference": {"message_id": "{message}"}},
        (("rich", "id"),),
        ("MESSAGE_CREATE",),
    ),
    Step("a file", "POST", MESSAGES, Upload("file", "a.txt", b"text"), (("file", "id"),), ("MESSAGE_CREATE",)),
    Step("typing", "POST", "/channels/{channel}/typing", events=("TYPING_START",)),
    Step("a reaction", "PUT", f"{ONE}/reactions/{THUMB}/@me", events=("MESSAGE_REACTION_ADD",)),
    Step("who reacted", "GET", f"{ONE}/reactions/{THUMB}"),
    Step("a reaction back", "DELETE", f"{ONE}/reactions/{THUMB}/@me", events=("MESSAGE_REACTION_REMOVE",)),
    Step("a deletion", "DELETE", MESSAGES + "/{file}", events=("MESSAGE_DELETE",)),
)
WRONG = (
    Step("an unknown message", "GET", f"{MESSAGES}/{NOBODY}"),
    Step("an empty message", "POST", MESSAGES, {"content": ""}),
    Step("2,001 characters", "POST", MESSAGES, {"content": "x" * 2_001}),
    Step("a title of 257", "POST", MESSAGES, {"embeds": [{"title": "t" * 257}]}),
    Step("a field without value", "POST", MESSAGES, {"embeds": [{"fields": [{"name": "n"}]}]}),
    Step("eleven embeds", "POST", MESSAGES, {"embeds": [EMBED] * 11}),
    Step("six rows", "POST", MESSAGES, {"components": [BUTTON] * 6}),
    Step("a nonce of 26", "POST", MESSAGES, {"content": "x", "nonce": "n" * 26}),
    Step("a reply to nothing", "POST", MESSAGES, {"content": "x", "message_reference": {"message_id": NOBODY}}),
    Step("an unknown emoji", "PUT", f"{ONE}/reactions/word/@me"),
    Step("one message in bulk", "POST", MESSAGES + "/bulk-delete", {"messages": ["{message}"]}),
    Step("an unknown interaction", "POST", f"/interactions/{NOBODY}/none/callback", {"type": 6}),
    Step("an unknown webhook", "POST", f"/webhooks/{NOBODY}/{'t' * 60}", {"content": "x"}),
    Step("an unknown member", "GET", f"/guilds/{{guild}}/members/{NOBODY}"),
)
THREADS = (
    Step(
        "a thread of a message",
        "POST",
        ONE + "/threads",
        {"name": "thread", "auto_archive_duration": 60},
        (("thread", "id"),),
        ("THREAD_CREATE", "MESSAGE_UPDATE"),
    ),
    Step("a second one", "POST", ONE + "/threads", {"name": "thread"}),
    Step("a name of 101", "POST", MESSAGES + "/{rich}/threads", {"name": "n" * 101}),
    Step(
        "a message in it",
        "POST",
        "/channels/{thread}/messages",
        {"content": "in"},
        (("inside", "id"),),
        ("MESSAGE_CREATE",),
    ),
    Step("its members", "GET", "/channels/{thread}/thread-members"),
    Step("active threads", "GET", "/guilds/{guild}/threads/active"),
    Step("archiving", "PATCH", "/channels/{thread}", {"archived": True}, events=("THREAD_UPDATE",)),
    Step("an edit in the archive", "PATCH", "/channels/{thread}/messages/{inside}", {"content": "x"}),
    Step("a reaction in the archive", "PUT", f"/channels/{{thread}}/messages/{{inside}}/reactions/{THUMB}/@me"),
    Step("archived threads", "GET", "/channels/{channel}/threads/archived/public"),
    Step("reopening", "PATCH", "/channels/{thread}", {"archived": False}, events=("THREAD_UPDATE",)),
)
SLASH = (
    Step("a command", "POST", COMMANDS, {"name": COMMAND_NAME, "description": "d"}, (("command", "id"),)),
    Step("the command again", "POST", COMMANDS, {"name": COMMAND_NAME, "description": "e"}),
    Step("the command", "GET", COMMANDS + "/{command}"),
    Step("a bad name", "POST", COMMANDS, {"name": "A B", "description": "d"}),
    Step("no description", "POST", COMMANDS, {"name": COMMAND_NAME + "2"}),
    Step("an unknown command", "GET", f"{COMMANDS}/{NOBODY}"),
)
TIDYING = (
    Step("the command goes", "DELETE", COMMANDS + "/{command}"),
    Step("the channel goes", "DELETE", "/channels/{channel}", events=("CHANNEL_DELETE",)),
)
STEPS = (*WHO, *SPEAKING, *WRONG, *THREADS, *SLASH)


def filled(value: Any, known: dict[str, str]) -> Any:
    """A path or body with what earlier steps made put in."""
    if isinstance(value, dict):
        return {name: filled(part, known) for name, part in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [filled(part, known) for part in cast("list[Any]", value)]
    if isinstance(value, str):
        for name, found in known.items():
            value = value.replace(f"{{{name}}}", found)
    return value
