"""The bubblewrap rung: Linux namespaces without an engine and without root.

Inside: a read-only system, /workspace and the home bind-mounted, an empty network, own processes, no capabilities, no
further namespaces; the supervisor adds a system call filter.  Where we are root, we become the sandbox's user first,
because limits do not hold for root; and because that user may have no way to where the workspace or a bubblewrap of ours
lies, a private mount namespace shows them in a place that it can reach (``STAGE``).
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from agentic.ports.errors import SandboxError, SandboxLost, SandboxUnavailable
from agentic.sandbox.backends.bwrap_programs import BINARY, Bwrap, lent, programs
from agentic.sandbox.backends.bwrap_refusals import Machine, refused, unusable
from agentic.sandbox.backends.cgroups import ControlGroup, ControlGroups
from agentic.sandbox.backends.hidden_mounts import Cover, made
from agentic.sandbox.backends.process_transport import ProcessTransport
from agentic.sandbox.limits import COMMANDS, DOOR, SKILLS, Limits, Place
from agentic.sandbox.protocol.call_journal import Diary, arguments, descriptors
from agentic.sandbox.protocol.heartbeat import Heartbeat
from agentic.sandbox.protocol.supervisor_bundle import program
from agentic.sandbox.python_command import python_folder
from agentic.sandbox.sandbox import Sandbox
from agentic.sandbox.shown_mirror import environment_of, place_of

SANDBOX_USER = 65532
INSIDE = "/opt/threadwright/supervisor.pyz"
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32", "/libx32")
ETC = (
    "alternatives", "ca-certificates", "ca-certificates.conf", "fonts", "java-17-openjdk", "ld.so.cache", "ld.so.conf",
    "ld.so.conf.d", "localtime", "magic", "mime.types", "nsswitch.conf", "perl", "pki", "python3", "python3.11", "ssl",
    "terminfo", "timezone",
)  # fmt: skip
"""What of /etc programs need; the rest may hold secrets."""
OWN_ETC = {
    "passwd": "root:x:0:0:root:/root:/bin/sh\nagent:x:{uid}:{gid}:agent:/home/agent:/bin/sh\n",
    "group": "root:x:0:\nagent:x:{gid}:\n",
    "hosts": "127.0.0.1 localhost sandbox\n::1 localhost sandbox\n",
}
STAGE = Path("/run/threadwright/stage")
SHOW = """
stage=$1
mount --bind "$2" "$stage/workspace"
mount --bind "$3" "$stage/home"
mount --bind "$4" "$stage/program"
mount --bind "$5" "$stage/etc"
[ -z "$6" ] || mount --bind "$6" "$stage/door"
[ -z "$7" ] || mount --bind "$7" "$stage/mirror"
[ -z "$8" ] || mount --bind "$8" "$stage/skills"
[ -z "$9" ] || mount --bind "$9" "$stage/bwrap"
shift 9
exec "$@"
"""


def sandbox_owner() -> tuple[int, int]:
    """The user that commands run as, seen from this host."""
    return (SANDBOX_USER, SANDBOX_USER) if os.geteuid() == 0 else (os.geteuid(), os.getegid())


@dataclass(frozen=True, slots=True)
class _Sources:
    """Where bubblewrap finds what it mounts."""

    workspace: Path
    home: Path
    program: Path
    etc: Path
    door: Path | None = None
    mirror: Path | None = None
    skills: Path | None = None

    @property
    def staged(self) -> _Sources:
        """Where they are shown on the stage."""
        return replace(
            STAGED,
            door=self.door and STAGE / "door",
            mirror=self.mirror and STAGE / "mirror",
            skills=self.skills and STAGE / "skills",
        )


STAGED = _Sources(STAGE / "workspace", STAGE / "home", STAGE / "program", STAGE / "etc")


class Bubblewrap:
    """Sandboxes by ``bwrap``: the one that is given, else the first of this machine's that can be used."""

    name = "bubblewrap"
    covers = True

    def __init__(self, state: Path, program: Bwrap | None = None, heartbeat: Heartbeat | None = None) -> None:
        self._state = state
        self._heartbeat = heartbeat or Heartbeat()
        self._program = program
        self._groups = ControlGroups(state)

    @property
    def owner(self) -> tuple[int, int]:
        """The user of the sandbox's files."""
        return sandbox_owner()

    @property
    def memory(self) -> str:
        """Who holds a sandbox to its limit of memory."""
        return self._groups.memory

    @property
    def said(self) -> str:
        """Which bubblewrap it is."""
        return f"{self.name} ({self._program.said})" if self._program is not None else self.name

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
        """A running sandbox."""
        bwrap = self._program = self._program or await asyncio.to_thread(_first)
        if bwrap.trouble:
            raise unusable((f"bubblewrap {bwrap.said}: {bwrap.trouble}",), Machine.here())
        try:
            sources = _Sources(workspace, home, program(self._state), self._own_etc(), door, mirror, skills)
            is_root = os.geteuid() == 0
            copy = lent(bwrap.folder, self._state) if is_root and bwrap.folder is not None else None
            shown = _shown_to_the_user(sources, self.owner, copy) if is_root else []
            inside = sources.staged if shown else sources
            command = STAGE / "bwrap" / BINARY if copy is not None else bwrap.path
            group = self._groups.make(limits)
            argv = [*shown, str(command), *_mirrored(mirror, inside), *self._arguments(inside, limits, covered, group)]
            transport = await ProcessTransport.start(
                [*argv, *arguments(diary)], descriptors=descriptors(diary), group=group
            )
        except OSError as error:
            raise SandboxUnavailable(f"bubblewrap could not be set up: {error}") from error
        given = environment_of(place_of(mirror)) if mirror is not None else {}
        place = Place(self.name, environment=given, door=DOOR if door is not None else "")
        sandbox = Sandbox(transport, place, limits, thread, self._heartbeat)
        await say_hello(sandbox, lambda words: refused(words, Machine.here()))
        self._groups.note(group)
        return sandbox

    async def reap(self) -> tuple[str, ...]:
        """Control groups; else nothing outlives its owner: the pipe closes with it, and bubblewrap dies with its parent."""
        return await self._groups.reap()

    async def close(self) -> None:
        """Nothing is held."""

    def _arguments(
        self, sources: _Sources, limits: Limits, covered: Sequence[Cover], group: ControlGroup | None
    ) -> Iterable[str]:
        uid, gid = self.owner
        yield from ("--unshare-user", "--disable-userns", "--uid", str(uid), "--gid", str(gid))
        yield from ("--unshare-pid", "--unshare-ipc", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try")
        yield from ("--hostname", "sandbox", "--as-pid-1", "--new-session", "--die-with-parent", "--cap-drop", "ALL")
        yield from _system()
        for name in OWN_ETC:
            yield from ("--ro-bind", str(sources.etc / name), f"/etc/{name}")
        yield from ("--proc", "/proc", "--dev", "/dev")
        yield from ("--perms", "1777", "--size", str(limits.tmp), "--tmpfs", "/dev/shm")  # noqa: S108
        yield from ("--remount-ro", "/dev")
        yield from ("--perms", "1777", "--size", str(limits.tmp), "--tmpfs", "/tmp")  # noqa: S108
        yield from ("--ro-bind", str(sources.program), INSIDE, "--ro-bind", str(sources.etc / "bin"), COMMANDS)
        if sources.door is not None:
            yield from ("--ro-bind", str(sources.door), DOOR)
        if sources.skills is not None:
            yield from ("--ro-bind", str(sources.skills), SKILLS)
        yield from ("--bind", str(sources.home), "/home/agent", "--bind", str(sources.workspace), "/workspace")
        for cover in covered:
            mask = sources.etc / cover.source(made(self._state / "etc")).name
            yield from ("--ro-bind", str(mask), f"/workspace/{cover.path}")
        if group is not None:
            yield from ("--ro-bind", *group.deaths())
        yield from ("--remount-ro", "/", "--chdir", "/workspace")
        yield from ("--", _python(), "-I", INSIDE)

    def _own_etc(self) -> Path:
        uid, gid = self.owner
        folder = self._state / "etc"
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in OWN_ETC.items():
            path, wanted = folder / name, text.format(uid=uid, gid=gid)
            if not path.exists() or path.read_text() != wanted:
                path.write_text(wanted)
            path.chmod(0o644)
        folder.chmod(0o755)
        python_folder(folder)
        return folder


def _first() -> Bwrap:
    """The first that may be usable, else one that says why not."""
    found = programs()
    usable = next((each for each in found if not each.trouble), None)
    if usable is None and not found:
        raise unusable((), Machine.here())
    return usable or found[-1]


def _shown_to_the_user(sources: _Sources, owner: tuple[int, int], bwrap: Path | None) -> list[str]:
    """The beginning of a command line that shows the sources on the stage, with ``bwrap``, and becomes the user."""
    empty = (STAGED.workspace, STAGED.home, STAGED.etc, *(STAGE / name for name in ("mirror", "skills", "bwrap")))
    for folder in (STAGE.parent, STAGE, *empty):
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o755)  # whatever our umask is: what is mounted here is for another user
    for file in (STAGED.program, STAGE / "door"):
        file.touch()
    given = (
        sources.workspace,
        sources.home,
        sources.program,
        sources.etc,
        sources.door,
        sources.mirror,
        sources.skills,
        bwrap,
    )
    shown = [str(path or "") for path in given]
    script = ["/bin/sh", "-euc", SHOW, "stage", str(STAGE), *shown]
    uid, gid = (str(number) for number in owner)
    become = ["setpriv", "--reuid", uid, "--regid", gid, "--clear-groups", "--no-new-privs"]
    return ["unshare", "--mount", "--propagation", "private", *script, *become]


def _mirrored(mirror: Path | None, sources: _Sources) -> Iterable[str]:
    """Show a mirror; ``sources`` has it where bubblewrap finds it."""
    if mirror is not None and sources.mirror is not None:
        yield from ("--ro-bind", str(sources.mirror), place_of(mirror))


def _system() -> Iterable[str]:
    for name in SYSTEM:
        path = Path(name)
        if path.is_symlink():
            yield from ("--symlink", str(path.readlink()), name)
        elif path.is_dir():
            yield from ("--ro-bind", name, name)
    for name in ETC:
        yield from ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")
    if not _python().startswith("/usr/"):
        yield from ("--ro-bind", sys.base_prefix, sys.base_prefix)


def _python() -> str:
    """A Python that the sandbox can see: the system's, else the one we run on."""
    for path in ("/usr/bin/python3", "/usr/local/bin/python3"):
        if Path(path).exists():
            return path
    return str(Path(sys.base_prefix) / "bin" / "python3")


async def say_hello(sandbox: Sandbox, explained: Callable[[str], SandboxUnavailable]) -> None:
    """Greet a fresh sandbox; one that does not answer is unavailable, as its last words explain."""
    try:
        await sandbox.hello()
    except SandboxLost as lost:
        words = await sandbox.close()
        raise explained(words or str(lost)) from lost
    except SandboxError:
        await sandbox.close()
        raise
