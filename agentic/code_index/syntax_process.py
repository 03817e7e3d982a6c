"""The program that reads syntax: a file in, its chunks out, over its pipes.

It is a process of its own, because tree-sitter has no bound in time (what it does not understand it may take minutes over),
cannot be interrupted, and is written in C, while the files are anybody's.  The kernel ends this process where one file takes
too long or too much memory; whoever asked then cuts that file by lines.

A request is a line of JSON (``grammar``, ``size``) and so many bytes of source; the answer is a line of JSON: of each chunk
``[first, last, names, within]``.
"""

from __future__ import annotations

import json
import resource
import signal
import sys
from typing import IO

from agentic.code_index.chunks import Chunk, Definition, by_syntax, line_count
from agentic.code_index.grammars import loaded

CPU_SECONDS = 1.0
"""For one file; a usual one of 1,000 lines takes 0.02."""
MEMORY = 1_500_000_000
NAMES, CHARACTERS = 60, 80
"""Of one chunk, and of one name."""


def chunks_of(grammar: str, source: bytes) -> tuple[Chunk, ...]:
    """The chunks of a file, along its syntax."""
    from tree_sitter import Parser, QueryCursor

    language, query = loaded(grammar)
    root = Parser(language).parse(source).root_node
    definitions: list[Definition] = []
    for _, found in QueryCursor(query).matches(root):
        (whole, *_), (name, *_) = found["def"], found["name"]
        text = (name.text or b"").decode("utf-8", "replace")[:CHARACTERS]
        definitions.append(Definition(whole.start_point.row + 1, whole.end_point.row + 1, text))
    definitions.sort(key=lambda each: each.first)
    return by_syntax(root, line_count(source), definitions)


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer until nobody asks any more."""
    while line := requests.readline():
        request: dict[str, str | int] = json.loads(line)
        source = requests.read(int(request["size"]))
        signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
        chunks = chunks_of(str(request["grammar"]), source)
        signal.setitimer(signal.ITIMER_PROF, 0)
        rows = [[each.first, each.last, each.names[:NAMES], each.within[:NAMES]] for each in chunks]
        answers.write(json.dumps(rows).encode() + b"\n")
        answers.flush()


def main() -> None:
    """Limit this process, and serve."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    serve(sys.stdin.buffer, sys.stdout.buffer)


if __name__ == "__main__":
    main()
