"""A pretend internet: names with addresses, and recorders on loopback that stand for what is at those addresses."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import tempfile
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agentic.egress.host_list import Authority, HostList
from agentic.egress.proxy import Bounds, Door, Proxy
from agentic.egress.proxy_checks import ALL, Checks
from agentic.ports.way_out import RefusedHost

PUBLIC, EVIL, INSIDE = "93.184.216.10", "93.184.216.66", "10.0.0.5"
SECONDS = 60.0


@dataclass
class Recorder:
    """A server that writes down what reaches it, and answers each connection in the same way."""

    answer: bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
    closes: bool = False
    """It ends each connection once it has answered, as a server that is asked to does."""
    received: list[bytes] = field(default_factory=list)
    serving: set[asyncio.Task[object]] = field(default_factory=set)

    @property
    def heard(self) -> bytes:
        return b"".join(self.received)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer at the first bytes; the connection ends when the other side's has."""
        if (task := asyncio.current_task()) is not None:
            self.serving.add(task)
        place = len(self.received)
        self.received.append(b"")
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                if not self.received[place]:
                    writer.write(self.answer)
                self.received[place] += data
                if self.closes:
                    await writer.drain()
                    break
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()

    async def ended(self) -> None:
        """All its connections have ended."""
        async with asyncio.timeout(SECONDS):
            await asyncio.gather(*self.serving)


@dataclass
class Internet:
    """What is asked of names and which addresses are called is written down."""

    names: dict[str, list[Sequence[str]]] = field(default_factory=dict)
    """For each name what it resolves to, time after time; the last one stays."""
    asked: list[str] = field(default_factory=list)
    called: list[tuple[str, int]] = field(default_factory=list)
    allowed: Recorder = field(default_factory=Recorder)
    """At ``PUBLIC``."""
    elsewhere: Recorder = field(default_factory=Recorder)
    """At every other address."""

    async def resolve(self, host: str, _port: int) -> Sequence[str]:
        self.asked.append(host)
        answers = self.names.get(host)
        if answers is None:
            raise socket.gaierror(socket.EAI_NONAME, "no such name")
        return answers.pop(0) if len(answers) > 1 else answers[0]

    async def dial(self, address: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        self.called.append((address, port))
        ours, theirs = socket.socketpair()
        recorder = self.allowed if address == PUBLIC else self.elsewhere
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader()
        protocol = asyncio.StreamReaderProtocol(reader, recorder.serve)
        await loop.connect_accepted_socket(lambda: protocol, theirs)
        return await asyncio.open_connection(sock=ours)


@dataclass
class Opened:
    """A proxy with one door, for what a test sends through it."""

    internet: Internet
    path: Path
    refusals: list[RefusedHost]
    policy: list[HostList]

    async def send(self, *pieces: bytes) -> bytes:
        """All that is answered to these pieces on one connection.

        Each piece is sent once something was answered to the one before that was a CONNECT; then no more is said.
        """
        reader, writer = await asyncio.open_unix_connection(str(self.path))
        answered = b""
        with contextlib.suppress(OSError):
            async with asyncio.timeout(SECONDS):
                for number, piece in enumerate(pieces):
                    writer.write(piece)
                    await writer.drain()
                    if piece.startswith(b"CONNECT ") and number + 1 < len(pieces):
                        answered += await reader.readuntil(b"\r\n\r\n")
                        if b" 200 " not in answered:
                            break
                writer.write_eof()
                while data := await reader.read(65536):
                    answered += data
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
        return answered


@contextlib.asynccontextmanager
async def opened(
    internet: Internet,
    policy: HostList,
    *,
    checks: Checks = ALL,
    bounds: Bounds | None = None,
    private: frozenset[Authority] = frozenset(),
) -> AsyncGenerator[Opened]:
    """A door to this internet."""
    policies, refusals = [policy], list[RefusedHost]()

    async def allows(host: str) -> bool:
        return policies[0].allows(host)

    door = Door(allows, refusals.append)
    proxy = Proxy(private, resolve=internet.resolve, dial=internet.dial, bounds=bounds, checks=checks)
    with tempfile.TemporaryDirectory(prefix="tw-door-") as folder:
        path = Path(folder) / "door"
        serving: set[asyncio.Task[None]] = set()

        def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            serving.add(asyncio.create_task(proxy.serve(door, reader, writer)))

        async with await asyncio.start_unix_server(served, path):
            yield Opened(internet, path, refusals, policies)
            async with asyncio.timeout(SECONDS):
                await asyncio.gather(*serving)
            await internet.allowed.ended()
            await internet.elsewhere.ended()


def hello(*names: str, extra: Sequence[tuple[int, bytes]] = (), kind: int = 0, record: int = 0) -> bytes:
    """A ClientHello that asks for these servers, in records of at most ``record`` bytes."""

    def sized(content: bytes, size: int) -> bytes:
        return len(content).to_bytes(size, "big") + content

    entries = b"".join(bytes([kind]) + sized(name.encode(), 2) for name in names)
    extensions = [(0, sized(entries, 2))] if names else []
    written = b"".join(number.to_bytes(2, "big") + sized(content, 2) for number, content in (*extensions, *extra))
    body = b"\x03\x03" + bytes(32) + sized(b"", 1) + sized(b"\x13\x01", 2) + sized(b"\0", 1) + sized(written, 2)
    message = b"\x01" + sized(body, 3)
    size = record or len(message)
    return b"".join(b"\x16\x03\x01" + sized(message[at : at + size], 2) for at in range(0, len(message), size))
