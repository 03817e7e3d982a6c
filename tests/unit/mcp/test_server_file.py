"""The file of servers: what is wrong in it is said, server by server, and costs no other server anything."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import JsonValue

from agentic.mcp_client.server_file import Endpoint, Launch, ServerFile, load


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
        ({"url": "https://a.example/mcp", "oauth": {}}, "oauth is not supported"),
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
