"""A small repository with one bug, drawn from a seed: which kind, which file, which function, which numbers."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "hazel", "inlet", "jetty", "knoll", "larch")


@dataclass(frozen=True, slots=True)
class Kind:
    """A sort of function: its body as it should be and as it is when broken, arguments, and what is right."""

    name: str
    parameters: str
    right: str
    wrong: str
    draw: Callable[[random.Random], tuple[object, ...]]
    truth: Callable[..., object]


def _numbers(luck: random.Random) -> list[int]:
    return [luck.randint(2, 60) for _ in range(luck.randint(4, 7))]


def _pair(luck: random.Random) -> tuple[object, ...]:
    return luck.randint(50, 99), luck.randint(2, 40)


def _few_words(luck: random.Random) -> tuple[object, ...]:
    return ([f"{luck.choice(WORDS)}{luck.randint(1, 99)}" for _ in range(4)],)


KINDS = (
    Kind("operator", "whole, part", "return whole - part", "return whole + part", _pair, lambda a, b: a - b),
    Kind(
        "off_by_one", "numbers",
        "return sum(numbers[i] for i in range(0, len(numbers)))",
        "return sum(numbers[i] for i in range(1, len(numbers)))",
        lambda luck: (_numbers(luck),), sum,
    ),
    Kind("extreme", "numbers", "return max(numbers)", "return min(numbers)", lambda luck: (_numbers(luck),), max),
    Kind(
        "boundary", "numbers",
        "return [n for n in numbers if n >= numbers[0]]",
        "return [n for n in numbers if n > numbers[0]]",
        lambda luck: (_numbers(luck),), lambda numbers: [n for n in numbers if n >= numbers[0]],
    ),
    Kind(
        "separator", "words", 'return "-".join(words)', 'return "+".join(words)', _few_words, lambda words: "-".join(words)
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class BrokenRepo:
    """Where it stands, and what only the test knows: where the bug is and how the file looks without it."""

    folder: Path
    kind: str
    path: str
    fixed: str


def make(folder: Path, seed: int) -> BrokenRepo:
    """Write a repository of several files, one function each, of which one is wrong."""
    luck = random.Random(seed)
    kinds = luck.sample(KINDS, 4)
    names = luck.sample(WORDS, 8)
    package = folder / "goods"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (folder / "README.md").write_text("Run the tests with: python3 -m unittest\n")
    broken = luck.randrange(len(kinds))
    made = None
    for place, kind in enumerate(kinds):
        module, function = names[place], f"{names[place + 4]}_{luck.randint(10, 99)}"
        right = _module(kind, function, kind.right)
        wrong = _module(kind, function, kind.wrong)
        path = package / f"{module}.py"
        path.write_text(wrong if place == broken else right)
        (folder / f"test_{module}.py").write_text(_tests(kind, module, function, luck))
        if place == broken:
            made = BrokenRepo(folder, kind.name, f"goods/{module}.py", right)
    assert made is not None
    return made


def _module(kind: Kind, function: str, body: str) -> str:
    return (
        f'"""Part of the goods."""\n\n\ndef before(value):\n    """Leave it as it is."""\n    return value\n\n\n'
        f'def {function}({kind.parameters}):\n    """See the tests for what it is for."""\n    {body}\n'
    )


def _tests(kind: Kind, module: str, function: str, luck: random.Random) -> str:
    lines = [
        "import unittest",
        "",
        f"from goods import {module}",
        "",
        "",
        f"class Test{module.title()}(unittest.TestCase):",
    ]
    for number in range(3):
        arguments = kind.draw(luck)
        expected = kind.truth(*arguments)
        said = ", ".join(repr(argument) for argument in arguments)
        lines += [
            f"    def test_{number}(self):",
            f"        self.assertEqual({module}.{function}({said}), {expected!r})",
            "",
        ]
    return "\n".join(lines)
