"""Servers that somebody has to sign in to: tokens outlive a restart, are renewed once, and go nowhere but to their server."""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import os
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from pydantic import JsonValue

from agentic.mcp_client.oauth.authorization_server import AuthorizationHttp
from agentic.mcp_client.oauth.kept_tokens import TokenTrouble
from agentic.mcp_client.oauth.sign_in import OtherIssuer, SignIn
from agentic.mcp_client.server_file import Endpoint, OAuthClient
from agentic.mcp_client.servers import McpServers
from tests.waiting import eventually

from .oauth_http import GuardedOdd, browse, guarded_odd, knock
from .odd_bench import McpBench, open_mcp_bench

ADD = "mcp__odd__add"


@pytest.fixture
async def bench() -> AsyncIterator[McpBench]:
    async with open_mcp_bench() as opened:
        yield opened


@pytest.fixture
def server(bench: McpBench) -> Iterator[GuardedOdd]:
    with guarded_odd(bench.workspace) as opened:
        yield opened


def named(server: GuardedOdd, oauth: JsonValue = True) -> dict[str, JsonValue]:
    return {"odd": {"url": server.url, "oauth": oauth, "timeout": 60}}


async def comes_back(begun: SignIn, *, paste: bool = False) -> None:
    """A person signs in; raises as ``finished`` does."""
    waiting = asyncio.create_task(begun.finished())
    there = await asyncio.to_thread(browse, begun.address, back=not paste)
    if paste:
        assert begun.take(there)
    await waiting


async def signs_in(bench: McpBench, agreed: str = "") -> None:
    await comes_back(await bench.servers.sign_in("odd", agreed))
    await bench.servers.look()
    bench.again()


def kept(bench: McpBench) -> Path:
    (file,) = (bench.folder / "mcp-tokens").glob("*.json")
    return file


def expire(bench: McpBench) -> None:
    """The time has come at which the token ends."""
    file = kept(bench)
    file.write_text(json.dumps({**json.loads(file.read_text()), "expires_at": time.time() - 1}))


async def renewing(servers: McpServers) -> None:
    """Wait until they do."""

    def begun() -> bool:
        task = servers._tokens["odd"]._renewing
        return task is not None and not task.done()

    await eventually(begun)


async def restarted(bench: McpBench, server: GuardedOdd) -> McpServers:
    """Another process, with the same home."""
    before = bench.servers
    await bench.serve(named(server))
    return before


async def test_a_sign_in_outlives_a_restart_and_is_renewed_once_for_eight_calls(
    bench: McpBench, server: GuardedOdd, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.CRITICAL, "mcp")  # as the bot sets it
    caplog.set_level(logging.CRITICAL, "client")
    await bench.serve(named(server))
    (seen,) = await bench.servers.look()
    assert "nobody has signed in" in seen.problem
    assert "threadwright mcp login odd" in seen.problem
    assert server.refused == 0  # nothing was sent
    await signs_in(bench)
    assert kept(bench).stat().st_mode & 0o777 == 0o600
    assert kept(bench).parent.stat().st_mode & 0o777 == 0o700
    specs = {spec.name: spec for spec in bench.toolbox.specs}
    assert specs[ADD].private
    assert (await bench.call(ADD, text="first")).outcome == "ok"
    other = await restarted(bench, server)
    assert (await bench.call(ADD, text="second")).outcome == "ok"
    assert server.sign_ins.renewed == 0  # what has not expired is used
    await bench.servers.close()
    await restarted(bench, server)
    expire(bench)
    first = kept(bench).read_text()
    server.sign_ins.held = threading.Event()
    eight = [asyncio.create_task(bench.call(ADD, text=f"call{n}")) for n in range(8)]
    theirs = asyncio.create_task(other._tokens["odd"].token())
    await renewing(bench.servers)
    await renewing(other)
    server.sign_ins.held.set()
    assert [(await each).outcome for each in eight] == ["ok"] * 8
    now = json.loads(kept(bench).read_text())
    assert (await theirs, server.sign_ins.renewed) == (now["access_token"], 1)
    assert now["refresh_token"] not in first
    assert time.time() + 3000 < now["expires_at"] < time.time() + 3700
    assert sorted(bench.did()) == sorted(["add first", "add second", *(f"add call{n}" for n in range(8))])
    server.echoes = True
    echoed = await bench.call(ADD, text="echo")
    assert "You sent ***" in echoed.preview, echoed.preview
    for text in (caplog.text, echoed.preview, repr(bench.servers.servers), repr(bench.servers._tokens["odd"].grant())):
        for token in (*server.sign_ins.access, *server.sign_ins.renewals):
            assert token not in text


async def test_a_token_that_is_refused_is_renewed_and_the_call_made_once_more_never_twice(
    bench: McpBench, server: GuardedOdd
) -> None:
    await bench.serve(named(server))
    await signs_in(bench)
    server.sign_ins.access.clear()  # withdrawn before its time
    assert (await bench.call(ADD, text="one")).outcome == "ok"
    assert (server.sign_ins.renewed, bench.did()) == (1, ["add one"])
    server.sign_ins.access.clear()
    server.sign_ins.audience = "https://other.example.org/mcp"
    before = server.refused
    wrong = await bench.call(ADD, text="two")
    assert (wrong.outcome, "refuses its sign-in, even renewed. An owner signs in again" in wrong.preview) == (
        "failed",
        True,
    )
    assert (server.sign_ins.renewed, server.refused - before, bench.did()) == (2, 2, ["add one"])


async def test_a_renewal_whose_answer_was_lost_is_tried_again_and_then_goes_on_or_ends_the_sign_in(
    bench: McpBench, server: GuardedOdd
) -> None:
    await bench.serve(named(server))
    await signs_in(bench)
    expire(bench)
    spent = json.loads(kept(bench).read_text())["refresh_token"]
    server.sign_ins.lose, server.sign_ins.forgives = 9, True
    lost = await bench.call(ADD, text="one")
    assert (lost.outcome, "did not answer" in lost.preview) == ("failed", True), lost.preview
    assert json.loads(kept(bench).read_text())["refresh_token"] == spent
    server.sign_ins.lose = 0
    assert (await bench.call(ADD, text="two")).outcome == "ok"
    expire(bench)
    server.sign_ins.lose, server.sign_ins.forgives = 1, False
    await bench.call(ADD, text="three")
    over = await bench.call(ADD, text="three")
    assert "sign-in is over, because it was not renewed (invalid_grant). An owner signs in again" in over.preview
    assert "secret words" not in over.preview
    asked = server.sign_ins.renewed
    await bench.call(ADD, text="four")
    (seen,) = await bench.servers.look()
    assert "sign-in is over" in seen.problem
    assert "over" in bench.servers.signed_out("odd")
    assert server.sign_ins.renewed == asked  # who was told no does not ask again
    await signs_in(bench)
    assert (await bench.call(ADD, text="last")).outcome == "ok"
    assert bench.did() == ["add two", "add last"]


OTHER = """
import fcntl, os, sys
file = sys.argv[1]
with open(file.replace(".json", ".lock")) as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    print("held", flush=True)
    new = sys.stdin.readline()
    with open(file + ".new", "w") as out:
        out.write(new)
    os.replace(file + ".new", file)
"""


async def test_what_another_process_renews_meanwhile_is_waited_for_and_taken(
    bench: McpBench, server: GuardedOdd
) -> None:
    await bench.serve(named(server))
    await signs_in(bench)
    expire(bench)
    other = await asyncio.create_subprocess_exec(
        sys.executable, "-c", OTHER, str(kept(bench)), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert other.stdout is not None
    assert await other.stdout.readline() == b"held\n"
    waiting = asyncio.create_task(bench.call(ADD, text="one"))
    await renewing(bench.servers)
    fresh = {
        **json.loads(kept(bench).read_text()),
        **server.sign_ins.issue(server.url),
        "expires_at": time.time() + 3600,
    }
    await other.communicate(json.dumps(fresh).encode() + b"\n")
    assert (await waiting).outcome == "ok"
    assert server.sign_ins.renewed == 0


def _no_room(_: int) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


async def test_a_renewal_goes_on_when_its_call_is_stopped_and_is_kept_before_it_is_used(
    bench: McpBench, server: GuardedOdd, monkeypatch: pytest.MonkeyPatch
) -> None:
    await bench.serve(named(server))
    await signs_in(bench)
    expire(bench)
    server.sign_ins.held = threading.Event()
    stopped = asyncio.create_task(bench.call(ADD, text="one"))
    await renewing(bench.servers)
    stopped.cancel()
    await asyncio.wait((stopped,))
    server.sign_ins.held.set()
    await bench.servers.close()
    assert json.loads(kept(bench).read_text())["access_token"] in server.sign_ins.access
    assert (server.sign_ins.renewed, bench.did()) == (1, [])
    await restarted(bench, server)
    expire(bench)
    with monkeypatch.context() as disk:
        disk.setattr(os, "fsync", _no_room)
        full = await bench.call(ADD, text="two")
    assert "cannot be kept on the disk (No space left on device)" in full.preview
    assert server.sign_ins.renewed == 1  # what can be used once was not spent
    server.sign_ins.refuses = "slow_down"
    later = await bench.call(ADD, text="three")
    assert "HTTP 400 (slow_down); try again later" in later.preview
    server.sign_ins.refuses = ""
    assert (await bench.call(ADD, text="four")).outcome == "ok"


async def test_only_the_browser_that_was_sent_comes_back_and_an_address_can_be_pasted(
    bench: McpBench, server: GuardedOdd
) -> None:
    await bench.serve(named(server))
    begun = await bench.servers.sign_in("odd")
    there = await asyncio.to_thread(browse, begun.address, back=False)
    wrong = there.replace("state=", "state=x")
    assert await asyncio.to_thread(knock, wrong) == 400
    assert await asyncio.to_thread(knock, there.replace("/callback", "/elsewhere")) == 400
    assert [begun.take(each) for each in (wrong, "", "x" * 20_000, "http://[", "?state=")] == [False] * 5
    waiting = asyncio.create_task(begun.finished())
    assert begun.take(f"  {there}\n")
    await waiting
    assert not begun.take(there)
    second = await bench.servers.sign_in("odd")
    await bench.servers.sign_in("odd")
    with pytest.raises(TokenTrouble, match="another sign-in"):
        await second.finished()
    await bench.serve(named(server, {"callbackPort": urlsplit(there).port}))
    first = await bench.servers.sign_in("odd")
    await comes_back(await bench.servers.sign_in("odd"))  # at the same port
    with pytest.raises(TokenTrouble, match="another sign-in"):
        await first.finished()
    third = await bench.servers.sign_in("odd")
    server.sign_ins.declines = True
    with pytest.raises(TokenTrouble, match="declined there"):
        await comes_back(third)
    server.sign_ins.declines = False
    assert await bench.servers.sign_out("odd")
    assert not await bench.servers.sign_out("odd")
    with pytest.raises(TokenTrouble, match="there is no MCP server 'x'"):
        await bench.servers.sign_in("x")


async def test_another_issuer_than_was_agreed_to_gets_nothing(bench: McpBench, server: GuardedOdd) -> None:
    await bench.serve(named(server))
    first = server.sign_ins
    first.wrong_iss = "https://evil.example.org"
    with pytest.raises(TokenTrouble, match="from another issuer than was asked"):
        await comes_back(await bench.servers.sign_in("odd"))
    assert first.asked == []  # the code was not sent
    first.wrong_iss = ""
    first.metadata = {"issuer": "https://evil.example.org"}
    with pytest.raises(TokenTrouble, match=r"says that it is https://evil\.example\.org"):
        await bench.servers.sign_in("odd")
    first.metadata = {}
    await signs_in(bench)
    with guarded_odd(bench.workspace) as other:
        server.named = [other.sign_ins.issuer]
        expire(bench)
        assert (await bench.call(ADD, text="one")).outcome == "ok"
        assert (first.renewed, other.sign_ins.asked) == (1, [])  # a renewal asks nobody where to go
        with pytest.raises(OtherIssuer, match="Before it was") as changed:
            await bench.servers.sign_in("odd")
        assert changed.value.now == other.sign_ins.issuer
        begun = await bench.servers.sign_in("odd", changed.value.now)
        assert begun.issuer == other.sign_ins.issuer
        await begun.close()
        await bench.serve(named(server, {"issuer": first.issuer}))
        with pytest.raises(TokenTrouble, match=r"mcp\.json names"):
            await bench.servers.sign_in("odd")


async def test_a_token_is_not_sent_along_a_redirect(bench: McpBench, server: GuardedOdd) -> None:
    await bench.serve(named(server))
    await signs_in(bench)
    with guarded_odd(bench.workspace) as other:
        server.moved = f"{other.sign_ins.issuer}/elsewhere"
        assert (await bench.call(ADD, text="one")).outcome == "failed"
        server.moved = server.url.replace("/mcp", "/other")
        assert (await bench.call(ADD, text="two")).outcome in ("failed", "unknown")
    assert other.arrived == []
    assert set(server.elsewhere) == {""}  # it was followed, and the token stayed


async def test_where_a_server_says_one_signs_in_leads_to_no_private_address(
    bench: McpBench, server: GuardedOdd
) -> None:
    await bench.serve(named(server))
    for address, why, place in (
        ("http://auth.example.org", "no https", "token_endpoint"),
        ("https://169.254.169.254", "no public one", "authorization_endpoint"),
        ("https://10.0.0.7", "private network", "registration_endpoint"),
        ("https://[::1]", "this machine", "token_endpoint"),
        ("https://me:pw@auth.example.org", "misleads", "authorization_endpoint"),
    ):
        server.named = [address]
        with pytest.raises(TokenTrouble, match=why):
            await bench.servers.sign_in("odd")
        server.named = [server.sign_ins.issuer]
        server.sign_ins.metadata = {place: f"{address}/there"}
        with pytest.raises(TokenTrouble, match=why):
            await bench.servers.sign_in("odd")
        server.sign_ins.metadata = {}

    async def here(_: str, __: int) -> Sequence[str]:
        return ["127.0.0.1"]

    elsewhere = AuthorizationHttp(Endpoint("https://tools.example.org/mcp", oauth=OAuthClient()), here)
    with pytest.raises(TokenTrouble, match="no https"):
        elsewhere.check(f"{server.sign_ins.issuer}/token")
    with pytest.raises(TokenTrouble, match="private network"):
        await elsewhere.challenge()
    for wrong, why in (
        ({"code_challenge_methods_supported": ["plain"]}, "PKCE"),
        (
            {
                "authorization_endpoint": "https://honest.example.org/authorize",
                "authorization_response_iss_parameter_supported": False,
            },
            "could be for somebody else",
        ),
        ({"registration_endpoint": None}, r"oauth\.clientId in mcp\.json"),
        ({"registration_endpoint": f"{server.sign_ins.issuer}/nowhere"}, r"oauth\.clientId in mcp\.json"),
        ({"token_endpoint": "x"}, "does not say how"),
    ):
        server.sign_ins.metadata = wrong
        with pytest.raises(TokenTrouble, match=why):
            await bench.servers.sign_in("odd")


async def test_a_server_is_signed_in_to_by_a_secret_of_the_file_with_nobody_there(
    bench: McpBench, server: GuardedOdd
) -> None:
    machine: dict[str, JsonValue] = {
        "grant": "client_credentials", "clientId": "us", "clientSecret": "${ODD_SECRET}", "issuer": server.sign_ins.issuer,
        "scopes": "tools",
    }  # fmt: skip
    await bench.serve(named(server, machine))
    assert (await bench.call(ADD, text="one")).outcome == "ok"
    expire(bench)
    assert (await bench.call(ADD, text="two")).outcome == "ok"
    assert [(each["grant_type"], each["scope"]) for each in server.sign_ins.asked] == [
        ("client_credentials", "tools")
    ] * 2
    assert "our-secret" not in repr(bench.servers.servers)
    assert "our-secret" not in kept(bench).read_text()
    with pytest.raises(TokenTrouble, match="nobody has to"):
        await bench.servers.sign_in("odd")
    server.sign_ins.refuses = "invalid_client"
    expire(bench)
    refused = await bench.call(ADD, text="three")
    assert "does not accept the oauth.clientId and clientSecret" in refused.preview
