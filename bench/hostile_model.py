"""The model of ``bench.hostile``, in a process of its own: ``python -m bench.hostile_model FILE``.

It serves a scripted endpoint, prints its address, and writes into FILE how many sandboxes were lost (in each thread a command
looks for the mark that it left in the sandbox's own /tmp), and beside it how many turns each thread had.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path

from pydantic import JsonValue

from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from bench.hostile_attacks import ATTACKS

MB = 1_000_000
DELAY = 0.2
PIECE = 100_000
MARK = "mkdir /tmp/mark 2>/dev/null && echo mark new $(date +%s%N); "
FILES = 300_000
_NEW = re.compile(r"mark new \d+")
_NUMBER = re.compile(r"(\w+) number (\d+)\b")

Call = tuple[str, Mapping[str, JsonValue] | str]


def shell(command: str) -> Call:
    """A command that may take a minute, after a look at the mark."""
    return "shell", {"command": MARK + command, "timeout": 60}


MANY = (
    "python3 -c \"import os\nfor n in range({files}):\n    n % 1000 or os.makedirs(f'many/{{n // 1000}}', exist_ok=True)\n"
    "    os.close(os.open(f'many/{{n // 1000}}/{{n}}', os.O_CREAT))\""
)
PATTERNS = (
    "**/a*a*a*a*a*a*a*a*a*a*b\n*a*a*a*a*a*a*a*a*a*a*b\n[a-z]*[a-z]*[a-z]*[a-z]*[a-z]*[a-z]*c\n" + "**/" * 60 + "d\n"
)
LONG = "$(head -c 100 /dev/zero | tr '\\0' a)"
NAMES = f"mkdir -p w; for n in 1 2 3; do touch {LONG}$n w/{LONG}$n; done"

WORK: Mapping[str, tuple[Callable[[], Reply], ...]] = {
    "worker": (
        lambda: calls(shell("sleep 0.2; seq 1 200 > numbers")),
        lambda: calls(("write", {"path": "text", "content": "one\ntwo\n" * 100})),
        lambda: calls(("read", {"path": "numbers"}), ("grep", {"pattern": "two"})),
        lambda: calls(("python", {"code": "sum(range(1000))"})),
        lambda: calls(("finish", {"answer": "The numbers are written."})),
    ),
    "neighbour": (
        lambda: calls(shell("seq 1 200 > numbers"), ("grep", {"pattern": "19"})),
        lambda: calls(shell("sleep 30")),
    ),
    "files": (
        lambda: calls(shell(MANY.format(files=FILES))),
        lambda: calls(shell("date > many/1/new; date > many/2/new")),
        lambda: calls(("glob", {"pattern": "**/*9"}), ("grep", {"pattern": "x"}), ("list", {"path": "many/7"})),
        lambda: calls(shell("find many -type f | xargs chmod 600")),
        lambda: calls(shell("while :; do date > busy; done")),
        lambda: calls(("finish", {"answer": "There are many files."})),
    ),
    "lines": (
        lambda: calls(shell("head -c 5000000 /dev/zero | tr '\\0' a")),
        lambda: calls(shell("yes '' | head -n 1000000")),
        lambda: calls(shell("head -c 5000000 /dev/zero | tr '\\0' - > line; yes '' | head -n 1000000 > lines")),
        lambda: calls(("read", {"path": "line"}), ("read", {"path": "lines"}), ("grep", {"pattern": "-+$"})),
        lambda: calls(("write", {"path": "mine", "content": "a-" * (MB // 2)})),
        lambda: calls(("edit", {"path": "mine", "old": "a-" * 100, "new": "b", "replace_all": True})),
        lambda: calls(("python", {"code": "print('=' * 5_000_000); print('\\n' * 1_000_000)"})),
        lambda: calls(shell("python3 -c \"print('[' * 1000000)\" | tee deep.json")),
        lambda: calls(("finish", {"answer": "=" * (MB // 2)})),
    ),
    "ignore": (
        lambda: calls(("write", {"path": ".aiignore", "content": PATTERNS})),
        lambda: calls(shell(f"printf '{PATTERNS}x%s\\n' $(date +%N) > .aiignore; {NAMES}")),
        lambda: calls(("read", {"path": "w/" + "a" * 100 + "1"}), ("glob", {"pattern": "*a*a*a*a*a*a*a*b"})),
        lambda: calls(("grep", {"pattern": "(a+)+b"}), ("list", {"path": "w"})),
        lambda: calls(shell("seq 1 100000 > numbers; cat .aiignore")),
        lambda: calls(("finish", {"answer": "*a" * 1_000})),
    ),
    "says": (
        lambda: Reply("word" * (5 * MB // 4), (shell("true"),), delay=DELAY, piece=PIECE),
        lambda: Reply("\n" * MB, (shell("true"),), delay=DELAY, piece=PIECE),
        lambda: Reply("", (("shell", '{"command": ' + "[" * 100_000),), delay=DELAY, piece=PIECE),
        lambda: Reply("", (("note", '{"text": ' + "[" * 50_000 + "]" * 50_000 + "}"),), delay=DELAY, piece=PIECE),
        lambda: Reply("I will " + "run the tests and " * 50_000, delay=DELAY, piece=PIECE),
        lambda: Reply("", (("note", {"text": "api_key=" + "a-" * MB}),), delay=DELAY, piece=PIECE),
        lambda: Reply("", (("finish", {"answer": "x\n" * MB}),), delay=DELAY, piece=PIECE),
    ),
}
"""What is said turn by turn, by the kind of thread."""
HOSTILE = tuple(kind for kind in WORK if kind not in ("worker", "neighbour"))


def calls(*made: Call) -> Reply:
    """An answer of calls."""
    return Reply("", made, delay=DELAY, piece=PIECE)


async def main(file: Path) -> None:
    """Serve until ended."""
    steps: Counter[str] = Counter()
    new: dict[str, set[str]] = defaultdict(set)

    def script(request: CapturedRequest) -> Reply:
        found = next((match for said in request.messages if (match := _NUMBER.search(said.text[:10_000]))), None)
        if found is None:
            return Reply("done")
        name, step = found[0], steps[found[0]]
        steps[name] += 1
        if steps.total() % 10 == 0:
            told = " ".join(f"{count} {name}" for name, count in sorted(steps.items()))
            file.with_suffix(".turns").write_text(told, encoding="utf-8")
        if fresh := [mark for answer in request.last.answers for mark in _NEW.findall(answer.text)]:
            new[name].update(fresh)
            lost = sum(len(marks) - 1 for marks in new.values())
            file.write_text(f"{lost} {' '.join(n for n, marks in new.items() if len(marks) > 1)}", encoding="utf-8")
        attack = ATTACKS.get(found[1])
        work = (lambda: calls(shell(attack)),) if attack is not None else WORK[found[1]]
        return work[step % len(work)]()

    async with ScriptedEndpoint.start(script, capture_requests=False) as endpoint:
        print(endpoint.url, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
