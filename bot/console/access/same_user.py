"""Whether a connection on this machine comes from the user that runs the console.

The kernel lists each TCP socket with its owner in /proc/net/tcp and tcp6. A browser of the same user needs no
password: whoever is that user can read the bot's files anyway. Other users of the machine are kept out, and so is root:
daemons that pass connections on for others run as root.
"""

from __future__ import annotations

import os
import socket
import struct
from pathlib import Path

TABLES = {socket.AF_INET: Path("/proc/net/tcp"), socket.AF_INET6: Path("/proc/net/tcp6")}
ESTABLISHED = "01"


def is_own_user(peer: tuple[str, int], here: tuple[str, int]) -> bool:
    """Whether the socket at ``peer``, connected to ``here`` (both address and port), belongs to this user.

    False where the system does not tell.
    """
    family = socket.AF_INET6 if ":" in peer[0] else socket.AF_INET
    try:
        local, remote = _written(family, *peer), _written(family, *here)
        lines = TABLES[family].read_text(encoding="ascii").splitlines()[1:]
    except (OSError, ValueError):
        return False
    for line in lines:
        fields = line.split()
        if fields[1] == local and fields[2] == remote and fields[3] == ESTABLISHED:
            return int(fields[7]) == os.geteuid()
    return False


def _written(family: int, host: str, port: int) -> str:
    """An address as the kernel writes it: words of four bytes in the machine's order, in hexadecimal digits."""
    packed = socket.inet_pton(family, host)
    words = struct.unpack(f">{len(packed) // 4}I", packed)
    return "".join(f"{socket.ntohl(word):08X}" for word in words) + f":{port:04X}"
