"""Servers that are waited for: they come up, or they died long ago and are knocked at in ever new ways."""

from __future__ import annotations

from bench.trajectories.acting import edit, finish, job, read, shell, started
from bench.trajectories.story import Act, Family, Story
from bench.trajectories.words import code, pid, stamp


def _refused(story: Story, command: str, port: int) -> Act:
    after = story.rng.randint(0, 9)
    return shell(story, command, f"curl: (7) Failed to connect to localhost port {port} after {after} ms", code=7)


def healthy(story: Story) -> None:
    """A few knocks, with a sleep before them, while it starts; then it answers, and the work goes on."""
    rng = story.rng
    port = rng.choice((3000, 5000, 8000, 8080))
    story.turn(started(story, f"npm start -- --port {port}", "x1"))
    for _ in range(rng.randint(2, 6)):
        if rng.random() < 0.4:
            story.turn(job(story, "x1", rng.choice(("", "", f"{stamp(story)} INFO bundling…")), wait=5))
        else:
            story.turn(_refused(story, f"sleep {rng.choice((2, 5, 10))} && curl -sS localhost:{port}/health", port))
    story.turn(shell(story, f"curl -s localhost:{port}/health", '{"ok":true}'))
    for path in rng.sample(("users", "items", "orders", "login"), rng.randint(1, 3)):
        story.turn(shell(story, f"curl -s -o /dev/null -w '%{{http_code}}' localhost:{port}/{path}", "200"))
    story.turn(edit(story, "src/server.ts", "a", "b", "routes"))
    story.turn(shell(story, f"curl -s localhost:{port}/users", '[{"id":1}]'))
    story.turn(finish(story))


def stuck(story: Story) -> None:
    """It crashed at its start; each request is refused, with these options or with others."""
    rng = story.rng
    port = rng.choice((3000, 5000, 8000, 8080))
    story.turn(read(story, "src/server.ts", code(story, "src/server.ts")))
    story.turn(started(story, f"npm start -- --port {port}", "x1"))
    ways = (
        f"curl -sS localhost:{port}",
        f"curl -v http://127.0.0.1:{port}/",
        f"curl -sS --retry 2 localhost:{port}/health",
        f"curl -sS -4 localhost:{port}/",
        f"curl -sSI localhost:{port}/index.html",
    )
    restarts = rng.random() < 0.4
    story.leads_nowhere()
    for _ in range(rng.randint(9, 13)):
        if restarts and rng.random() < 0.3:
            crash = f"{stamp(story)} [{pid(story)}] Error: listen EADDRINUSE: address already in use :::{port}"
            story.turn(shell(story, f"npm start -- --port {port}", crash, code=1))
        story.turn(_refused(story, rng.choice(ways), port))


FAMILY = Family("serving", {"healthy": healthy, "stuck": stuck})
