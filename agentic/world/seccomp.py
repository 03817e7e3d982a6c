"""A system call filter for bubblewrap, which brings none: what Docker's default profile keeps from a container too.

No kernel keyring, no io_uring, bpf or perf, no modules, no mounts, no new namespaces.  A call that is kept back fails with
EPERM; ``clone3``, whose flags a filter cannot see, with ENOSYS, on which libraries use ``clone``.
"""

from __future__ import annotations

import errno
import os
import platform
import struct

from agentic.core.lazy_dataclass import dataclass

INSTRUCTION = struct.Struct("HBBI")
LOAD, JUMP_EQUAL, JUMP_AT_LEAST, JUMP_ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16
ALLOW, FAIL = 0x7FFF0000, 0x00050000
NEW_USER_NAMESPACE = 0x10000000
X32 = 0x40000000
SHARED = (425, 426, 427, 428, 429, 430, 431, 432, 433, 442)
"""io_uring_setup, _enter, _register, open_tree, move_mount, fsopen, fsconfig, fsmount, fspick, mount_setattr."""
CLONE3 = 435


@dataclass(frozen=True, slots=True)
class _Machine:
    audit: int
    clone: int
    refused: tuple[int, ...]
    """add_key, request_key, keyctl, bpf, perf_event_open, userfaultfd, kexec_load, kexec_file_load, init_module,
    finit_module, delete_module, mount, umount2, pivot_root, setns, unshare, open_by_handle_at, name_to_handle_at, swapon,
    swapoff, reboot, acct, quotactl."""


MACHINES = {
    "x86_64": _Machine(
        0xC000003E,
        56,
        (
            248,
            249,
            250,
            321,
            298,
            323,
            246,
            320,
            175,
            313,
            176,
            165,
            166,
            155,
            308,
            272,
            304,
            303,
            167,
            168,
            169,
            163,
            179,
        ),
    ),
    "aarch64": _Machine(
        0xC00000B7,
        220,
        (217, 218, 219, 280, 241, 282, 104, 294, 105, 273, 106, 40, 39, 41, 268, 97, 265, 264, 224, 225, 142, 89, 60),
    ),
}


def program(machine: str) -> bytes | None:
    """The filter for a machine, None for one that is not known here."""
    known = MACHINES.get(machine)
    if known is None:
        return None
    refused = FAIL | errno.EPERM
    out = [
        INSTRUCTION.pack(LOAD, 0, 0, ARCHITECTURE),
        INSTRUCTION.pack(JUMP_EQUAL, 1, 0, known.audit),
        INSTRUCTION.pack(RETURN, 0, 0, refused),
        INSTRUCTION.pack(LOAD, 0, 0, NUMBER),
        INSTRUCTION.pack(JUMP_AT_LEAST, 0, 1, X32),
        INSTRUCTION.pack(RETURN, 0, 0, refused),
    ]
    for number in (*known.refused, *SHARED):
        out += [INSTRUCTION.pack(JUMP_EQUAL, 0, 1, number), INSTRUCTION.pack(RETURN, 0, 0, refused)]
    out += [
        INSTRUCTION.pack(JUMP_EQUAL, 0, 1, CLONE3),
        INSTRUCTION.pack(RETURN, 0, 0, FAIL | errno.ENOSYS),
        INSTRUCTION.pack(JUMP_EQUAL, 0, 3, known.clone),
        INSTRUCTION.pack(LOAD, 0, 0, FIRST_ARGUMENT),
        INSTRUCTION.pack(JUMP_ANY_BIT, 0, 1, NEW_USER_NAMESPACE),
        INSTRUCTION.pack(RETURN, 0, 0, refused),
        INSTRUCTION.pack(RETURN, 0, 0, ALLOW),
    ]
    return b"".join(out)


def as_descriptor() -> int | None:
    """The filter for this machine as a file to hand over, None where there is none; the caller closes it."""
    content = program(platform.machine())
    if content is None:
        return None
    descriptor = os.memfd_create("filter", os.MFD_CLOEXEC)
    os.write(descriptor, content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
