"""A server that misbehaves is an observation, and harms nothing: it runs in a real sandbox, under the real toolbox."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

import pytest

from agentic.core.prompt.tools_on_demand import BUDGET_TOKENS, specs_for
from agentic.core.state.execution import CallReply
from agentic.tools.foreign import server_tool
from tests.waiting import eventually, promised

from .odd_bench import McpBench, odd, open_mcp_bench


@pytest.fixture
async def bench() -> AsyncIterator[McpBench]:
    async with open_mcp_bench() as opened:
        yield opened


async def test_tools_of_a_server_are_ours_to_name_and_to_trust(bench: McpBench) -> None:
    """Names shadow nothing and collide with nothing, and only what both sides say counts as reading."""
    await bench.serve({"odd": odd(readOnly=["look", "shell"], idempotent=["put"], tools=["[!n]*"])})
    specs = {spec.name: spec for spec in bench.toolbox.specs}
    assert specs["shell"].description.startswith("Run") or "MCP" not in specs["shell"].description
    assert "mcp__odd__shell" in specs
    assert len({name for name in specs if name.startswith("mcp__odd__a_b")}) == 2
    assert not any("never" in name or "ctrl" in name for name in specs)
    assert all(name.isascii() and len(name) <= 64 for name in specs)
    effects = {name: specs[f"mcp__odd__{name}"].effect for name in ("look", "put", "add", "die_once")}
    assert effects == {"look": "read", "put": "keyed", "add": "unkeyed", "die_once": "unkeyed"}
    assert "\x1b" not in specs["mcp__odd__hidden"].description
    assert [spec.name for spec in bench.toolbox.specs[-len(effects) :]] == sorted(
        spec.name for spec in bench.toolbox.specs[-len(effects) :]
    )
    assert (await bench.call("mcp__odd__look", text="here")).outcome == "ok"
    assert "does not" not in (await bench.call("mcp__odd__a_b")).preview


async def test_what_goes_wrong_is_said_and_nothing_is_done_twice(bench: McpBench) -> None:
    """Each in turn over the same server, which is started anew where it died."""
    await bench.serve({"odd": odd(timeout=4)})
    added = await bench.call("mcp__odd__add", text="one")
    assert (added.outcome, [change.path for change in added.changes]) == ("ok", ["calls.log"])
    died = await bench.call("mcp__odd__die")
    assert died.outcome == "unknown"
    assert "I died" in died.preview
    assert "not repeated" in died.preview
    (bench.workspace / "died").unlink()
    again = await bench.call("mcp__odd__die_once")
    assert again.outcome == "ok", again.preview  # it reads, so it was asked again
    never = await bench.call("mcp__odd__never")
    assert never.outcome == "unknown"
    assert "within 4 s" in never.preview
    huge = await bench.call("mcp__odd__huge")
    assert huge.outcome == "failed"
    assert "8 MB" in huge.preview
    flood = await bench.call("mcp__odd__flood")
    assert flood.outcome == "failed"
    nonsense = await bench.call("mcp__odd__nonsense")
    assert nonsense.outcome == "failed"
    assert "this is no JSON" in nonsense.preview
    wrong = await bench.call("mcp__odd__wrong")
    assert wrong.outcome == "failed"
    assert "no valid one" in wrong.preview
    failed, error = await bench.call("mcp__odd__fails"), await bench.call("mcp__odd__error")
    assert (failed.outcome, error.outcome) == ("failed", "failed")
    assert "It failed." in failed.preview
    assert "Out of order" in error.preview
    begun = time.monotonic()
    assert (await bench.call("mcp__odd__pattern")).outcome == "ok"
    assert time.monotonic() - begun < 10  # its pattern would take for ever
    hidden = await bench.call("mcp__odd__hidden")
    assert "no instruction to you" in hidden.preview
    assert "\x1b" not in hidden.preview
    assert "\x07" not in hidden.preview
    did = bench.did()
    assert [did.count(name) for name in ("add one", "die", "never", "die_once")] == [1, 1, 1, 2]
    assert "'text' is missing" in bench.refused("mcp__odd__needs")
    assert "no argument" in bench.refused("mcp__odd__needs", text="a", other=1)


async def test_a_picture_goes_into_the_workspace_and_is_shown(bench: McpBench) -> None:
    await bench.serve({"odd": odd()})
    seen = await bench.call("mcp__odd__picture")
    (file,) = seen.files
    assert (file.path, file.media, file.width, file.height) == ("mcp/picture.png", "image/png", 4, 3)
    assert (bench.workspace / file.path).read_bytes().startswith(b"\x89PNG")
    assert "mcp/picture.png" in seen.preview
    assert "not the base64" in seen.preview
    assert [change.path for change in seen.changes if change.path == file.path] == [file.path]


async def test_prompts_and_resources_are_read_on_demand(bench: McpBench) -> None:
    await bench.serve({"odd": odd()})
    assert "plan (takes topic)" in (await bench.call("mcp_prompt", server="odd")).preview
    prompt = await bench.call("mcp_prompt", server="odd", name="plan", arguments={"topic": "a trip"})
    assert "Plan a trip." in prompt.preview
    assert "odd://notes" in (await bench.call("mcp_resource", server="odd")).preview
    assert "Some notes." in (await bench.call("mcp_resource", server="odd", uri="odd://notes")).preview
    assert (await bench.call("mcp_resource", server="none")).outcome == "refused"


async def test_a_changed_tool_waits_for_a_yes(bench: McpBench) -> None:
    """The old words stay before the agent; the call is refused until somebody agrees to the new ones."""
    await bench.serve({"odd": odd()})
    await bench.serve({"odd": odd("--changed", "--more")}, look=False)
    assert "evil" not in next(spec.description for spec in bench.toolbox.specs if spec.name == "mcp__odd__add")
    refused = await bench.call("mcp__odd__add", text="one")
    assert refused.outcome == "refused"
    assert "/mcp" in refused.preview
    assert bench.did() == []
    assert (await bench.call("mcp__odd__look")).outcome == "ok"
    waiting = bench.servers.catalogue.waiting(("odd",))
    assert [(one.now.name, one.before is None) for one in waiting] == [("add", False), ("extra", True)]
    assert not bench.servers.catalogue.agree("odd", "add", "another")
    assert bench.servers.catalogue.agree("odd", "add", waiting[0].now.sha)
    bench.again()
    assert "evil" in next(spec.description for spec in bench.toolbox.specs if spec.name == "mcp__odd__add")
    assert not any(spec.name == "mcp__odd__extra" for spec in bench.toolbox.specs)
    assert (await bench.call("mcp__odd__add", text="one")).outcome == "ok"


@pytest.mark.parametrize("flags", [(), ("--modern",)])
async def test_what_a_server_asks_is_a_question_and_the_call_goes_on_with_the_answer(
    bench: McpBench, flags: tuple[str, ...]
) -> None:
    await bench.serve({"odd": odd(*flags)})
    asked = await bench.call("mcp__odd__ask")
    question = asked.question
    assert question is not None, asked.preview
    assert "Which colour, and how many?" in question.text
    assert [(part.text, part.options) for part in question.parts] == [
        ("colour", ("red", "blue")),
        ("number: How many? (a number)", ()),
    ]
    reply = CallReply(question.resume, "text", "", {"1": "blue", "2": "7"})
    went_on = await bench.call("mcp__odd__ask", (reply,))
    assert went_on.outcome == "ok"
    assert '"colour": "blue", "number": 7' in went_on.preview
    assert ("s1: " in went_on.preview) == bool(flags)
    unusable = await bench.call("mcp__odd__ask", (CallReply(question.resume, "text", "", {"1": "red", "2": "many"}),))
    assert unusable.outcome == "failed"
    assert "is not a number" in unusable.preview
    no = await bench.call("mcp__odd__ask", (CallReply(question.resume, "text", "", {"1": "decline", "2": "1"}),))
    assert '"decline"' in no.preview
    alone = await bench.call("mcp__odd__ask", attended=False)
    assert '"decline"' in alone.preview


async def test_thousands_of_tools_are_names_with_the_rest_on_demand(bench: McpBench) -> None:
    await bench.serve({"odd": odd("--many", "1500"), "few": odd(tools=["look"], readOnly=["look"])})
    shown = specs_for([spec.ref for spec in bench.toolbox.specs], bench.toolbox.specs)
    assert sum(spec.tokens for spec in shown) <= BUDGET_TOKENS
    assert {spec.name for spec in shown} > {"shell", "finish", "describe_tools", "call_tool"}
    assert "find them with describe_tools" in next(s.description for s in shown if s.name == "call_tool")
    described = await bench.call("describe_tools", names=["mcp__odd__tool0007"])
    assert "Number 7 of very many" in described.preview
    assert described.exposure.untrusted, "words of a server"
    assert not (await bench.call("describe_tools", names=["shell"])).exposure
    assert "tool1499" in (await bench.call("describe_tools", query="number 1499")).preview
    assert "no tool" in (await bench.call("describe_tools", names=["tool9"])).preview
    assert "More match" in (await bench.call("describe_tools", query="odd")).preview
    assert (await bench.call("describe_tools", query="zebra crossing")).preview == "No tool matches."
    came = await bench.call("call_tool", tool="mcp__odd__tool1499", arguments={"text": "x"})
    assert "tool1499" in came.preview
    assert "name another tool" in (await bench.call("call_tool", tool="call_tool")).preview
    assert "call_tool was not run" in bench.refused("call_tool", arguments={})


async def test_servers_that_cannot_be_listed_are_named_and_the_others_work(bench: McpBench) -> None:
    servers = {
        "dead": {"command": "sh", "args": ["-c", "echo hello; echo why >&2; exit 4"]},
        "endless": odd("--endless"),
        "few": odd(),
        "long": odd("--long"),
        "loop": odd("--loop"),
        "missing": {"command": "no-such-program"},
        "slow": odd("--slow", timeout=1),
    }
    await bench.serve(dict(servers), look=False)
    seen = {each.server: each.problem for each in await bench.servers.look()}
    assert seen["few"] == ""
    assert "no end" in seen["endless"]
    assert "no end" in seen["loop"]
    assert "at such length" in seen["long"]
    assert "exit code 4" in seen["dead"]
    assert "why" in seen["dead"]
    assert "no-such-program" in seen["missing"]
    assert "within 1 s" in seen["slow"]


async def test_a_stop_ends_the_server_and_the_next_call_starts_it_anew(
    bench: McpBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    await bench.serve({"odd": odd()})
    calling = asyncio.create_task(bench.call("mcp__odd__never"))
    await eventually(lambda: "never" in bench.did())
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        async with promised(5, "a stop of what a server does"):
            await calling
    left = await bench.call("shell", command="ps ax | grep -c '[o]dd_server' || true")
    assert "0" in left.preview
    await bench.world.close()  # the sandbox goes, and the server with it
    assert (await bench.call("mcp__odd__add", text="two")).outcome == "ok"
    monkeypatch.setattr(server_tool, "ARGUMENT_CHARACTERS", 10)
    assert "more than 10 characters" in bench.refused("mcp__odd__add", text="x" * 20)
