"""A turnstile before the guild's API, in a process of its own: ``python -m bench.turnstile PORT FILE``.

It passes everything on and writes down when each request came.  The guild itself sees a request when its event loop
comes to it; in a crowd that may be a second late, and then many at once.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TextIO

from yarl import URL

HOST = "127.0.0.1"
CHUNK = 64 * 1024
REQUEST = re.compile(rb"(?:GET|POST|PUT|PATCH|DELETE) \S+(?= HTTP/1\.1\r\n)")
"""As a client's first bytes; a connection carries one request after the other, each begun in a piece of its own."""


@asynccontextmanager
async def turnstile(rest_base: str, file: Path) -> AsyncGenerator[str]:
    """The address to use instead; ``file`` gets a line for each request: the monotonic clock, method and path."""
    address = URL(rest_base)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.turnstile", str(address.port), str(file), stdout=asyncio.subprocess.PIPE,
        cwd=Path(__file__).parent.parent,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        yield str(address.with_port(int(await process.stdout.readline())))
    finally:
        with suppress(ProcessLookupError):
            process.terminate()
        await process.wait()


def passed(file: Path) -> list[tuple[float, str]]:
    """When each request came, and what it was."""
    lines = (line.split(" ", 1) for line in file.read_text(encoding="utf-8").splitlines())
    return [(float(at), what) for at, what in lines]


async def main() -> None:
    """Serve until terminated; the port stands on the first line of standard output."""
    port, path = sys.argv[1:]
    with Path(path).open("w", encoding="utf-8", buffering=1) as file:
        server = await asyncio.start_server(partial(_connection, int(port), file), HOST, 0)
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()


async def _connection(port: int, file: TextIO, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    from_guild, to_guild = await asyncio.open_connection(HOST, port)
    async with asyncio.TaskGroup() as group:
        group.create_task(_pass(reader, to_guild, file))
        group.create_task(_pass(from_guild, writer, None))


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, file: TextIO | None) -> None:
    with suppress(ConnectionError):
        while chunk := await reader.read(CHUNK):
            if file is not None and (request := REQUEST.match(chunk)):
                file.write(f"{monotonic()} {request[0].decode()}\n")
            writer.write(chunk)
            await writer.drain()
    writer.close()


if __name__ == "__main__":
    asyncio.run(main())
