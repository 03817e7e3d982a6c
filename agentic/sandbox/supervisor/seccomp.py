"""A system call filter over the supervisor and, inherited, over all that it ever starts: commands, jobs, the interpreter.

Commands run as the same user as their supervisor, so the kernel would let them slow it down, pin it, take its limits away.
Kept back is what reaches another process in such a way, and what a container's usual filter keeps back too: the kernel's
keyring, io_uring, bpf and perf, modules, mounts, new namespaces, kinds of sockets that lead to the host or to rarely used
code of the kernel.  Tracing is allowed, for debuggers; the supervisor cannot be traced (``limits.guard_this_process``).

A call that is kept back fails with EPERM.  With ENOSYS, on which programs take an older way, fail ``clone3``, whose flags a
filter cannot see, and calls newer than this list.  The numbers of another kind of machine (32 bits, x32) all fail.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct

INSTRUCTION = struct.Struct("HBBI")
LOAD, JUMP_EQUAL, JUMP_AT_LEAST, JUMP_ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16
ALLOW, FAIL = 0x7FFF0000, 0x00050000
SET_SECCOMP, FILTER = 22, 2
NEW_USER_NAMESPACE = 0x10000000
X32 = 0x40000000
FAMILIES = (1, 2, 10, 16)
"""AF_UNIX, AF_INET, AF_INET6, AF_NETLINK (which tells of addresses and routes)."""
NEWER = 463
"""Calls of Linux 6.13 and later."""

MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""How the kernel names them to a filter; elsewhere there is none."""
REFUSED = {
    "sched_setparam": (142, 118), "sched_setscheduler": (144, 119), "sched_setaffinity": (203, 122),
    "sched_setattr": (314, 274), "setpriority": (141, 140), "ioprio_set": (251, 30),
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219), "bpf": (321, 280),
    "perf_event_open": (298, 241), "userfaultfd": (323, 282), "memfd_secret": (447, 447), "syslog": (103, 116),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "init_module": (175, 105), "finit_module": (313, 273),
    "delete_module": (176, 106), "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41),
    "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430), "fsconfig": (431, 431),
    "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442), "setns": (308, 268), "unshare": (272, 97),
    "open_by_handle_at": (304, 265), "name_to_handle_at": (303, 264), "swapon": (167, 224), "swapoff": (168, 225),
    "reboot": (169, 142), "acct": (163, 89), "quotactl": (179, 60), "quotactl_fd": (443, 443),
}  # fmt: skip
"""Their numbers on each of the machines."""
CLONE, SOCKET, SOCKETPAIR, PRLIMIT = (56, 220), (41, 198), (53, 199), (302, 261)
CLONE3 = 435


def program(machine: str) -> bytes | None:
    """The filter for a machine, None for one that is not known here."""
    if machine not in MACHINES:
        return None
    column = list(MACHINES).index(machine)
    refuse, allow = _op(RETURN, FAIL | errno.EPERM), _op(RETURN, ALLOW)
    missing = _op(RETURN, FAIL | errno.ENOSYS)
    out = [_op(LOAD, ARCHITECTURE), _op(JUMP_EQUAL, MACHINES[machine], 1, 0), refuse]
    out += [_op(LOAD, NUMBER), _op(JUMP_AT_LEAST, X32, 0, 1), refuse, _op(JUMP_AT_LEAST, NEWER, 0, 1), missing]
    for numbers in REFUSED.values():
        out += [_op(JUMP_EQUAL, numbers[column], 0, 1), refuse]
    out += [_op(JUMP_EQUAL, CLONE3, 0, 1), missing]
    out += _on(CLONE[column], [_op(JUMP_ANY_BIT, NEW_USER_NAMESPACE, 0, 1), refuse, allow])
    out += _on(PRLIMIT[column], [_op(JUMP_EQUAL, 0, 1, 0), refuse, allow])  # 0: the caller's own
    for number in (SOCKET[column], SOCKETPAIR[column]):
        allowed = [op for family in FAMILIES for op in (_op(JUMP_EQUAL, family, 0, 1), allow)]
        out += _on(number, [*allowed, refuse])
    return b"".join([*out, allow])


def _op(code: int, value: int, if_so: int = 0, if_not: int = 0) -> bytes:
    """One instruction; a jump passes over so many of those that follow it."""
    return INSTRUCTION.pack(code, if_so, if_not, value)


def _on(number: int, then: list[bytes]) -> list[bytes]:
    """For this call: its first argument is loaded, and ``then`` decides."""
    return [_op(JUMP_EQUAL, number, 0, len(then) + 1), _op(LOAD, FIRST_ARGUMENT), *then]


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def install() -> bool:
    """Put this process under the filter, for good; False where there is none for this machine.

    Raises ``OSError`` where the kernel does not take it.  No privilege may be gained by exec any more at this point.
    """
    machine = os.uname().machine
    content = program(machine) if struct.calcsize("P") == 8 else None
    if content is None:
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    filter_ = _Program(len(content) // INSTRUCTION.size, content)
    if libc.prctl(SET_SECCOMP, FILTER, ctypes.byref(filter_), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "the kernel takes no system call filter")
    return True
