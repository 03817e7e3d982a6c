"""The Docker rung: a container a thread, with a fixed profile.

No option of a container comes from a task or a prompt: everything stands in ``_create``.  The SDK blocks, so its
calls run in a thread pool of their own, with room for as many as may run at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import signal
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import ParamSpec, TypeVar

import docker
import docker.errors
import requests
from docker.models.containers import Container
from docker.types import LogConfig, Mount, Ulimit
from pydantic import BaseModel, Field

from agentic.ports.errors import SandboxRefused, SandboxUnavailable
from agentic.sandbox.backends.bubblewrap import INSIDE, sandbox_owner, say_hello
from agentic.sandbox.backends.cgroups import HELD, SHARES
from agentic.sandbox.backends.docker_attach import AttachTransport
from agentic.sandbox.backends.hidden_mounts import Cover, made
from agentic.sandbox.limits import COMMANDS, DOOR, IMAGE, SKILLS, Limits, Place
from agentic.sandbox.ownership_marks import home_mark, lives, process_mark
from agentic.sandbox.protocol.call_journal import Diary
from agentic.sandbox.protocol.heartbeat import Heartbeat
from agentic.sandbox.protocol.supervisor_bundle import program
from agentic.sandbox.python_command import python_folder
from agentic.sandbox.sandbox import Sandbox
from agentic.sandbox.shown_mirror import environment_of, place_of

P = ParamSpec("P")
R = TypeVar("R")

LABEL, STATE_LABEL, OWNER_LABEL = "threadwright.sandbox", "threadwright.state", "threadwright.owner"
DIARY = "/run/threadwright/diary"
CALLS = 40
CALL_SECONDS = 60
REMOVALS, AGAIN_SECONDS = 3, 0.3
OTHER_WAYS = "start Docker, or set THREADWRIGHT_SANDBOX=auto to use bubblewrap"
RECIPE = Path(__file__).parents[1].joinpath("image").resolve()
"""What the image is built from: in a clone a link to deploy/sandbox, else a part of the package."""
MAKE_IMAGE = f"make it: `docker build -t {{image}} {RECIPE}`, or `python3 {RECIPE}/make-image` without a registry."


class Docker:
    """Sandboxes as containers of a local engine; ``base_url`` as in DOCKER_HOST, of the form unix://PATH."""

    name = "docker"
    covers = True
    memory = HELD
    said = name

    def __init__(
        self, state: Path, base_url: str | None = None, image: str = IMAGE, heartbeat: Heartbeat | None = None
    ) -> None:
        self._state = state
        self._heartbeat = heartbeat or Heartbeat()
        self._url = base_url or os.environ.get("DOCKER_HOST") or "unix:///var/run/docker.sock"
        self._image = image
        self._pool: ThreadPoolExecutor | None = None
        self._client: docker.DockerClient | None = None
        self._left: dict[str, Container] = {}
        """The container of a thread that could not be removed; without us nothing in it goes on."""

    @property
    def owner(self) -> tuple[int, int]:
        """The user of the sandbox's files."""
        return sandbox_owner()

    async def start(
        self,
        thread: str,
        workspace: Path,
        home: Path,
        limits: Limits,
        diary: Diary | None = None,
        covered: Sequence[Cover] = (),
        door: Path | None = None,
        mirror: Path | None = None,
        skills: Path | None = None,
    ) -> Sandbox:
        """A running container with its supervisor."""
        client = await self._connected()
        if thread in self._left:
            await self._removed(thread, self._left.pop(thread))
        written = _lent(diary, self.owner)
        readable = {mirror: place_of(mirror)} if mirror is not None else {}
        readable |= {skills: SKILLS} if skills is not None else {}
        container = await self._call(
            self._create, client, thread, workspace, home, limits, written, covered, door, readable
        )
        try:
            transport = await AttachTransport.open(
                self._url.removeprefix("unix://"), container.id or "", lambda: self._removed(thread, container)
            )
        except SandboxUnavailable:
            with contextlib.suppress(SandboxUnavailable):  # why it cannot be had is told, not what follows from that
                await self._removed(thread, container)
            raise
        try:
            await self._call(container.start)
        except SandboxUnavailable:
            with contextlib.suppress(SandboxUnavailable):
                await transport.close()
            raise
        given = environment_of(place_of(mirror)) if mirror is not None else {}
        place = Place(self.name, counts_processes=False, environment=given, door=DOOR if door is not None else "")
        sandbox = Sandbox(transport, place, limits, thread, self._heartbeat)
        await say_hello(sandbox, self._not_started)
        try:
            if written is not None:  # the supervisor has it open; nothing else can open it from now on
                os.chown(written, os.geteuid(), os.getegid())
        except OSError as error:
            await sandbox.close()
            raise SandboxUnavailable(f"its diary cannot be kept from it: {error}") from error
        return sandbox

    def _not_started(self, words: str) -> SandboxRefused:
        return SandboxRefused(f"the image {self._image} did not start: {words}", MAKE_IMAGE.format(image=self._image))

    async def _removed(self, thread: str, container: Container) -> str:
        """Remove it; one that cannot be now is removed before the thread gets another, so that no two work there."""
        try:
            return await self._call(_remove, container)
        except SandboxUnavailable:
            self._left[thread] = container
            raise

    async def check(self) -> str:
        """'' if the engine answers and has the image, else what to do."""
        try:
            client = await self._connected()
            await self._call(client.images.get, self._image)
        except SandboxUnavailable as unavailable:
            return str(unavailable)
        return ""

    async def reap(self) -> tuple[str, ...]:
        """Remove the containers of this state folder whose owner is dead; returns those that cannot be, and why."""
        client = await self._connected()
        return await self._call(self._reap, client)

    async def close(self) -> None:
        """Let go of the engine; a later call takes it up again."""
        client, self._client = self._client, None
        if client is not None:
            client.close()
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=False)

    # --- blocking, in the pool --------------------------------------------------------------------------------

    def _connect(self) -> docker.DockerClient:
        if not self._url.startswith("unix://"):
            raise SandboxRefused(
                f"DOCKER_HOST is {self._url}: the workspace is a folder of this machine, so the engine must be a local "
                "one (unix://…)",
                OTHER_WAYS,
            )
        client = docker.DockerClient(base_url=self._url, timeout=CALL_SECONDS, max_pool_size=CALLS)
        client.ping()
        return client

    def _create(
        self,
        client: docker.DockerClient,
        thread: str,
        workspace: Path,
        home: Path,
        limits: Limits,
        diary: Path | None,
        covered: Sequence[Cover],
        door: Path | None,
        readable: Mapping[Path, str],
    ) -> Container:
        """A container by the profile: all that it is given stands here, and nothing that a task could choose."""
        uid, gid = self.owner
        memory = limits.memory + limits.memory // 8  # the supervisor's own watch acts first, and says why
        written = {str(diary.resolve()): {"bind": DIARY, "mode": "rw"}} if diary is not None else {}
        way_out = {str(door.resolve()): {"bind": DOOR, "mode": "ro"}} if door is not None else {}
        return client.containers.create(
            self._image,
            entrypoint=["python3"],
            command=["-I", INSIDE, *(("--diary", DIARY) if written else ())],
            user=f"{uid}:{gid}",
            working_dir="/workspace",
            hostname="sandbox",
            stdin_open=True,
            labels=self._labels(thread),
            network_mode="none",
            read_only=True,
            cap_drop=["ALL"],
            security_opt=["no-new-privileges:true"],
            privileged=False,
            ipc_mode="private",
            init=False,  # the supervisor is PID 1 and reaps
            pids_limit=limits.processes,
            mem_limit=memory,
            memswap_limit=memory,
            nano_cpus=int(min(limits.cpus, os.cpu_count() or 1) * 1_000_000_000),
            cpu_shares=SHARES,
            shm_size=limits.tmp,
            tmpfs={"/tmp": f"rw,exec,nosuid,nodev,mode=1777,size={limits.tmp}"},  # noqa: S108 - the sandbox's own
            ulimits=[Ulimit(name="core", soft=0, hard=0)],
            log_config=LogConfig(type="none"),
            mounts=self._covered(covered),
            volumes={
                str(workspace.resolve()): {"bind": "/workspace", "mode": "rw"},
                str(home.resolve()): {"bind": "/home/agent", "mode": "rw"},
                str(program(self._state).resolve()): {"bind": INSIDE, "mode": "ro"},
                str(python_folder(self._state).resolve()): {"bind": COMMANDS, "mode": "ro"},
                **{str(path.resolve()): {"bind": place, "mode": "ro"} for path, place in readable.items()},
                **written,
                **way_out,
            },
        )

    def _covered(self, covered: Sequence[Cover]) -> list[Mount]:
        masks = made(self._state / "covers") if covered else None
        return [
            Mount(f"/workspace/{cover.path}", str(cover.source(masks).resolve()), type="bind", read_only=True)
            for cover in covered
            if masks is not None
        ]

    def _labels(self, thread: str) -> dict[str, str]:
        return {
            LABEL: hashlib.sha256(thread.encode()).hexdigest()[:24],
            STATE_LABEL: home_mark(self._state),
            OWNER_LABEL: process_mark(os.getpid()),
        }

    def _reap(self, client: docker.DockerClient) -> tuple[str, ...]:
        found = client.containers.list(
            all=True, filters={"label": f"{STATE_LABEL}={home_mark(self._state)}"}, ignore_removed=True
        )
        dead = [container for container in found if not lives(container.labels.get(OWNER_LABEL, ""))]
        return tuple(filter(None, map(_trouble_of_removing, dead)))

    # --- the way there ----------------------------------------------------------------------------------------

    async def _connected(self) -> docker.DockerClient:
        if self._client is None:
            self._client = await self._call(self._connect)
        return self._client

    async def _call(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(CALLS, thread_name_prefix="docker")

        def work() -> R:
            if self._url.startswith("unix://"):
                _require_listener(self._url.removeprefix("unix://"))
            return function(*args, **kwargs)

        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, work)
        except docker.errors.ImageNotFound as error:
            raise SandboxRefused(f"there is no image {self._image}", MAKE_IMAGE.format(image=self._image)) from error
        except (docker.errors.DockerException, requests.exceptions.RequestException) as error:
            raise SandboxRefused(f"the Docker engine at {self._url} failed: {error}", OTHER_WAYS) from error


def _lent(diary: Diary | None, owner: tuple[int, int]) -> Path | None:
    """The diary's file, given to the sandbox's user until its supervisor has opened it.

    Where that user is our own, whatever runs in there could take it back: then there is none.
    """
    if diary is None or diary.descriptor < 0 or owner[0] == os.geteuid():
        return None
    os.chown(diary.path, *owner)
    diary.unlock()  # the supervisor locks it for itself
    return diary.path


def _require_listener(path: str) -> None:
    """Raise if nobody listens there (the SDK would leave its socket open)."""
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(path)
        except OSError as error:
            raise SandboxRefused(f"no Docker engine answers at {path}: {error.strerror}", OTHER_WAYS) from error


class _State(BaseModel):
    """What the engine tells of a container."""

    running: bool = Field(alias="Running")
    exit_code: int = Field(alias="ExitCode")
    error: str = Field("", alias="Error")
    pid: int = Field(0, alias="Pid")


def _remove(container: Container) -> str:
    """Remove it, running or not; returns how it had ended, '' where that is nothing to tell."""
    how = ""
    with contextlib.suppress(docker.errors.NotFound):
        container.reload()
        state = _State.model_validate(container.attrs["State"])
        if not state.running and state.exit_code not in (0, 3):
            memory = " (137 is what a lack of memory looks like)" if state.exit_code == 137 else ""
            how = f"the container ended with exit code {state.exit_code}{memory} {state.error}".strip()
    with contextlib.suppress(docker.errors.NotFound):
        _remove_by_force(container)
    return how


def _remove_by_force(container: Container) -> None:
    """Remove it; where the engine cannot end it in time, its first process is killed from here, and it is tried again."""
    for left in reversed(range(REMOVALS)):
        try:
            container.remove(force=True, v=True)
            return
        except docker.errors.NotFound:
            raise
        except docker.errors.APIError:
            if not left:
                raise
            kill_on_host(container)
            time.sleep(AGAIN_SECONDS)


def kill_on_host(container: Container) -> None:
    """Kill its first process, with which the kernel ends all others; only where that is surely the container's."""
    with contextlib.suppress(OSError, docker.errors.NotFound):
        container.reload()
        pid = _State.model_validate(container.attrs["State"]).pid
        if pid > 1 and container.id and container.id in Path(f"/proc/{pid}/cgroup").read_text():
            os.kill(pid, signal.SIGKILL)


def _trouble_of_removing(container: Container) -> str:
    """'' where it could be removed; one that cannot be keeps no other."""
    try:
        _remove(container)
    except (docker.errors.DockerException, requests.exceptions.RequestException) as error:
        return f"container {container.short_id}: {error}"
    return ""
