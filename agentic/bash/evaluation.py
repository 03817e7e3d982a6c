"""What a command line would run: its simple commands, also those in substitutions, pipes and functions.

It is walked as bash would run it, as far as that can be known without running it.  Folders and variables live as in a shell:
those of a subshell end with it, and what may or may not have happened (a branch, a ``cd`` that may fail) leaves several
states, in each of which what follows is read.  What only the shell itself knows is marked as unknown.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from agentic.bash.command_output import UNKNOWN, printed
from agentic.bash.parser import TooDeep, parse
from agentic.bash.tree import (
    AndOr,
    Arithmetic,
    Block,
    Case,
    Command,
    For,
    Function,
    Group,
    If,
    Negation,
    Node,
    Pipeline,
    Redirect,
    Redirected,
    Script,
    Substitution,
    Text,
    Variable,
    While,
    Word,
    WordPart,
)
from agentic.bash.workspace_paths import SCRATCH, SCRATCHES, absolute, inside

_PARENTS = re.compile(r"-[a-z]*p|--parents")
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)(\+?)=(.*)", re.DOTALL)
_STRICT, _LAX = re.compile(r"-[a-z]*e"), re.compile(r"\+[a-z]*e")
"""Options of ``set`` that switch ``-e`` on and off."""
_VARIABLES = {"TMPDIR": "/tmp", "HOME": "~", "IFS": " ", "0": "bash", "SHELL": "/bin/bash", "BASH": "/bin/bash"}  # noqa: S108
"""Variables that a shell has from the start."""
_THERE = frozenset(("/", "~", "/tmp", ".", "..", SCRATCH))  # noqa: S108
"""Folders into which one can always go."""
_DECLARES = frozenset(("export", "declare", "local", "readonly", "typeset"))
_SPLIT, _OPEN, _COMMA, _CLOSE = "\x01", "\x02", "\x03", "\x04"
"""Signs that were not quoted, until a word is whole."""
_MARKED = str.maketrans({"{": _OPEN, ",": _COMMA, "}": _CLOSE})
_PLAIN = str.maketrans({_OPEN: "{", _COMMA: ",", _CLOSE: "}"})
_CHOICE = re.compile(f"{_OPEN}([^{_OPEN}{_CLOSE}]*{_COMMA}[^{_OPEN}{_CLOSE}]*){_CLOSE}")
_BLANKS = re.compile(r"[ \t\n]+")

DEPTH = 12
LONGEST = 10_000
"""So long a variable's value may grow; beyond it is unknown."""
MOST_WORDS = 64
"""So many words one may become by braces; beyond it is unknown."""
MOST_STATES = 8
MOST_VARIABLES = 300
MOST_CHAIN = 60
MOST_READ = 250_000
"""So many characters are read at most, those counted again that are read in several states."""


@dataclass(slots=True)
class Evaluation:
    """What is known of a whole command line while it is read, also of the scripts that it runs."""

    left: int = MOST_READ
    """Characters that may still be read."""
    text: str = ""
    """The whole command line."""
    texts: dict[str, str] = field(default_factory=dict[str, str])
    """Files that the line has written, with what stands in them."""
    earlier: list[list[str]] = field(default_factory=list[list[str]])
    """The words of the commands that have been read."""
    functions: dict[str, Node] = field(default_factory=dict[str, Node])
    """The bodies of functions, by name."""
    running: set[str] = field(default_factory=set[str])
    """Functions whose calls are being read."""
    called: set[str] = field(default_factory=set[str])
    """Functions that have been called."""

    def take(self, signs: int) -> None:
        """Count what is read; raises ``TooDeep`` where it is more than anybody writes."""
        self.left -= signs
        if self.left < 0:
            raise TooDeep


@dataclass(slots=True)
class SimpleCommand:
    """One command as it would run: its words after expansion, its folder, and what it reads and writes."""

    words: list[str] = field(default_factory=list[str])
    cwd: str = "."
    writes: list[str] = field(default_factory=list[str])
    """The files that redirections empty or overwrite."""
    made: frozenset[str] = frozenset()
    """Folders that were made earlier on the same line, or nothing after it would have run."""
    stdin: str = ""
    """What it reads, where that stands on the same line: a here-string, the words of an ``echo`` before it."""
    stdin_file: str = ""
    """The file it is given by redirection."""
    piped_from: list[str] = field(default_factory=list[str])
    """The command before it in a pipe."""
    upstream: list[str] = field(default_factory=list[str])
    """The words of all that feeds it by a pipe."""
    variables: dict[str, str] = field(default_factory=dict[str, str])
    """What a shell that it starts knows."""
    computed: bool = False
    """Whether the name of the command is what another command prints."""
    stdout: str = ""
    """What it prints, as far as that stands on the line."""
    evaluation: Evaluation = field(default_factory=Evaluation)


@dataclass(frozen=True, slots=True)
class State:
    """What a shell knows between two commands."""

    cwd: str = "."
    variables: dict[str, str] = field(default_factory=dict[str, str])
    made: frozenset[str] = frozenset()
    """Folders that were made on this line."""
    there: frozenset[str] = frozenset()
    """Folders that surely exist."""
    stack: tuple[str, ...] = ()
    """The folders of ``pushd``."""
    old: str = UNKNOWN
    """The folder of ``cd -``."""
    strict: bool = False
    """``set -e``"""
    exported: frozenset[str] = frozenset()
    """The names of variables that commands are given."""

    def key(self) -> tuple[object, ...]:
        """What makes two states the same."""
        variables = frozenset(self.variables.items())
        return (self.cwd, variables, self.made, self.there, self.stack, self.old, self.strict)

    def with_variable(self, name: str, value: str) -> State:
        """The same with a variable set."""
        if len(self.variables) >= MOST_VARIABLES and name not in self.variables:
            return self
        return replace(self, variables=self.variables | {name: value if len(value) < LONGEST else UNKNOWN})

    def in_folder(self, folder: str) -> State:
        """The same in another folder."""
        folder = folder if len(folder) < LONGEST // 4 else UNKNOWN
        variables = self.variables | {"PWD": absolute(folder), "OLDPWD": absolute(self.cwd)}
        return replace(self, cwd=folder, old=self.cwd, variables=variables)

    def with_arguments(self, words: list[str]) -> State:
        """The same in a function or script that is called with words."""
        kept = {name: value for name, value in self.variables.items() if not name.isdigit() and name != "@"}
        places = {str(place): word for place, word in enumerate(words[:9], 1)}
        return replace(self, variables=kept | places | {"@": " ".join(words)[:LONGEST]})


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The states after a command: where it succeeded, where it failed, and where it failed but ``set -e`` goes on."""

    ok: list[State]
    failed: list[State]
    excused: list[State] = field(default_factory=list[State])

    def next_states(self) -> list[State]:
        """Those in which the next command would run."""
        return _merged([*self.ok, *(state for state in self.failed if not state.strict), *self.excused])

    def failures(self) -> list[State]:
        """Those in which it failed."""
        return [*self.failed, *self.excused]


_Run = Generator["SimpleCommand", None, _Outcome]


def commands(
    script: Script, cwd: str = ".", evaluation: Evaluation | None = None, variables: dict[str, str] | None = None
) -> Iterator[SimpleCommand]:
    """Each simple command that would run, in order; those of substitutions come before the command they stand in.

    Raises ``TooDeep`` where it is more than anybody writes.
    """
    state = State(cwd, _VARIABLES | {"PWD": absolute(cwd)} | (variables or {}))
    return _Walk(evaluation or Evaluation()).run(script.body, [state])


class _Walk:
    """Walks a shell's commands in the states in which it may be; a substitution, or a call, has a walk of its own."""

    def __init__(self, evaluation: Evaluation, depth: int = 0) -> None:
        if depth > DEPTH:
            raise TooDeep
        self._evaluation = evaluation
        self._depth = depth
        self.states: list[State] = []
        """The states in which the walk ended."""
        self._loops = 0
        """Loops around what is read."""
        self._body = ""
        """The function whose body is read, which may never run."""
        self._in_functions: list[tuple[str, SimpleCommand]] = []
        """Commands in functions, with the function; they count where it is never called."""
        self._stdin_around: list[str] = []
        """What is piped into the compound commands around."""
        self._traps: list[str] = []
        """What runs when the shell ends."""
        self._substituted_commands: list[SimpleCommand] = []
        """Commands of substitutions in the words that are being expanded."""
        self._process_output = ""
        """What a process substitution among these words prints."""

    def run(self, body: Block, states: list[State]) -> Iterator[SimpleCommand]:
        """Each command that runs, then those of traps, then those of functions that are never called."""
        ended = yield from self._block(body, states)
        self.states = ended.next_states()
        for text in dict.fromkeys(self._traps):
            for state in self.states:
                yield from self._nested().run(parse(text).body, [state])
        yield from (simple for name, simple in self._in_functions if name not in self._evaluation.called)

    def _nested(self) -> _Walk:
        return _Walk(self._evaluation, self._depth + 1)

    # --- compound commands --------------------------------------------------------------------------------------

    def _block(self, block: Block, states: list[State]) -> _Run:
        ended = _Outcome(states, [])
        for at, (node, end) in enumerate(block.statements):
            began = states
            ended = yield from self._node(node, states)
            states = began if end == "&" else ended.next_states()
            if at < len(block.statements) - 1 or end == "&":
                ended = _Outcome(states, states) if end == "&" else ended
        return ended

    def _node(self, node: Node, states: list[State]) -> _Run:
        if not states:
            return _Outcome([], [])
        self._evaluation.take(1)
        match node:
            case Command():
                return (yield from self._command(node, states, []))[0]
            case AndOr():
                return (yield from self._and_or(node, states))
            case Pipeline():
                return (yield from self._pipeline(node, states))
            case Negation():
                ended = yield from self._node(node.body, states)
                return _Outcome(ended.failures(), [], ended.ok)
            case If():
                return (yield from self._if(node, states))
            case While() | For():
                return (yield from self._loop(node, states))
            case _:
                return (yield from self._grouped(node, states))

    def _grouped(self, node: Group | Case | Function | Redirected, states: list[State]) -> _Run:
        match node:
            case Group():
                left = (yield from self._block(node.body, states)).next_states()
                return _may_fail(states if node.subshell else left)
            case Case():
                self._all_words(node.words, states[0])
                yield from self._take_substituted()
                ends = list(states)
                for arm in node.arms:
                    ends += (yield from self._block(arm, states)).next_states()
                return _may_fail(_merged(ends))
            case Function():
                return (yield from self._function(node, states))
            case Redirected():
                simple = SimpleCommand(cwd=states[0].cwd)
                self._redirect(node.redirects, simple, states[0])
                yield from self._take_substituted()
                self._stdin_around.append(simple.stdin)
                ended = yield from self._node(node.body, states)
                self._stdin_around.pop()
                return ended

    def _and_or(self, node: AndOr, states: list[State]) -> _Run:
        """Each part runs in the states that those before it leave; the other states wait."""
        ended = yield from self._node(node.parts[0], states)
        ok: list[State] = []
        failed: list[State] = []
        for joint, part in zip(node.joints, node.parts[1:], strict=True):
            if joint == "&&":
                states, ok, failed = _merged([*ended.ok, *ok]), [], _merged([*ended.failures(), *failed])
            else:
                states, ok, failed = _merged([*ended.failures(), *failed]), _merged([*ended.ok, *ok]), []
            ended = yield from self._node(part, states)
        return _Outcome(_merged([*ended.ok, *ok]), ended.failed, _merged([*ended.excused, *failed]))

    def _pipeline(self, node: Pipeline, states: list[State]) -> _Run:
        """Each part is a subshell, and is given what the one before it prints."""
        before: list[SimpleCommand] = []
        for part in node.parts:
            if isinstance(part, Command):
                _, before = yield from self._command(part, states, before, alone=True)
                continue
            first = len(self._evaluation.earlier)
            self._stdin_around.append(before[0].stdout if before else "")
            yield from self._node(part, states)
            self._stdin_around.pop()
            ended = self._evaluation.earlier[first:][-MOST_STATES:]
            upstream = [word for words in ended for word in words[:MOST_CHAIN]]
            before = [SimpleCommand(upstream=upstream) for _ in states]
        return _may_fail(states)

    def _if(self, node: If, states: list[State]) -> _Run:
        ends: list[State] = []
        for condition, body in node.branches:
            tried = yield from self._block(condition, states)
            ends += (yield from self._block(body, tried.ok)).next_states()
            states = tried.failures()
        if node.otherwise is not None:
            states = (yield from self._block(node.otherwise, states)).next_states()
        return _may_fail(_merged([*ends, *states]))

    def _loop(self, node: While | For, states: list[State]) -> _Run:
        """A body once, and again from where it ended if that is another folder."""
        if isinstance(node, For):
            start, failed = self._values(node, states), states
            yield from self._take_substituted()
        else:
            tried = yield from self._block(node.condition, states)
            failed = tried.failures() or tried.next_states()
            start = tried.next_states() if node.until else tried.ok or tried.next_states()
        self._loops += 1
        left = (yield from self._block(node.body, start)).next_states()
        known = {state.cwd for state in start}
        if any(state.cwd not in known for state in left):
            left = (yield from self._block(node.body, _merged([*start, *left]))).next_states()
        self._loops -= 1
        return _may_fail(_merged([*failed, *left, *start]))

    def _values(self, node: For, states: list[State]) -> list[State]:
        """The states with the variable of a loop set to each of its values."""
        found: list[State] = []
        for state in states:
            values = self._all_words(node.values, state) or [UNKNOWN]
            values = values if len(values) <= MOST_STATES else [UNKNOWN]
            found += [state.with_variable(node.variable, value) for value in values]
        return _merged(found)

    def _function(self, node: Function, states: list[State]) -> _Run:
        """Remember a function; what it would run if it was called is read once, for it may be called from elsewhere."""
        self._evaluation.functions[node.name] = node.body
        outer, self._body = self._body, self._body or node.name
        for simple in self._node(node.body, states):
            self._in_functions.append((self._body, simple))
        self._body = outer
        yield from ()
        return _may_fail(states)

    # --- simple commands ----------------------------------------------------------------------------------------

    def _command(
        self, node: Command, states: list[State], before: list[SimpleCommand], alone: bool = False
    ) -> Generator[SimpleCommand, None, tuple[_Outcome, list[SimpleCommand]]]:
        """One simple command, in each state, and what it leaves behind."""
        ok: list[State] = []
        failed: list[State] = []
        simples: list[SimpleCommand] = []
        seen: set[tuple[object, ...]] = set()
        for at, state in enumerate(states):
            simple = self._expanded_command(node, state, before[at] if at < len(before) else None)
            simples.append(simple)
            inner = self._take_substituted()
            called, left = self._call(state, simple)
            key = (tuple(simple.words), simple.cwd, tuple(simple.writes), simple.stdin, simple.made)
            if key not in seen or called:
                seen.add(key)
                own = [simple] if not called and (simple.words or simple.writes) else []
                self._remember(simple)
                yield from (*inner, *called, *own)
            then, otherwise = ([state], [state]) if alone else (left, left) if called else self._effect(state, simple)
            ok += then
            failed += otherwise
        return _Outcome(ok, failed), simples

    def _call(self, state: State, simple: SimpleCommand) -> tuple[list[SimpleCommand], list[State]]:
        """What a function runs that is called here, and the states it leaves."""
        words = list(simple.words)
        while words and _ASSIGNED.match(words[0]):
            words = words[1:]
        evaluation, name = self._evaluation, words[0] if words else ""
        if name not in evaluation.functions or name in evaluation.running or self._body:
            return [], [state]
        evaluation.called.add(name)
        evaluation.running.add(name)
        walk = self._nested()
        found = list(walk.run(Block(((evaluation.functions[name], ""),)), [state.with_arguments(words[1:])]))
        evaluation.running.discard(name)
        places = {key: value for key, value in state.variables.items() if key.isdigit() or key == "@"}
        left = [replace(each, variables=each.with_arguments([]).variables | places) for each in walk.states]
        return found, left or [state]

    def _remember(self, simple: SimpleCommand) -> None:
        """Remember a command for those after it, and what it writes."""
        self._evaluation.earlier.append(simple.words)
        paths = [*simple.writes, *(word for word in simple.words[1:] if simple.words[0] == "tee" and word[:1] != "-")]
        for path in paths if simple.stdout else ():
            self._evaluation.texts[inside(simple.cwd, path)] = simple.stdout

    def _expanded_command(self, node: Command, state: State, before: SimpleCommand | None) -> SimpleCommand:
        """A command with its words expanded in a state."""
        self._process_output = ""
        simple = SimpleCommand(cwd=state.cwd, made=state.made, evaluation=self._evaluation)
        if before is not None:
            simple.stdin, simple.piped_from = before.stdout, before.words
            simple.upstream = [*before.upstream[-MOST_CHAIN:], *before.words[-MOST_CHAIN:]]
        self._redirect(node.redirects, simple, state)
        for word in node.words:
            said = self._words(word, state)
            if not simple.words or _ASSIGNED.match(simple.words[-1]):
                simple.computed = said == [UNKNOWN] and _is_computed(word)
            if len(said) > 1 and isinstance(word.parts[0], Text) and _ASSIGNED.match(_beginning(word)):
                said = [" ".join(said)]
            simple.words += said
        simple.stdin = simple.stdin or self._process_output
        simple.stdout = self._stdout(simple)
        exported = {name: state.variables[name] for name in state.exported if name in state.variables}
        simple.variables = exported | {found[1]: found[3] for found in _assignments(simple.words[:MOST_CHAIN])}
        self._evaluation.take(20 + len(state.variables) + sum(map(len, simple.words)))
        return simple

    def _redirect(self, redirects: Sequence[Redirect], simple: SimpleCommand, state: State) -> None:
        for redirect in redirects:
            self._evaluation.take(50)
            if redirect.sign == "<<":
                simple.stdin = self._text(redirect.target.parts, state)
                continue
            target = " ".join(self._words(redirect.target, state))
            if redirect.sign in (">", ">|"):
                simple.writes.append(target)
            elif redirect.sign == "<<<":
                simple.stdin = target
            elif redirect.sign == "<":
                simple.stdin_file = target

    def _stdout(self, simple: SimpleCommand) -> str:
        cwd, words = simple.cwd, simple.words
        match words:
            case ["pwd", *_]:
                return absolute(cwd)
            case ["git", "rev-parse", "--show-toplevel"] if not cwd.startswith(("/", "~", UNKNOWN)):
                return absolute(".")
            case ["realpath" | "readlink", *_, path] if not path.startswith("-"):
                return absolute(inside(cwd, path))
            case ["cat", path] if not path.startswith("-"):
                return self._evaluation.texts.get(inside(cwd, path), "")
            case _:
                return printed(words, simple.stdin)

    def _effect(self, state: State, simple: SimpleCommand) -> tuple[list[State], list[State]]:
        """What a command leaves behind where it succeeds, and where it fails."""
        words = simple.words
        assigned = _assignments(words)
        if words and (len(assigned) == len(words) or words[0] in _DECLARES):
            if words[0] == "export" or (words[0] in _DECLARES and "-x" in words):
                names = (word.partition("=")[0] for word in words[1:] if not word.startswith("-"))
                state = replace(state, exported=frozenset((*state.exported, *names)))
            for found in assigned:
                before = state.variables.get(found[1], "") if found[2] else ""
                state = state.with_variable(found[1], before + found[3])
            return [state], [] if UNKNOWN not in "".join(words) else [state]
        while words and _ASSIGNED.fullmatch(words[0]):
            words = words[1:]
        name, rest = (words[0] if words else ""), words[1:]
        if name in ("builtin", "command"):
            name, rest = (rest[0] if rest else ""), rest[1:]
        plain = [word for word in rest if not word.startswith("-") or word == "-"]
        match name:
            case "cd" | "pushd" | "popd":
                return self._change_folder(name, plain, state)
            case "exit" | "break" | "continue" | "return" if self._leaves(name):
                return [], []
            case "mkdir" | "git" | "cp" | "python" | "python3":
                return self._make_folders(name, rest, plain, state)
            case "true" | ":" | "false":
                return ([], [state]) if name == "false" else ([state], [])
            case "trap" if rest and rest[0] and not rest[0].startswith("-"):
                self._traps.append(rest[0])
            case "read" if len(names := [word for word in plain if word.isidentifier()]) == 1:
                return self._read_variable(names[0], simple, state), [state]
            case _:
                state = self._builtin(name, rest, plain, state)
        return [state], [state]

    def _read_variable(self, name: str, simple: SimpleCommand, state: State) -> list[State]:
        """The states after a variable was read from what is piped in."""
        given = simple.stdin or next((given for given in reversed(self._stdin_around) if given), "")
        lines = list(dict.fromkeys(given.split("\n")))
        values = [line.strip() or UNKNOWN for line in lines] if len(lines) <= MOST_STATES else [UNKNOWN]
        return [state.with_variable(name, value) for value in values]

    def _leaves(self, name: str) -> bool:
        """Whether nothing of what follows in the list is run."""
        if name == "return":
            return bool(self._body or self._evaluation.running)
        return name == "exit" or self._loops > 0

    def _builtin(self, name: str, rest: list[str], plain: list[str], state: State) -> State:
        match name:
            case "set":
                strict = any(_STRICT.match(word) for word in rest) or "errexit" in rest
                lax = any(_LAX.match(word) for word in rest)
                state = replace(state, strict=(state.strict or strict) and not lax)
                state = state.with_arguments(rest[rest.index("--") + 1 :]) if "--" in rest else state
            case "shift":
                state = state.with_arguments([UNKNOWN])
            case "read" | "mapfile" | "readarray":
                for variable in plain:
                    state = state.with_variable(variable, UNKNOWN)
            case "unset":
                state = replace(state, variables={key: v for key, v in state.variables.items() if key not in plain})
            case _:
                pass
        return state

    def _change_folder(self, name: str, plain: list[str], state: State) -> tuple[list[State], list[State]]:
        path = plain[0] if plain else "~"
        if name == "popd" or (name == "pushd" and not plain):
            if not state.stack:
                return [], [state]
            to = state.stack[-1]
            stack = state.stack[:-1] if name == "popd" else (*state.stack[:-1], state.cwd)
            return [replace(state.in_folder(to), stack=stack)], []
        to = state.old if path == "-" else inside(state.cwd, path)
        new = state.in_folder(to)
        if name == "pushd":
            new = replace(new, stack=(*state.stack[-20:], state.cwd))
        sure = path == "-" or path in _THERE or to in state.there | state.made | _THERE or to == state.cwd
        return [new], [] if sure else [state]

    def _make_folders(
        self, name: str, rest: list[str], plain: list[str], state: State
    ) -> tuple[list[State], list[State]]:
        if name != "mkdir":
            return [replace(state, made=state.made | _new_folders(name, rest, plain, state.cwd))], [state]
        folders = frozenset(inside(state.cwd, word) for word in plain)
        there = replace(state, there=state.there | folders)
        if any(_PARENTS.match(word) for word in rest):
            return [there], []
        return [replace(there, made=state.made | folders)], [state]

    # --- expansions ---------------------------------------------------------------------------------------------

    def _take_substituted(self) -> list[SimpleCommand]:
        """What substitutions have run since it was asked last."""
        inner, self._substituted_commands = self._substituted_commands, []
        return inner

    def _all_words(self, words: Iterable[Word], state: State) -> list[str]:
        return [said for word in words for said in self._words(word, state)]

    def _words(self, word: Word, state: State) -> list[str]:
        """The words that one becomes; none where it is an expansion of nothing."""
        first = word.parts[0] if len(word.parts) == 1 else None
        if isinstance(first, Text) and (first.quoted or "{" not in first.value):
            return [first.value] if first.value or first.quoted else []
        quoted = any(isinstance(part, Text) and part.quoted for part in word.parts)
        said = self._text(word.parts, state, split=True)
        if _SPLIT not in said and _OPEN not in said:
            said = said.translate(_PLAIN)
            return [said] if said or quoted else []
        words = [each for chosen in _brace_words(said) for each in chosen.translate(_PLAIN).split(_SPLIT)]
        return [each for each in words if each] or ([""] if quoted else [])

    def _text(self, parts: Sequence[WordPart], state: State, split: bool = False) -> str:
        """What parts stand for; what is not quoted may be split into words, and holds its braces marked."""
        said = ""
        for part in parts:
            match part:
                case Text():
                    said += part.value if part.quoted or not split else part.value.translate(_MARKED)
                case Arithmetic():
                    for inner in part.inner:
                        self._substituted(inner, state)
                    said += UNKNOWN
                case Variable() | Substitution():
                    value = self._value(part, state) if isinstance(part, Variable) else self._substituted(part, state)
                    said += _BLANKS.sub(_SPLIT, value) if split and not part.quoted else value
        return said

    def _value(self, part: Variable, state: State) -> str:
        otherwise = self._text(part.otherwise, state)
        known = state.variables.get("@" if part.name == "*" else part.name, UNKNOWN) if part.name else UNKNOWN
        match part.operator:
            case "-" | "=":
                return otherwise if known in ("", UNKNOWN) else known
            case "+":
                return otherwise if known and known != UNKNOWN else UNKNOWN
            case "~":
                return UNKNOWN
            case _:
                return known.replace(" ", _SPLIT) if part.every and part.name != "*" else known

    def _substituted(self, part: Substitution, state: State) -> str:
        self._evaluation.take(20)
        found = list(self._nested().run(part.body, [state]))
        self._substituted_commands += found
        if part.process:
            self._process_output = found[-1].stdout if found else ""
            return UNKNOWN
        return _output_of(found)


def _assignments(words: list[str]) -> list[re.Match[str]]:
    return [found for word in words if "=" in word and (found := _ASSIGNED.fullmatch(word))]


def _may_fail(states: list[State]) -> _Outcome:
    """The outcome of a command that may succeed or fail in each state."""
    return _Outcome(states, states)


def _beginning(word: Word) -> str:
    return "".join(part.value for part in word.parts[:2] if isinstance(part, Text))


def _is_computed(word: Word) -> bool:
    """Whether a word begins with what another command prints."""
    first = next((part for part in word.parts if not (isinstance(part, Text) and not part.value)), None)
    return isinstance(first, Substitution) and not first.process


def _brace_words(word: str) -> list[str]:
    """The words that braces make of one."""
    words = [word]
    while found := next((found for each in words if (found := _CHOICE.search(each))), None):
        if len(words) > MOST_WORDS or len(word) > LONGEST:
            return [UNKNOWN]
        words = [
            f"{each[: one.start()]}{choice}{each[one.end() :]}"
            for each in words
            for one in [_CHOICE.search(each) or found]
            for choice in (one[1].split(_COMMA) if _CHOICE.search(each) else [""])
        ]
    return words


def _new_folders(name: str, rest: list[str], plain: list[str], cwd: str) -> frozenset[str]:
    """The folders that git, cp or Python make: repositories, copies named after their source, environments."""
    new = ""
    match name, rest:
        case "git", ["init", *_]:
            new = next((word for word in (plain[1:2] or [cwd]) if inside(cwd, word).startswith(SCRATCHES)), "")
        case "git", ["worktree", "add", *_] if len(plain) > 2:
            new = plain[3 if {"-b", "-B"} & set(rest) and len(plain) > 3 else 2]
        case "git", ["clone", *_] if len(plain) > 2:
            new = plain[-1]
        case "cp", _ if len(plain) > 1:
            new = _copy_of(plain)
        case "python" | "python3", ["-m", "venv", *_] if "env" in plain[-1]:
            new = plain[-1]
        case _:
            pass
    return frozenset((inside(cwd, new),) if new else ())


def _copy_of(plain: list[str]) -> str:
    """A folder's copy that is named after it, as in ``cp -r data data.bak``; '' where it is not."""
    source, target = plain[-2].rstrip("/"), plain[-1].rstrip("/")
    return target if target.startswith(source) and target[len(source) :][:1] in ("_", "-", ".") else ""


def _output_of(found: list[SimpleCommand]) -> str:
    if found and any("mkdtemp" in word for word in found[-1].words):
        return SCRATCH
    if found and found[0].words[:1] == ["mktemp"]:
        words = found[0].words
        folder = words[words.index("-p") + 1] if "-p" in words[:-1] else ""
        if not {"-p", "--tmpdir"} & set(words) or (folder + "/").startswith(SCRATCHES):
            return SCRATCH
    return (found[-1].stdout.rstrip("\n") if found else "") or UNKNOWN


def _merged(states: Iterable[State]) -> list[State]:
    """The states without those that are the same; what differs is unknown where they are many."""
    found = {id(state): state for state in states}
    if len(found) < 2:
        return list(found.values())
    known = {state.key(): state for state in found.values()}
    if len(known) <= MOST_STATES:
        return list(known.values())
    folders: dict[str, list[State]] = {}
    for state in known.values():
        folders.setdefault(state.cwd, []).append(state)
    groups = list(folders.values()) if len(folders) <= MOST_STATES else [list(known.values())]
    return [_blurred(group) for group in groups]


def _blurred(states: list[State]) -> State:
    """One state for several."""
    first, *others = states
    names = {name for state in states for name in state.variables}
    values = {name: first.variables.get(name, UNKNOWN) for name in names}
    return replace(
        first,
        cwd=first.cwd if all(state.cwd == first.cwd for state in others) else UNKNOWN,
        variables={
            name: value if all(state.variables.get(name) == value for state in others) else UNKNOWN
            for name, value in values.items()
        },
        made=first.made.intersection(*(state.made for state in others)),
        there=first.there.intersection(*(state.there for state in others)),
        stack=first.stack if all(state.stack == first.stack for state in others) else (),
        old=first.old if all(state.old == first.old for state in others) else UNKNOWN,
        strict=all(state.strict for state in states),
    )
