"""A shell command line taken apart: the simple commands in it, also those in substitutions, pipes and subshells.

It reads what bash would run, as far as that can be known without running it.  Folders and variables live as in a shell:
those of a subshell end with it, and what may or may not have happened (a branch, a ``cd`` that may fail) leaves several
states, in each of which what follows is read.  What only the shell itself knows is marked as unknown.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from dataclasses import field, replace

from agentic.core.lazy_dataclass import dataclass
from agentic.tools.shell.shell_words import (
    LONGEST,
    UNKNOWN,
    Words,
    arithmetic_end,
    printed,
)

__all__ = ["UNKNOWN", "Line", "Simple", "TooDeep", "inside"]

SCRATCH = "/tmp/made-by-mktemp"  # noqa: S108  # inside the sandbox
_PARENTS = re.compile(r"-[a-z]*p|--parents")
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)(\+?)=(.*)", re.DOTALL)
_KEYWORD = re.compile(r"(?:if|then|elif|else|fi|while|until|for|select|do|done|case|esac|\{|\}|!)(?=[\s;&|()<>]|$)")
_FUNCTION = re.compile(
    r"(?:function[ \t]+([^\s(){};]{1,200})(?:[ \t]*\([ \t]*\))?|([\w.:-]{1,200})[ \t]*\([ \t]*\))\s*"
)
_ARRAY = re.compile(r"(?<!\w)([A-Za-z_]\w*)\+?=\(")
_ESAC = re.compile(r"esac(?=[\s;&|)]|$)")
_COMPUTED = re.compile(r'"?(?:\$\(|`)')
_STRICT, _LAX = re.compile(r"-[a-z]*e"), re.compile(r"\+[a-z]*e")
SCRATCHES = ("/tmp/", "/var/tmp/", "/dev/shm/", "~/.cache/")  # noqa: S108  # inside the sandbox
_KNOWN = {"TMPDIR": "/tmp", "HOME": "~", "IFS": " ", "0": "bash", "SHELL": "/bin/bash", "BASH": "/bin/bash"}  # noqa: S108
_ALWAYS = frozenset(("/", "~", "/tmp", ".", "..", SCRATCH))  # noqa: S108
_DECLARES = frozenset(("export", "declare", "local", "readonly", "typeset"))

DEPTH = 12
MOST_STATES = 8
MOST_VARIABLES = 300
MOST_FRAMES = 60
MOST_CHAIN = 60
MOST_READ = 250_000
"""So many signs are read at most, those counted again that are read in several states."""


class TooDeep(Exception):
    """Substitutions inside of substitutions, deeper than anybody writes them."""


@dataclass(slots=True)
class Reading:
    """What is known of a command and of all that it runs while it is read, and how much may still be read."""

    left: int = MOST_READ
    text: str = ""
    """The whole command."""
    texts: dict[str, str] = field(default_factory=dict[str, str])
    """Files that it has written before, with what stands in them."""
    earlier: list[list[str]] = field(default_factory=list[list[str]])
    """The commands that have been read."""
    functions: dict[str, str] = field(default_factory=dict[str, str])
    running: set[str] = field(default_factory=set[str])
    called: set[str] = field(default_factory=set[str])

    def take(self, signs: int) -> None:
        """Count what is read; raises ``TooDeep`` where it is more than anybody writes."""
        self.left -= signs
        if self.left < 0:
            raise TooDeep


@dataclass(slots=True)
class Simple:
    """One command with its words, where it runs, and the files that it empties or overwrites by redirection."""

    words: list[str] = field(default_factory=list[str])
    cwd: str = "."
    writes: list[str] = field(default_factory=list[str])
    made: frozenset[str] = frozenset()
    """Folders that were made earlier on the same line, or nothing after it would have run."""
    given: str = ""
    """What it reads, where that stands on the same line: a here-string, the words of an ``echo`` before it."""
    reads: str = ""
    """The file it is given by redirection."""
    fed: list[str] = field(default_factory=list[str])
    """The command before it in a pipe."""
    chain: list[str] = field(default_factory=list[str])
    """The words of all that feeds it by a pipe."""
    variables: dict[str, str] = field(default_factory=dict[str, str])
    """What a shell that it starts knows."""
    computed: bool = False
    """Whether the name of the command is what another command prints."""
    prints: str = ""
    reading: Reading = field(default_factory=Reading)


@dataclass(frozen=True, slots=True)
class State:
    """What a shell knows between two commands."""

    cwd: str = "."
    variables: dict[str, str] = field(default_factory=dict[str, str])
    made: frozenset[str] = frozenset()
    there: frozenset[str] = frozenset()
    """Folders that surely exist."""
    stack: tuple[str, ...] = ()
    old: str = UNKNOWN
    strict: bool = False
    """``set -e``"""
    exported: frozenset[str] = frozenset()

    def key(self) -> tuple[object, ...]:
        """What makes two states the same."""
        variables = frozenset(self.variables.items())
        return (self.cwd, variables, self.made, self.there, self.stack, self.old, self.strict)

    def having(self, name: str, value: str) -> State:
        """The same with a variable set."""
        if len(self.variables) >= MOST_VARIABLES and name not in self.variables:
            return self
        return replace(self, variables=self.variables | {name: value if len(value) < LONGEST else UNKNOWN})

    def within(self, folder: str) -> State:
        """The same in another folder."""
        folder = folder if len(folder) < LONGEST // 4 else UNKNOWN
        variables = self.variables | {"PWD": whole(folder), "OLDPWD": whole(self.cwd)}
        return replace(self, cwd=folder, old=self.cwd, variables=variables)

    def given(self, words: list[str]) -> State:
        """The same in a function or script that is called with words."""
        kept = {name: value for name, value in self.variables.items() if not name.isdigit() and name != "@"}
        places = {str(place): word for place, word in enumerate(words[:9], 1)}
        return replace(self, variables=kept | places | {"@": " ".join(words)[:LONGEST]})


@dataclass(slots=True)
class _Frame:
    """A compound command that is being read."""

    kind: str
    start: list[State]
    outer: tuple[list[State], list[State], list[State], bool]
    """What of the list around it was read before."""
    ends: list[State] = field(default_factory=list[State])
    failed: list[State] = field(default_factory=list[State])
    at: int = 0
    again: bool = False
    twice: bool = False
    """Whether a loop is read for the second time, from where the first time ended."""
    body: str = ""
    """The function that it is the body of, which may never run."""
    begins: int = 0
    given: str = ""
    """What is piped into it."""
    first: int = 0
    """So many commands were read before it."""


class Line(Words):
    """What a command line runs, in order.  Raises ``TooDeep``."""

    def __init__(
        self,
        text: str,
        cwd: str = ".",
        reading: Reading | None = None,
        depth: int = 0,
        variables: dict[str, str] | None = None,
    ) -> None:
        super().__init__(text if depth else text.replace("\\\n", ""))
        self._depth = depth
        self._reading = reading or Reading()
        self._states = [State(cwd, _KNOWN | {"PWD": whole(cwd)} | (variables or {}))]
        self._state = self._states[0]
        self._closing = False
        self._frames: list[_Frame] = []
        self._body = ""
        self._unrun: list[tuple[str, Simple]] = []
        """What stands in functions."""
        self._ended: list[list[str]] = []
        """The commands of the compound command that was closed just before."""
        self._traps: list[str] = []
        self._inner: list[Simple] = []
        self._fed = ""
        self._nothing_held()
        self._ok: list[State] = []
        self._not_ok: list[State] = []
        self._before: list[Simple] = []
        self._closed = False
        """Whether a compound command ended just before; what is redirected then is its output."""

    def commands(self) -> Iterator[Simple]:
        """Each simple command; those of substitutions come before the command they stand in."""
        while True:
            self._reading.take(1)
            self._blank(" \t\n;" if not self._piped and not self._held() else " \t\n")
            if self._at >= len(self._text) or (self._closing and self._text[self._at] == ")" and not self._frames):
                break
            if self._compound():
                yield from self._take_inner()
            else:
                yield from self._command()
        self._at += 1
        for text in dict.fromkeys(self._traps):
            for state in self._states:
                yield from self._below(text, state).commands()
        yield from (simple for name, simple in self._unrun if name not in self._reading.called)

    # --- compound commands --------------------------------------------------------------------------------------

    def _compound(self) -> bool:
        """Whether a part of a compound command stood here, and was read."""
        text, at = self._text, self._at
        if self._frames and self._frames[-1].kind == "case" and not self._frames[-1].again:
            self._pattern(self._frames[-1])
        elif found := _KEYWORD.match(text, at):
            self._at = found.end()
            self._keyword(found[0])
        elif end := arithmetic_end(text, at):
            self._expanded_until(at, end)
            self._at = end
        elif found := _FUNCTION.match(text, at):
            self._at, self._body = found.end(), found[1] or found[2]
        elif text[at] == "(":
            self._at += 1
            self._push("(")
        elif text[at] == ")":
            self._at += 1
            if self._frames and self._frames[-1].kind == "(":
                self._states = self._frames[-1].start
                self._pop()
        else:
            return False
        return True

    def _push(self, kind: str) -> _Frame:
        if len(self._frames) >= MOST_FRAMES:
            raise TooDeep
        outer = (self._held_ok, self._held_failed, self._began, self._piped)
        given = self._before[0].prints if self._piped and self._before else ""
        first = len(self._reading.earlier)
        frame = _Frame(kind, self._states, outer, body=self._body, begins=self._at - 1, given=given, first=first)
        self._frames.append(frame)
        self._body = ""
        self._nothing_held()
        return frame

    def _pop(self) -> None:
        frame = self._frames.pop()
        self._held_ok, self._held_failed, self._began, self._piped = frame.outer
        self._negated = False
        if frame.body:
            if frame.kind in ("(", "{"):
                self._reading.functions[frame.body] = self._text[frame.begins : self._at]
            self._states = frame.start
        self._ended = self._reading.earlier[frame.first :][-MOST_STATES:]
        self._ok = self._not_ok = self._states
        self._closed = True

    def _nothing_held(self) -> None:
        self._held_ok: list[State] = []
        self._held_failed: list[State] = []
        self._negated = self._piped = False
        self._began = self._states

    def _held(self) -> bool:
        return bool(self._held_ok or self._held_failed)

    def _keyword(self, word: str) -> None:
        frame = self._frames[-1] if self._frames else None
        kind = frame.kind if frame else ""
        match word:
            case "!":
                self._negated = not self._negated
            case "{" | "if":
                self._push(word)
            case "while" | "until":
                self._push("loop").again = word == "until"
            case "}" if kind == "{":
                self._pop()
            case "for" | "select":
                self._for()
            case "case":
                self._blank()
                self._state = self._states[0] if self._states else State()
                self._variables = self._state.variables
                self._word()
                self._blank(" \t\n")
                self._word()
                self._push("case")
            case "then" | "else" | "elif" | "fi" if frame and kind == "if":
                self._branch(word, frame)
            case "do" if frame and kind == "loop":
                frame.failed = self._not_ok or self._states
                frame.start = self._states = self._states if frame.again else self._ok or self._states
                frame.at = self._at
                self._nothing_held()
            case "done" if frame and kind == "loop":
                self._done(frame)
            case "esac" if frame and kind == "case":
                self._states = merged([*frame.ends, *self._states, *frame.start])
                self._pop()
            case _:
                pass

    def _branch(self, word: str, frame: _Frame) -> None:
        if word == "then":
            self._states, frame.failed = self._ok, self._not_ok
        elif word == "fi":
            self._states = merged([*frame.ends, *self._states, *frame.failed])
            self._pop()
        else:
            frame.ends += self._states
            self._states, frame.failed = frame.failed, []
        if word != "fi":
            self._nothing_held()

    def _for(self) -> None:
        frame = self._push("loop")
        self._blank()
        if end := arithmetic_end(self._text, self._at):
            self._at = end
            return
        start = self._at
        states: list[State] = []
        for state in self._states or [State()]:
            self._at = start
            piece, _ = self._read(state)
            name, values = piece.words[0] if piece.words else "_", piece.words[2:] or [UNKNOWN]
            values = values if len(values) <= MOST_STATES else [UNKNOWN]
            states += [state.having(name, value) for value in values]
        self._states = merged(states) if self._states else []
        self._ok, self._not_ok, frame.again = self._states, frame.start, True

    def _done(self, frame: _Frame) -> None:
        known = {state.cwd for state in frame.start}
        if any(state.cwd not in known for state in self._states) and not frame.twice:
            frame.twice = True
            self._states = merged([*frame.start, *self._states])
            self._at = frame.at
            return
        self._states = merged([*frame.failed, *self._states, *frame.start])
        self._pop()

    def _pattern(self, frame: _Frame) -> None:
        """The pattern of a case, up to its bracket."""
        if _ESAC.match(self._text, self._at):
            self._at += 4
            frame.again = True
            self._keyword("esac")
            return
        self._at += self._text[self._at] == "("
        self._variables = self._state.variables
        while self._at < len(self._text):
            self._blank(" \t\n")
            if self._operator() == ")":
                break
            at = self._at
            self._word()
            self._at += self._at == at
        frame.again = True
        self._states = frame.start

    # --- simple commands ----------------------------------------------------------------------------------------

    def _command(self) -> Iterator[Simple]:
        """One simple command, in each state, and what it leaves behind."""
        start, operator = self._at, ""
        ok: list[State] = []
        failed: list[State] = []
        pieces: list[Simple] = []
        seen: set[tuple[object, ...]] = set()
        before, self._before = self._before, []
        for at, state in enumerate(self._states or [State()]):
            self._at = start
            piece, operator = self._read(state, before[at] if self._piped and at < len(before) else None)
            pieces.append(piece)
            inner = self._take_inner()
            if not self._states:
                continue
            called, left = self._call(state, piece)
            key = (tuple(piece.words), piece.cwd, tuple(piece.writes), piece.given, piece.made)
            if key not in seen or called:
                seen.add(key)
                own = [piece] if not called and (piece.words or (piece.writes and not self._closed)) else []
                self._noted(piece)
                if body := next((frame.body for frame in self._frames if frame.body), ""):
                    self._unrun += [(body, each) for each in (*inner, *called, *own)]
                else:
                    yield from (*inner, *called, *own)
            alone = operator in ("|", "|&") or self._piped
            then, otherwise = ([state], [state]) if alone else (left, left) if called else self._effect(state, piece)
            ok += then
            failed += otherwise
        self._closed = False
        self._before = pieces if operator in ("|", "|&") else []
        self._join(operator, ok, failed)

    def _call(self, state: State, piece: Simple) -> tuple[list[Simple], list[State]]:
        """What a function runs that is called here, and the states it leaves."""
        words = list(piece.words)
        while words and _ASSIGNED.match(words[0]):
            words = words[1:]
        reading, name = self._reading, words[0] if words else ""
        inside_body = any(frame.body for frame in self._frames)
        if name not in reading.functions or name in reading.running or inside_body:
            return [], [state]
        reading.called.add(name)
        reading.running.add(name)
        line = self._below(reading.functions[name], state.given(words[1:]))
        found = list(line.commands())
        reading.running.discard(name)
        places = {key: value for key, value in state.variables.items() if key.isdigit() or key == "@"}
        left = [replace(each.given([]), variables=each.given([]).variables | places) for each in line.states]
        return found, left or [state]

    @property
    def states(self) -> list[State]:
        """In what states the shell may be."""
        return self._states

    def _noted(self, piece: Simple) -> None:
        """Remember a command for those after it, and what it writes."""
        self._reading.earlier.append(piece.words)
        paths = [*piece.writes, *(word for word in piece.words[1:] if piece.words[0] == "tee" and word[:1] != "-")]
        for path in paths if piece.prints else ():
            self._reading.texts[inside(piece.cwd, path)] = piece.prints

    def _join(self, operator: str, ok: list[State], failed: list[State]) -> None:
        """Go on in the states in which what follows would run."""
        if operator in ("|", "|&"):
            self._piped = True
            return
        if self._negated:
            ok, failed = failed, ok
        last = [state for state in failed if self._negated or not state.strict]
        self._negated = self._piped = False
        ok, failed = merged([*ok, *self._held_ok]), merged([*failed, *self._held_failed])
        if operator == "&&":
            self._states, self._held_ok, self._held_failed = ok, [], failed
        elif operator == "||":
            self._states, self._held_ok, self._held_failed = failed, ok, []
        else:
            self._ok, self._not_ok = ok, failed
            self._states = (
                merged([*self._began, *self._states]) if operator == "&" else merged([*ok, *last, *self._held_failed])
            )
            self._nothing_held()
            if operator in (";;", ";&", ";;&") and self._frames and self._frames[-1].kind == "case":
                self._frames[-1].ends += self._states
                self._frames[-1].again = False
                self._states = []
        if operator in ("(", ")"):
            self._at -= 1

    def _read(self, state: State, before: Simple | None = None) -> tuple[Simple, str]:
        """The words of a command in a state, and the operator that ends it."""
        start, operator = self._at, ""
        self._state, self._variables, self._fed = state, state.variables, ""
        piece = Simple(cwd=state.cwd, made=state.made, reading=self._reading)
        if before is not None:
            piece.given, piece.fed = before.prints, before.words
            piece.chain = [*before.chain[-MOST_CHAIN:], *before.words[-MOST_CHAIN:]]
        while True:
            self._blank()
            if sign := self._redirection():
                self._reading.take(50)
                self._redirected(piece, sign)
                continue
            if self._at >= len(self._text) or (operator := self._operator()):
                break
            begun = self._at
            if found := _ARRAY.match(self._text, begun):
                self._at = found.end()
                piece.words.append(f"{found[1]}={' '.join(self._array())}")
                continue
            word = self._word()
            if not piece.words or _ASSIGNED.match(piece.words[-1]):
                piece.computed = bool(_COMPUTED.match(self._text[begun : begun + 3])) and word == [UNKNOWN]
            if _ASSIGNED.match(self._text[begun : begun + 80]) and len(word) > 1:
                word = [" ".join(word)]
            piece.words += word
            self._at += self._at == begun
        piece.given = piece.given or self._fed
        piece.prints = self._printed(piece)
        if self._closed and not piece.words and operator in ("|", "|&"):
            piece.chain += [word for words in self._ended for word in words[:MOST_CHAIN]]
        names = [found for word in piece.words[:MOST_CHAIN] if (found := _ASSIGNED.fullmatch(word))]
        exported = {name: state.variables[name] for name in state.exported if name in state.variables}
        piece.variables = exported | {found[1]: found[3] for found in names}
        self._reading.take(20 + len(state.variables) + max(self._at - start, sum(map(len, piece.words))))
        return piece, operator

    def _printed(self, piece: Simple) -> str:
        cwd, words = piece.cwd, piece.words
        match words:
            case ["pwd", *_]:
                return whole(cwd)
            case ["git", "rev-parse", "--show-toplevel"] if not cwd.startswith(("/", "~", UNKNOWN)):
                return whole(".")
            case ["realpath" | "readlink", *_, path] if not path.startswith("-"):
                return whole(inside(cwd, path))
            case ["cat", path] if not path.startswith("-"):
                return self._reading.texts.get(inside(cwd, path), "")
            case _:
                return printed(words, piece.given)

    def _array(self) -> list[str]:
        words: list[str] = []
        while self._at < len(self._text):
            self._blank(" \t\n")
            if self._operator() == ")":
                break
            at = self._at
            words += self._word()
            self._at += self._at == at
        return words

    def _redirected(self, piece: Simple, sign: str) -> None:
        if sign in ("<<", "<<-"):
            piece.given = self._document()
            return
        self._blank()
        target = " ".join(self._word())
        if sign in (">", ">|"):
            piece.writes.append(target)
        elif sign == "<<<":
            piece.given = target
        elif sign == "<":
            piece.reads = target

    def _effect(self, state: State, piece: Simple) -> tuple[list[State], list[State]]:
        """What a command leaves behind where it succeeds, and where it fails."""
        words = piece.words
        assigned = [found for word in words if (found := _ASSIGNED.fullmatch(word))]
        if words and (len(assigned) == len(words) or words[0] in _DECLARES):
            if words[0] == "export" or (words[0] in _DECLARES and "-x" in words):
                names = (word.partition("=")[0] for word in words[1:] if not word.startswith("-"))
                state = replace(state, exported=frozenset((*state.exported, *names)))
            for found in assigned:
                before = state.variables.get(found[1], "") if found[2] else ""
                state = state.having(found[1], before + found[3])
            return [state], [] if UNKNOWN not in "".join(words) else [state]
        while words and _ASSIGNED.fullmatch(words[0]):
            words = words[1:]
        name, rest = (words[0] if words else ""), words[1:]
        if name in ("builtin", "command"):
            name, rest = (rest[0] if rest else ""), rest[1:]
        plain = [word for word in rest if not word.startswith("-") or word == "-"]
        match name:
            case "cd" | "pushd" | "popd":
                return self._moved(name, plain, state)
            case "exit" | "break" | "continue" | "return" if self._ends(name):
                return [], []
            case "mkdir" | "git" | "cp" | "python" | "python3":
                return self._makes(name, rest, plain, state)
            case "true" | ":" | "false":
                return ([], [state]) if name == "false" else ([state], [])
            case "trap" if rest and rest[0] and not rest[0].startswith("-"):
                self._traps.append(rest[0])
            case "read" if len(names := [word for word in plain if word.isidentifier()]) == 1:
                return self._reads(names[0], piece, state), [state]
            case _:
                state = self._set(name, rest, plain, state)
        return [state], [state]

    def _reads(self, name: str, piece: Simple, state: State) -> list[State]:
        """The states after a variable was read from what is piped in."""
        given = piece.given or next((frame.given for frame in reversed(self._frames) if frame.given), "")
        lines = list(dict.fromkeys(given.split("\n")))
        values = [line.strip() or UNKNOWN for line in lines] if len(lines) <= MOST_STATES else [UNKNOWN]
        return [state.having(name, value) for value in values]

    def _ends(self, name: str) -> bool:
        """Whether nothing of what follows in the list is run."""
        loop = any(frame.kind == "loop" for frame in self._frames)
        return {"exit": True, "return": any(frame.body for frame in self._frames) or bool(self._reading.running)}.get(
            name, loop
        )

    def _set(self, name: str, rest: list[str], plain: list[str], state: State) -> State:
        match name:
            case "set":
                strict = any(_STRICT.match(word) for word in rest) or "errexit" in rest
                lax = any(_LAX.match(word) for word in rest)
                state = replace(state, strict=(state.strict or strict) and not lax)
                state = state.given(rest[rest.index("--") + 1 :]) if "--" in rest else state
            case "shift":
                state = state.given([UNKNOWN])
            case "read" | "mapfile" | "readarray":
                for variable in plain:
                    state = state.having(variable, UNKNOWN)
            case "unset":
                state = replace(state, variables={key: v for key, v in state.variables.items() if key not in plain})
            case _:
                pass
        return state

    def _moved(self, name: str, plain: list[str], state: State) -> tuple[list[State], list[State]]:
        path = plain[0] if plain else "~"
        if name == "popd" or (name == "pushd" and not plain):
            if not state.stack:
                return [], [state]
            to = state.stack[-1]
            stack = state.stack[:-1] if name == "popd" else (*state.stack[:-1], state.cwd)
            return [replace(state.within(to), stack=stack)], []
        to = state.old if path == "-" else inside(state.cwd, path)
        new = state.within(to)
        if name == "pushd":
            new = replace(new, stack=(*state.stack[-20:], state.cwd))
        sure = path == "-" or path in _ALWAYS or to in state.there | state.made | _ALWAYS or to == state.cwd
        return [new], [] if sure else [state]

    def _makes(self, name: str, rest: list[str], plain: list[str], state: State) -> tuple[list[State], list[State]]:
        scratch = {inside(state.cwd, word) for word in (plain[1:2] or [state.cwd]) if rest[:1] == ["init"]}
        if any(path.startswith(SCRATCHES) for path in scratch):
            return [replace(state, made=state.made | scratch)], [state]
        if rest[:2] == ["worktree", "add"] and len(plain) > 2:
            new = plain[3 if {"-b", "-B"} & set(rest) and len(plain) > 3 else 2]
            return [replace(state, made=state.made | {inside(state.cwd, new)})], [state]
        if name == "cp" and len(plain) > 1 and (copy := _copy_of(plain)):
            return [replace(state, made=state.made | {inside(state.cwd, copy)})], [state]
        if name.startswith("python") and rest[:2] == ["-m", "venv"] and "env" in plain[-1]:
            return [replace(state, made=state.made | {inside(state.cwd, plain[-1])})], [state]
        if name == "mkdir":
            folders = frozenset(inside(state.cwd, word) for word in plain)
            there = replace(state, there=state.there | folders)
            if any(_PARENTS.match(word) for word in rest):
                return [there], []
            return [replace(there, made=state.made | folders)], [state]
        if rest[:1] == ["clone"] and len(plain) > 2:
            return [replace(state, made=state.made | {inside(state.cwd, plain[-1])})], [state]
        return [state], [state]

    # --- substitutions ------------------------------------------------------------------------------------------

    def _take_inner(self) -> list[Simple]:
        inner, self._inner = self._inner, []
        return inner

    def _below(self, text: str, state: State) -> Line:
        if self._depth >= DEPTH:
            raise TooDeep
        line = Line(text, state.cwd, self._reading, self._depth + 1)
        line._states = [state]
        line._nothing_held()
        return line

    def _substituted(self, process: bool) -> str:
        line = self._below(self._text, self._state)
        line._at, line._closing, line._lines = self._at, True, self._lines
        found = list(line.commands())
        self._at, self._lines = line._at, line._lines
        self._inner += found
        if process:
            self._fed = found[-1].prints if found else ""
            return UNKNOWN
        return _value(found)

    def _evaluated(self, text: str) -> str:
        self._reading.take(20)
        found = list(self._below(text, self._state).commands())
        self._inner += found
        return _value(found)


def _copy_of(plain: list[str]) -> str:
    """A folder's copy that is named after it, as in ``cp -r data data.bak``; '' where it is not."""
    source, target = plain[-2].rstrip("/"), plain[-1].rstrip("/")
    return target if target.startswith(source) and target[len(source) :][:1] in ("_", "-", ".") else ""


def whole(folder: str) -> str:
    """A folder of the workspace as an absolute path."""
    return folder if folder.startswith(("/", "~", UNKNOWN)) else posixpath.normpath(f"/workspace/{folder}")


def _value(found: list[Simple]) -> str:
    if found and any("mkdtemp" in word for word in found[-1].words):
        return SCRATCH
    if found and found[0].words[:1] == ["mktemp"]:
        words = found[0].words
        folder = words[words.index("-p") + 1] if "-p" in words[:-1] else ""
        if not {"-p", "--tmpdir"} & set(words) or (folder + "/").startswith(SCRATCHES):
            return SCRATCH
    return (found[-1].prints.rstrip("\n") if found else "") or UNKNOWN


def merged(states: Iterable[State]) -> list[State]:
    """The states without those that are the same; what differs is unknown where they are many."""
    known = {state.key(): state for state in states}
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


def inside(folder: str, path: str) -> str:
    """The path as seen from the workspace: relative where it lies there, else absolute, with ~ or unknown."""
    if path.startswith("~"):
        return path
    if UNKNOWN in folder:
        return path if path.startswith("/") else UNKNOWN
    if folder.startswith("~"):
        return posixpath.join(folder, path)
    joined = posixpath.normpath(posixpath.join("/workspace", folder, path))
    if joined == "/workspace":
        return "."
    return joined.removeprefix("/workspace/") if joined.startswith("/workspace/") else joined
