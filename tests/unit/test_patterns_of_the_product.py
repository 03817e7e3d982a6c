"""Every regular expression of the product is compiled here once, and measured over texts made to hold it up.

What a model, a tool, a person or a workspace writes is matched on the loop that serves everybody: whatever they write, a
pattern takes linear time.
"""

from __future__ import annotations

import ast
import pkgutil
import re
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import pytest

import agentic
import bot
import reflexion
from agentic.bash.runners import count_tests
from agentic.core.claims.confidence import stated_in
from agentic.core.text.announced_intent import announces
from agentic.models.answers.tool_calls_in_text import recover
from agentic.text.secret_patterns import secrets_in
from bot.rendering.secrets import Discretion
from reflexion.text.secrets import redact
from reflexion.text.token_estimate import tokens_of
from tests.unit.hostile_texts import Text, hostile_texts

ROOT = Path(__file__).parents[2]
PACKAGES = ("agentic", "bot", "reflexion")
_WORD = re.compile(r"\w+")
VERBS = frozenset({"search", "match", "fullmatch", "split", "findall", "finditer", "sub", "subn"})
ANCHORED = frozenset({"match", "fullmatch"})

SHORT, MIDDLE, LONG = 1_000, 10_000, 100_000
GROWTH = 40
"""Ten times the text may take so many times as long; what grows with the square takes a hundred times."""
AGAIN = 5
NEAR = 0.1
"""What comes no nearer to that at the middle length is spared the long one: a square would come ten times as near there."""
FLOOR = 1e-6
"""Seconds of the processor that a character may take whatever the machine: its clock may be coarse."""
WORST = 3
"""So many of a pattern's texts are measured longer: those that took longest while they were short; of them one at length."""

MADE_OF_VALUES = {
    ("agentic/core/audit/erasure.py", "unsaid"): "a person's name, word for word",
    (
        "agentic/sandbox/supervisor/files/search.py",
        "_compiled",
    ): "what a model looks for: in a child of the sandbox, with a deadline",
    ("agentic/core/rules/watchers/peek.py", "_any_of"): "words of a watcher's file, word for word",
    ("bot/rendering/secrets.py", "__init__"): "the secrets of this process, each word for word",
    (
        "bot/inbound/interpret_message.py",
        "without_mentions",
    ): "the numbers of this bot, and one run of spaces that begins where spaces begin",
}
"""Functions that make a pattern of what they are given, and why they may."""


def recover_any(text: str) -> object:
    """Calls written into a text."""
    return recover("{" + text, {})


class Use(NamedTuple):
    """One pattern of the product and how it is used: by which methods, and whether from one place to the next."""

    name: str
    text: str
    flags: int
    verbs: frozenset[str]


def test_every_pattern_of_the_product_can_be_compiled() -> None:
    """A wrong one would be noticed when somebody needs it."""
    found = patterns()
    assert len(found) > 100
    for pattern in found:
        re.compile(pattern.text, pattern.flags)


def test_every_pattern_of_the_product_takes_linear_time() -> None:
    """Ten times as long a text takes about ten times as long, whatever stands in it."""
    slow = [told for pattern in patterns() if (told := superlinear(pattern))]
    assert not slow, "\n".join(slow)


@pytest.mark.parametrize("planted", [r"[\w-]*x", r"(?i)\b([\w-]*token)\s*=", r"(?:a+)+$", r".*\n\s*b"])
def test_a_pattern_that_takes_longer_is_found(planted: str) -> None:
    """Otherwise the test above would find none."""
    assert superlinear(Use("planted", planted, 0, frozenset({"search"})))


@pytest.mark.parametrize(
    "use",
    [
        Discretion(["a" * 40]).text,
        Discretion(["a" * 40]).growing,
        redact,
        secrets_in,
        announces,
        stated_in,
        count_tests,
        tokens_of,
        recover_any,
    ],
)
def test_what_reads_whole_texts_of_others_takes_linear_time(use: Callable[[str], object]) -> None:
    """Not the patterns alone: also what is done between them."""
    units = (
        "a",
        "a-",
        "a7.",
        "\n",
        " ",
        "token=",
        "token=a",
        "-eyJaaaaaaaa",
        "sk-",
        "://a:b",
        "-----BEGIN PRIVATE KEY-----\n",
        "{\n",
        "```\n",
        "<tool_call>",
        "7 ",
        "a. ",
    )
    assert [unit for unit in units if _grows(use, Text("", unit, "!"))] == []


def test_no_pattern_is_made_within_a_function() -> None:
    """There it would not be found and measured; those made of values are named here with what bounds them."""
    made = {(path, name) for path, text in _sources() if "re." in text for name in _makers(_tree(path))}
    assert sorted(made - set(MADE_OF_VALUES)) == []


def superlinear(pattern: Use) -> str:
    """What to tell of a pattern that takes more than linear time; empty if it does not."""
    compiled = re.compile(pattern.text, pattern.flags)
    for verb in _ways(pattern.verbs):
        use = _use(compiled, verb)
        worst = _worst(use, hostile_texts(pattern.text, pattern.flags))
        text = max(worst, key=lambda text: _growth(use, text, MIDDLE))
        if _grows(use, text):
            return f"{pattern.name}, by {verb}, over {text!r}: {pattern.text[:200]!r}"
    return ""


def _grows(use: Callable[[str], object], text: Text) -> bool:
    """Whether the time grows more than the text, each time: what a crowded machine makes grow, it does not always."""
    return all(_growth(use, text, LONG) >= 1.0 for _ in range(AGAIN))


def _growth(use: Callable[[str], object], text: Text, longest: int) -> float:
    """How near the time comes to what it may grow up to this length, at which it is 1; given up as soon as it is."""
    took = share = 0.0
    for length, before in ((SHORT, SHORT), (MIDDLE, SHORT), (LONG, MIDDLE)):
        if length <= longest and share < 1.0 and (length < LONG or share >= NEAR):
            most = GROWTH * max(took, FLOOR * before)
            took = _took(use, text.of(length), most)
            share = took / most
    return share


def _ways(verbs: frozenset[str]) -> list[str]:
    """Of the ways in which it is used those that differ in what they cost."""
    return sorted({"each" if verb not in ANCHORED | {"search"} else verb for verb in verbs})


def _use(compiled: re.Pattern[str], verb: str) -> Callable[[str], object]:
    if verb != "each":
        return {"search": compiled.search, "match": compiled.match, "fullmatch": compiled.fullmatch}[verb]

    def each(text: str) -> None:
        for _ in compiled.finditer(text):
            pass

    return each


def _worst(use: Callable[[str], object], texts: list[Text]) -> list[Text]:
    """The texts that take longest while they are short."""
    took: list[tuple[float, Text]] = []
    most = GROWTH * FLOOR * SHORT
    for text in texts:
        took.append((_took(use, text.of(SHORT), most), text))
        if took[-1][0] >= most:
            return [text]
    return [text for _, text in sorted(took, reverse=True)[:WORST]]


class _Overdue(Exception):
    pass


def _took(use: Callable[[str], object], text: str, most: float) -> float:
    """Seconds of the processor that it takes, given up after ``most``: the least of three times, if the first is too long."""
    least = most
    for _ in range(3):
        began = time.process_time()
        with _given_up_after(most):
            use(text)
            least = min(least, time.process_time() - began)
        if least <= (most / 4 if len(text) < LONG else most * 0.9):
            break
    return least


@contextmanager
def _given_up_after(seconds: float) -> Generator[None]:
    def overdue(number: int, frame: FrameType | None) -> None:
        raise _Overdue

    before = signal.signal(signal.SIGVTALRM, overdue)
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
        yield
    except _Overdue:
        pass
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@cache
def patterns() -> list[Use]:
    """Every pattern that stands in a module of the product, once for each text of it, with all its uses."""
    for package in (agentic, bot, reflexion):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith("__main__"):
                import_module(module.name)
    named = [(where, name, value) for where, name, value in _globals() if any(_patterns(value))]
    verbs = _verbs(frozenset(name for _, name, _ in named))
    found: dict[tuple[str, int], Use] = {}
    for where, name, value in named:
        used = verbs.get((where, name), frozenset()) | verbs.get(("", name), frozenset())
        for text, flags in _patterns(value):
            before = found.get((text, flags), Use("", text, flags, frozenset()))
            found[text, flags] = Use(before.name or f"{where}.{name}", text, flags, before.verbs | used)
    return [use if use.verbs else use._replace(verbs=frozenset({"finditer"})) for use in found.values()]


def _globals() -> Iterator[tuple[str, str, object]]:
    for where, module in [*sys.modules.items()]:
        if where.partition(".")[0] in PACKAGES:
            for name, value in vars(module).items():
                yield where, name, value


def _patterns(value: object) -> Iterator[tuple[str, int]]:
    if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
        yield value.pattern, value.flags & ~re.UNICODE
    elif isinstance(value, tuple | list | frozenset | set):
        for each in value:  # pyright: ignore[reportUnknownVariableType]
            yield from _patterns(each)  # pyright: ignore[reportUnknownArgumentType]
    elif isinstance(value, dict):
        for each in value.values():  # pyright: ignore[reportUnknownVariableType]
            yield from _patterns(each)  # pyright: ignore[reportUnknownArgumentType]


@cache
def _sources() -> list[tuple[str, str]]:
    found = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    return [(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")) for path in sorted(found)]


@cache
def _tree(path: str) -> ast.Module:
    return ast.parse((ROOT / path).read_text(encoding="utf-8"))


def _verbs(names: frozenset[str]) -> dict[tuple[str, str], frozenset[str]]:
    """By which methods each name of a module is used; one that is handed on, or in a collection, may be used by any.

    The module is empty for what is used as another module's (``words.FILE.search``).
    """
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for path, text in _sources():
        if names.isdisjoint(_WORD.findall(text)):
            continue
        where = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        asked: set[int] = set()
        nodes = [*ast.walk(_tree(path))]
        for node in nodes:
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in VERBS:
                from_a_place = node.func.attr == "match" and len(node.args) > 1
                _used(found, where, node.func.value, "finditer" if from_a_place else node.func.attr)
                asked.add(id(node.func.value))
        for node in nodes:
            if id(node) not in asked and isinstance(getattr(node, "ctx", None), ast.Load):
                _used(found, where, node, "finditer")
    return {key: frozenset(verbs) for key, verbs in found.items()}


def _used(found: dict[tuple[str, str], set[str]], where: str, node: ast.AST, verb: str) -> None:
    if isinstance(node, ast.Name):
        found[where, node.id].add(verb)
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        found["", node.attr].add(verb)


def _makers(tree: ast.Module) -> Iterator[str]:
    """The functions that make a pattern, or use one by its text."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for each in ast.walk(node):
                if isinstance(each, ast.Call) and _makes(each.func):
                    yield node.name


def _makes(called: ast.expr) -> bool:
    by_text = isinstance(called, ast.Attribute) and called.attr in VERBS | {"compile"}
    return by_text and isinstance(called.value, ast.Name) and called.value.id == "re"
