"""A task that can only be done by who knows one thing, and a model that knows only what stands in its prompt.

The orders' total must leave out the rows of one state.  Which one is drawn by luck; only the check knows it, and says it
when it fails.  So whoever does it right at the first try has read it in a lesson.
"""

from __future__ import annotations

import json
import re
import secrets
from dataclasses import dataclass, field

from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.replies import Reply

CHECK = "python3 attachments/check.py"
REVIEWER = "You review one attempt"
_STATE = re.compile(r"orders in state (\w+)")
_CHECK = """import csv, sys
orders = list(csv.DictReader(open("attachments/orders.csv")))
right = sum(int(order["amount"]) for order in orders if order["state"] != "{state}")
said = open("total.txt").read().strip()
if said != str(right):
    sys.exit("AssertionError: wrong total, orders in state {state} must not count")
print("the total is right")
"""


@dataclass
class Orders:
    """The task's files, and the model's part."""

    state: str = field(default_factory=lambda: f"st{secrets.token_hex(3)}")

    def files(self, *amounts: int) -> dict[str, str]:
        """What a person sends with the task."""
        states = [self.state, "paid", "sent"]
        rows = [f"{number},{states[number % 3]},{amount}" for number, amount in enumerate(amounts)]
        return {
            "orders.csv": "\n".join(["id,state,amount", *rows, ""]),
            "check.py": _CHECK.format(state=self.state),
        }

    def model(self, request: CapturedRequest) -> Reply:
        """The next step, from the request alone."""
        if request.system.startswith(REVIEWER):
            return Reply(json.dumps(reflection(_STATE.findall(request.text())[-1])))
        done = len(request.answers)
        if done == 0:
            left_out = next(iter(_STATE.findall(request.messages[0].text)), "nothing")
            total = (
                f"awk -F, 'NR>1 && $2!=\"{left_out}\" {{sum+=$3}} END {{print sum}}' attachments/orders.csv > total.txt"
            )
            return _shell(total, "total.txt holds the total")
        if done == 1:
            return _shell(CHECK, "it passes")
        if "the total is right" in request.answers[-1].text:
            claims = [{"text": "The check passes.", "command": CHECK, "exit_code": 0}]
            return Reply(calls=(("finish", {"answer": "The total is in total.txt.", "claims": claims}),))
        return Reply(calls=(("finish", {"answer": "The check says that the total is wrong.", "success": False}),))


def reflection(state: str) -> dict[str, str]:
    """What a model makes of the failing check's words."""
    return {
        "what_worked": "The amounts of orders.csv were read and summed.",
        "what_failed": "The total of the orders was wrong: the check refused it.",
        "root_cause": "The total held orders that must not count.",
        "strategy_change": f"Leave orders in state {state} out of the total.",
        "key_insight": "Not every order counts in the total.",
        "touches": "none",
    }


def _shell(command: str, expectation: str) -> Reply:
    return Reply(f"I run {command[:20]}.", (("shell", {"command": command, "expectation": expectation}),))
