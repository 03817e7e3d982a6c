"""The file of servers: what is wrong in it is said, server by server, and costs no other server anything."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import JsonValue

from agentic.mcp_client.server_file import Endpoint, Launch, OAuthClient, ServerFile, load


def read(tmp_path: Path, servers: JsonValue) -> ServerFile:
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps({"mcpServers": servers}))
    return load(path, {"TOKEN": "s3cret"})


def test_the_shape_of_other_clients_is_read(tmp_path: Path) -> None:
    file = read(
        tmp_path,
        {
            "b": {"type": "http", "url": "https://b.example.org/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}},
            "a": {"command": "npx", "args": ["-y", "x"], "env": {"TZ": "UTC"}, "autoApprove": ["y"], "tools": ["r*"]},
            "off": {"command": "x", "disabled": True},
        },
    )
    assert file.problems == ()
    a, b = file.servers
    assert (a.name, a.reached, a.in_sandbox) == ("a", Launch(("npx", "-y", "x"), {"TZ": "UTC"}), True)
    assert (a.allows("read"), a.allows("write"), a.reads("read"), a.repeats("read")) == (True, False, False, False)
    assert isinstance(b.reached, Endpoint)
    assert b.reached.headers == {"Authorization": "Bearer s3cret"}
    assert "s3cret" not in repr(file)
    assert (b.reached.private, b.shows_private) == (False, True)


@pytest.mark.parametrize(
    ("server", "said"),
    [
        ({}, "either a command"),
        ({"command": "x", "url": "https://a.example"}, "either a command"),
        ({"url": "ftp://a.example"}, "https://"),
        ({"url": "http://a.example/mcp"}, "in the clear"),
        ({"url": "https://me:pw@a.example/mcp"}, "password"),
        ({"url": "https://a.example:x/mcp"}, "cannot be read"),
        ({"type": "sse", "url": "https://a.example/sse"}, "streamable HTTP"),
        ({"url": "https://a.example/mcp", "oauth": {}, "headers": {"authorization": "x"}}, "both oauth and"),
        ({"url": "http://a.example/mcp", "private": True, "oauth": True}, "tokens in the clear"),
        ({"url": "https://a.example/mcp", "oauth": {"grant": "client_credentials", "clientId": "x"}}, "oauth.issuer"),
        (
            {"url": "https://a.example/mcp", "oauth": {"clientSecret": "${TOKEN}", "issuer": "https://i"}},
            "needs oauth.clientId",
        ),
        ({"url": "https://a.example/mcp", "oauth": {"clientId": "c", "clientSecret": "${TOKEN}"}}, "and oauth.issuer"),
        ({"url": "https://a.example/mcp", "oauth": {"clientSecret": "${NOT_SET}"}}, "oauth.clientSecret needs the"),
        ({"url": "https://a.example/mcp", "oauth": {"callbackPort": 70_000}}, "callbackPort"),
        ({"url": "https://a.example/mcp", "headers": {"A": "${NOT_SET}"}}, "NOT_SET, which is not set"),
        ({"url": "https://a.example/mcp", "headers": {"A": "a\nb"}}, "no header can have"),
        ({"command": "x", "env": {"KEY": "${TOKEN}"}}, "secret of this machine into the sandbox"),
        ({"command": "x", "timeout": 0}, "timeout"),
        ({"command": ["x"]}, "command"),
        ("x", "valid dictionary"),
    ],
)
def test_a_mistake_is_named_and_the_others_are_used(tmp_path: Path, server: JsonValue, said: str) -> None:
    file = read(tmp_path, {"bad": server, "good": {"command": "x"}})
    assert [one.name for one in file.servers] == ["good"]
    (problem,) = file.problems
    assert "'bad'" in problem
    assert said in problem
    assert "s3cret" not in problem


def test_how_one_signs_in_is_read_as_other_clients_write_it(tmp_path: Path) -> None:
    at: dict[str, JsonValue] = {"url": "https://a.example/mcp"}
    written: dict[str, JsonValue] = {
        "clientId": "c", "clientSecret": "${TOKEN}", "scopes": "a b", "callbackPort": 8765, "authServerMetadataUrl": "x",
        "issuer": "https://i.example",
    }  # fmt: skip
    file = read(
        tmp_path,
        {
            "a": {**at, "oauth": True},
            "b": {**at, "oauth": {}},
            "c": {**at, "oauth": written},
            "d": {**at, "oauth": False},
            "e": {"url": "http://127.0.0.1:9/mcp", "oauth": True},
        },
    )
    assert file.problems == ()
    plain = OAuthClient()
    assert [server.reached.oauth for server in file.servers if isinstance(server.reached, Endpoint)] == [
        plain, plain, OAuthClient("c", "s3cret", "a b", "https://i.example", 8765), None, plain,
    ]  # fmt: skip
    assert [server.shows_private for server in file.servers] == [True, True, True, False, True]
    assert "s3cret" not in repr(file)


def test_a_file_that_is_none_says_what_to_do(tmp_path: Path) -> None:
    assert load(tmp_path / "none.json", {}) == ServerFile()
    path = tmp_path / "mcp.json"
    for content, said in (
        ("{", "no JSON"),
        ("[]", "mcpServers"),
        ('{"mcpServers": []}', "mcpServers"),
        ("x" * 300_000, "KB"),
    ):
        path.write_text(content)
        assert said in load(path, {}).problems[0]
    for servers, said in (
        ({"a b": {"command": "x"}}, "a name has"),
        ({"A": {"command": "x"}, "a": {"command": "y"}}, "already"),
    ):
        assert said in read(tmp_path, servers).problems[0]
    assert "at most 32" in read(tmp_path, {f"s{n}": {"command": "x"} for n in range(33)}).problems[0]


def test_an_address_of_the_own_network_is_meant_where_it_is_written(tmp_path: Path) -> None:
    for url, private in (
        ("http://localhost:3000/mcp", True),
        ("http://192.168.1.5/mcp", True),
        ("https://[::1]/mcp", True),
    ):
        (server,) = read(tmp_path, {"a": {"url": url}}).servers
        assert isinstance(server.reached, Endpoint)
        assert server.reached.private is private
