"""Watchers as Markdown files: those that are shipped, and those of whoever runs the bot, below ``watchers/`` in its home.

A file that cannot be used is named with its line and what to do, and the others go on.  One's own file takes the place of the
shipped one of the same name.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast, get_args

from agentic.core.events.execution_events import Watcher
from agentic.text.front_matter import FrontMatterError, read_front_matter

log = logging.getLogger(__name__)

FOLDER = "watchers"
SHIPPED = Path(__file__).parent / FOLDER
MOST_FILES, MOST_BYTES, MOST_TEXT, MOST_WORDS = 20, 32_000, 4_000, 100
OFF, ON = "off", "on"
NAME = re.compile(r"[a-z][a-z0-9-]{0,30}")
_WORD = 60
_TOOL = re.compile(r"[A-Za-z0-9_-]{1,80}\*?")
When = Literal["before model", "before action"]
May = Literal["note", "veto"]
Failing = Literal["go on", "ask"]
_LINE = re.compile(r"(?:^|: )line (\d+): (.*)", re.DOTALL)
_FIELDS = ("name", "when", "may", "every", "tools", "matching", "tier", "if it fails")


@dataclass(frozen=True, slots=True)
class WatcherMistake:
    """Why a file counts for nothing: in which line, and what to write instead."""

    file: str
    said: str
    line: int = 0

    def __str__(self) -> str:
        return f"{self.file}{f', line {self.line}' if self.line else ''}: {self.said}"


@dataclass(frozen=True, slots=True)
class FoundWatchers:
    """Those that can be used, by name, and what is wrong with the other files."""

    watchers: tuple[Watcher, ...] = ()
    own: frozenset[str] = frozenset()
    """Names of those that are not shipped."""
    mistakes: tuple[WatcherMistake, ...] = ()

    def chosen(self, value: str) -> tuple[Watcher, ...]:
        """Return those that a setting names: none, all, or some by name."""
        if value in ("", OFF):
            return ()
        return self.watchers if value == ON else tuple(one for one in self.watchers if one.name in value.split())

    def missing(self, value: str) -> tuple[str, ...]:
        """Return the names in a setting that no usable file has."""
        known = {one.name for one in self.watchers}
        return () if value in ("", OFF, ON) else tuple(name for name in value.split() if name not in known)


class WatcherFiles:
    """The files, read anew for each task, so that a change counts from the next one on."""

    def __init__(self, home: Path) -> None:
        self._folder = home / FOLDER

    async def found(self) -> FoundWatchers:
        """Read them beside the event loop."""
        return await asyncio.to_thread(self.read)

    async def chosen(self, value: str) -> tuple[Watcher, ...]:
        """Return the watchers that a setting names; what is wrong with a file is logged."""
        if value == OFF:
            return ()
        found = await self.found()
        for mistake in found.mistakes:
            log.warning("a watcher's file is not used: %s", mistake)
        return found.chosen(value)

    def read(self) -> FoundWatchers:
        """Read the shipped ones and one's own."""
        mistakes: list[WatcherMistake] = []
        shipped = {one.name: one for one in _read_all(SHIPPED, mistakes)}
        own = {one.name: one for one in _read_all(self._folder, mistakes)}
        names = sorted({**shipped, **own})
        return FoundWatchers(
            tuple(own.get(name) or shipped[name] for name in names), frozenset(own), tuple(mistakes)
        )  # fmt: skip


def _read_all(folder: Path, mistakes: list[WatcherMistake]) -> Iterable[Watcher]:
    try:
        files = sorted(path for path in folder.iterdir() if path.suffix == ".md") if folder.is_dir() else []
    except OSError as error:
        mistakes.append(WatcherMistake(f"{FOLDER}/", f"the folder cannot be read: {error.strerror}"))
        return
    if len(files) > MOST_FILES:
        mistakes.append(WatcherMistake(f"{FOLDER}/", f"only the first {MOST_FILES} files are read; delete some"))
    for path in files[:MOST_FILES]:
        try:
            yield watcher_of(path.stem, _text(path))
        except _Wrong as wrong:
            mistakes.append(WatcherMistake(path.name, wrong.said, wrong.line))


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise _Wrong(f"it cannot be read: {error.strerror}") from error
    if len(data) > MOST_BYTES:
        raise _Wrong(f"it is larger than {MOST_BYTES:,} bytes; shorten it")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise _Wrong("it is not UTF-8 text; save it as UTF-8") from error


class _Wrong(Exception):
    def __init__(self, said: str, line: int = 0) -> None:
        super().__init__(said)
        self.said, self.line = said, line


def watcher_of(stem: str, text: str) -> Watcher:
    """Return the watcher that a file describes; raises an error that says what is wrong, and in which line."""
    try:
        fields, body = read_front_matter(text)
    except FrontMatterError as error:
        found = _LINE.search(str(error))
        raise _Wrong(found[2] if found else str(error), int(found[1]) if found else 1) from error
    head = _Head(fields, text)
    for name in fields:
        if name not in _FIELDS:
            raise head.wrong(name, f"there is no field “{name}”. There are: {', '.join(_FIELDS)}")
    named = head.word("name", stem)
    if NAME.fullmatch(named) is None or named in (ON, OFF):
        raise head.wrong("name", "name: small letters, digits and -, at most 31, and neither “on” nor “off”")
    when = head.one_of("when", cast("tuple[str, ...]", get_args(When)))
    acts = when == "before action"
    may = head.one_of("may", cast("tuple[str, ...]", get_args(May)), "note")
    fails = head.one_of("if it fails", cast("tuple[str, ...]", get_args(Failing)), "go on")
    if may == "veto" and not acts:
        raise head.wrong("may", "a veto is of calls: write “when: before action”, or “may: note”")
    if fails == "ask" and may != "veto":
        raise head.wrong("if it fails", "only a watcher with “may: veto” can have a person asked")
    head.only("every", not acts, "before model")
    for name in ("tools", "matching"):
        head.only(name, acts, "before action")
    tools = head.words("tools")
    if acts and not tools:
        raise head.wrong("tools", "name the tools whose calls it is shown, such as “tools: [shell, python]”")
    strange = next((tool for tool in tools if _TOOL.fullmatch(tool) is None), None)
    if strange is not None:
        raise head.wrong(
            "tools", f"“{strange}” is no name of a tool; one that ends with * stands for all that begin so"
        )
    if not body or len(body) > MOST_TEXT:
        much = f"it has {len(body):,} characters; at most {MOST_TEXT:,}" if body else "there is no text"
        raise _Wrong(f"below the head stands what the watcher looks for: {much}", len(text.splitlines()))
    return Watcher(
        name=named, when=cast("When", when), may=cast("May", may), every=head.number("every", 5, 1, 50), tools=tools,
        matching=head.words("matching"), tier=head.number("tier", 1, 1, 4), if_it_fails=cast("Failing", fails),
        instruction=body,
    )  # fmt: skip


class _Head:
    """The fields of a file's head, each read or said to be wrong."""

    def __init__(self, fields: dict[str, object], text: str) -> None:
        self._fields = fields
        self._lines = text.splitlines()

    def wrong(self, name: str, said: str) -> _Wrong:
        """What is wrong with a field, in the line where it stands; in the first one where it is missing."""
        numbered = enumerate(self._lines, start=1)
        return _Wrong(said, next((number for number, line in numbered if line.startswith(f"{name}:")), 1))

    def only(self, name: str, fits: bool, when: str) -> None:
        """Refuse a field that says nothing here."""
        if name in self._fields and not fits:
            raise self.wrong(name, f"{name} is for watchers with “when: {when}”; leave it out")

    def word(self, name: str, default: str) -> str:
        """A text of one line."""
        value = self._fields.get(name, default)
        if not isinstance(value, str):
            raise self.wrong(name, f"{name} is a word; put it in quotes")
        return value

    def one_of(self, name: str, values: tuple[str, ...], default: str = "") -> str:
        """One of these values."""
        value = self.word(name, default)
        if value not in values:
            raise self.wrong(name, f"{name} is one of: {', '.join(values)}")
        return value

    def number(self, name: str, default: int, least: int, most: int) -> int:
        """A whole number between two others."""
        value = self._fields.get(name, default)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise self.wrong(name, f"{name} is a whole number from {least} to {most}")
        return value

    def words(self, name: str) -> tuple[str, ...]:
        """A list of words, or words with commas between them."""
        value = self._fields.get(name, ())
        raw = value.split(",") if isinstance(value, str) else value
        if not isinstance(raw, list | tuple):
            raise self.wrong(name, f"{name} is a list, such as “{name}: [one, two]”")
        found = tuple(each.strip() if isinstance(each, str) else "" for each in cast("list[object]", raw))
        if not all(0 < len(each) <= _WORD for each in found) or len(found) > MOST_WORDS:
            raise self.wrong(
                name, f"{name} is a list of at most {MOST_WORDS} words of up to {_WORD} characters; put numbers in quotes"
            )  # fmt: skip
        return found
