"""The part of the fold that knows what an execution is exposed to: words of strangers, and what is not public.

Nothing takes a fact away again: what was read has been read, and what it left in the workspace lies there in the next
task.  A repository that only its own people write to is trusted as they are; what lies in a folder for dependencies was
written by strangers, whoever put it there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from agentic.core.claims.call_counts import call_of
from agentic.core.events.execution_events import (
    REASONS,
    UNEXPOSED,
    Exposure,
    FileRef,
    InputReceived,
    Outcome,
    Person,
    QuotedMessage,
    Sort,
    Started,
    ToolFinished,
    ToolRef,
)
from agentic.core.state.execution import Call, Execution
from agentic.core.text.answers import option_of
from agentic.core.text.tool_words import OF_SERVERS, OF_SEVERAL, meant, server_words, tool_words
from agentic.text.secret_patterns import secrets_in

MESSAGE = "a message that somebody else wrote"
FOREIGN_FILE = "a file that somebody else sent"
DEPENDENCIES = "files of a dependency"
ATTACHED = "attached files"
TYPED = "a secret in what a person wrote"
HIDDEN = "a secret in the files"
CUT_OFF = "what a command that was cut off may have fetched"
ANSWERED, ANSWERS, SHOWS = "what {tool} answered", "what {tool} answers", "what {server} shows"
_TRUSTED = ("operator", "owner")
_WORDS: tuple[Sort, ...] = ("task", "guidance", "answer", "edited", "correction")
"""What puts words of a person before the model."""
_READ_BY = ("command", "fallback", "code", "cwd", "path")
"""Arguments that say what a call reads."""
_RAN: tuple[Outcome, ...] = ("ok", "failed", "cancelled", "unknown")
_PLACEHOLDER = "[secret: "
_FOLDERS = ("node_modules", "site-packages", "bower_components", "third_party", "vendor")
_NAMED = re.compile(rf"(?:^|[^\w.-])(?:{'|'.join(_FOLDERS)})(?:[^\w.-]|$)")
_LISTED = re.compile(rf"^(?:[\w.@-]+/)*(?:{'|'.join(_FOLDERS)})/", re.MULTILINE)
_LEFT_OUT = re.compile(r"--(?:exclude|ignore)[a-z-]{0,20}[= ]\S+|(?:-not|!) -path \S+|:!\S+")
"""How a command says where it does not look."""


def merged(one: Exposure, other: Exposure) -> Exposure:
    """Both together."""
    if not other:
        return one
    return Exposure(
        untrusted=_first(one.untrusted, other.untrusted),
        private=_first(one.private, other.private),
        reach=tuple(dict.fromkeys((*one.reach, *other.reach))),
        fetches=one.fetches or other.fetches,
        remote=other.remote or one.remote,
    )


def reachable(tools: Iterable[ToolRef]) -> Exposure:
    """What tools can show that is not public: it is at hand from the beginning, whether they are asked or not."""
    names = [tool.name for tool in tools if tool.private]
    by_server = any(name.startswith(OF_SERVERS) for name in names)
    told = tuple(_private(name) for name in names if not (by_server and name in OF_SEVERAL))
    return Exposure(private=_first((), told))


def typed(text: str) -> Exposure:
    """What is not public in what a person wrote.  It is recorded, since the forms of secrets become more."""
    return Exposure(private=(TYPED,)) if secrets_in(text) else UNEXPOSED


def begun(event: Started) -> Exposure:
    """What it is exposed to before its first turn."""
    return merged(event.exposure, Exposure(untrusted=_read(event.quoted, event.files), private=_attached(event.files)))


def heard(execution: Execution, event: InputReceived) -> Exposure:
    """With what a person said or passed on."""
    own = vouched_for(event.author, execution.requester)
    said = () if own or event.sort not in _WORDS or _chooses(execution, event) else (MESSAGE,)
    read = (*said, *_read(event.quoted, event.files))
    exposure = merged(execution.exposure, Exposure(untrusted=read, private=_attached(event.files)))
    return merged(exposure, event.exposure)


def left(execution: Execution, reader: Person) -> Exposure:
    """What an execution leaves to a later task of its thread: its workspace and its answer came of what it had read.

    What somebody else asked for stands there in their own words.
    """
    words = () if vouched_for(execution.requester, reader) else (MESSAGE,)
    read = Exposure(untrusted=execution.exposure.untrusted, private=execution.exposure.private)
    return merged(read, Exposure(untrusted=words))


def resulted(execution: Execution, event: ToolFinished) -> Exposure:
    """With what a call has shown."""
    call = call_of(execution, event.call)
    if call is None or event.outcome not in _RAN:
        return execution.exposure
    exposure = merged(execution.exposure, _declared(execution, call))
    if event.outcome == "unknown":
        exposure = merged(exposure, cut_off(exposure))
    if _of_dependencies(call, event.preview):
        exposure = merged(exposure, Exposure(untrusted=(DEPENDENCIES,)))
    if _PLACEHOLDER in event.preview:
        exposure = merged(exposure, Exposure(private=(HIDDEN,)))
    return merged(exposure, event.exposure)


def cut_off(exposure: Exposure) -> Exposure:
    """What is added where nobody knows what commands had reached when their owner ended."""
    return Exposure(untrusted=(CUT_OFF,)) if exposure.fetches else UNEXPOSED


def _first(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*one, *other)))[:REASONS]


def vouched_for(author: Person, requester: Person) -> bool:
    """Whether words are of the person a task is for, or of somebody who could decide what it does outside."""
    return author.id == requester.id or author.level in _TRUSTED


def _chooses(execution: Execution, event: InputReceived) -> bool:
    """Whether it only takes an option that stood there; what else an answer says is its author's."""
    question = execution.question
    if event.sort != "answer" or question is None:
        return False
    options = (*question.options, *(option for part in question.parts for option in part.options))
    return option_of(options, event.text) is not None


def _read(quoted: Iterable[QuotedMessage], files: Iterable[FileRef]) -> tuple[str, ...]:
    words = [message.what or MESSAGE for message in quoted if not message.trusted]
    return (*words, *(FOREIGN_FILE for file in files if file.foreign and not file.skipped))


def _attached(files: Iterable[FileRef]) -> tuple[str, ...]:
    return (ATTACHED,) if any(not file.skipped for file in files) else ()


def _declared(execution: Execution, call: Call) -> Exposure:
    """What its tool says of all its results."""
    tools = execution.started.tools if execution.started else ()
    tool = next((known for known in tools if known.name == call.block.tool), None)
    if tool is None:
        return UNEXPOSED
    name = meant(tool.name, call.block.arguments)[0]
    return Exposure(
        untrusted=(ANSWERED.format(tool=tool_words(name)),) if tool.untrusted else (),
        private=(_private(name),) if tool.private else (),
    )


def _private(tool: str) -> str:
    """What a tool can show that is not public."""
    server = server_words(tool)
    return SHOWS.format(server=server) if server else ANSWERS.format(tool=tool)


def _of_dependencies(call: Call, shown: str) -> bool:
    """Whether a call named a folder of dependencies, or shows files in one."""
    written = [value for name in _READ_BY if isinstance(value := call.block.arguments.get(name), str)]
    if any(_NAMED.search(_LEFT_OUT.sub("", value)) for value in written if _holds(value)):
        return True
    return _holds(shown) and _LISTED.search(shown) is not None


def _holds(text: str) -> bool:
    return any(folder in text for folder in _FOLDERS)
