"""What the model says and does in the scenes of the user guide; the work is real, and each scene begins with its task."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from pydantic import JsonValue

from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.replies import Reply
from tests.e2e.vendored import TASK, Vendored

PRICE = """from decimal import Decimal

CENT = Decimal("0.01")


def to_pay(net, rate):
    return (net * (1 + rate)).quantize(CENT)
"""
TESTS = """import unittest
from decimal import Decimal

from price import to_pay


class Rounding(unittest.TestCase):
    def test_half_a_cent_is_rounded_up(self):
        self.assertEqual(to_pay(Decimal("0.50"), Decimal("0.01")), Decimal("0.51"))
"""
CHECK = """import pathlib
import time

for page, links in (("setup.md", 12), ("deploy.md", 31), ("backup.md", 8)):
    print(f"{page}: {links} links, all reachable", flush=True)
while not pathlib.Path("go").exists():
    time.sleep(0)
"""
UNIT = "python3 -m unittest"

ROUNDING = "Half a cent should be rounded up. Please fix price.py, and prove it."
LINKS = "Check every link in the handbook"
CHANGES = "write a changelog entry"
ASIDE = "how many pages does the handbook have?"
NEWSLETTER = "Set up our newsletter"
REPORTS = "We need the space: throw away the reports of 2019"
REPOSITORY = "Put the shop under version control"
BRANCH = "Round half a cent up, on a branch please"
DIRECT = "Which month was our best?"
SALES = "month,euros\nApril,4120\nMay,5310\nJune,4875\n"
BEST = "sort -t, -k2nr attachments/sales.csv"


def uses(tool: str, says: str = "", **arguments: JsonValue) -> Reply:
    """An answer that uses a tool."""
    return Reply(says, calls=((tool, arguments),))


def finishes(answer: str, *claims: dict[str, JsonValue]) -> Reply:
    """The end of a task."""
    return uses("finish", answer=answer, claims=list(claims))


def todo(*states: str) -> Reply:
    """The list of the task about links."""
    texts = ("List the pages of the handbook", "Try every link", "Report what is broken")
    return uses("todo", items=[{"text": text, "state": state} for text, state in zip(texts, states, strict=True)])


READ = uses("read", "I look at the code first.", path="price.py")
EDIT = uses(
    "multi_edit", "It rounds to the even cent. I make it round half up.", path="price.py", edits=[
        {"old": "from decimal import Decimal\n", "new": "from decimal import ROUND_HALF_UP, Decimal\n"},
        {"old": ".quantize(CENT)", "new": ".quantize(CENT, ROUND_HALF_UP)"},
    ],
)  # fmt: skip
TEST = uses("shell", "Now the tests.", command=UNIT, expectation="OK")
PASSED: dict[str, JsonValue] = {"text": "The tests pass", "command": UNIT, "exit_code": 0}

SCENES: dict[str, Sequence[Reply]] = {
    ROUNDING: (
        READ,
        EDIT,
        TEST,
        finishes(
            "Half a cent is now rounded **up**: 0.505 becomes 0.51.\n\n"
            "Before, `quantize` rounded to the *even* cent, which is Python's default.",
            PASSED,
            {"text": "Rounding is named in the code", "file": "price.py"},
            {"text": "Nothing else in the shop rounds prices"},
        ),
    ),
    LINKS: (
        todo("done", "doing", "open"),
        uses("shell", "Three pages. I try their links now.", command="python3 check.py"),
        todo("done", "done", "done"),
        finishes("All 51 links work. I left the archive out, as you said."),
    ),
    CHANGES: (finishes("Here is the entry:\n> Links in the handbook are checked."),),
    NEWSLETTER: (
        uses(
            "ask_user", "", question="Before I begin, three things:", questions=[
                {"text": "How often?", "options": ["Every month", "Every week"]},
                {"text": "Which language?", "options": ["English", "German", "Both"]},
                {"text": "What is it called?"},
            ],
        ),
        finishes("“Loose Ends” is set up: every month, in both languages."),
    ),
    REPORTS: (
        uses("shell", "That deletes a folder, so I need your yes.", command="rm -r reports/2019"),
        finishes("The reports of 2019 are gone; those of 2020 are untouched."),
    ),
    REPOSITORY: (
        uses(
            "shell", command="git init -q -b main . && git add price.py test_price.py && "
            "git -c user.name=Shop -c user.email=shop@example.org commit -qm 'The shop'",
        ),
        finishes("It is a repository now."),
    ),
    BRANCH: (
        READ,
        EDIT,
        TEST,
        uses(
            "commit", message="Round half a cent up\n\nRounding to the even cent lost money.", files=["price.py"]
        ),
        finishes("The fix is on a branch of its own; nothing changes until you decide.", PASSED),
    ),
    DIRECT: (
        uses("shell", "I sort the months by what they brought in.", command=BEST),
        finishes(
            "**May**, with 5,310 euros.", {"text": "It is the largest number in the file", "command": BEST, "exit_code": 0}
        ),
    ),
}  # fmt: skip


class Mind:
    """Plays the scene that a request's task begins; a first answer waits until the scene's files are ``ready``."""

    def __init__(self) -> None:
        self.ready = asyncio.Event()
        self.heard: list[str] = []
        self.vendored = Vendored(ready=self.ready)

    async def __call__(self, request: CapturedRequest) -> Reply:
        self.heard.append(request.text())
        if TASK in request.text():
            return await self.vendored(request)
        if not request.tools:
            return Reply("Three: setup, deploy and backup.")
        await self.ready.wait()
        said = next(message.text for message in request.messages if message.role == "user").partition("\n\n")[0]
        scene = next(scene for task, scene in SCENES.items() if task in said)
        return scene[sum(message.role == "assistant" for message in request.messages)]
