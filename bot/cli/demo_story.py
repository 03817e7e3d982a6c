"""The repository of `threadwright demo`, and the story that plays there where no model is configured.

Only the model's words are written here: it really clones, runs, edits, commits and publishes, and the forge really checks.
The first fix breaks another test, so that a check turns red and wakes the task.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pydantic import JsonValue

from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.replies import Reply

REPOSITORY = "demo/shop"
SHOP = {
    "price.py": "def to_pay(cents, voucher=0):\n    return sum(cents) - voucher\n",
    "receipt.py": """from price import to_pay


def receipt(cents, voucher=0):
    total = to_pay(cents, voucher)
    left = max(-total, 0)
    return f"{max(total, 0)} to pay, {left} left"
""",
    "test_price.py": """import unittest

from price import to_pay


class ToPay(unittest.TestCase):
    def test_a_large_voucher_leaves_nothing_to_pay(self):
        self.assertEqual(to_pay([500], voucher=800), 0)
""",
    "test_receipt.py": """import unittest

from receipt import receipt


class Receipt(unittest.TestCase):
    def test_it_says_what_is_left_of_a_voucher(self):
        self.assertEqual(receipt([500], voucher=800), "0 to pay, 300 left")
""",
}
CHECK = ("python3", "-m", "unittest")
TASK = "Fix the failing test in test_price.py"
SCRIPTED = "This is a scripted story, not a model: only the words are written, all else is real."
OVER = (
    f"{SCRIPTED} It can do one thing: write “{TASK}” in the channel, not in this thread. To give it any task, set a key such "
    "as ANTHROPIC_API_KEY or OPENAI_API_KEY, and start the demo again."
)
SECONDS = 0.7
"""Before each answer, so that a person can follow."""
_ONE, _ALL = "python3 -m unittest test_price", "python3 -m unittest"


def _uses(tool: str, says: str = "", **arguments: JsonValue) -> Reply:
    return Reply(says, calls=((tool, arguments),))


def _finishes(answer: str, *claims: dict[str, JsonValue]) -> Reply:
    return _uses("finish", answer=answer, claims=list(claims))


_PUBLISH = _uses(
    "publish", title="A voucher makes no price negative", body="What is left of it was subtracted from nothing."
)
FIRST = (
    _uses("shell", "I run that test first.", command=_ONE),
    _uses("read", "It fails. I look at the code.", path="price.py"),
    _uses(
        "edit", "A large voucher gives a price below zero.", path="price.py",
        old="return sum(cents) - voucher", new="return max(sum(cents) - voucher, 0)",
    ),
    _uses("shell", "The same test again.", command=_ONE),
    _uses("shell", "Now it passes; I commit.", command="git commit -qam 'A voucher makes no price negative'"),
    _PUBLISH,
    _finishes("The test passes now, and the pull request is open.", {"text": "It passes", "command": _ONE, "exit_code": 0}),
)  # fmt: skip
SECOND = (
    _uses("shell", "The check ran all tests, I only one. All of them, then.", command=_ALL),
    _uses("read", "Another one fails: the receipt.", path="receipt.py"),
    _uses(
        "edit", "The receipt counted on the price below zero.", path="receipt.py",
        old="left = max(-total, 0)", new="left = max(voucher - sum(cents), 0)",
    ),
    _uses("shell", "All of them again.", command=_ALL),
    _uses("shell", "All pass; I commit.", command="git commit -qam 'The receipt counts by itself'"),
    _PUBLISH,
    _finishes(
        "The receipt relied on the price below zero.", {"text": "All tests pass", "command": _ALL, "exit_code": 0}
    ),
)  # fmt: skip


def steps(request: CapturedRequest) -> Sequence[Reply]:
    """The answers of a task: the first one, the one that a red check began, or that the story is over."""
    told = next((said.text for said in request.messages if said.role == "user"), "")
    if "of the checks of pull request" in told.partition("\n\n")[0]:
        return SECOND
    return (_finishes(OVER),) if "[Earlier in this thread]" in told else FIRST


def story(request: CapturedRequest) -> Reply:
    """The next answer: it follows from how many there were, so the story survives a restart."""
    if not request.tools:
        return Reply(OVER)
    playing, number = steps(request), sum(said.role == "assistant" for said in request.messages)
    answer = playing[number] if number < len(playing) else _finishes(OVER)
    words = f"{SCRIPTED} {answer.text}" if playing is FIRST and number == 0 else answer.text
    return replace(answer, text=words, delay=SECONDS)
