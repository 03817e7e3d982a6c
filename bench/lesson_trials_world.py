"""Thirty families of small tasks, each with one thing that only its check knows; and a model that knows what it is told.

A task of a family is done right only by who leaves the orders (or invoices, or readings, ...) in one state out.  Which state
that is stands nowhere but in the words of the check that fails.  The model's part is played from its prompt alone: it leaves
out what the prompt says of the family's rows, else nothing, and then fails.  One reflection in five is wrong: it names a
state that is not it.  One task in four is plain: all of its rows count, so what is wrong of a family makes it worse.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from pydantic import JsonValue

from agentic.core.events.ids import digest
from agentic.models.scripted.model import Asked, answer
from agentic.ports.runtime import Answer

NOUNS = (
    "orders", "invoices", "readings", "tickets", "bookings", "shipments", "payments", "samples", "courses", "visits",
    "deliveries", "reservations", "transactions", "measurements", "complaints", "surveys", "donations", "membership renewals",
    "inspections", "appointments", "refunds", "cheques", "parcels", "permits", "harvests", "ballots", "receipts", "loans",
    "warranties", "shifts",
)  # fmt: skip
MEASURES = ("total", "sum", "amount in all", "overall value")
WORDINGS = (
    "Write the {measure} of the {noun} into result.txt. `python3 check.py` says whether it is right.",
    "I need the {measure} of our {noun} from rows.csv in result.txt, so that `python3 check.py` passes.",
    "The {noun} in rows.csv: compute the {measure} for the {month} report into result.txt. Run `python3 check.py`.",
    "Please put the {noun} {measure} into result.txt; `python3 check.py` has to accept it.",
)
MONTHS = ("March", "June", "September", "December")
STATES = ("open", "closed")
WRONG_SHARE = 0.2
CHECK = "python3 check.py"
REVIEWER = "You review one attempt"
_TOLD = "{noun} in state ([a-z]+)"
_SEEN = _TOLD + " must not count"
_ALL = "all {noun} count"
_TASK = re.compile(rf"\b({'|'.join(NOUNS)})\b")
_CHECK = """import csv, sys
rows = list(csv.DictReader(open("rows.csv")))
right = sum(int(row["amount"]) for row in rows if row["state"] != "{state}")
said = open("result.txt").read().strip()
if said != str(right):
    sys.exit("AssertionError: the {noun} do not add up, {why}")
print("right")
"""


@dataclass(frozen=True, slots=True)
class Task:
    """One task: of which family, in whose words, with which rows."""

    number: int
    family: int
    plain: bool = False
    """Every row counts: it goes well with nothing told."""

    @property
    def noun(self) -> str:
        """What it is about."""
        return NOUNS[self.family]

    @property
    def text(self) -> str:
        """What a person asks for."""
        wording = WORDINGS[_drawn(len(WORDINGS), "wording", self.number)]
        measure = MEASURES[_drawn(len(MEASURES), "measure", self.number)]
        return wording.format(noun=self.noun, measure=measure, month=MONTHS[_drawn(4, "month", self.number)])

    def files(self) -> dict[str, str]:
        """The workspace as it is before the first attempt."""
        state = state_of(self.family)
        states = STATES if self.plain else (state, *STATES)
        rows = [f"{n},{states[n % len(states)]},{_drawn(500, 'amount', self.number, n) + 1}" for n in range(9)]
        why = f"all {self.noun} count here" if self.plain else f"{self.noun} in state {state} must not count"
        return {
            "rows.csv": "\n".join(["id,state,amount", *rows, ""]),
            "check.py": _CHECK.format(noun=self.noun, state=state, why=why),
        }


def tasks(families: int, each: int, plain: int) -> tuple[Task, ...]:
    """So many of each family, and so many plain ones of each, in a drawn order."""
    order = sorted(range(families * (each + plain)), key=lambda place: digest("order", place, length=12))
    return tuple(Task(number, place % families, place >= families * each) for number, place in enumerate(order))


def state_of(family: int) -> str:
    """What the family's rows have to be without; letters only, so that it is a word like any other."""
    return _letters("state", str(family))


def model(asked: Asked) -> Answer:
    """What the model says next."""
    if asked.prompt.system.startswith(REVIEWER):
        return _reflects("\n".join(message.text for message in asked.prompt.messages))
    results = [result for message in asked.prompt.messages for result in message.answers]
    if not results:
        noun = _noun(asked.prompt.messages[0].text)
        told = re.search(f"{_TOLD}|{_ALL}".format(noun=noun), asked.prompt.messages[0].text)
        left_out = (told and told[1]) or "nothing"
        add = f"awk -F, 'NR>1 && $2!=\"{left_out}\" {{s+=$3}} END {{print s}}' rows.csv > result.txt"
        return answer("I add them up.", ("shell", {"command": f"{add} && {CHECK}"}))
    if results[-1].failed:
        return answer("", ("finish", {"answer": "The check refuses the result.", "success": False}))
    claims: list[JsonValue] = [{"text": "The check passes.", "command": CHECK, "exit_code": 0}]
    return answer("", ("finish", {"answer": "The result is in result.txt.", "claims": claims}))


def _reflects(record: str) -> Answer:
    noun = _noun(record)
    states: list[str] = re.findall(_SEEN.format(noun=noun), record)
    state = states[-1] if states else ""
    if _drawn(1000, "wrong", record) < 1000 * WRONG_SHARE:
        state = STATES[_drawn(len(STATES), "another", record)]
    advice = f"Leave {noun} in state {state} out before adding up." if state else f"Add up all rows: all {noun} count."
    insight = {
        "what_worked": f"The rows of the {noun} were read and added up.",
        "what_failed": f"The total of the {noun} was refused by the check.",
        "root_cause": f"Some of the {noun} must not count.",
        "strategy_change": advice,
        "key_insight": f"Not all of the {noun} count.",
        "touches": "none",
    }
    return answer(json.dumps(insight))


def _noun(text: str) -> str:
    found = _TASK.search(text)
    assert found, f"no family is named in: {text[:200]}"
    return found[1]


def _letters(*what: str) -> str:
    return "".join("bdfgklmnprst"[int(digit, 16) % 12] for digit in digest(*what, length=7))


def _drawn(below: int, *what: object) -> int:
    return int(digest(*(str(each) for each in what), length=12), 16) % below
