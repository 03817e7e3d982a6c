"""A command line as a sequence of plain steps, so that a claim finds the run it names though it is written otherwise.

What only a shell can know (substitutions, subshells, here-documents, loops) makes no plain line: as a claim such a command
counts only as it was written, word for word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from agentic.bash.parser import TooDeep, TooLong, parse
from agentic.bash.tree import AndOr, Block, Case, Command, For, Function, Group, If, Node, Pipeline, Redirect, While
from agentic.bash.workspace_paths import inside

_ASSIGNED = re.compile(r"[A-Za-z_]\w*=")
_PYTHON = re.compile(r"python[\d.]*")
_WRAPPERS = (
    ("uv", "run"), ("poetry", "run"), ("pipenv", "run"), ("pdm", "run"), ("hatch", "run"), ("bundle", "exec"), ("npx",),
    ("time",), ("env",), ("nice",), ("xvfb-run",),
)  # fmt: skip
_NEUTRAL = frozenset(("cd", "pushd", "export", "set", "source", ".", "unset"))


@dataclass(frozen=True, slots=True)
class Step:
    """One simple command: its words, and what joins it to the one before."""

    words: tuple[str, ...]
    joint: str = ""
    given: tuple[str, ...] = ()
    """Variables that are set for it alone."""
    cwd: str = ""
    """The folder that the line went to before, '' where it stayed."""

    @property
    def program(self) -> str:
        """What it runs."""
        return self.words[0]


@dataclass(frozen=True, slots=True)
class Line:
    """The steps that do something, without those that only prepare (``cd``, ``export``, ``set``)."""

    steps: tuple[Step, ...] = ()
    pipefail: bool = False
    detached: bool = False
    """The last of them goes on in the background, and the line ends without it."""
    writes: bool = False
    """A redirection writes to a file."""

    def hidden_by(self, at: int) -> str:
        """What decides the exit code instead of this step, as written; '' where the step does, or ends the line."""
        for step in self.steps[at + 1 :]:
            if step.joint != "&&" and not (self.pipefail and step.joint in ("|", "|&")):
                return f"{step.joint} {' '.join(step.words)}".replace("\n ", "; ")[:60]
        return "&" if self.detached else ""


@dataclass(frozen=True, slots=True)
class _Said:
    joint: str
    words: tuple[str, ...]
    plain: bool = True
    writes: bool = False


def read(command: str) -> Line | None:
    """The steps of a plain command line; None where only a shell can read it."""
    said = _said(command)
    line = _line(command, said) if said is not None and all(each.plain for each in said) else None
    return line if line is not None and line.steps else None


def run_by(command: str) -> Line:
    """The steps of any command line, also those in loops and subshells; none where it cannot be parsed."""
    return _line(command, _said(command) or [])


def written(command: str) -> tuple[tuple[str, ...], ...] | None:
    """The words of each simple command just as they stand there; None where the line is not plain."""
    said = _said(command)
    return tuple(each.words for each in said) if said is not None and all(each.plain for each in said) else None


def _line(command: str, said: list[_Said]) -> Line:
    steps: list[Step] = []
    cwd, pipefail = "", False
    for each in said:
        given, plain = _plain(each.words)
        if len(plain) == 0:
            continue
        pipefail = pipefail or (plain[0] == "set" and "pipefail" in plain)
        if plain[0] in ("cd", "pushd") and len(plain) > 1:
            cwd = inside(cwd, plain[1])
        if plain[0] not in _NEUTRAL:
            steps.append(Step(plain, each.joint if steps else "", given, cwd))
    detached = command.rstrip().endswith("&") and not command.rstrip().endswith(("&&", "\\&"))
    return Line(tuple(steps), pipefail, detached, any(each.writes for each in said))


def _said(command: str) -> list[_Said] | None:
    try:
        script = parse(command.strip())
    except (TooLong, TooDeep):
        return None
    return list(_of_block(script.body, "")) if script.sound else None


def _of_block(block: Block, joint: str, plain: bool = True) -> Iterator[_Said]:
    for node, end in block.statements:
        yield from _of_node(node, joint, plain)
        joint = end


def _of_node(node: Node, joint: str, plain: bool) -> Iterator[_Said]:
    if not isinstance(node, Command | Pipeline | AndOr):
        yield _Said(joint, (), plain=False)
    match node:
        case Command():
            yield from _of_command(node, joint, plain)
        case Pipeline() | AndOr():
            for part, each in zip(node.parts, (joint, *node.joints), strict=True):
                yield from _of_node(part, each, plain)
        case Group():
            yield from _of_block(node.body, joint, plain=False)
        case If():
            blocks = [block for branch in node.branches for block in branch]
            yield from _of_blocks([*blocks, *((node.otherwise,) if node.otherwise else ())], joint)
        case While():
            yield from _of_blocks([node.condition, node.body], joint)
        case For():
            yield from _of_block(node.body, joint, plain=False)
        case Case():
            yield from _of_blocks(node.arms, joint)
        case Function():
            pass
        case _:
            yield from _of_node(node.body, joint, plain=False)


def _of_blocks(blocks: list[Block] | tuple[Block, ...], joint: str) -> Iterator[_Said]:
    for block in blocks:
        yield from _of_block(block, joint, plain=False)
        joint = ";"


def _of_command(node: Command, joint: str, plain: bool) -> Iterator[_Said]:
    plain = plain and all(word.plain() is not None for word in node.words)
    redirects = [redirect.target.plain() for redirect in node.redirects if not redirect.sign.startswith("<<")]
    plain = plain and None not in redirects and len(redirects) == len(node.redirects)
    if node.words or not plain:
        yield _Said(joint, tuple(word.shown() for word in node.words), plain, any(map(_writes, node.redirects)))


def _writes(redirect: Redirect) -> bool:
    """Whether a redirection writes to a file, and not to another stream or into nothing."""
    target = redirect.target.shown()
    joins = redirect.sign.endswith((">&", ">&-")) and (target.isdigit() or target in ("", "-"))
    return ">" in redirect.sign and not joins and target != "/dev/null"


def _plain(words: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Variables set for it, and the words without wrappers and with the program's common name."""
    given: list[str] = []
    while words:
        wrapper = next((each for each in _WRAPPERS if words[: len(each)] == each), ())
        if _ASSIGNED.match(words[0]):
            given.append(words[0])
            words = words[1:]
        elif words[0] == "timeout":
            words = words[2:]
        elif wrapper:
            words = words[len(wrapper) :]
        else:
            break
    if not words:
        return tuple(given), ()
    program = words[0].rpartition("/")[2] if "bin/" in words[0] else words[0].removeprefix("./")
    program = "python" if _PYTHON.fullmatch(program) else "pytest" if program == "py.test" else program
    if (program, *words[1:3]) == ("python", "-m", "pytest"):
        return tuple(given), ("pytest", *words[3:])
    return tuple(given), (program, *words[1:])
