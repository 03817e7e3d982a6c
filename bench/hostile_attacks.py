"""Commands that attack what all threads of a machine share, by name; each goes on until it is stopped, ``none`` too."""

from __future__ import annotations

import shlex
from collections.abc import Mapping


def python(code: str) -> str:
    """A command that runs this code."""
    return f"python3 -c {shlex.quote(code)}"


SEND = """
import os, socket
held = []
while True:
    ours, theirs = socket.socketpair()
    file = os.memfd_create("hidden")
    os.write(file, b"x" * (16 << 20))
    socket.send_fds(ours, [b"x"], [file])
    os.close(file)
    held.append((ours, theirs))
"""
SHM = "f = open('/dev/shm/x', 'wb')\nwhile True: f.write(b'x' * (1 << 20))"
SHARED = "import mmap\nheld = []\nwhile True:\n m = mmap.mmap(-1, 16 << 20); m.write(b'x' * (16 << 20)); held.append(m)"
THREADS = "import threading\ndef f():\n while True: pass\nfor n in range(200): threading.Thread(target=f).start()"
SCHEDULE = """
import contextlib, os
for attack in (
    lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50)), lambda: os.sched_setaffinity(0, {0}),
    lambda: os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0)), lambda: os.setpriority(os.PRIO_PROCESS, 0, -20),
):
    with contextlib.suppress(OSError):
        attack()
while True:
    if os.fork() == 0:
        while True: os.sched_yield()
    if len(os.listdir("/proc")) > 100:
        os.wait()
"""
UNLINKED = """
import os
while True:
    file = os.open("x", os.O_CREAT | os.O_RDWR); os.unlink("x")
    for _ in range(16): os.write(file, b"x" * (1 << 20))
"""
SPARSE = "n = 0\nwhile True:\n with open(f's{n % 5000}', 'wb') as f: f.truncate(900 << 20)\n n += 1"
MANY = "import os\nn = 0\nos.mkdir('m')\nwhile True:\n os.close(os.open(f'm/{n}', os.O_CREAT)); n += 1"
DEEP = "import os\nwhile True:\n os.mkdir('d' * 100); os.chdir('d' * 100)"
OPEN = "import os, time\ntry:\n while True: os.open('/dev/null', 0)\nexcept OSError: time.sleep(60)"
PIPES = """
import fcntl, os, time
try:
    while True:
        _, writer = os.pipe()
        fcntl.fcntl(writer, 1031, 1 << 20)
        os.set_blocking(writer, False)
        os.write(writer, b"x" * (1 << 20))
except OSError:
    time.sleep(60)
"""
INOTIFY = """
import ctypes, os, time
libc = ctypes.CDLL(None)
while (watcher := libc.inotify_init()) >= 0:
    for folder, _, _ in os.walk("/usr"): libc.inotify_add_watch(watcher, folder.encode(), 0xfff)
time.sleep(60)
"""
RUNAWAY = "env -i setsid bash -c \"trap '' TERM HUP INT; while :; do (setsid sleep 0.1 &); done\""
ATTACKS: Mapping[str, str] = {
    "none": "sleep 60",
    "heap": python("x = []\nwhile True: x.append(b'x' * (16 << 20))"),
    "shared": python(SHARED),
    "shm": python(SHM) + "; sleep 60",
    "memfd": python("import os\nf = os.memfd_create('x')\nwhile True: os.write(f, b'x' * (16 << 20))"),
    "in_flight": python(SEND),
    "busy": "for n in $(seq 40); do (trap '' TERM; while :; do :; done) & done; wait",
    "threads": python(THREADS),
    "fork": "f() { f | f & }; f; sleep 60",
    "runaway": f"for n in $(seq 20); do {RUNAWAY} & done; sleep 60",
    "schedule": python(SCHEDULE),
    "disk": "cat /dev/zero > x",
    "sync": "while :; do dd if=/dev/zero of=x bs=1M count=64 conv=fsync; done",
    "unlinked": python(UNLINKED),
    "sparse": python(SPARSE) + "; sleep 60",
    "inodes": python(MANY),
    "deep": python(DEEP) + "; sleep 60",
    "flood": "cat /dev/zero",
    "lines": "yes '' >&2",
    "descriptors": f"for n in $(seq 40); do {python(OPEN)} & done; wait",
    "pipes": f"for n in $(seq 40); do {python(PIPES)} & done; wait",
    "inotify": f"for n in $(seq 8); do {python(INOTIFY)} & done; wait",
}
