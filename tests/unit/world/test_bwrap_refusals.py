"""What bubblewrap's last words mean on which machine, and the command that mends it.

The words are those of bubblewrap 0.8 and 0.11 as they came out of a Docker engine's containers and of Ubuntu.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from agentic.sandbox.backends.bwrap_refusals import OPEN, Machine, refused, unusable

NO_RIGHT = (
    "bwrap: No permissions to creating new namespace, likely because the kernel does not allow non-privileged user "
    "namespaces. On e.g. debian this can be enabled with 'sysctl kernel.unprivileged_userns_clone=1'."
)
HIDDEN = "bwrap: Can't mount proc on /newroot/proc: Operation not permitted"
UBUNTU = "bwrap: setting up uid map: Permission denied"
LOOPBACK = "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted"
ROOT_INSIDE = "unshare: unshare failed: Operation not permitted"
SET = "run: sudo sysctl -w"
MEND = "run: sudo threadwright doctor --mend"


@pytest.mark.parametrize(
    ("words", "machine", "said", "todo"),
    [
        (NO_RIGHT, Machine(most_namespaces=0), "user.max_user_namespaces is 0", f"{SET} user.max_user_namespaces=15000"),
        (NO_RIGHT, Machine(unprivileged=False), "userns_clone is 0", f"{SET} kernel.unprivileged_userns_clone=1"),
        (UBUNTU, Machine(), "AppArmor refuses", MEND),
        (LOOPBACK, Machine(), "AppArmor refuses", MEND),
        ("bwrap: Creating new namespace failed: Permission denied", Machine(apparmor=True), "AppArmor refuses", MEND),
        (NO_RIGHT, Machine(container=True), "this container lets", f"start the container with: {OPEN}"),
        (ROOT_INSIDE, Machine(container=True), "this container lets", f"start the container with: {OPEN}"),
        (HIDDEN, Machine(container=True), "parts of /proc are hidden", f"start the container with: {OPEN}"),
        (NO_RIGHT, Machine(), "it runs in a chroot", "run it outside of that, or start Docker"),
        ("bwrap: Can't find source path /x", Machine(), "bubblewrap did not start: bwrap: Can't find", "start Docker"),
    ],
)  # fmt: skip
def test_what_is_refused_is_told_with_what_mends_it(words: str, machine: Machine, said: str, todo: str) -> None:
    error = refused(words, machine)
    assert said in error.said
    assert error.todo.startswith(todo)
    assert error.mendable == (todo == MEND), "only AppArmor is mended by doctor"


@pytest.mark.parametrize(
    ("kinds", "todo"),
    [
        (("ubuntu", "debian"), "run: sudo apt-get install bubblewrap"),
        (("alpine",), "run: sudo apk add bubblewrap"),
        (("rocky", "rhel", "centos", "fedora"), "run: sudo dnf install bubblewrap"),
        (("opensuse-tumbleweed", "opensuse", "suse"), "run: sudo zypper install bubblewrap"),
        (("something",), "install bubblewrap 0.8 or newer"),
        ((), "install bubblewrap 0.8 or newer"),
    ],
)
def test_where_none_can_be_used_the_systems_own_command_is_told(kinds: tuple[str, ...], todo: str) -> None:
    assert unusable((), Machine(kinds=kinds)).todo == todo


def test_what_a_machine_says_of_itself_is_read_from_its_kernel_and_its_system() -> None:
    here = Machine.here()
    assert here.most_namespaces == int(Path("/proc/sys/user/max_user_namespaces").read_text())
    assert here.kinds[0] in Path("/etc/os-release").read_text()
