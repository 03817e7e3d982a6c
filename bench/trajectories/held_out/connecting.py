"""The network: servers that are busy for a while; or names that cannot be resolved where there is no network at all."""

from __future__ import annotations

from bench.trajectories.acting import finish, shell, timed_out, write
from bench.trajectories.story import Act, Family, Story
from bench.trajectories.words import NOUNS, stamp

BUSY = (
    "HTTP/1.1 503 Service Unavailable",
    "HTTP/1.1 429 Too Many Requests\nretry-after: {n}",
    "fatal: unable to access 'https://git.local/': Recv failure: Connection reset by peer",
    "npm ERR! code ETIMEDOUT at {at}",
    "502 Bad Gateway",
)


def healthy(story: Story) -> None:
    """Busy two to five times, with pauses; then it answers."""
    rng = story.rng
    busy, thing = rng.choice(BUSY), rng.choice(NOUNS)

    def attempt() -> Act:
        command = f"sleep {rng.choice((5, 10, 30))}; curl -sSf https://git.local/{thing}"
        if rng.random() < 0.1:
            return timed_out(story, command)
        return shell(story, command, busy.format(n=rng.randint(1, 60), at=stamp(story)), code=22)

    for _ in range(rng.randint(2, 5)):
        story.turn(attempt())
    story.turn(shell(story, f"curl -sSf https://git.local/{thing}", f'{{"{thing}": 1}}'))
    story.turn(write(story, f"{thing}.json", "fetched", 3))
    story.turn(finish(story))


def stuck(story: Story) -> None:
    """No name is ever resolved, whoever is asked by whatever program."""
    rng = story.rng
    hosts = rng.sample(("pypi.local", "git.local", "npm.local", "docs.local", "cdn.local"), rng.randint(1, 4))
    same = rng.random() < 0.5
    story.turn(shell(story, "cat package.json", "{}"))
    story.leads_nowhere()
    for number in range(rng.randint(9, 13)):
        host = rng.choice(hosts)
        tools = (
            (f"curl -sS https://{host}/{number}", f"curl: (6) Could not resolve host: {host}", 6),
            (f"git clone https://{host}/r{number}", f"fatal: unable to access: Could not resolve host: {host}", 128),
            (f"wget https://{host}/f{number}.tgz", f"wget: unable to resolve host address '{host}'", 4),
        )
        command, output, exit_code = tools[0] if same else rng.choice(tools)
        story.turn(shell(story, command, output, code=exit_code))


FAMILY = Family("connecting", {"healthy": healthy, "stuck": stuck})
