"""The images as somebody deploys them: `docker compose up` in deploy/, a mention in the local guild, an answer.

Opt-in, since the images take minutes to build: `make compose` builds them and runs this.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import socket
import subprocess
import uuid
from pathlib import Path

import pytest

from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from tests.e2e.person import person
from tests.waiting import eventually

pytestmark = [
    pytest.mark.docker,
    pytest.mark.long("THREADWRIGHT_IMAGES"),  # `make compose` builds the images and sets it
]
DEPLOY = Path(__file__).parents[2] / "deploy"
COMPOSE = ["docker", "compose"] if shutil.which("docker-compose") is None else ["docker-compose"]
BACK_UP = "cd && threadwright backup b.tgz >&2 && cat b.tgz && rm b.tgz"
RESTORE = "cat > /tmp/b.tgz && threadwright import /tmp/b.tgz --into /var/lib/threadwright"
"""Both as docs/deployment.md says."""
LOOK = (
    "id -u; cat /sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/memory.max 2>/dev/null; echo kept > kept.txt"
)


def works(request: CapturedRequest) -> Reply:
    """Looks around in the sandbox, and says what it saw; in a second task, what the first one left."""
    if not request.answers:
        first = "What did you leave" not in str(request.body)
        return Reply(
            "I look.", calls=(("shell", {"command": LOOK if first else "cat kept.txt", "expectation": "words"}),)
        )
    seen = " | ".join(request.answers[-1].text.splitlines())
    return Reply(calls=(("finish", {"answer": f"It says: {seen}.", "claims": []}),))


class Project:
    """The compose file's containers under a name of their own, with settings as a person writes them into `.env`."""

    def __init__(self, settings: dict[str, str]) -> None:
        self.name = f"threadwright-try-{uuid.uuid4().hex[:8]}"
        self._environment = {**os.environ, **settings}

    def __call__(self, *arguments: str, given: bytes = b"") -> str:
        """Run a command of compose; its output."""
        return self.bytes_of(*arguments, given=given).decode()

    def bytes_of(self, *arguments: str, given: bytes = b"") -> bytes:
        """The same, as it comes."""
        command = [*COMPOSE, "-p", self.name, "-f", str(DEPLOY / "compose.yaml"), *arguments]
        done = subprocess.run(
            command, env=self._environment, input=given, capture_output=True, check=False, timeout=180
        )
        assert done.returncode == 0, f"{arguments}: {done.stdout[-2000:]!r}\n{done.stderr.decode()}"
        return done.stdout

    def container(self, service: str) -> dict[str, object]:
        """What the engine says of a service's container."""
        name = self("ps", "-q", service).strip()
        told = subprocess.run(
            ["docker", "inspect", name], capture_output=True, text=True, check=True, timeout=60
        ).stdout
        return json.loads(told)[0]

    async def until_healthy(self, service: str) -> None:
        """Wait for what its health check says."""

        def healthy() -> bool:
            found = self.container(service)["State"]["Health"]  # type: ignore[index]
            assert found["Status"] in ("healthy", "starting"), found["Log"][-1]
            return found["Status"] == "healthy"

        await eventually(healthy, f"{service} is healthy", seconds=90)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def left_of(project: str) -> list[str]:
    """Containers and volumes that the project has."""
    found: list[str] = []
    for command in (["ps", "-aq"], ["volume", "ls", "-q"]):
        listing = ["docker", *command, "--filter", f"label=com.docker.compose.project={project}"]
        found += subprocess.run(listing, capture_output=True, text=True, check=True, timeout=60).stdout.split()
    return found


@pytest.fixture
def page_port() -> int:
    return free_port()


@pytest.fixture
def settings(page_port: int) -> dict[str, str]:
    health = f"127.0.0.1:{free_port()}"
    return {"THREADWRIGHT_GUILD_PORT": str(page_port), "THREADWRIGHT_HEALTH": health}


async def test_compose_up_answers_a_mention_and_keeps_what_was_done(settings: dict[str, str], page_port: int) -> None:
    async with asyncio.timeout(400), ScriptedEndpoint.start(works) as endpoint:
        project = Project({**settings, **endpoint.environment(), "THREADWRIGHT_TIER_2": "anthropic/claude-haiku-4-5"})
        try:
            project("up", "-d")
            await project.until_healthy("bot")

            # It is nobody special, its files cannot be changed, and no key is in the image.
            assert project("exec", "-T", "bot", "id", "-u").strip() == "65532"
            bot = project.container("bot")
            assert bot["HostConfig"]["ReadonlyRootfs"]  # type: ignore[index]
            assert bot["HostConfig"]["CapDrop"] == ["ALL"]  # type: ignore[index]
            engine = project.container("engine")
            assert not engine["HostConfig"]["Privileged"]  # type: ignore[index]
            assert engine["HostConfig"]["NetworkMode"] == "none"  # type: ignore[index]

            # What the guide says to look with finds the sandboxes that the bot has.
            assert re.search(r"✔  sandbox +docker: works", project("exec", "-T", "bot", "threadwright", "doctor"))

            # A mention at the page is answered, by a command that ran in a sandbox with a limit of memory.
            link = project("exec", "-T", "bot", "threadwright", "page").split()[-1]
            async with person(link) as newcomer:
                thread = await newcomer.mention("Please look around.")
                answer = await newcomer.sees(thread, r"It says: .*\| 65532 \| \d{6,12} \|")
                assert answer.text

                # The page is this machine's alone.
                with pytest.raises(OSError, match=r"refused|unreachable|assign"):
                    socket.create_connection((own_address(), page_port), timeout=5).close()

                # A stop is orderly, and all is there afterwards.
                project("restart", "-t", "30", "bot")
                await project.until_healthy("bot")
            link = project("exec", "-T", "bot", "threadwright", "page").split()[-1]
            async with person(link) as newcomer:
                await newcomer.sees(thread, r"It says: .*65532")
                await newcomer.say(thread, "What did you leave there?")
                await newcomer.sees(thread, r"It says: .*\| kept \|")

            # What the runbook says brings everything back into an empty volume.
            kept = project.bytes_of("exec", "-T", "bot", "sh", "-c", BACK_UP)
            project("stop", "-t", "30", "bot")
            assert project.container("bot")["State"]["ExitCode"] == 0  # type: ignore[index]
            project("down", "-v", "-t", "10")
            project("run", "--rm", "-T", "--no-deps", "--entrypoint", "sh", "bot", "-c", RESTORE, given=kept)
            project("up", "-d")
            await project.until_healthy("bot")
            link = project("exec", "-T", "bot", "threadwright", "page").split()[-1]
            async with person(link) as newcomer:
                await newcomer.sees(thread, r"It says: .*\| kept \|")
        finally:
            project("down", "-v", "-t", "10")
        assert left_of(project.name) == []


def own_address() -> str:
    """An address of this machine that is not loopback's."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            pytest.fail("this machine has no address but loopback's")
        return probe.getsockname()[0]
