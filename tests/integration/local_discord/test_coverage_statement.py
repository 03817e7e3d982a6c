"""docs/local-guild.md says what the server can refuse: no code more, none less, and each is provoked by a test."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from bot.local_discord.faults import rules
from bot.local_discord.gateway.gateway import REASONS
from bot.local_discord.rest import rate_limit_buckets

ROOT = Path(__file__).parents[3]
SERVER = ROOT / "bot" / "local_discord"
STATEMENT = (ROOT / "docs" / "local-guild.md").read_text("utf-8")
TESTS = "\n".join(f.read_text("utf-8") for f in Path(__file__).parent.glob("test_*.py") if f != Path(__file__))


def refusals() -> set[int]:
    """The JSON codes in the server's code: arguments of the errors it raises, and the table of unknown things."""
    trees = [ast.parse(file.read_text("utf-8")) for file in SERVER.rglob("*.py")]
    return {code for tree in trees for node in ast.walk(tree) for code in _codes(node) if code}


def _codes(node: ast.AST) -> Iterator[int]:
    match node:
        case ast.Call(func=ast.Name(id="ApiError"), args=[_, ast.Constant(value=int(code)), *_]):
            yield code
        case ast.Call(func=ast.Name(id="RateLimitedError"), keywords=keywords):
            given = (k.value for k in keywords if k.arg == "code")
            yield from (v.value for v in given if isinstance(v, ast.Constant) and isinstance(v.value, int))
        case ast.Assign(targets=[ast.Name(id="codes")], value=ast.Dict(values=values)):
            yield from (v.value for v in values if isinstance(v, ast.Constant) and isinstance(v.value, int))
        case _:
            pass


def stated(heading: str) -> set[int]:
    """The numbers in the first column of the table below a heading."""
    table = STATEMENT.split(f"### {heading}\n", 1)[1].split("\n#", 1)[0]
    return {
        int(n) for line in table.splitlines() if line.startswith("| ") for n in re.findall(r"\d+", line.split("|")[1])
    }


def test_the_codes_that_are_stated_are_those_that_the_server_can_answer() -> None:
    found = refusals()
    assert len(found) > 30, "the scan has lost its way"
    assert stated("Refusals") == found


def test_the_close_codes_that_are_stated_are_those_that_the_gateway_knows() -> None:
    assert stated("Close codes") == set(REASONS)


def test_each_code_is_provoked_by_a_test() -> None:
    named = {int(n) for n in re.findall(r"\b\d{4,6}\b", TESTS)}
    assert stated("Refusals") | stated("Close codes") <= named


def test_each_fault_is_described_and_used_by_a_test() -> None:
    faults = re.findall(r"^class (\w+):", Path(rules.__file__).read_text("utf-8"), re.MULTILINE)
    for fault in set(faults) - {"Rule", "Misbehaviour"}:
        assert f"`{fault}(" in STATEMENT, f"{fault} is not described"
        assert f"{fault}(" in TESTS, f"{fault} is used by no test"


def test_each_limit_is_stated_with_its_number() -> None:
    for name in ("everything", "invalid", "titles", "old_edits", "command_creates", "session_starts"):
        limit: rate_limit_buckets.Limit = getattr(rate_limit_buckets.DISCORD, name)
        assert f"{limit.number:,}" in STATEMENT, f"{name} is not stated"
