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
    QuotedMessage,
    Sort,
    Started,
    ToolFinished,
    ToolRef,
)
from agentic.core.state.execution import Call, Execution

MESSAGE = "a message that somebody else wrote"
FOREIGN_FILE = "a file that somebody else sent"
DEPENDENCIES = "files of a dependency"
ATTACHED = "attached files"
HIDDEN = "a secret in the files"
CUT_OFF = "what a command that was cut off may have fetched"
ANSWERED, ANSWERS = "what {tool} answered", "what {tool} answers"
_TRUSTED = ("operator", "owner")
_WORDS: tuple[Sort, ...] = ("guidance", "edited", "correction")
"""What puts words of a person before the model."""
_READ_BY = ("command", "fallback", "code", "cwd", "path")
"""Arguments that say what a call reads."""
_RAN: tuple[Outcome, ...] = ("ok", "failed", "cancelled", "unknown")
_PLACEHOLDER = "[secret: "
_FOLDERS = ("node_modules", "site-packages", "bower_components", "third_party", "vendor")
_NAMED = re.compile(rf"(?:^|[^\w.-])(?:{'|'.join(_FOLDERS)})(?:[^\w.-]|$)")
_LISTED = re.compile(rf"^(?:[\w.@-]+/)*(?:{'|'.join(_FOLDERS)})/", re.MULTILINE)
_LEFT_OUT = re.compile(r"--(?:exclude|ignore)[a-z-]{0,30}[= ]\S+|(?:-not|!) -path \S+|:!\S+")
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
    return Exposure(private=_first((), tuple(ANSWERS.format(tool=tool.name) for tool in tools if tool.private)))


def begun(event: Started) -> Exposure:
    """What it is exposed to before its first turn."""
    return merged(event.exposure, Exposure(untrusted=_read(event.quoted, event.files), private=_attached(event.files)))


def heard(execution: Execution, event: InputReceived) -> Exposure:
    """With what a person said or passed on."""
    own = event.author.id == execution.requester.id or event.author.level in _TRUSTED
    said = () if own or event.sort not in _WORDS else (MESSAGE,)
    read = (*said, *_read(event.quoted, event.files))
    return merged(execution.exposure, Exposure(untrusted=read, private=_attached(event.files)))


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
    return Exposure(
        untrusted=(ANSWERED.format(tool=tool.name),) if tool.untrusted else (),
        private=(ANSWERS.format(tool=tool.name),) if tool.private else (),
    )


def _of_dependencies(call: Call, shown: str) -> bool:
    """Whether a call named a folder of dependencies, or shows files in one."""
    written = [value for name in _READ_BY if isinstance(value := call.block.arguments.get(name), str)]
    if any(_NAMED.search(_LEFT_OUT.sub("", value)) for value in written if _holds(value)):
        return True
    return _holds(shown) and _LISTED.search(shown) is not None


def _holds(text: str) -> bool:
    return any(folder in text for folder in _FOLDERS)
