"""A task that fails for want of a module, what a model makes of it, and how it goes once it knows better."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field

from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.replies import Reply

TASK = "Do the tests of the report pass?"
REVIEWER = "You review one attempt"
FILES = {
    "report.py": "import tabulate\n\n\ndef head(names):\n    return tabulate.row(names)\n",
    "test_report.py": """import unittest

from report import head


class Head(unittest.TestCase):
    def test_names_stand_in_a_row(self):
        self.assertEqual(head(["month", "euros"]), "month | euros")
""",
    "vendor/tabulate.py": 'def row(names):\n    return " | ".join(names)\n',
}
COMMAND = "pip install tabulate"
FAILS, PASSES = "python3 -m unittest -v", "PYTHONPATH=vendor python3 -m unittest -v"
BETTER = "There is no network. Use the copies in the folder vendor."
FAILED, DONE = "the module tabulate is missing", "They pass, with the copies in vendor"
REFLECTION = {
    "what_worked": "The tests were found and started.",
    "what_failed": "The tests of the report could not be imported, for the module tabulate was missing.",
    "root_cause": "The module tabulate is not installed where the tests run.",
    "strategy_change": f"Run `{COMMAND}` before the tests of the report.",
    "key_insight": "The tests of the report need the module tabulate.",
    "touches": "none",
}


@dataclass
class Vendored:
    """The model's part; ``heard`` is what each first request said."""

    heard: list[str] = field(default_factory=list[str])
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    """The thread has its files."""

    async def __call__(self, request: CapturedRequest) -> Reply:
        """The next step, from the request alone: who was told of what went wrong does it right."""
        if request.system.startswith(REVIEWER):
            return Reply(json.dumps(REFLECTION))
        await self.ready.wait()
        knows = REFLECTION["key_insight"] in request.text()
        if not request.answers:
            self.heard.append(request.text())
            return Reply("I run the tests.", (("shell", {"command": PASSES if knows else FAILS}),))
        if knows:
            claim = {"text": "The tests pass", "command": PASSES, "exit_code": 0}
            return Reply(calls=(("finish", {"answer": f"{DONE}.", "claims": [claim]}),))
        return Reply(calls=(("finish", {"answer": f"No: {FAILED}.", "success": False}),))
