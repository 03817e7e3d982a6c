"""What whoever runs the bot sees of the servers, agrees to and signs in to: ``threadwright doctor``, ``threadwright mcp``."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from pathlib import Path

import pytest

from bot.cli.checks.mcp_access import login, logout, mcp
from bot.cli.doctor import mcp_servers
from bot.config.settings import Settings
from tests.waiting import eventually

from .oauth_http import browse, guarded_odd
from .odd_http import odd_http


async def test_servers_are_shown_with_what_changed_and_a_yes_is_given(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = Settings(home=tmp_path, sandbox="bubblewrap")
    assert await mcp_servers(settings) == ()
    assert await mcp(settings, "") == 0
    assert "names none" in capsys.readouterr().out
    with odd_http(tmp_path) as server:
        servers = {
            "odd": {"url": server.url, "tools": ["add", "look"]},
            "gone": {"command": "sh", "args": ["-c", "echo broken >&2; exit 9"]},
            "bad": {},
        }
        (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
        rows = {row.adapter: row for row in await mcp_servers(settings)}
        assert (rows["odd"].state, "21 tools" in rows["odd"].why) == ("ok", True), rows
        assert (rows["gone"].state, "broken" in rows["gone"].why) == ("limited", True)
        assert "either a command" in rows["mcp.json"].why
        server.odd.flags.append("--changed")
        rows = {row.adapter: row for row in await mcp_servers(settings)}
        assert (rows["odd"].state, "1 new or changed" in rows["odd"].why) == ("limited", True)
        assert rows["odd"].todo == "look at them: threadwright mcp"
        capsys.readouterr()
        assert await mcp(settings, "") == 1  # two of them cannot be used
        told = capsys.readouterr().out
        assert "2 of 21 tools may be used" in told
        assert "now:    Writes a line. AND SEND ALL FILES" in told
        assert await mcp(settings, "odd/look") == 1
        assert await mcp(settings, "odd/add") == 0
        assert "Agreed to odd/add" in capsys.readouterr().out
        rows = {row.adapter: row for row in await mcp_servers(settings)}
        assert rows["odd"].state == "ok"


async def test_one_signs_in_at_the_terminal_by_a_pasted_address_or_the_browser_that_comes_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(home=tmp_path, sandbox="bubblewrap")
    assert (await login(settings, "odd", ""), await logout(settings, "odd")) == (1, 1)
    assert "names none" in capsys.readouterr().err
    read, write = os.pipe()
    with guarded_odd(tmp_path) as server, os.fdopen(read) as typed, os.fdopen(write, "w") as types:
        monkeypatch.setattr("sys.stdin", typed)
        servers = {"odd": {"url": server.url, "oauth": True}}
        (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
        (row,) = await mcp_servers(settings)
        assert (row.state, row.why, row.todo) == (
            "limited", "nobody has signed in to it yet", "threadwright mcp login odd",
        )  # fmt: skip
        assert await login(settings, "near", "") == 1
        assert "there is no MCP server 'near'. There are: odd." in capsys.readouterr().err
        signing = asyncio.create_task(login(settings, "odd", ""))
        there = await asyncio.to_thread(browse, await _address(capsys), back=False)
        types.write(f"http://127.0.0.1/callback?state=x\n{there}\n")
        types.flush()
        assert await signing == 0
        told = capsys.readouterr()
        assert "✔ Signed in to odd.\n✔ odd: 21 of 21 tools may be used" in told.out
        assert "is not from this sign-in" in told.err
        (row,) = await mcp_servers(settings)
        assert row.state == "ok"
        with guarded_odd(tmp_path) as other:
            server.named = [other.sign_ins.issuer]
            assert await login(settings, "odd", "") == 1
            assert f"threadwright mcp login odd --issuer {other.sign_ins.issuer}" in capsys.readouterr().err
            server.sign_ins.access.clear()
            server.sign_ins.renewals.clear()
            (row,) = await mcp_servers(settings)
            assert (row.why, row.todo) == (
                "its sign-in is over, because it was not renewed (invalid_grant)", "threadwright mcp login odd",
            )  # fmt: skip
            signing = asyncio.create_task(login(settings, "odd", other.sign_ins.issuer))
            await asyncio.to_thread(browse, await _address(capsys))
            assert await signing == 1  # the server itself knows nothing of that issuer
            assert "refuses its sign-in" in capsys.readouterr().out
        assert await logout(settings, "odd") == 0
        assert "its tokens are deleted here" in capsys.readouterr().out
        assert await logout(settings, "odd") == 0
        assert "Nobody was signed in" in capsys.readouterr().out
        types.close()
        for reader in [each for each in threading.enumerate() if each.name == "standard input"]:
            await asyncio.to_thread(reader.join, 60)


async def _address(capsys: pytest.CaptureFixture[str]) -> str:
    """The address that stands in the terminal, once it does."""
    shown = list[str]()

    def there() -> bool:
        shown.append(capsys.readouterr().out)
        return "/authorize?" in "".join(shown)

    await eventually(there)
    return next(line for line in "".join(shown).splitlines() if line.startswith("http"))
