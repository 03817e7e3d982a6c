"""What a checkpoint does not hold is named with it: interpreters, servers, /tmp."""

from __future__ import annotations

from agentic.ports.runtime import Saved
from agentic.tools.toolbox import StandardToolbox
from agentic.workspace.workspace import RealWorld
from tests.integration.tools.bench import Bench


async def saved() -> Saved:
    return Saved("m1")


async def test_what_runs_beside_the_workspace_is_named_while_it_does(bench: Bench) -> None:

    async def world() -> RealWorld:
        return bench.world

    toolbox = StandardToolbox(world, save=saved)
    assert (await toolbox.checkpoint()).not_kept == ()  # there is no sandbox yet
    at_work = Bench(bench.workspace, bench.world, bench.sandboxes, toolbox)
    await at_work.call("shell", command="echo hello", reasoning="look")
    assert (await toolbox.checkpoint()).not_kept == ("files in /tmp",)
    await at_work.call("python", code="x = 1")
    started = await at_work.call("shell", command="sleep 300", reasoning="serve", background=True)
    job = started.preview.split("job ", 1)[1].split(".", 1)[0]
    assert (await toolbox.checkpoint()).not_kept == (
        "the Python interpreter's variables",
        "`sleep 300`, which ran in the background",
        "files in /tmp",
    )
    await at_work.call("job", job=job, action="stop")
    await at_work.call("python", restart=True)
    assert (await toolbox.checkpoint()).not_kept == ("files in /tmp",)
    await bench.world.close()
    assert (await toolbox.checkpoint()).not_kept == ()
